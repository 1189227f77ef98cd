// URL Standard: the URLSearchParams class and application/x-www-form-urlencoded.

/** [input, pairs] */
const parsing = [
  ["", []],
  ["a", [["a", ""]]],
  ["a=b", [["a", "b"]]],
  ["?a=b", [["a", "b"]]],
  ["??a=b", [["?a", "b"]]],
  ["a=b=c", [["a", "b=c"]]],
  ["=b", [["", "b"]]],
  ["=", [["", ""]]],
  ["&&a=b&&c&", [["a", "b"], ["c", ""]]],
  ["a=b&a=c", [["a", "b"], ["a", "c"]]],
  ["a+b=c+d", [["a b", "c d"]]],
  ["a%2Bb=%20", [["a+b", " "]]],
  ["a%26b=%3D%25", [["a&b", "=%"]]],
  ["a=%", [["a", "%"]]],
  ["a=%4", [["a", "%4"]]],
  ["a=%zz%41", [["a", "%zzA"]]],
  ["a=%E4%BD%A0", [["a", "\u4f60"]]],
  ["a=\u4f60%E4%BD%A0", [["a", "\u4f60\u4f60"]]],
  ["a=%ff", [["a", "\ufffd"]]],
  ["a=%E4%BD", [["a", "\ufffd"]]],
  ["a=%E4%BDx%C0%80", [["a", "\ufffdx\ufffd\ufffd"]]],
  ["a=%F0%9F%98%80", [["a", "\ud83d\ude00"]]],
  ["a=%ED%A0%80", [["a", "\ufffd\ufffd\ufffd"]]],
  ["a=\ud800", [["a", "\ufffd"]]],
  ["%EF%BB%BFa=\ufeffb", [["\ufeffa", "\ufeffb"]]],
  ["a=%00\u0000", [["a", "\u0000\u0000"]]],
  ["a#b=c?d", [["a#b", "c?d"]]],
  ["a=b\n&c=d", [["a", "b\n"], ["c", "d"]]],
];

test("parser", () => {
  for (const [input, want] of parsing) assertEquals([...new URLSearchParams(input)], want, JSON.stringify(input));
});

/** [name, value, text] */
const serializing = [
  ["a", "b", "a=b"],
  ["", "", "="],
  ["a b", "c+d", "a+b=c%2Bd"],
  ["*-._", "AZaz09", "*-._=AZaz09"],
  ["!'()~", "\"#$%&,/:;<=>?@[\\]^`{|}", "%21%27%28%29%7E=%22%23%24%25%26%2C%2F%3A%3B%3C%3D%3E%3F%40%5B%5C%5D%5E%60%7B%7C%7D"],
  ["\u0000\t\n\u007f", "\u00e9\u4f60\ud83d\ude00\ufeff", "%00%09%0A%7F=%C3%A9%E4%BD%A0%F0%9F%98%80%EF%BB%BF"],
  ["\ud800", "x\udc00y", "%EF%BF%BD=x%EF%BF%BDy"],
];

test("serializer", () => {
  for (const [name, value, want] of serializing) {
    const params = new URLSearchParams();
    params.append(name, value);
    assertEquals(params.toString(), want);
    assertEquals(new URLSearchParams(want).toString(), want, `${want}, parsed again`);
  }
});

test("constructor takes strings, sequences, records and nothing", () => {
  assertEquals(String(new URLSearchParams()), "");
  assertEquals(String(new URLSearchParams(undefined)), "");
  assertEquals(String(new URLSearchParams(null)), "null=");
  assertEquals(String(new URLSearchParams(1)), "1=");
  assertEquals(String(new URLSearchParams([["a", 1], ["b", null]])), "a=1&b=null");
  assertEquals(String(new URLSearchParams([])), "");
  assertEquals(String(new URLSearchParams(new Map([["a", "b"]]))), "a=b");
  assertEquals(String(new URLSearchParams({ a: 1, b: undefined })), "a=1&b=undefined");
  assertEquals(String(new URLSearchParams({ "?a": "=" })), "%3Fa=%3D");
  assertEquals(String(new URLSearchParams({ "\ud835x": "1", xx: "2", "\ud83dxx": "3" })), "%EF%BF%BDx=1&xx=2&%EF%BF%BDxx=3");
  assertEquals(String(new URLSearchParams({ "x\udc53": "1", "x\udc5c": "2", "x\udc65": "3" })), "x%EF%BF%BD=3");
  const copy = new URLSearchParams("a=b&c=d");
  assertEquals(String(new URLSearchParams(copy)), "a=b&c=d");
  copy[Symbol.iterator] = function* () { yield ["x", "y"]; };
  assertEquals(String(new URLSearchParams(copy)), "x=y");
  const own = Object.create({ inherited: "1" }, {
    hidden: { value: "2", enumerable: false },
    shown: { value: "3", enumerable: true },
  });
  assertEquals(String(new URLSearchParams(own)), "shown=3");
  assertEquals(String(new URLSearchParams(function () {})), "");
});

test("constructor refuses what is neither", () => {
  assertThrows(() => new URLSearchParams([["a"]]), TypeError);
  assertThrows(() => new URLSearchParams([["a", "b", "c"]]), TypeError);
  assertThrows(() => new URLSearchParams([1]), TypeError);
  assertThrows(() => new URLSearchParams(["ab"]), TypeError);
  assertThrows(() => new URLSearchParams({ [Symbol("x")]: "y" }), TypeError);
  assertThrows(() => new URLSearchParams({ [Symbol.iterator]: 1 }), TypeError);
  assertThrows(() => new URLSearchParams(Symbol("x")), TypeError);
  assertThrows(() => URLSearchParams(""), TypeError);
});

test("get, getAll, has", () => {
  const params = new URLSearchParams("a=1&b=2&a=3&c");
  assertEquals(params.get("a"), "1");
  assertEquals(params.get("c"), "");
  assertEquals(params.get("d"), null);
  assertEquals(params.getAll("a"), ["1", "3"]);
  assertEquals(params.getAll("d"), []);
  assertEquals(params.has("b"), true);
  assertEquals(params.has("d"), false);
  assertEquals(params.has("a", "3"), true);
  assertEquals(params.has("a", "2"), false);
  assertEquals(params.has("a", undefined), true);
  assertEquals(params.has("a", null), false);
});

test("append, set, delete, size", () => {
  const params = new URLSearchParams("a=1&b=2&a=3&c=4&a=5");
  assertEquals(params.size, 5);
  params.set("a", "x");
  assertEquals(String(params), "a=x&b=2&c=4");
  params.set("d", 6);
  params.append("a", "y");
  assertEquals(String(params), "a=x&b=2&c=4&d=6&a=y");
  params.delete("a", "x");
  assertEquals(String(params), "b=2&c=4&d=6&a=y");
  params.delete("a", "z");
  params.delete("c", undefined);
  assertEquals(String(params), "b=2&d=6&a=y");
  params.delete("none");
  assertEquals(params.size, 3);
});

test("sort is stable and by UTF-16 code units", () => {
  const sorted = (init) => {
    const params = new URLSearchParams(init);
    params.sort();
    return [...params];
  };
  assertEquals(sorted("z=b&a=b&z=a&a=a"), [["a", "b"], ["a", "a"], ["z", "b"], ["z", "a"]]);
  assertEquals(sorted("\ufb03=1&\ud83c\udf08=2"), [["\ud83c\udf08", "2"], ["\ufb03", "1"]]);
  assertEquals(sorted("bbb&bb&aaa&aa=x&aa=y"), [["aa", "x"], ["aa", "y"], ["aaa", ""], ["bb", ""], ["bbb", ""]]);
  assertEquals(sorted(""), []);
});

test("iteration is live", () => {
  const params = new URLSearchParams("a=1&b=2&c=3");
  const seen = [];
  for (const [name] of params) {
    seen.push(name);
    if (name === "a") params.delete("b");
    if (name === "c" && seen.length < 5) params.append("d", "");
  }
  assertEquals(seen, ["a", "c", "d"]);
  assertEquals([...params.keys()], ["a", "c", "d"]);
  assertEquals([...params.values()], ["1", "3", ""]);
  assert(params[Symbol.iterator] === params.entries);
  assertEquals(Object.prototype.toString.call(params.keys()), "[object URLSearchParams Iterator]");
  const calls = [];
  const receiver = {};
  params.forEach(function (value, name, self) {
    calls.push([value, name, self === params, this === receiver]);
  }, receiver);
  assertEquals(calls, [["1", "a", true, true], ["3", "c", true, true], ["", "d", true, true]]);
  assertThrows(() => params.forEach(), TypeError);
  assertThrows(() => params.forEach(1), TypeError);
});

test("interface", () => {
  const params = new URLSearchParams("a=b");
  assertEquals(Object.prototype.toString.call(params), "[object URLSearchParams]");
  assertEquals(URLSearchParams.length, 0);
  assertEquals(URLSearchParams.prototype.delete.length, 1);
  assertEquals(URLSearchParams.prototype.has.length, 1);
  assertEquals(URLSearchParams.prototype.append.length, 2);
  assertThrows(() => params.append("a"), TypeError, "2 arguments required, but only 1 present");
  assertThrows(() => params.get(), TypeError, "1 argument required");
  assertThrows(() => URLSearchParams.prototype.get.call({}, "a"), TypeError);
  assertThrows(() => URLSearchParams.prototype.entries.call(new Map()), TypeError);
  assertThrows(() => URLSearchParams.prototype.size, TypeError);
});
