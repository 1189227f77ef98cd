// Code that takes more than its share. The path names the bomb; /ok is an
// ordinary request.

const wasm = (...bytes) => new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...bytes]);

// (func (export "f") (loop (br 0)))
const wasmLoop = wasm(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 0x66, 0, 0, 10, 9, 1, 7, 0, 3, 0x40, 0x0c, 0, 0x0b, 0x0b);
// (func (export "f") (call 0))
const wasmRecursion = wasm(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 0x66, 0, 0, 10, 6, 1, 4, 0, 0x10, 0, 0x0b);
// (memory 1) (func (export "f") (loop (drop (memory.grow (i32.const 1))) (br 0)))
const wasmGrow = wasm(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 0x66, 0, 0,
  10, 14, 1, 12, 0, 3, 0x40, 0x41, 1, 0x40, 0, 0x1a, 0x0c, 0, 0x0b, 0x0b);
const run = (bytes) => new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f();

const endless = {
  [Symbol.iterator]: () => ({ next: () => ({ value: ["a", "b"], done: false }) }),
};
const spin = () => {
  for (;;);
};

const cpu = {
  loop() {
    for (;;);
  },
  loop_of_builtins() {
    for (let i = 0; ; i++) Math.max(i, 2);
  },
  loop_in_finally() {
    for (;;) {
      try {
        for (;;);
      } finally {
        continue;
      }
    }
  },
  loop_that_catches() {
    for (;;) {
      try {
        for (;;) null.x;
      } catch {
        // on
      }
    }
  },
  loop_in_getter() {
    return new Response("x", { get status() { return spin(); } });
  },
  loop_in_to_string() {
    return new Response({ toString: spin });
  },
  loop_in_comparator() {
    [3, 1, 2].sort(spin);
  },
  loop_in_replacer() {
    "x".replace("x", spin);
  },
  loop_in_reviver() {
    JSON.parse("[1]", spin);
  },
  loop_in_proxy() {
    const p = new Proxy({}, { get: (_, k) => p[k + 1] });
    for (;;) {
      try {
        p.x;
      } catch {
        // the stack overflows again and again
      }
    }
  },
  loop_in_prepare_stack_trace() {
    Error.prepareStackTrace = spin;
    throw new Error("x");
  },
  loop_in_error_name() {
    throw Object.defineProperty(new Error("x"), "name", { get: spin });
  },
  loop_in_returned_thenable() {
    return { then: spin };
  },
  loop_in_header_list() {
    return new Response("x", { headers: endless });
  },
  loop_after_await: async () => {
    await null;
    for (;;);
  },
  await_loop: async () => {
    for (;;) await 0;
  },
  microtasks() {
    const f = () => Promise.resolve().then(f);
    f();
    return new Promise(() => {});
  },
  queued_microtasks() {
    const f = () => queueMicrotask(f);
    f();
    return new Promise(() => {});
  },
  thenables: async () => {
    await { then(resolve) { resolve(this); } };
  },
  async_generator: async () => {
    const g = async function* () {
      for (;;) yield 1;
    };
    for await (const x of g()) x;
  },
  endless_stream: async () => {
    const stream = new ReadableStream({ pull: (c) => c.enqueue("x") });
    for await (const x of stream) x;
  },
  endless_pipe: async () => {
    await new ReadableStream({ pull: (c) => c.enqueue("x") }).pipeTo(new WritableStream());
  },
  regexp() {
    return /(a+)+$/.test("a".repeat(40) + "b");
  },
  regexp_backreference() {
    return /^(x+x+)+\1?$/.test("x".repeat(50) + "z");
  },
  regexp_replace() {
    return "a".repeat(100).replace(/(.*?)*(.*?)*(.*?)*b/g, "");
  },
  wasm_loop() {
    run(wasmLoop);
  },
  timers() {
    const f = () => setTimeout(f, 0);
    for (let i = 0; i < 100; i++) f();
    return new Promise(() => {});
  },
  busy_timers() {
    setInterval(() => {
      for (let i = 0; i < 1e6; i++);
    }, 0);
    return new Promise(() => {});
  },
  event_loop() {
    const target = new EventTarget();
    target.addEventListener("x", () => target.dispatchEvent(new Event("x")));
    for (;;) target.dispatchEvent(new Event("x"));
  },
  console_loop() {
    for (;;) console.log("the quick brown fox");
  },
  listeners() {
    const target = new EventTarget();
    for (;;) target.addEventListener("x", () => {});
  },
  finalizers: async () => {
    const registry = new FinalizationRegistry(spin);
    globalThis.registry = registry;
    for (let i = 0; i < 1e4; i++) registry.register({}, i);
    for (let i = 0; i < 200; i++) {
      new Array(1e5).fill(i);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  },
  // Builtins that cannot be interrupted.
  sort() {
    const a = [];
    for (let i = 0; i < 6e5; i++) a.push((i * 7919) % 6e5);
    for (;;) a.slice().sort();
  },
  json() {
    const text = "[" + "1,".repeat(3e6) + "1]";
    for (;;) JSON.parse(text);
  },
  replace_all() {
    const text = "ab".repeat(1 << 20);
    for (;;) text.replaceAll("a", "bb");
  },
  bigint() {
    for (;;) (3n ** 200000n).toString();
  },
  normalize() {
    const text = "\u1e9b\u0323".repeat(1 << 18);
    for (;;) text.normalize("NFKD");
  },
  index_of() {
    const text = "a".repeat(1 << 20) + "b";
    for (;;) text.indexOf("a".repeat(1 << 19) + "c");
  },
  url() {
    for (;;) new URL("http://a/" + "../x/%41".repeat(1 << 16)).searchParams.toString();
  },
  clone() {
    const value = Array.from({ length: 1e5 }, (_, i) => ({ i }));
    for (;;) structuredClone(value);
  },
  base64() {
    const text = "x".repeat(1 << 22);
    for (;;) atob(btoa(text));
  },
};

const memory = {
  small_objects() {
    const a = [];
    for (;;) a.push({ i: a.length });
  },
  closures() {
    let f = () => 0;
    for (;;) {
      const g = f;
      f = () => g;
    }
  },
  large_arrays() {
    const a = [];
    for (;;) a.push(new Array(1000).fill(a.length));
  },
  // A little over 128 KB each: they take twice as much address space as they count.
  arrays_of_132_kb() {
    const a = [];
    for (;;) a.push(new Array(33 * 1024).fill(a.length));
  },
  nested_arrays() {
    let a = [];
    for (;;) a = [a, a.slice()];
  },
  strings() {
    const a = [];
    for (let i = 0; ; i++) a.push(`${i}`.repeat(1000) + i);
  },
  joined_string() {
    let s = "x";
    for (;;) s = [s, s, Math.random()].join();
  },
  object_keys() {
    const o = {};
    for (let i = 0; ; i++) o[`key ${i}`] = i;
  },
  spread() {
    return [...endless];
  },
  promises() {
    const a = [];
    for (;;) a.push(Promise.reject(new Error("x")));
  },
  microtask_flood: async () => {
    const p = Promise.resolve();
    for (;;) p.then(() => {});
  },
  stream_queue() {
    let controller;
    const stream = new ReadableStream({ start: (c) => { controller = c; } });
    for (;;) controller.enqueue({ stream });
  },
  timers_flood() {
    for (;;) setTimeout(() => {}, 1e6);
  },
  headers() {
    const h = new Headers();
    for (let i = 0; ; i++) h.append(`x-${i}`, "y".repeat(1000));
  },
  form() {
    const f = new FormData();
    for (let i = 0; ; i++) f.append(`x-${i}`, new Blob(["y"]));
  },
  abort_signals() {
    const a = [];
    for (;;) a.push(AbortSignal.any([new AbortController().signal]));
  },
  wasm_tables() {
    const a = [];
    for (;;) a.push(new WebAssembly.Table({ element: "anyfunc", initial: 1e6 }));
  },
  // These make V8 call its handler of fatal errors.
  fill() {
    new Array(1 << 27).fill(1.5);
  },
  map() {
    const m = new Map();
    for (let i = 0; ; i++) m.set(i, i);
  },
  set() {
    const s = new Set();
    for (let i = 0; ; i++) s.add(i);
  },
  split() {
    "a".repeat(2 ** 29 - 24).split("");
  },
  from() {
    Array.from({ length: 1e8 }, (_, i) => ({ i }));
  },
  flatten() {
    return new Response("xy".repeat(2 ** 28 - 24));
  },
  json_doubling() {
    let o = [1];
    for (;;) o = JSON.parse(`[${JSON.stringify(o)},${JSON.stringify(o)}]`);
  },
  regexp_split() {
    return "ab".repeat(2 ** 27).split(/b/);
  },
  concat() {
    let a = [1, 2, 3];
    for (;;) a = a.concat(a);
  },
  typed_from() {
    return Uint8Array.from({ length: 2 ** 30 });
  },
};

// Memory outside of the heap. What is refused is a RangeError, which a worker may
// catch; it is held while the next one is made.
const buffers = {
  array_buffers() {
    const a = [];
    for (;;) a.push(new Uint8Array(1 << 20));
  },
  small_array_buffers() {
    const a = [];
    for (;;) a.push(new Uint8Array(1 << 12));
  },
  one_array_buffer() {
    return new Uint8Array(2 ** 32);
  },
  resizable() {
    const a = [];
    for (;;) {
      const b = new ArrayBuffer(0, { maxByteLength: 1 << 24 });
      b.resize(1 << 24);
      new Uint8Array(b).fill(1);
      a.push(b);
    }
  },
  resizable_reserve() {
    const a = [];
    for (;;) a.push(new ArrayBuffer(0, { maxByteLength: 2 ** 33 }));
  },
  transfer() {
    const a = [];
    for (;;) a.push(new ArrayBuffer(8).transfer(1 << 22));
  },
  clones() {
    const b = new Uint8Array(1 << 20);
    const a = [];
    for (;;) a.push(structuredClone(b));
  },
  encoder() {
    const a = [];
    const text = "x".repeat(1 << 20);
    for (;;) a.push(new TextEncoder().encode(text));
  },
  blobs() {
    const a = [];
    const bytes = new Uint8Array(1 << 20);
    for (;;) a.push(new Blob([bytes]));
  },
  wasm_memories() {
    const a = [];
    for (;;) a.push(new WebAssembly.Memory({ initial: 100 }));
  },
  wasm_memory() {
    return new WebAssembly.Memory({ initial: 65536 });
  },
  wasm_grow_js() {
    const m = new WebAssembly.Memory({ initial: 1 });
    for (;;) {
      m.grow(16);
      new Uint8Array(m.buffer).fill(1);
    }
  },
  wasm_grow() {
    run(wasmGrow);
  },
};

const recursion = {
  plain() {
    const f = () => f() + 1;
    return f();
  },
  getter() {
    const o = { get x() { return this.x; } };
    return o.x;
  },
  to_string() {
    const o = { toString() { return `${this}`; } };
    return new Response(o);
  },
  to_json() {
    const o = { toJSON() { return JSON.stringify(this); } };
    return Response.json(o);
  },
  deep_json() {
    let a = [];
    for (let i = 0; i < 2e5; i++) a = [a];
    return Response.json(a);
  },
  deep_json_text() {
    return Response.json(JSON.parse("[".repeat(2e5) + "]".repeat(2e5)).length);
  },
  proxy() {
    const p = new Proxy({}, {});
    Object.setPrototypeOf(p, p);
    return p.x;
  },
  proxy_chain() {
    let p = {};
    for (let i = 0; i < 1e5; i++) p = new Proxy(p, {});
    return p.x;
  },
  constructor_of_itself() {
    class A {
      constructor() {
        new A();
      }
    }
    return new A();
  },
  deep_clone() {
    let a = [];
    for (let i = 0; i < 2e5; i++) a = [a];
    return structuredClone(a);
  },
  clone_getter() {
    const o = { get x() { return structuredClone(this); } };
    return structuredClone(o);
  },
  headers() {
    const record = { get a() { new Headers(this); return "x"; } };
    return new Headers(record);
  },
  request() {
    const init = { get method() { return new Request("http://a/", this).method; } };
    return new Request("http://a/", init);
  },
  url() {
    const o = { toString() { return new URL(this).href; } };
    return new URL(o);
  },
  dispatch() {
    const target = new EventTarget();
    target.onx = null;
    target.addEventListener("x", () => {
      target.dispatchEvent(new Event("x"));
    });
    target.dispatchEvent(new Event("x"));
    return new Response("survived");
  },
  replace() {
    const f = () => "x".replace(/x/, f);
    return f();
  },
  sort() {
    const f = () => [2, 1].sort(f);
    return f();
  },
  async_function: async () => {
    const f = async () => {
      await f();
    };
    await f();
  },
  console() {
    let a = [];
    for (let i = 0; i < 1e5; i++) a = [a];
    console.log(a, new Proxy(a, {}));
    return new Response("survived");
  },
  console_getter() {
    class A {
      get [Symbol.toStringTag]() {
        console.log(this);
        return "A";
      }
    }
    console.log(new A());
    return new Response("survived");
  },
  regexp() {
    return new RegExp("(".repeat(1e6) + ")".repeat(1e6));
  },
  regexp_classes() {
    return new RegExp("[^a]{0,1000}".repeat(1e5));
  },
  flat() {
    const a = [];
    a.push(a);
    return a.flat(Infinity);
  },
  join() {
    const a = [];
    const make = () => ({ toString: () => [make()].join() });
    return a.concat(make()).join();
  },
  bind_chain() {
    let f = () => {};
    for (let i = 0; i < 1e5; i++) f = f.bind();
    return f();
  },
  wasm() {
    run(wasmRecursion);
  },
  error_cause() {
    let e = new Error("end");
    for (let i = 0; i < 1e5; i++) e = new Error("x", { cause: e });
    console.log(e);
    throw e;
  },
  stack_trace() {
    Error.stackTraceLimit = Infinity;
    const f = () => f();
    return f();
  },
  then_chain: async () => {
    let p = Promise.resolve();
    for (let i = 0; i < 1e5; i++) {
      const q = p;
      p = new Promise((resolve) => resolve(q));
    }
    await p;
    return new Response("survived");
  },
};

const groups = { cpu, memory, buffers, recursion };

export default {
  async fetch(request) {
    const { 1: group, 2: name } = new URL(request.url).pathname.split("/");
    if (group === "ok") return new Response("ok");
    if (group === "list") return Response.json(Object.fromEntries(Object.entries(groups).map(([k, v]) => [k, Object.keys(v)])));
    const result = await groups[group][name]();
    return result instanceof Response ? result : new Response("returned");
  },
};
