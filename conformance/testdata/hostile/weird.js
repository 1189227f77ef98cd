// Handlers that end in ways that no handler should. The path names one.

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable(function () {}, {});
  revoke();
  return proxy;
};
const thrower = () => {
  throw new Error("from a trap");
};
const hostileProxy = (target) => new Proxy(target, { get: thrower, has: thrower, ownKeys: thrower, getPrototypeOf: thrower, getOwnPropertyDescriptor: thrower, set: thrower, apply: thrower, construct: thrower });

const thrown = {
  null: () => null,
  undefined: () => undefined,
  number: () => 42,
  nan: () => NaN,
  bigint: () => 10n ** 1000n,
  string: () => "just text",
  empty_string: () => "",
  symbol: () => Symbol("s"),
  function: () => thrower,
  object_without_prototype: () => Object.create(null),
  array: () => [1, [2]],
  revoked_proxy: revoked,
  hostile_proxy: () => hostileProxy({}),
  proxy_of_error: () => hostileProxy(new Error("hidden")),
  stack_getter_throws: () => Object.defineProperty(new Error("x"), "stack", { get: thrower }),
  stack_getter_changes: () => {
    let n = 0;
    return Object.defineProperty(new Error("x"), "stack", { get: () => (n++ === 0 ? "text" : { n }) });
  },
  name_getter_throws: () => Object.defineProperty(new Error("x"), "name", { get: thrower }),
  message_getter_throws: () => Object.defineProperty(new Error("x"), "message", { get: thrower }),
  message_is_object: () => Object.assign(new Error("x"), { message: { toString: thrower } }),
  name_is_symbol: () => Object.assign(new Error("x"), { name: Symbol("s") }),
  stack_is_number: () => Object.assign(new Error("x"), { stack: 7 }),
  stack_is_huge: () => Object.assign(new Error("x"), { stack: "y".repeat(1 << 22) }),
  huge_message: () => new Error("m".repeat(1 << 22)),
  huge_name: () => Object.assign(new Error("x"), { name: "n".repeat(1 << 22) }),
  lone_surrogates: () => new Error("\ud800 \udfff \0 \r\n\u2028 \u001b[31m"),
  log_forgery: () => new Error('x"}\n{"level":"INFO","msg":"forged"}'),
  response: () => new Response("thrown, not returned"),
  promise: () => Promise.resolve(new Response("x")),
  thenable: () => ({ then: thrower }),
  dom_exception: () => new DOMException("x", "AbortError"),
  aggregate: () => new AggregateError([new Error("1"), hostileProxy({})], "x"),
  cause_of_itself: () => {
    const e = new Error("x");
    e.cause = e;
    return e;
  },
  prepared_stack: () => {
    Error.prepareStackTrace = () => hostileProxy({});
    return new Error("x");
  },
};

const returned = {
  nothing: () => undefined,
  null: () => null,
  text: () => "text",
  object: () => ({ status: 200, body: "x" }),
  array: () => [new Response("x")],
  prototype: () => Response.prototype,
  inherits: () => Object.create(new Response("x")),
  proxy: () => new Proxy(new Response("x"), {}),
  hostile_proxy: () => hostileProxy({}),
  revoked_proxy: revoked,
  error_response: () => Response.error(),
  request: () => new Request("http://a/"),
  used: async () => {
    const r = new Response("x");
    await r.text();
    return r;
  },
  locked: () => {
    const r = new Response("x");
    r.body.getReader();
    return r;
  },
  same_twice: (() => {
    const r = new Response("x");
    return () => r;
  })(),
  thenable_that_throws: () => ({ then: thrower }),
  promise_with_then: () => Object.assign(Promise.resolve(1), { then: thrower }),
  promise_of_other_class: () => {
    class Odd extends Promise {
      static get [Symbol.species]() {
        return thrower;
      }
    }
    return Odd.resolve("text");
  },
  constructor_getter: () => Object.defineProperty(Promise.resolve(new Response("x")), "constructor", { get: thrower }),
  rejects_later: async () => {
    await null;
    throw null;
  },
  class_that_looks: () => new (class Response {})(),
};

export default {
  fetch(request) {
    const { 1: how, 2: name } = new URL(request.url).pathname.split("/");
    if (how === "ok") return new Response("ok");
    if (how === "list") return Response.json({ thrown: Object.keys(thrown), returned: Object.keys(returned) });
    if (how === "returned") return returned[name]();
    if (how === "rejected") return Promise.reject(thrown[name]());
    throw thrown[name]();
  },
};
