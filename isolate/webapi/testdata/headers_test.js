test("Headers: construct from nothing, record, pairs, Headers and Map", () => {
  assertEquals([...new Headers()], []);
  assertEquals([...new Headers(undefined)], []);
  assertEquals([...new Headers({ B: "2", a: "1" })], [["a", "1"], ["b", "2"]]);
  assertEquals([...new Headers([["x", "1"], ["X", "2"]])], [["x", "1, 2"]]);
  assertEquals([...new Headers(new Headers({ a: "1" }))], [["a", "1"]]);
  assertEquals([...new Headers(new Map([["a", "1"]]))], [["a", "1"]]);
  assertEquals([...new Headers((function* () { yield ["g", "1"]; })())], [["g", "1"]]);
});

test("Headers: refuse what is no HeadersInit", () => {
  for (const init of [null, 1, "a", true, Symbol("s")]) assertThrows(() => new Headers(init), TypeError);
  assertThrows(() => new Headers([["a"]]), TypeError, "pair");
  assertThrows(() => new Headers([["a", "b", "c"]]), TypeError, "3 items");
  assertThrows(() => new Headers(["ab"]), TypeError);
  assertThrows(() => new Headers({ [Symbol.iterator]: 5 }), TypeError);
  assertThrows(() => new Headers({ [Symbol("x")]: "1" }), TypeError);
  assertThrows(() => Headers(), TypeError);
});

test("Headers: names are checked and lower-cased", () => {
  const h = new Headers();
  for (const name of ["", " ", "a b", "a:", "a\n", "\u00e9", "(", "a\0"]) {
    assertThrows(() => h.append(name, "v"), TypeError);
    assertThrows(() => h.set(name, "v"), TypeError);
    assertThrows(() => h.get(name), TypeError);
    assertThrows(() => h.has(name), TypeError);
    assertThrows(() => h.delete(name), TypeError);
  }
  h.append("!#$%&'*+-.^_`|~0aZ", "v");
  assertEquals([...h.keys()], ["!#$%&'*+-.^_`|~0az"]);
  assertThrows(() => h.append("\u0100", "v"), TypeError, "ByteString");
});

test("Headers: values are normalized and checked", () => {
  const h = new Headers({ a: " \t\r\n v w \n\t ", b: "\t", c: "\u00ff" });
  assertEquals([h.get("a"), h.get("b"), h.get("c")], ["v w", "", "\u00ff"]);
  for (const v of ["a\0b", "a\nb", "a\rb"]) assertThrows(() => h.set("a", v), TypeError, "NUL, CR or LF");
  assertThrows(() => h.set("a", "\u0100"), TypeError, "ByteString");
  h.set("a", 5);
  assertEquals(h.get("A"), "5");
  h.set("a", null);
  assertEquals(h.get("a"), "null");
});

test("Headers: get combines, has and delete see all", () => {
  const h = new Headers([["a", "1"], ["b", "x"], ["A", "2"], ["a", ""]]);
  assertEquals(h.get("a"), "1, 2, ");
  assertEquals(h.get("missing"), null);
  assert(h.has("B"));
  h.delete("a");
  assertEquals([...h], [["b", "x"]]);
  h.delete("a");
  assert(!h.has("a"));
});

test("Headers: a value that looks like a name is not one", () => {
  const h = new Headers([["vary", "origin"], ["x", "vary"], ["y", "vary"]]);
  assertEquals(h.get("origin"), null);
  assert(!h.has("origin"));
  assertEquals(h.get("vary"), "origin");
  h.delete("origin");
  h.delete("vary");
  assertEquals([...h], [["x", "vary"], ["y", "vary"]]);
  h.append("origin", "o");
  assertEquals(h.get("origin"), "o");
  const empty = new Headers([["a", ""], ["b", ""], ["", "x"].map((s) => s || "c")]);
  assertEquals([empty.get("a"), empty.get("b"), empty.get("c")], ["", "", "x"]);
  assertEquals(new Headers([["xa", "1"], ["a", "2"]]).get("a"), "2");
});

test("Headers: set replaces the first and removes the others", () => {
  const h = new Headers([["a", "1"], ["b", "2"], ["a", "3"], ["c", "4"]]);
  h.set("A", "9");
  assertEquals([...h], [["a", "9"], ["b", "2"], ["c", "4"]]);
  h.set("d", "5");
  assertEquals(h.get("d"), "5");
});

test("Headers: Set-Cookie is never combined in iteration", () => {
  const h = new Headers([["set-cookie", "a=1"], ["x", "1"], ["Set-Cookie", "b=2"], ["a", "z"]]);
  assertEquals([...h], [["a", "z"], ["set-cookie", "a=1"], ["set-cookie", "b=2"], ["x", "1"]]);
  assertEquals(h.getSetCookie(), ["a=1", "b=2"]);
  assertEquals(h.get("set-cookie"), "a=1, b=2");
  assertEquals(new Headers().getSetCookie(), []);
  assertEquals([...new Headers(h)].length, 4);
});

test("Headers: iteration is live", () => {
  const h = new Headers({ a: "1", c: "3" });
  const seen = [];
  for (const [k] of h) {
    seen.push(k);
    if (k === "a") h.append("b", "2");
  }
  assertEquals(seen, ["a", "b", "c"]);
  const calls = [];
  h.forEach(function (value, name, target) {
    calls.push([name, value, target === h, this.t]);
  }, { t: 1 });
  assertEquals(calls, [["a", "1", true, 1], ["b", "2", true, 1], ["c", "3", true, 1]]);
  assertEquals([...h.values()], ["1", "2", "3"]);
  assertThrows(() => h.forEach(), TypeError);
  assertThrows(() => h.forEach("x"), TypeError);
});

test("Headers: conversions run before the list is read", () => {
  const h = new Headers({ a: "1" });
  h.append("b", { toString() { h.append("c", "3"); return "2"; } });
  assertEquals([...h], [["a", "1"], ["b", "2"], ["c", "3"]]);
});

test("Headers: a record is read in the order of the standard", () => {
  const log = [];
  const init = new Proxy({ b: "2", a: "1", [Symbol.iterator]: undefined }, {
    get(t, k) { log.push(["get", k]); return t[k]; },
    ownKeys(t) { log.push(["ownKeys"]); return Reflect.ownKeys(t).filter((k) => typeof k === "string"); },
    getOwnPropertyDescriptor(t, k) { log.push(["gopd", k]); return Reflect.getOwnPropertyDescriptor(t, k); },
  });
  new Headers(init);
  assertEquals(log.length, 6);
  assertEquals(log[0], ["get", Symbol.iterator]);
  assertEquals(log.slice(1), [["ownKeys"], ["gopd", "b"], ["get", "b"], ["gopd", "a"], ["get", "a"]]);
  const hidden = Object.defineProperty({ a: "1" }, "b", { value: "2", enumerable: false });
  assertEquals([...new Headers(hidden)], [["a", "1"]]);
});

test("Headers: shape of the interface", () => {
  assertEquals(Headers.length, 0);
  assertEquals(Headers.name, "Headers");
  assertEquals(Headers.prototype.append.length, 2);
  assertEquals(Headers.prototype.get.length, 1);
  assertEquals(Object.prototype.toString.call(new Headers()), "[object Headers]");
  assertEquals(Headers.prototype[Symbol.iterator], Headers.prototype.entries);
  for (const name of ["append", "delete", "get", "getSetCookie", "has", "set", "keys", "values", "entries", "forEach"]) {
    const d = Object.getOwnPropertyDescriptor(Headers.prototype, name);
    assert(d.enumerable && d.writable && d.configurable, name);
    assertThrows(() => Headers.prototype[name].call({}, "a", "b"), TypeError);
  }
  assertThrows(() => new Headers().append("a"), TypeError, "2 arguments required, but only 1 present");
  const it = new Headers().entries();
  assertEquals(Object.prototype.toString.call(it), "[object Headers Iterator]");
});
