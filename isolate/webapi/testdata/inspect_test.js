const { inspect } = internals;

const check = (value, want) => assertEquals(inspect(value), want);

test("primitives are shown as their literals", () => {
  check("it's", `"it's"`);
  check("plain", "'plain'");
  check("a\nb\\\u0007", String.raw`'a\nb\\\u0007'`);
  check(`both " and '`, String.raw`'both " and \''`);
  check("\ud800", String.raw`'\ud800'`);
  check(-0, "-0");
  check(1e21, "1e+21");
  check(12n, "12n");
  check(Symbol("s"), "Symbol(s)");
  check(undefined, "undefined");
  check(null, "null");
  check(true, "true");
});

test("plain objects and arrays", () => {
  check({}, "{}");
  check({ a: 1, "b-c": "x", [Symbol("k")]: null }, "{ a: 1, 'b-c': 'x', [Symbol(k)]: null }");
  check([1, "two", [3]], "[ 1, 'two', [ 3 ] ]");
  check([, 1, , ,], "[ <1 empty item>, 1, <2 empty items> ]");
  check(Object.assign([1], { extra: true }), "[ 1, extra: true ]");
  check(Object.create(null), "[Object: null prototype] {}");
  check(new Array(1e9), "[ <10000 empty items>, ... 999990000 more items ]");
});

test("class instances name their class", () => {
  class Foo {
    a = 1;
    #hidden = 2;
    get computed() { throw new Error("called"); }
  }
  check(new Foo(), "Foo { a: 1 }");
  check(new (class extends Foo {})(), "Foo { a: 1 }");
  check(new (class Bar extends Array {})(3), "Bar(3) [ <3 empty items> ]");
  check({ [Symbol.toStringTag]: "T" }, "Object [T] { [Symbol(Symbol.toStringTag)]: 'T' }");
});

test("accessors are named, never called", () => {
  const o = {
    get g() { throw new Error("called"); },
    set s(v) {},
    get gs() { throw new Error("called"); },
    set gs(v) {},
  };
  check(o, "{ g: [Getter], s: [Setter], gs: [Getter/Setter] }");
  const hostile = {};
  for (const key of ["constructor", Symbol.toStringTag, "name", "length", "message"]) {
    Object.defineProperty(hostile, key, { get() { throw new Error("called"); }, enumerable: true });
  }
  check(hostile, "{\n  constructor: [Getter],\n  name: [Getter],\n  length: [Getter],\n  message: [Getter],\n  [Symbol(Symbol.toStringTag)]: [Getter]\n}");
});

test("functions and classes", () => {
  check(function f() {}, "[Function: f]");
  check(() => {}, "[Function (anonymous)]");
  check(async function g() {}, "[AsyncFunction: g]");
  check(class A {}, "[class A]");
  check(class B extends Map {}, "[class B extends Map]");
  check(Object.assign(function h() {}, { x: 1 }), "[Function: h] { x: 1 }");
});

test("collections show their contents", () => {
  check(new Map([["a", { b: 1 }]]), "Map(1) { 'a' => { b: 1 } }");
  check(new Set([1, "x"]), "Set(2) { 1, 'x' }");
  check(new Map([[1, 2]]).entries(), "[Map Iterator] { 1 => 2 }".replace("[Map Iterator]", "Object [Map Iterator]"));
  check(new WeakMap(), "WeakMap { <items unknown> }");
  check(new WeakSet(), "WeakSet { <items unknown> }");
  check(new (class Mine extends Map {})([[1, 2]]), "Mine(1) { 1 => 2 }");
  check(Object.create(Map.prototype), "Map {}");
});

test("promises show their state", async () => {
  // Other engines that run this test put properties of their own on promises.
  const match = (promise, re) => assert(re.test(inspect(promise)), inspect(promise));
  match(Promise.resolve(4), /^Promise \{\s+4[, ]/);
  match(new Promise(() => {}), /^Promise \{\s+<pending>[, ]/);
  const p = Promise.reject("no");
  match(p, /^Promise \{\s+<rejected> 'no'[, ]/);
  await p.catch(() => {});
});

test("proxies are looked through, without their traps", () => {
  const traps = new Proxy({}, { get() { throw new Error("trap"); } });
  check(new Proxy({ a: 1 }, traps), "{ a: 1 }");
  check(new Proxy([1], traps), "[ 1 ]");
  check(new Proxy(new Proxy({ deep: 1 }, traps), traps), "{ deep: 1 }");
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  check(proxy, "<Revoked Proxy>");
  check(Object.setPrototypeOf({ x: 1 }, new Proxy({}, traps)), "{ x: 1 }");
});

test("binary data", () => {
  check(new Uint8Array([1, 2]), "Uint8Array(2) [ 1, 2 ]");
  check(new BigInt64Array([1n]), "BigInt64Array(1) [ 1n ]");
  check(new Uint8Array([1, 255]).buffer, "ArrayBuffer { [Uint8Contents]: <01 ff>, byteLength: 2 }");
  check(new DataView(new ArrayBuffer(3)), "DataView { byteLength: 3 }");
});

test("dates, expressions and boxed values", () => {
  check(new Date(0), "1970-01-01T00:00:00.000Z");
  check(new Date(NaN), "Invalid Date");
  check(/a\/b/gi, "/a\\/b/gi");
  check(Object(1), "[Number: 1]");
  check(Object("s"), "[String: 's']");
  check(Object.assign(Object(true), { x: 1 }), "[Boolean: true] { x: 1 }");
  check(Object(Symbol("q")), "[Symbol: Symbol(q)]");
});

test("errors show their stack, properties, cause and errors", () => {
  const cause = new TypeError("inner");
  const error = Object.assign(new Error("outer", { cause }), { code: "E_X" });
  const text = inspect(error);
  assert(text.startsWith("Error: outer\n    at "), text);
  assert(text.includes("{\n  code: 'E_X',\n  [cause]: TypeError: inner\n      at "), text);
  const aggregate = inspect(new AggregateError([new Error("one")], "many"));
  assert(aggregate.startsWith("AggregateError: many\n") && aggregate.includes("[errors]: [\n    Error: one"), aggregate);
  const bare = new Error("no stack");
  bare.stack = undefined;
  check(bare, "[Error: no stack]");
  assert(inspect(new DOMException("gone", "AbortError")).startsWith("AbortError: gone\n"));
});

test("a getter for stack is not called", () => {
  const error = new Error("x");
  Object.defineProperty(error, "stack", { get() { throw new Error("called"); } });
  check(error, "[Error: x]");
});

test("circular references are numbered", () => {
  const a = { name: "a" };
  a.self = a;
  a.list = [a, { a }];
  check(a, "<ref *1> {\n  name: 'a',\n  self: [Circular *1],\n  list: [ [Circular *1], { a: [Circular *1] } ]\n}");
});

test("depth, items and characters are bounded", () => {
  check({ a: { b: { c: { d: { e: { f: 1 } } } } } }, "{ a: { b: { c: { d: { e: [Object] } } } } }");
  check([[[[[[1]]]]]], "[ [ [ [ [ [Array] ] ] ] ] ]");
  const many = inspect(Array.from({ length: 250 }, (_, i) => i));
  assert(many.endsWith("... 150 more items\n]"), many);
  assert(inspect(new Set(Array(300).keys())).includes("... 200 more items"));
  const wide = inspect(Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`k${i}`, i])));
  assert(wide.includes("... 50 more properties"), wide);
  const long = inspect("x".repeat(10005));
  assertEquals(long.slice(-27), "'... 5 more characters".padStart(27, "x"));
  const big = inspect(Array(90).fill(Array(90).fill({ text: "y".repeat(900) })));
  assert(big.length < 30000, String(big.length));
});

test("a very deep or hostile value does not throw", () => {
  let deep = {};
  for (let i = 0; i < 1e5; i++) deep = { deep };
  assert(inspect(deep).includes("[Object]"));
  check({ toString: null, valueOf: null, inspect: 1 }, "{ toString: null, valueOf: null, inspect: 1 }");
});

test("long content is broken into lines", () => {
  const value = { first: "a".repeat(40), second: "b".repeat(40) };
  check(value, `{\n  first: '${"a".repeat(40)}',\n  second: '${"b".repeat(40)}'\n}`);
  const lines = inspect(Array.from({ length: 60 }, (_, i) => i)).split("\n");
  assert(lines.every((line) => line.length <= 80), lines.join("\n"));
  assert(lines.length < 8, lines.join("\n"));
});

test("objects of the platform show their attributes", () => {
  check(new EventTarget(), "EventTarget {}");
  const text = inspect(new CustomEvent("ping", { detail: { x: 1 } }));
  assert(text.startsWith("CustomEvent {\n  detail: { x: 1 },\n") && text.includes("type: 'ping'"), text);
  check(AbortSignal.abort("why"), "AbortSignal { aborted: true, reason: 'why', onabort: null }");
  check(Object.create(AbortSignal.prototype), "AbortSignal {}");
});

test("showing a request or a response leaves its body alone", async () => {
  const response = new Response("hello", { status: 201, headers: { a: "b" } });
  const text = inspect(response);
  assert(text.startsWith("Response {\n") && text.includes("status: 201") && text.includes("headers: Headers { 'a' => 'b'"), text);
  assert(!text.includes("body:"), text);
  assertEquals(await response.text(), "hello");
  check(new URLSearchParams("a=1&b=2"), "URLSearchParams { 'a' => '1', 'b' => '2' }");
});
