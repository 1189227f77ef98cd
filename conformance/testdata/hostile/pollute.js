// A tenant that breaks the language under the runtime's feet, then makes ordinary
// use of the platform. The path names what is broken, which stays so for the rest
// of the isolate's life. The answer lists what stopped working.
//
// Everything that this file itself needs is captured before.

const FunctionPrototype = (() => {}).__proto__;
const call = FunctionPrototype.call.bind(FunctionPrototype.call);
const G = globalThis;
const {
  AbortController, Array, Blob, Error, EventTarget, Event, FormData, Headers, JSON, Math, Number, Object, Promise, ReadableStream, Reflect,
  RegExp, Request, Response, String, Symbol, TextDecoder, TextEncoder, TransformStream, URL, URLSearchParams, Uint8Array, Map, Set, WeakMap,
  WeakSet, WeakRef, ArrayBuffer, DataView, Date, BigInt, Boolean, console, crypto, structuredClone, setTimeout, queueMicrotask, atob, btoa,
} = G;
const { subtle } = crypto;
const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
const { ownKeys, deleteProperty } = Reflect;
const { log } = console;
const { digest } = subtle;
const { stringify } = JSON;

// Methods by arity: a rest parameter would need the array iterator.
const m0 = (Class, name) => {
  const f = Class.prototype[name];
  return (self) => call(f, self);
};
const m1 = (Class, name) => {
  const f = Class.prototype[name];
  return (self, a) => call(f, self, a);
};
const m2 = (Class, name) => {
  const f = Class.prototype[name];
  return (self, a, b) => call(f, self, a, b);
};
const getter = (Class, name) => {
  const f = getOwnPropertyDescriptor(Class.prototype, name).get;
  return (self) => call(f, self);
};

const text = m0(Response, "text");
const json = m0(Response, "json");
const bytes = m0(Response, "bytes");
const formData = m0(Response, "formData");
const cloneOf = m0(Response, "clone");
const headersOf = getter(Response, "headers");
const statusOf = getter(Response, "status");
const requestText = m0(Request, "text");
const has = m1(Headers, "has");
const get = m1(Headers, "get");
const append = m2(Headers, "append");
const href = getter(URL, "href");
const urlOf = getter(Request, "url");
const pathname = getter(URL, "pathname");
const slice = m1(String, "slice");
const pathOf = (url) => slice(pathname(url), 1);
const searchParams = getter(URL, "searchParams");
const param = m1(URLSearchParams, "get");
const paramsText = m0(URLSearchParams, "toString");
const formAppend = m2(FormData, "append");
const formGet = m1(FormData, "get");
const blobText = m0(Blob, "text");
const encode = m1(TextEncoder, "encode");
const decode = m1(TextDecoder, "decode");
const enqueue = m1(G.ReadableStreamDefaultController, "enqueue");
const close = m0(G.ReadableStreamDefaultController, "close");
const getWriter = m0(G.WritableStream, "getWriter");
const write = m1(G.WritableStreamDefaultWriter, "write");
const closeWriter = m0(G.WritableStreamDefaultWriter, "close");
const readableOf = getter(TransformStream, "readable");
const writableOf = getter(TransformStream, "writable");
const listen = m2(EventTarget, "addEventListener");
const dispatch = m1(EventTarget, "dispatchEvent");
const abort = m0(AbortController, "abort");
const signalOf = getter(AbortController, "signal");
const aborted = getter(G.AbortSignal, "aborted");
const byteLength = getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get;
const lengthOf = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), "length").get;
const responseJSON = Response.json;
const redirect = Response.redirect;
const hasOwn = Object.hasOwn;
const encoder = new TextEncoder();

// What is used after the damage. Each check gives true.
const checks = {
  text: async () => await text(new Response("x")) === "x",
  bytes: async () => call(lengthOf, await bytes(new Response("abc"))) === 3,
  json: async () => (await json(new Response('{"a":1}'))).a === 1,
  response_json: async () => await text(call(responseJSON, Response, 7)) === "7",
  redirect: async () => get(headersOf(call(redirect, Response, "http://a/b")), "location") === "http://a/b",
  status: async () => statusOf(new Response("x")) === 200,
  clone: async () => {
    const r = new Response("x");
    const c = cloneOf(r);
    return await text(r) === "x" && await text(c) === "x";
  },
  stream: async () => await text(new Response(new ReadableStream({
    __proto__: null,
    start(c) {
      enqueue(c, encode(encoder, "a"));
      enqueue(c, encode(encoder, "b"));
      close(c);
    },
  }))) === "ab",
  clone_of_stream: async () => {
    const r = new Response(new ReadableStream({
      __proto__: null,
      start(c) {
        enqueue(c, encode(encoder, "ab"));
        close(c);
      },
    }));
    const c = cloneOf(r);
    return await text(r) === "ab" && await text(c) === "ab";
  },
  transform: async () => {
    const t = new TransformStream();
    const w = getWriter(writableOf(t));
    write(w, encode(encoder, "abc"));
    closeWriter(w);
    return await text(new Response(readableOf(t))) === "abc";
  },
  request: async () => await requestText(new Request("http://a/", { __proto__: null, method: "POST", body: "x" })) === "x",
  headers: async () => {
    const h = new Headers({ __proto__: null, a: "b" });
    append(h, "A", "c");
    return get(h, "a") === "b, c" && has(h, "a") && !has(h, "b");
  },
  url: async () => {
    const u = new URL("../c?q=1", "http://user@example.com:8080/a/b");
    return href(u) === "http://user@example.com:8080/c?q=1" && param(searchParams(u), "q") === "1";
  },
  params: async () => paramsText(new URLSearchParams("a=1&b=%20")) === "a=1&b=+",
  form: async () => {
    const f = new FormData();
    formAppend(f, "a", "b");
    return formGet(await formData(new Response(f)), "a") === "b";
  },
  blob: async () => await blobText(new Blob()) === "",
  text_codec: async () => decode(new TextDecoder(), encode(encoder, "\u00e9")) === "\u00e9",
  base64: async () => atob(btoa("abc")) === "abc",
  timer: async () => {
    let resolve;
    const p = new Promise((r) => { resolve = r; });
    setTimeout(() => resolve(true), 1);
    return await p;
  },
  microtask: async () => {
    let ran = false;
    queueMicrotask(() => { ran = true; });
    await undefined;
    return ran;
  },
  clone_value: async () => structuredClone({ a: 1n }).a === 1n,
  digest: async () => call(byteLength, await call(digest, subtle, "SHA-256", encode(encoder, "x"))) === 32,
  event: async () => {
    const t = new EventTarget();
    let n = 0;
    listen(t, "x", () => n++);
    dispatch(t, new Event("x"));
    return n === 1;
  },
  abort: async () => {
    const c = new AbortController();
    abort(c);
    return aborted(signalOf(c));
  },
  console: async () => {
    call(log, console, "still here %s", "?", 1, "two");
    return true;
  },
  subrequest: async (env, fetchOther) => await text(await fetchOther("http://other/?n=2")) === "2:90",
};
const names = Object.keys(checks);
// A promise that is resolved with an object asks Object.prototype for then.
const resolvesObjects = {
  __proto__: null, bytes: true, json: true, stream: true, clone_of_stream: true, transform: true, form: true, digest: true, subrequest: true,
};

const thrower = function () {
  throw new Error("polluted");
};

/** Replaces every method and getter of an object. */
const poison = (object) => {
  const keys = ownKeys(object);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key === "constructor" || key === "prototype") continue;
    const desc = getOwnPropertyDescriptor(object, key);
    if (!desc.configurable && !desc.writable) continue;
    if (typeof desc.value === "function") {
      if (desc.configurable) defineProperty(object, key, { __proto__: null, value: thrower, writable: true, configurable: true });
      else object[key] = thrower;
    }
    if (typeof desc.get === "function" && desc.configurable) defineProperty(object, key, { __proto__: null, get: thrower, set: thrower, configurable: true });
  }
};

const TypedArray = getPrototypeOf(Uint8Array);
const ArrayIterator = getPrototypeOf([][Symbol.iterator]());
const StringIterator = getPrototypeOf(""[Symbol.iterator]());
const MapIterator = getPrototypeOf(new Map().entries());
const SetIterator = getPrototypeOf(new Set().values());
const Iterator = getPrototypeOf(ArrayIterator);
const Generator = getPrototypeOf(function* () {}).prototype;
const AsyncGenerator = getPrototypeOf(async function* () {}).prototype;
const AsyncIterator = getPrototypeOf(AsyncGenerator);

/**
 * Getters and setters that see what passes: elements of lists are data of the
 * tenant's own, functions and named fields would be the runtime's.
 */
const spied = [];
const spy = (object, key) => {
  defineProperty(object, key, {
    __proto__: null,
    configurable: true,
    get() {
      return undefined;
    },
    set(value) {
      if (typeof key !== "number" || typeof value === "function") spied[spied.length] = `${key} of ${typeof value}`;
      defineProperty(this, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    },
  });
};
setPrototypeOf(spied, null);

const kinds = {
  nothing() {},
  object_then() {
    Object.prototype.then = function () {};
  },
  object_then_throws() {
    defineProperty(Object.prototype, "then", { __proto__: null, configurable: true, get: () => undefined, set: thrower });
  },
  object_methods: () => poison(Object.prototype),
  object_to_primitive() {
    Object.prototype[Symbol.toPrimitive] = thrower;
  },
  object_names() {
    const keys = ["value", "get", "set", "done", "next", "return", "writable", "enumerable", "configurable", "stack", "message", "name", "status",
      "statusText", "headers", "body", "signal", "method", "mode", "fatal", "ignoreBOM", "stream", "cause", "type", "size", "handle", "source", "promise",
      "resolve", "reject", "highWaterMark", "code", "id", "length", "url", "key", "shared", "reason", "kind", "start", "pull", "cancel", "write",
      "close", "transform", "flush", "once", "capture", "passive", "bubbles", "path", "href", "fetch", "default", "toJSON", "index",
      "raw", "state", "reader", "queue", "listeners", "parent", "target", "handler", "callback", "answered", "ended", "waiting"];
    for (let i = 0; i < keys.length; i++) if (!hasOwn(Object.prototype, keys[i])) spy(Object.prototype, keys[i]);
  },
  object_statics: () => poison(Object),
  array_setters() {
    for (let i = 0; i < 64; i++) spy(Array.prototype, i);
  },
  object_index_setters() {
    for (let i = 0; i < 64; i++) spy(Object.prototype, i);
  },
  array_methods: () => poison(Array.prototype),
  array_statics: () => poison(Array),
  array_species() {
    defineProperty(Array, Symbol.species, { __proto__: null, configurable: true, get: thrower });
  },
  array_iterator() {
    delete Array.prototype[Symbol.iterator];
    ArrayIterator.next = thrower;
  },
  iterators() {
    const all = [ArrayIterator, StringIterator, MapIterator, SetIterator, Iterator, Generator, AsyncGenerator, AsyncIterator];
    for (let i = 0; i < all.length; i++) poison(all[i]);
  },
  array_prototype_is_null: () => setPrototypeOf(Array.prototype, null),
  promise_methods: () => poison(Promise.prototype),
  promise_statics() {
    poison(Promise);
    G.Promise = null;
  },
  promise_constructor() {
    Promise.prototype.constructor = function () {
      throw new Error("polluted");
    };
  },
  promise_species() {
    defineProperty(Promise, Symbol.species, { __proto__: null, configurable: true, get: thrower });
  },
  function_methods: () => poison(FunctionPrototype),
  function_prototype_is_null: () => setPrototypeOf(FunctionPrototype, null),
  reflect() {
    poison(Reflect);
    G.Reflect = null;
  },
  strings() {
    poison(String.prototype);
    poison(String);
  },
  regexps() {
    poison(RegExp.prototype);
    RegExp.prototype.exec = () => null;
    RegExp.prototype.test = () => true;
  },
  maps() {
    const all = [Map, Set, WeakMap, WeakSet, WeakRef];
    for (let i = 0; i < all.length; i++) poison(all[i].prototype);
  },
  typed_arrays() {
    const all = [TypedArray.prototype, TypedArray, Uint8Array.prototype, ArrayBuffer.prototype, DataView.prototype];
    for (let i = 0; i < all.length; i++) poison(all[i]);
  },
  typed_array_species() {
    const wrong = function () {
      return new Uint8Array(1 << 10);
    };
    defineProperty(TypedArray, Symbol.species, { __proto__: null, configurable: true, get: () => wrong });
    Uint8Array.prototype.constructor = wrong;
    defineProperty(ArrayBuffer, Symbol.species, { __proto__: null, configurable: true, get: thrower });
  },
  json() {
    poison(JSON);
    Object.prototype.toJSON = thrower;
  },
  numbers() {
    const all = [Number, Number.prototype, Math, Date, Date.prototype, BigInt, BigInt.prototype, Boolean.prototype, Symbol, Symbol.prototype];
    for (let i = 0; i < all.length; i++) poison(all[i]);
  },
  errors() {
    Error.prepareStackTrace = thrower;
    Error.captureStackTrace = thrower;
    Error.stackTraceLimit = { valueOf: thrower };
    poison(Error.prototype);
    setPrototypeOf(Error.prototype, null);
  },
  platform_classes() {
    const keys = ownKeys(G);
    for (let i = 0; i < keys.length; i++) {
      const value = getOwnPropertyDescriptor(G, keys[i]).value;
      if (typeof value !== "function" || typeof value.prototype !== "object" || value.prototype === null) continue;
      const made = [Response, Request, Headers, URL, URLSearchParams, FormData, Blob, EventTarget, Event, AbortController, ReadableStream, TransformStream,
        TextEncoder, TextDecoder];
      for (let j = 0; j < made.length; j++) {
        if (value === made[j]) {
          poison(value.prototype);
          poison(value);
        }
      }
    }
    const more = ["WritableStream", "WritableStreamDefaultWriter", "ReadableStreamDefaultReader", "ReadableStreamDefaultController", "AbortSignal", "DOMException"];
    for (let i = 0; i < more.length; i++) poison(G[more[i]].prototype);
  },
  globals() {
    const keys = ownKeys(G);
    for (let i = 0; i < keys.length; i++) {
      try {
        if (!deleteProperty(G, keys[i])) G[keys[i]] = null;
      } catch {
        // not this one
      }
    }
  },
  globals_null() {
    const keys = ownKeys(G);
    for (let i = 0; i < keys.length; i++) {
      try {
        G[keys[i]] = null;
      } catch {
        // not this one
      }
    }
  },
  global_prototype() {
    try {
      setPrototypeOf(G, null);
    } catch {
      // immutable
    }
  },
  frozen() {
    const keys = ownKeys(G);
    for (let i = 0; i < keys.length; i++) {
      const value = getOwnPropertyDescriptor(G, keys[i]).value;
      if ((typeof value !== "function" && typeof value !== "object") || value === null || value === G) continue;
      if (typeof value.prototype === "object" && value.prototype !== null) freeze(value.prototype);
      freeze(value);
    }
    const more = [TypedArray, TypedArray.prototype, ArrayIterator, Iterator, Generator, AsyncGenerator, AsyncIterator];
    for (let i = 0; i < more.length; i++) freeze(more[i]);
  },
};

const kindNames = Object.keys(kinds);
let broken = "";

async function examine(kind, env, fetchOther, done) {
  let failures = "";
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (kind === "object_then" && resolvesObjects[name]) continue;
    try {
      if (await checks[name](env, fetchOther) !== true) failures += `${name}: wrong; `;
    } catch (error) {
      let why = "?";
      try {
        why = `${error.name} ${error.message} ${error.stack}`;
      } catch {
        // cannot be shown
      }
      failures += `${name}: ${why}; `;
    }
  }
  for (let i = 0; i < spied.length; i++) failures += `internals passed through a setter: ${spied[i]}; `;
  done(failures);
}

export default {
  fetch(request, env) {
    const kind = pathOf(new URL(urlOf(request)));
    if (kind === "ok") return new Response("ok");
    if (kind === "list") return new Response(stringify({ all: kindNames }));
    const other = env.OTHER;
    const method = other.fetch;
    const fetchOther = (u) => call(method, other, u);
    if (broken === "") {
      broken = kind;
      kinds[kind]();
    }
    let controller;
    const body = new ReadableStream({
      __proto__: null,
      start(c) {
        controller = c;
      },
    });
    examine(kind, env, fetchOther, (failures) => {
      enqueue(controller, encode(encoder, failures === "" ? "intact" : failures));
      close(controller);
    });
    return new Response(body);
  },
};

