// Requests that do not end when they should. The path names one.

const forever = () => new Promise(() => {});
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (s) => new TextEncoder().encode(s);

const ways = {
  never: () => forever(),
  never_but_timer: () => {
    setInterval(() => {}, 1000);
    return forever();
  },
  late: async () => {
    await later(60_000);
    return new Response("late");
  },
  still_stream: () => new Response(new ReadableStream({ start: (c) => c.enqueue(text("begin")) })),
  still_stream_timer: () => new Response(new ReadableStream({
    async start(c) {
      c.enqueue(text("begin"));
      await later(60_000);
      c.close();
    },
  })),
  slow_stream: () => new Response(new ReadableStream({
    async pull(c) {
      await later(20);
      c.enqueue(text("x"));
    },
  })),
  endless_stream: () => new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(1 << 16)) })),
  endless_greedy_stream: () => new Response(new ReadableStream({
    start(c) {
      for (let i = 0; i < 1000; i++) c.enqueue(new Uint8Array(1 << 14));
    },
    pull: (c) => c.enqueue(new Uint8Array(1 << 16)),
  })),
  throw_in_start: () => new Response(new ReadableStream({ start() { throw new Error("x"); } })),
  throw_in_pull: () => new Response(new ReadableStream({
    pull(c) {
      if (this.begun) throw new Error("in the middle of a stream");
      this.begun = true;
      c.enqueue(text("begin"));
    },
  })),
  odd_chunk: () => new Response(new ReadableStream({
    pull(c) {
      if (this.begun) return c.enqueue({ a: 1 });
      this.begun = true;
      c.enqueue(text("begin"));
    },
  })),
  loop_in_pull: () => new Response(new ReadableStream({
    pull(c) {
      if (this.begun) for (;;);
      this.begun = true;
      c.enqueue(text("begin"));
    },
  })),
  cancel_throws: () => new Response(new ReadableStream({
    pull: (c) => c.enqueue(new Uint8Array(1 << 16)),
    cancel() {
      throw new Error("not now");
    },
  })),
  cancel_loops: () => new Response(new ReadableStream({
    pull: (c) => c.enqueue(new Uint8Array(1 << 16)),
    cancel() {
      for (;;);
    },
  })),
  wait_until_loop: (request, ctx) => {
    ctx.waitUntil((async () => {
      await later(1);
      for (;;);
    })());
    return new Response("answered");
  },
  wait_until_loop_now: (request, ctx) => {
    ctx.waitUntil((async () => {
      await null;
      for (;;);
    })());
    return new Response("answered");
  },
  wait_until_rejects: (request, ctx) => {
    ctx.waitUntil(Promise.reject(null));
    ctx.waitUntil(3);
    ctx.waitUntil({ then() { throw new Error("x"); } });
    return new Response("answered");
  },
  wait_until_never: (request, ctx) => {
    ctx.waitUntil(forever());
    return new Response("answered");
  },
  wait_until_many: (request, ctx) => {
    for (let i = 0; i < 1e4; i++) ctx.waitUntil(null);
    return new Response("answered");
  },
  loop_on_abort: (request) => {
    request.signal.addEventListener("abort", () => {
      for (;;);
    });
    return later(60_000);
  },
  throw_on_abort: (request) => {
    request.signal.addEventListener("abort", () => {
      throw null;
    });
    return later(60_000);
  },
  wall: async () => {
    for (;;) await later(10);
  },
  slow: async () => {
    await later(200);
    return new Response("slow");
  },
  log_flood: () => {
    for (let i = 0; i < 1e5; i++) console.log("");
    for (let i = 0; i < 100; i++) console.error("e".repeat(1 << 16));
    console.log("\u001b[31mforged\r\n\n{\"msg\":\"forged\"}");
    return new Response("answered");
  },
  rejection_flood: () => {
    for (let i = 0; i < 1e4; i++) Promise.reject(new Error("r".repeat(1000)));
    return new Response("answered");
  },
  timer_flood: () => {
    let made = 0;
    try {
      for (; made < 1e6; made++) setTimeout(() => {}, 2 ** 31 - 1);
    } catch {
      // There is a bound.
    }
    return new Response("answered");
  },
  error_event_loop: () => {
    addEventListener("error", () => {
      throw new Error("again");
    });
    addEventListener("unhandledrejection", () => {
      Promise.reject(new Error("again"));
    });
    reportError(new Error("first"));
    Promise.reject(new Error("first"));
    return new Response("answered");
  },
};

export default {
  fetch(request, env, ctx) {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "ok") return new Response("ok");
    if (name === "list") return Response.json({ all: Object.keys(ways) });
    return ways[name](request, ctx);
  },
};
