const { primordials } = internals;

test("methods take their receiver first", () => {
  const { ArrayPrototypePush, StringPrototypeSlice, MapPrototypeGet } = primordials;
  const list = [];
  assertEquals(ArrayPrototypePush(list, "a", "b"), 2);
  assertEquals(list, ["a", "b"]);
  assertEquals(StringPrototypeSlice("hello", 1, 3), "el");
  assertEquals(MapPrototypeGet(new Map([[1, 2]]), 1), 2);
});

test("getters, setters and symbols have names", () => {
  const p = primordials;
  assertEquals(p.MapPrototypeGetSize(new Map([[1, 2]])), 1);
  assertEquals(p.TypedArrayPrototypeGetByteLength(new Uint16Array(2)), 4);
  assertEquals(p.TypedArrayPrototypeGetSymbolToStringTag(new Uint8Array()), "Uint8Array");
  assertEquals(p.SymbolPrototypeGetDescription(Symbol("x")), "x");
  assertEquals([...p.ArrayPrototypeSymbolIterator([1, 2])], [1, 2]);
  assertEquals(p.RegExpPrototypeSymbolReplace(/b/, "abc", "x"), "axc");
  assertEquals(p.SymbolAsyncIterator, Symbol.asyncIterator);
  const o = {};
  p.ObjectPrototypeSet__proto__(o, null);
  assertEquals(Object.getPrototypeOf(o), null);
});

test("constructors, namespaces and functions keep their names", async () => {
  const p = primordials;
  assertEquals(p.Uint8Array, Uint8Array);
  assertEquals(p.JSONStringify({ a: 1 }), '{"a":1}');
  assertEquals(p.MathMax(1, 3, 2), 3);
  assertEquals(p.ReflectApply(p.decodeURIComponent, undefined, ["%41"]), "A");
  assertEquals(p.globalThis, globalThis);
  assertEquals(p.ArrayPrototype, Array.prototype);
  assertEquals(await p.PromiseResolve(3), 3);
  assertEquals(await p.PromiseAll([1, 2]), [1, 2]);
  assertEquals(p.NumberMAX_SAFE_INTEGER, 2 ** 53 - 1);
  assertEquals(p.ArrayIteratorPrototypeNext([7][Symbol.iterator]()), { value: 7, done: false });
});

test("a name is one value, and an unknown name throws", () => {
  assertEquals(primordials.ArrayPrototypeMap, primordials.ArrayPrototypeMap);
  assertThrows(() => primordials.ArrayPrototypeFrobnicate, TypeError, "no primordial is named ArrayPrototypeFrobnicate");
  assertThrows(() => {
    primordials.mine = 1;
  }, TypeError);
});

test("safe collections do not see replaced prototypes", () => {
  const { SafeMap, SafeSet, SafeArrayIterator } = primordials;
  const { get } = Map.prototype;
  const { next } = Object.getPrototypeOf(new Map().entries());
  const map = new SafeMap([["a", 1], ["b", 2]]);
  const set = new SafeSet([1, 1, 2]);
  Map.prototype.get = () => "hacked";
  Object.getPrototypeOf(new Map().entries()).next = () => ({ done: true });
  try {
    assertEquals(map.get("a"), 1);
    const keys = [];
    for (const key of map.keys()) keys.push(key);
    for (const pair of map) keys.push(pair[1]);
    assertEquals(keys, ["a", "b", 1, 2]);
    assertEquals([map.size, set.size, set.has(2)], [2, 2, true]);
  } finally {
    Map.prototype.get = get;
    Object.getPrototypeOf(new Map().entries()).next = next;
  }
  const list = [];
  for (const x of new SafeArrayIterator([1, 2])) list.push(x);
  assertEquals(list, [1, 2]);
});
