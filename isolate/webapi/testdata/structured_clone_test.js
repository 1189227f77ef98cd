// HTML Standard: structuredClone.

const refused = (fn) => {
  const error = assertThrows(fn, DOMException);
  assertEquals([error.name, error.code], ["DataCloneError", 25]);
};

test("primitives", () => {
  for (const value of [undefined, null, true, 0, -0, NaN, 1.5, 10n ** 30n, "", "\ud800\u0000"]) {
    assert(Object.is(structuredClone(value), value), String(value));
  }
  refused(() => structuredClone(Symbol("x")));
  refused(() => structuredClone(() => {}));
});

test("objects keep their own enumerable string properties", () => {
  const source = Object.create({ inherited: 1 }, { hidden: { value: 1 }, shown: { value: { deep: [1, , 3] }, enumerable: true } });
  source[Symbol("s")] = 1;
  const clone = structuredClone(source);
  assertEquals(Reflect.ownKeys(clone), ["shown"]);
  assert(Object.getPrototypeOf(clone) === Object.prototype);
  assertEquals(clone.shown.deep.length, 3);
  assert(!(1 in clone.shown.deep) && clone.shown.deep !== source.shown.deep);
  class Point {
    #hidden = 1;
    x = 2;
  }
  assertEquals(structuredClone(new Point()), { x: 2 });
  assertEquals(structuredClone({ get x() { return 7; } }), { x: 7 });
  const error = new RangeError("x");
  assert(assertThrows(() => structuredClone({ get x() { throw error; } })) === error);
});

test("what the language has", () => {
  const source = {
    date: new Date(5), regexp: /a+/gi, map: new Map([[{ k: 1 }, new Set([1, "a"])]]), boxed: [Object(1), Object("s"), Object(true), Object(2n)],
    buffer: new Uint8Array([1, 2, 3]).buffer, view: new Uint16Array([4, 5]), data: new DataView(new ArrayBuffer(4), 1, 2), big: new BigInt64Array([1n]),
  };
  const clone = structuredClone(source);
  assertEquals(clone.date, source.date);
  assertEquals(String(clone.regexp), "/a+/gi");
  assertEquals(clone.map, source.map);
  assertEquals(clone.boxed.map((o) => typeof o + o), ["object1", "objects", "objecttrue", "object2"]);
  assertEquals(clone.buffer, source.buffer);
  assert(clone.buffer !== source.buffer);
  assertEquals(clone.view, source.view);
  assertEquals([clone.data.byteOffset, clone.data.byteLength, clone.data.buffer.byteLength], [1, 2, 4]);
  assertEquals(clone.big, source.big);
});

test("identity and cycles", () => {
  const shared = {};
  const source = { a: shared, b: shared, list: [] };
  source.self = source;
  source.list.push(source.list);
  const clone = structuredClone(source);
  assert(clone.a === clone.b && clone.self === clone && clone.list[0] === clone.list && clone.a !== shared);
  const buffer = new ArrayBuffer(8);
  const views = structuredClone([new Uint8Array(buffer), new Uint8Array(buffer, 4)]);
  assert(views[0].buffer === views[1].buffer);
});

test("errors", () => {
  for (const Class of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
    const clone = structuredClone(new Class("text", { cause: { why: 1 } }));
    assert(clone instanceof Class && Object.getPrototypeOf(clone) === Class.prototype, Class.name);
    assertEquals([clone.name, clone.message], [Class.name, "text"]);
  }
});

test("DOMException", () => {
  const source = new DOMException("text", "AbortError");
  const clone = structuredClone(source);
  assert(clone instanceof DOMException && clone !== source);
  assertEquals([clone.name, clone.message, clone.code], ["AbortError", "text", 20]);
});

test("what cannot be cloned", () => {
  for (const value of [new WeakMap(), new WeakSet(), new WeakRef({}), Promise.resolve(), new Proxy({}, {}), (function* () {})(), Symbol.iterator, class {}]) {
    refused(() => structuredClone(value));
    refused(() => structuredClone({ deep: [value] }));
  }
});

test("platform objects that are not serializable", () => {
  for (const value of [new URL("http://h"), new URLSearchParams(), new TextDecoder(), new TextEncoder(), new AbortController(), new EventTarget(), crypto]) {
    refused(() => structuredClone(value));
    refused(() => structuredClone([value]));
  }
  class Mine extends EventTarget {}
  refused(() => structuredClone(new Mine()));
});

test("transfer", () => {
  const buffer = new Uint8Array([1, 2, 3]).buffer;
  const clone = structuredClone({ buffer, view: new Uint8Array(buffer, 1) }, { transfer: [buffer] });
  assertEquals([buffer.byteLength, buffer.detached], [0, true]);
  assertEquals(new Uint8Array(clone.buffer), new Uint8Array([1, 2, 3]));
  assert(clone.view.buffer === clone.buffer);
  const unused = new ArrayBuffer(4);
  assertEquals(structuredClone(1, { transfer: [unused] }), 1);
  assertEquals(unused.detached, true);
  assertEquals(structuredClone([1], { transfer: new Set() }), [1]);
});

test("transfer lists that are refused leave their buffers alone", () => {
  const buffer = new ArrayBuffer(4);
  refused(() => structuredClone(1, { transfer: [buffer, buffer] }));
  refused(() => structuredClone(1, { transfer: [buffer, {}] }));
  refused(() => structuredClone(1, { transfer: [new Uint8Array(buffer)] }));
  refused(() => structuredClone(1, { transfer: [new ReadableStream()] }));
  refused(() => structuredClone(() => {}, { transfer: [buffer] }));
  assertEquals([buffer.byteLength, buffer.detached], [4, false]);
  const gone = new ArrayBuffer(4);
  structuredClone(1, { transfer: [gone] });
  refused(() => structuredClone(1, { transfer: [gone] }));
  refused(() => structuredClone(gone));
  refused(() => structuredClone({ gone }));
});

test("arguments", () => {
  assertThrows(() => structuredClone(), TypeError, "1 argument required");
  assertThrows(() => structuredClone(1, 2), TypeError);
  assertThrows(() => structuredClone(1, { transfer: 1 }), TypeError);
  assertThrows(() => structuredClone(1, { transfer: [1] }), TypeError);
  assertEquals(structuredClone(1, null), 1);
  assertEquals(structuredClone.length, 1);
});
