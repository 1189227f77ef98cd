// Misbehaves on demand: the path says how.
interface Env {
  GOOD: { fetch(url: string): Promise<Response> };
}

type Mischief = (request: Request, env: Env) => Response | Promise<Response>;

const never = new Promise<never>(() => {});

const mischief: Record<string, Mischief> = {
  // cpu_exceeded: 50 ms of CPU time are over.
  loop() {
    for (;;);
  },
  microtasks() {
    const again = (): Promise<void> => Promise.resolve().then(again);
    return again().then(() => new Response());
  },
  regexp() {
    return new Response(String(/^(a+)+$/.test("a".repeat(64) + "b")));
  },

  // memory_exceeded: the heap is full. (Or cpu_exceeded, when that comes first:
  // "greedy" is the same worker with more CPU time.)
  heap() {
    const all: unknown[] = [];
    for (;;) all.push({ text: "x".repeat(100) + all.length });
  },

  // ok: a RangeError that the worker can catch, as in a browser.
  buffers() {
    const all: ArrayBuffer[] = [];
    try {
      for (;;) all.push(new ArrayBuffer(1 << 20));
    } catch (error) {
      return new Response(`${error.name} after ${all.length} MiB\n`);
    }
  },
  recursion() {
    const deeper = (n: number): number => deeper(n + 1) + 1;
    try {
      return new Response(String(deeper(0)));
    } catch (error) {
      return new Response(`${error.name}: ${error.message}\n`);
    }
  },

  // exception
  throw() {
    throw new TypeError("thrown on purpose");
  },

  // no_response: nothing is left that could make one.
  forgotten() {
    return never;
  },
  // first_byte_timeout: something is left, but it takes too long.
  slow() {
    return new Promise((resolve) => setTimeout(resolve, 60_000, new Response()));
  },
  // wall_exceeded: the body goes on for longer than two seconds.
  endless() {
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        controller.enqueue(new TextEncoder().encode("."));
      },
    });
    return new Response(body);
  },
  // idle_timeout: the body does not go on.
  stuck() {
    return new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode("a start")), pull: () => never }));
  },

  // ok: the fourth subrequest rejects.
  async subrequests(_request, env) {
    const answers: string[] = [];
    for (let i = 0; i < 5; i++) {
      answers.push(await env.GOOD.fetch("http://good/").then((r) => r.text(), (e) => `${e.name}: ${e.message}\n`));
    }
    return new Response(answers.join(""));
  },
  // body_too_large: the socket lets a mebibyte pass.
  async upload(request) {
    return Response.json({ bytes: (await request.arrayBuffer()).byteLength });
  },
  // exception: there is no code from strings.
  eval() {
    return new Response(new Function("return 'evaluated'")());
  },
  // fatal: V8 gives up the isolate. It is set aside, the process serves on.
  abort() {
    return new Response(String(new Array(1 << 27).fill(1.5).length));
  },
};

export default {
  fetch(request: Request, env: Env): Response | Promise<Response> {
    const name = new URL(request.url).pathname.slice(1);
    const act = mischief[name];
    if (act === undefined) return new Response(`try one of ${Object.keys(mischief).join(", ")}\n`, { status: 404 });
    return act(request, env);
  },
};
