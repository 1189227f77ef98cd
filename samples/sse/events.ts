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

/** Waits, or rejects when the client has left. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}

function clock(request: Request, every: number, count: number): Response {
  let n = 0;
  open++;
  const body = new ReadableStream<string>({
    async pull(controller) {
      if (n > 0) await pause(every, request.signal);
      n++;
      controller.enqueue(`event: tick\nid: ${n}\ndata: ${JSON.stringify({ n })}\n\n`);
      if (n >= count) {
        open--;
        controller.close();
      }
    },
    // The client has left: nobody reads on.
    cancel() {
      open--;
      left++;
      console.log("a client left after", n, "events");
    },
  });
  return new Response(body.pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

export default {
  fetch(request: Request): Response {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/":
        return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
      case "/clock": {
        const every = Math.max(10, Number(url.searchParams.get("every") ?? 1000));
        const count = Number(url.searchParams.get("count") ?? Infinity);
        return clock(request, every, count);
      }
      case "/open":
        return Response.json({ open, left });
    }
    return new Response("try /, /clock and /open\n", { status: 404 });
  },
};
