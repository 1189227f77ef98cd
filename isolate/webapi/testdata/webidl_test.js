const { webidl } = internals;
const c = webidl.converters;

test("integers wrap, clamp or enforce their range", () => {
  const enforce = { enforceRange: true };
  const clamp = { clamp: true };
  const cases = [
    ["octet", 300, undefined, 44],
    ["octet", -1, undefined, 255],
    ["octet", -0.5, undefined, 0],
    ["octet", "12", undefined, 12],
    ["octet", NaN, undefined, 0],
    ["octet", Infinity, undefined, 0],
    ["octet", 300, clamp, 255],
    ["octet", -3, clamp, 0],
    ["octet", NaN, clamp, 0],
    ["octet", 1.5, clamp, 2],
    ["octet", 2.5, clamp, 2],
    ["octet", 254.6, clamp, 255],
    ["octet", 255.9, enforce, 255],
    ["octet", -0.9, enforce, 0],
    ["byte", 200, undefined, -56],
    ["byte", -1.5, clamp, -2],
    ["short", 32768, undefined, -32768],
    ["unsigned short", -1, undefined, 65535],
    ["long", 2 ** 31, undefined, -(2 ** 31)],
    ["long", -(2 ** 31) - 1, undefined, 2 ** 31 - 1],
    ["unsigned long", 2 ** 32 + 5, undefined, 5],
    ["long long", 2 ** 63, undefined, -(2 ** 63)],
    ["long long", 2 ** 53, clamp, 2 ** 53 - 1],
    ["unsigned long long", -1, undefined, 2 ** 64],
    ["unsigned long long", 2 ** 64 + 4096, undefined, 4096],
    ["long", null, undefined, 0],
    ["long", undefined, undefined, 0],
    ["long", true, undefined, 1],
    ["long", { valueOf: () => 7.9 }, undefined, 7],
    ["long", -0, undefined, 0],
  ];
  for (const [type, value, opts, want] of cases) {
    assertEquals(c[type](value, "P", "Argument 1", opts), want, `${type} ${String(value)} ${JSON.stringify(opts)}`);
  }
  for (const value of [256, -1, NaN, Infinity]) assertThrows(() => c.octet(value, "P", "Argument 1", enforce), TypeError, "P: Argument 1 is");
  assertThrows(() => c["long long"](2 ** 53, "P", "Argument 1", enforce), TypeError, "outside the accepted range");
  assertThrows(() => c.long(1n, "P", "Argument 1"), TypeError, "P: Argument 1 is a BigInt");
  assertThrows(() => c.long(Symbol(), "P", "Argument 1"), TypeError, "symbol");
});

test("floating-point numbers", () => {
  assertEquals(c.double("1.5"), 1.5);
  assertEquals(c.double(-0), -0);
  assertEquals(c.float(1.1), Math.fround(1.1));
  assertEquals(c["unrestricted double"](NaN), NaN);
  assertEquals(c["unrestricted float"](1e300), Infinity);
  for (const value of [NaN, Infinity, undefined]) assertThrows(() => c.double(value), TypeError, "not a finite");
  assertThrows(() => c.float(1e300), TypeError);
});

test("strings", () => {
  assertEquals(c.DOMString(null), "null");
  assertEquals(c.DOMString(null, "", "", { treatNullAsEmptyString: true }), "");
  assertEquals(c.DOMString({ toString: () => "x" }), "x");
  assertThrows(() => c.DOMString(Symbol("s"), "P", "Argument 2"), TypeError, "P: Argument 2 is a symbol");
  assertEquals(c.USVString("a\ud800b"), "a\ufffdb");
  assertEquals(c.ByteString("\xff"), "\xff");
  assertThrows(() => c.ByteString("\u0100"), TypeError, "ByteString");
  assertThrows(() => c.ByteString("a".repeat(100) + "\u0100"), TypeError, "ByteString");
  assertEquals(c.ByteString("\xe9".repeat(100)).length, 100);
});

test("objects, functions and symbols", () => {
  for (const value of [null, undefined, 1, "s"]) assertThrows(() => c.object(value, "P", "Argument 1"), TypeError, "is not an object");
  const f = () => {};
  assertEquals([c.object(f), c.Function(f)], [f, f]);
  assertThrows(() => c.Function({}), TypeError, "is not a function");
  assertThrows(() => c.symbol("s"), TypeError);
});

test("buffer sources", () => {
  const buffer = new ArrayBuffer(4);
  for (const value of [buffer, new Uint8Array(buffer), new DataView(buffer)]) assertEquals(c.BufferSource(value), value);
  assertThrows(() => c.BufferSource([1, 2]), TypeError);
  assertThrows(() => c.BufferSource(Object.create(ArrayBuffer.prototype)), TypeError);
  assertThrows(() => c.ArrayBuffer(new Uint8Array(1)), TypeError);
  assertThrows(() => c.ArrayBufferView(buffer), TypeError);
  assertThrows(() => c.Uint8Array(new Int8Array(1)), TypeError, "is not a Uint8Array");
  assertThrows(() => c.DataView(new Int8Array(1)), TypeError);
  const resizable = new ArrayBuffer(4, { maxByteLength: 8 });
  assertThrows(() => c.BufferSource(new Uint8Array(resizable)), TypeError, "resizable");
  assertEquals(c.BufferSource(resizable, "", "", { allowResizable: true }), resizable);
});

test("sequences come from iterables, by the iterator protocol", () => {
  const strings = c["sequence<DOMString>"];
  assertEquals(strings([1, null]), ["1", "null"]);
  assertEquals(strings(new Set(["a"])), ["a"]);
  assertEquals(strings((function* () { yield 1; yield 2; })()), ["1", "2"]);
  assertEquals(strings([, 1]), ["undefined", "1"]);
  for (const value of ["text", 1, null, {}, { [Symbol.iterator]: null }]) assertThrows(() => strings(value), TypeError);
  assertThrows(() => strings({ [Symbol.iterator]: 1 }), TypeError, "not a function");
  assertThrows(() => strings({ [Symbol.iterator]: () => 1 }), TypeError);
  assertThrows(() => strings({ [Symbol.iterator]: () => ({ next: () => 1 }) }), TypeError);
  assertThrows(() => c["sequence<sequence<ByteString>>"]([["a"], ["\u0100"]], "P", "Argument 1"), TypeError, "P: Argument 1, index 1, index 0");
});

test("an array with an iterator of its own is iterated with it", () => {
  const array = [1, 2];
  array[Symbol.iterator] = function* () {
    yield "mine";
  };
  assertEquals(c["sequence<DOMString>"](array), ["mine"]);
  const proto = Object.getPrototypeOf([][Symbol.iterator]());
  const { next } = proto;
  let got;
  proto.next = function () {
    return { done: true };
  };
  try {
    got = c["sequence<DOMString>"]([1, 2]);
  } finally {
    proto.next = next;
  }
  assertEquals(got.length, 0);
});

test("records take own enumerable properties, in order", () => {
  const record = webidl.createRecordConverter(c.ByteString, c.long);
  const log = [];
  const value = new Proxy({ b: "2", a: 1 }, {
    ownKeys(target) {
      log.push("ownKeys");
      return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor(target, key) {
      log.push(`desc ${String(key)}`);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
    get(target, key) {
      log.push(`get ${String(key)}`);
      return target[key];
    },
  });
  assertEquals(Object.entries(record(value)), [["b", 2], ["a", 1]]);
  assertEquals(log, ["ownKeys", "desc b", "get b", "desc a", "get a"]);
  const hidden = Object.defineProperty({ a: 1 }, "x", { value: 1, enumerable: false });
  assertEquals(Object.keys(record(hidden)), ["a"]);
  assertEquals(Object.keys(record(JSON.parse('{"__proto__": 3}'))), ["__proto__"]);
  assertThrows(() => record({ [Symbol("s")]: 1 }), TypeError);
  assertThrows(() => record({ "\u0100": 1 }), TypeError);
  assertThrows(() => record(1), TypeError);
});

test("dictionaries read members in order, base first, and default the rest", () => {
  const convert = webidl.createDictionaryConverter(
    "D",
    [{ key: "zBase", converter: c.long, defaultValue: () => 7 }],
    [
      { key: "b", converter: c.boolean, required: true },
      { key: "a", converter: c.DOMString },
    ],
  );
  const order = [];
  const dict = convert({
    get b() { order.push("b"); return 1; },
    get zBase() { order.push("zBase"); return undefined; },
    get a() { order.push("a"); return "x"; },
  });
  assertEquals(order, ["zBase", "a", "b"]);
  assertEquals({ ...dict }, { zBase: 7, a: "x", b: true });
  assertThrows(() => convert({}, "P", "Argument 1"), TypeError, "'b' is required");
  assertThrows(() => convert(undefined, "P", "Argument 1"), TypeError, "'b' is required");
  assertThrows(() => convert(1, "P", "Argument 1"), TypeError, "P: Argument 1 is not of type D");
  assertThrows(() => convert({ b: 1, a: Symbol() }, "P", "Argument 1"), TypeError, "'a' of 'D' (Argument 1)");
  Object.prototype.a = "polluted";
  try {
    assertEquals(convert(Object.assign(Object.create(null), { b: true })).a, undefined);
  } finally {
    delete Object.prototype.a;
  }
});

test("enums, nullables, unions and interfaces", () => {
  const mode = webidl.createEnumConverter("Mode", ["a", "b"]);
  assertEquals(mode("a"), "a");
  assertThrows(() => mode("c", "P"), TypeError, "P: The provided value 'c' is not a valid enum value of type Mode.");
  const nullable = webidl.createNullableConverter(c.long);
  assertEquals([nullable(null), nullable(undefined), nullable("3")], [null, null, 3]);
  const union = webidl.createUnionConverter([[webidl.isBufferSource, c.BufferSource]], c.USVString);
  assertEquals(union(5), "5");
  assertEquals(union(new Uint8Array(1)), new Uint8Array(1));
  assertThrows(() => webidl.createUnionConverter([])(1), TypeError);
  class Thing { #x; static is(V) { return #x in V; } }
  const thing = webidl.createInterfaceConverter("Thing", Thing.is);
  const t = new Thing();
  assertEquals(thing(t), t);
  for (const value of [{}, 1, null]) assertThrows(() => thing(value, "P", "Argument 1"), TypeError, "P: Argument 1 is not of type Thing");
});

test("promises are adopted and converted", async () => {
  assertEquals(await webidl.createPromiseConverter(c.long)("4"), 4);
  assertEquals(await webidl.createPromiseConverter(c.any)({ then: (f) => f(1) }), 1);
  await assertRejects(webidl.createPromiseConverter(c.double)(Promise.resolve(NaN)), TypeError);
});

test("required arguments are counted", () => {
  webidl.requiredArguments(2, 2, "P");
  assertThrows(() => webidl.requiredArguments(1, 2, "P"), TypeError, "P: 2 arguments required, but only 1 present.");
  assertThrows(() => webidl.requiredArguments(0, 1, "P"), TypeError, "P: 1 argument required, but only 0 present.");
});

class Pairs {
  list = [["a", 1], ["b", 2]];
  #brand = true;
  static of(target) {
    target.#brand;
    return target.list;
  }
}
webidl.configureInterface(Pairs);
webidl.pairIterable("Pairs", Pairs, Pairs.of);

test("a pair iterable has the methods of Web IDL", () => {
  const pairs = new Pairs();
  assertEquals([...pairs], [["a", 1], ["b", 2]]);
  assertEquals([...pairs.keys()], ["a", "b"]);
  assertEquals([...pairs.values()], [1, 2]);
  assertEquals(Pairs.prototype[Symbol.iterator], Pairs.prototype.entries);
  assertEquals([Pairs.prototype.forEach.length, Pairs.prototype.keys.length], [1, 0]);
  assertEquals(Object.keys(Pairs.prototype), ["entries", "keys", "values", "forEach"]);
  const iterator = pairs.entries();
  assertEquals(Object.prototype.toString.call(iterator), "[object Pairs Iterator]");
  assert(Object.getPrototypeOf(Object.getPrototypeOf(iterator)) === Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())));
  assertThrows(() => iterator.next.call({}), TypeError);
  assertThrows(() => pairs.entries.call({}), TypeError);
  const seen = [];
  pairs.forEach(function (value, key, object) {
    seen.push([value, key, object === pairs, this.me]);
  }, { me: 1 });
  assertEquals(seen, [[1, "a", true, 1], [2, "b", true, 1]]);
  assertThrows(() => pairs.forEach(), TypeError, "1 argument required");
  assertThrows(() => pairs.forEach(1), TypeError, "not a function");
});

test("pair iteration is live", () => {
  const pairs = new Pairs();
  const got = [];
  for (const [key] of pairs) {
    got.push(key);
    if (got.length < 4) pairs.list = [...pairs.list, [`n${got.length}`, 0]];
  }
  assertEquals(got, ["a", "b", "n1", "n2", "n3"]);
});
