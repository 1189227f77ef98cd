// A tenant that looks for a way out: to the runtime's own functions, the host, code
// from strings, threads. Each probe gives what it found, or nothing.

const specifiers = [
  "edge:ops", "edge:worker", "edge:primordials", "edge:webidl", "edge:fetch", "edge:globals", "edge:streams_host", "edge:", "edge:../ops",
  "node:fs", "node:process", "fs", "process", "/etc/passwd", "file:///etc/passwd", "../../../../../../etc/passwd", "./config.cue", "config.cue",
  "./innocent.js", "innocent.js", "/innocent.js", "file:///innocent.js", "./boot_throw.js", "data:text/javascript,export default 1",
  "https://example.com/x.js", "http://127.0.0.1/x.js", "blob:null/1", "npm:hono", "jsr:@std/path", "wasm:x", "", ".", "..", "/", "\0", "edge:ops\0", "EDGE:OPS",
];

const caught = (f) => {
  try {
    return f();
  } catch {
    return undefined;
  }
};
const succeeds = (f) => caught(() => {
  f();
  return "it worked";
});

const wasm = (...bytes) => new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...bytes]);
const plainMemory = wasm(5, 4, 1, 1, 1, 1, 7, 5, 1, 1, 0x6d, 2, 0);
const sharedMemory = wasm(5, 4, 1, 3, 1, 1, 7, 5, 1, 1, 0x6d, 2, 0);
const importedMemory = wasm(2, 9, 1, 1, 0x61, 1, 0x62, 2, 3, 1, 1);
const isShared = (memory) => (Object.prototype.toString.call(memory.buffer) === "[object SharedArrayBuffer]" ? "a shared memory" : undefined);
const sharedFrom = (make) => caught(() => {
  const made = make();
  if (made instanceof WebAssembly.Memory) return isShared(made);
  return isShared((made instanceof WebAssembly.Instance ? made : new WebAssembly.Instance(made)).exports.m);
});

const probes = {
  imports: async () => {
    const found = [];
    for (const s of specifiers) {
      for (const options of [undefined, { with: { type: "json" } }]) {
        try {
          await import(s, options);
          found.push(s);
        } catch {
          // refused
        }
      }
    }
    return found.join();
  },
  globals: () => Object.getOwnPropertyNames(globalThis).filter((n) => /^(_|op_|native|edge|deno|process|require|module|global$|v8|d8|print|load$|gc$|quit$|read$|version$|Worker$|importScripts|SharedArray)/i.test(n)).join(),
  symbols: () => Object.getOwnPropertySymbols(globalThis).map(String).filter((s) => s !== "Symbol(Symbol.toStringTag)").join(),
  eval: () => succeeds(() => (0, eval)("1")),
  function_constructor: () => succeeds(() => new Function("return 1")),
  constructor_of_functions: () => succeeds(() => (() => {}).constructor("return 1")),
  async_function: () => succeeds(() => (async () => {}).constructor("return 1")),
  generator_function: () => succeeds(() => (function* () {}).constructor("yield 1")),
  async_generator_function: () => succeeds(() => (async function* () {}).constructor("yield 1")),
  reflected_function: () => succeeds(() => Reflect.construct(Function, ["return 1"], Object)),
  subclassed_function: () => succeeds(() => new (class extends Function {})("return 1")),
  function_of_runtime: () => succeeds(() => fetch.constructor("return 1")),
  timer_with_text: () => {
    globalThis.ran = false;
    caught(() => setTimeout("globalThis.ran = true", 0));
    caught(() => setInterval("globalThis.ran = true", 0));
    return new Promise((resolve) => setTimeout(() => resolve(globalThis.ran ? "it ran" : undefined), 5));
  },
  event_handler_text: () => caught(() => {
    globalThis.onerror = "globalThis.ran = 2";
    reportError(new Error("x"));
    return globalThis.ran === 2 ? "it ran" : undefined;
  }),
  shadow_realm: () => typeof ShadowRealm === "undefined" ? undefined : "ShadowRealm",
  shared_array_buffer: () => typeof SharedArrayBuffer === "undefined" ? undefined : "SharedArrayBuffer",
  atomics_wait: () => ["wait", "waitAsync", "notify"].filter((n) => n in Atomics).join(),
  shared_descriptor: () => sharedFrom(() => new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })),
  shared_getter: () => {
    let n = 0;
    return sharedFrom(() => new WebAssembly.Memory({ initial: 1, maximum: 1, get shared() { return n++ > 0; } }));
  },
  shared_proxy: () => sharedFrom(() => new WebAssembly.Memory(new Proxy({}, { get: (_, k) => (k === "shared" ? true : 1) }))),
  shared_subclass: () => sharedFrom(() => new (class extends WebAssembly.Memory {})({ initial: 1, maximum: 1, shared: true })),
  shared_constructor: () => sharedFrom(() => new WebAssembly.Memory.prototype.constructor({ initial: 1, maximum: 1, shared: true })),
  shared_other_target: () => sharedFrom(() => Reflect.construct(WebAssembly.Memory, [{ initial: 1, maximum: 1, shared: true }], WebAssembly.Memory)),
  shared_module: () => sharedFrom(() => new WebAssembly.Module(sharedMemory)),
  shared_module_view: () => sharedFrom(() => new WebAssembly.Module(new DataView(sharedMemory.buffer))),
  shared_import: () => succeeds(() => new WebAssembly.Module(importedMemory)),
  shared_compile: async () => WebAssembly.compile(sharedMemory).then((m) => sharedFrom(() => m), () => undefined),
  shared_instantiate: async () => WebAssembly.instantiate(sharedMemory).then(({ instance }) => isShared(instance.exports.m), () => undefined),
  shared_streaming: async () => {
    if (typeof WebAssembly.instantiateStreaming !== "function") return undefined;
    const response = new Response(sharedMemory, { headers: { "content-type": "application/wasm" } });
    return caught(() => WebAssembly.instantiateStreaming(response).then(({ instance }) => isShared(instance.exports.m), () => undefined));
  },
  shared_after_section: () => sharedFrom(() => new WebAssembly.Module(wasm(0, 2, 1, 0x78, 5, 4, 1, 3, 1, 1, 7, 5, 1, 1, 0x6d, 2, 0))),
  shared_long_numbers: () => sharedFrom(() => new WebAssembly.Module(wasm(5, 0x88, 0x80, 0x80, 0x80, 0, 0x81, 0x80, 0x80, 0x80, 0, 3, 1, 1, 7, 5, 1, 1, 0x6d, 2, 0))),
  shared_by_species: () => {
    // The bytes are replaced between the check and their use.
    const mine = new Uint8Array(plainMemory.length);
    const species = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array), Symbol.species);
    Object.defineProperty(Object.getPrototypeOf(Uint8Array), Symbol.species, { configurable: true, value: function () { return mine; } });
    try {
      return sharedFrom(() => new WebAssembly.Module(plainMemory, { get builtins() { mine.set(sharedMemory); return undefined; }, get importedStringConstants() { mine.set(sharedMemory); return undefined; } }));
    } finally {
      Object.defineProperty(Object.getPrototypeOf(Uint8Array), Symbol.species, species);
    }
  },
  shared_by_options: () => {
    const bytes = plainMemory.slice();
    return sharedFrom(() => new WebAssembly.Module(bytes, { get builtins() { bytes.set(sharedMemory); return undefined; }, get importedStringConstants() { bytes.set(sharedMemory); return undefined; } }));
  },
  shared_by_setters: () => {
    const names = ["at", "end", "bytes"];
    for (const n of names) Object.defineProperty(Object.prototype, n, { configurable: true, get: () => 0, set() {} });
    try {
      return sharedFrom(() => new WebAssembly.Module(sharedMemory));
    } finally {
      for (const n of names) delete Object.prototype[n];
    }
  },
  shared_clone: () => sharedFrom(() => structuredClone(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }))),
  call_sites: () => {
    const before = Error.prepareStackTrace;
    Error.prepareStackTrace = (_, sites) => sites;
    try {
      const found = [];
      const look = (sites) => {
        for (const s of sites) {
          if (/^edge:/.test(s.getFileName() ?? "") && (s.getThis() !== undefined || s.getFunction() !== undefined)) found.push(`${s}`);
          if (/^\/|^file:\/\/\/.*\//.test(s.getFileName() ?? "")) found.push(s.getFileName());
        }
      };
      look(new Error("x").stack);
      caught(() => new Headers({ get a() { look(new Error("x").stack); return "b"; } }));
      caught(() => new Response({ toString() { look(new Error("x").stack); return "b"; } }));
      return found.join();
    } finally {
      Error.prepareStackTrace = before;
    }
  },
  caller: () => caught(() => {
    const f = function () {
      return f.caller ?? f.arguments;
    };
    return f() ? "the caller" : undefined;
  }),
  meta: () => (/\/(tmp|work|home|root|var)\//.test(JSON.stringify({ ...import.meta })) ? JSON.stringify({ ...import.meta }) : undefined),
  stack: () => {
    const stacks = [new Error("x").stack, caught(() => null.x) ?? ""];
    try {
      new URL("x");
    } catch (e) {
      stacks.push(e.stack);
    }
    return stacks.filter((s) => /\/(tmp|work|home|root|var)\//.test(s)).join();
  },
  source_of_runtime: () => [fetch, Response, Headers.prototype.get, console.log].map(String).filter((s) => /op_|native_(?!code)/.test(s)).join(),
  inspect_runtime: () => {
    const seen = new Set();
    const found = [];
    const walk = (value, path) => {
      if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value) || path.length > 200) return;
      seen.add(value);
      if (typeof value === "function" && /^(op_|native_)/.test(value.name)) found.push(path);
      for (const key of Reflect.ownKeys(value)) {
        const desc = Object.getOwnPropertyDescriptor(value, key);
        if (desc === undefined) continue;
        for (const part of [desc.value, desc.get, desc.set]) walk(part, `${path}.${String(key)}`);
      }
      walk(Object.getPrototypeOf(value), `${path}.__proto__`);
    };
    walk(globalThis, "globalThis");
    walk(last.request, "request");
    walk(last.env, "env");
    walk(last.ctx, "ctx");
    return found.join();
  },
  brands: () => {
    const found = [];
    const getters = [[Request, "url"], [Response, "body"], [Headers, "get"], [URL, "href"], [AbortSignal, "aborted"], [Blob, "size"], [ReadableStream, "locked"]];
    for (const [Class, name] of getters) {
      const { get, value } = Object.getOwnPropertyDescriptor(Class.prototype, name);
      for (const self of [Object.create(Class.prototype), new Proxy({}, {}), undefined, globalThis, last.request]) {
        if (self === last.request && Class === Request) continue;
        try {
          Reflect.apply(get ?? value, self, ["x"]);
          found.push(`${Class.name}.${name}`);
        } catch (e) {
          if (!(e instanceof TypeError)) found.push(`${Class.name}.${name}: ${e}`);
        }
      }
    }
    return found.join();
  },
  binding_class: () => succeeds(() => new last.env.OTHER.constructor(1, "x")),
  binding_other_handles: async () => {
    const found = [];
    const { fetch: method } = last.env.OTHER;
    for (const self of [{}, undefined, null, 1, Object.create(last.env.OTHER), new Proxy(last.env.OTHER, {})]) {
      await Reflect.apply(method, self, ["http://a/"]).then(() => found.push(String(self)), () => {});
    }
    return found.join();
  },
  network: () => fetch("http://127.0.0.1/").then(() => "it answered", (e) => (/globalOutbound/.test(e.message) ? undefined : String(e))),
  network_other_schemes: async () => {
    const found = [];
    for (const url of ["file:///etc/passwd", "data:text/plain,x", "blob:null/1", "ftp://a/", "about:blank", "ws://127.0.0.1/"]) {
      await fetch(url).then(() => found.push(url), () => {});
    }
    return found.filter((u) => !u.startsWith("data:")).join();
  },
  environment: () => Object.keys(last.env).filter((k) => k !== "OTHER").join(),
  clock: () => {
    const steps = new Set();
    for (let i = 0; i < 1e4 && steps.size < 2; i++) {
      const t = performance.now();
      const step = Math.abs(t * 10 - Math.round(t * 10));
      if (step > 1e-3) steps.add(step);
    }
    return [...steps].join();
  },
  wait_of_wasm: () => caught(() => {
    // (memory 1) (func (export "f") (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const 0))))
    const module = new WebAssembly.Module(wasm(1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 0x66, 0, 0, 10, 15, 1, 13, 0, 0x41, 0, 0x41, 0, 0x42, 0, 0xfe, 1, 2, 0, 0x1a, 0x0b));
    new WebAssembly.Instance(module).exports.f();
    return "it waited";
  }),
};

let last;

export default {
  async fetch(request, env, ctx) {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "ok") return new Response("ok");
    if (name === "list") return Response.json({ all: Object.keys(probes) });
    last = { request, env, ctx };
    return new Response(`found: ${(await probes[name]()) ?? ""}`);
  },
};
