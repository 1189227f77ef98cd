// A clock as server-sent events, and a page that shows it.
const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Clock</title>
<h1 id="now">...</h1>
<script>
  const events = new EventSource("/clock");
  events.addEventListener("tick", (event) => { now.textContent = JSON.parse(event.data).n; });
</script>
`;

let open = 0;
let left = 0;

function clock(every: number, count: number): Response {
  let n = 0;
  let timer: number | undefined;
  open++;
  const body = new ReadableStream<string>({
    async pull(controller) {
      if (n > 0) await new Promise((resolve) => { timer = setTimeout(resolve, every); });
      n++;
      controller.enqueue(`event: tick\nid: ${n}\ndata: ${JSON.stringify({ n })}\n\n`);
      if (n >= count) {
        open--;
        controller.close();
      }
    },
    // The client has left: nobody reads on.
    cancel() {
      clearTimeout(timer);
      open--;
      left++;
      console.log("a client left after", n, "events");
    },
  });
  return new Response(body.pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

/** Answers when the time is over, or notes that the client did not wait for it. */
function wait(signal: AbortSignal, ms: number): Promise<Response> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(new Response("waited\n")), ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      left++;
      console.log("a client did not wait:", signal.reason);
      resolve(new Response());
    }, { once: true });
  });
}

export default {
  fetch(request: Request): Response | Promise<Response> {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/":
        return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
      case "/clock": {
        const every = Math.max(10, Number(url.searchParams.get("every") ?? 1000));
        const count = Number(url.searchParams.get("count") ?? Infinity);
        return clock(every, count);
      }
      case "/wait":
        return wait(request.signal, Number(url.searchParams.get("ms") ?? 1000));
      case "/open":
        return Response.json({ open, left });
    }
    return new Response("try /, /clock, /wait and /open\n", { status: 404 });
  },
};
