const { createConsole, formatLog, native_invocation, native_set_invocation } = internals;

/** A console that keeps what it prints. */
const recorder = () => {
  const lines = [];
  return [createConsole((level, text) => lines.push([level, text])), lines];
};

test("the global console is a namespace object", () => {
  assertEquals(Object.prototype.toString.call(console), "[object console]");
  const proto = Object.getPrototypeOf(console);
  assertEquals([Object.getPrototypeOf(proto) === Object.prototype, Reflect.ownKeys(proto).length], [true, 0]);
  assertEquals(Object.keys(console).sort(), [
    "assert", "clear", "count", "countReset", "debug", "dir", "dirxml", "error", "group", "groupCollapsed",
    "groupEnd", "info", "log", "table", "time", "timeEnd", "timeLog", "trace", "warn",
  ]);
  const desc = Object.getOwnPropertyDescriptor(globalThis, "console");
  assertEquals([desc.writable, desc.enumerable, desc.configurable], [true, false, true]);
  assertThrows(() => new console.log(), TypeError);
});

test("each method logs at its level", () => {
  const [c, lines] = recorder();
  const { log } = c;
  log("a", 1, { x: "s" });
  c.debug("d");
  c.info("i");
  c.warn("w");
  c.error("e");
  c.dirxml({ a: 1 }, 2);
  c.dir({ a: "b" }, {});
  c.dir("text");
  c.log();
  assertEquals(lines, [
    ["log", "a 1 { x: 's' }"],
    ["debug", "d"],
    ["info", "i"],
    ["warn", "w"],
    ["error", "e"],
    ["log", "{ a: 1 } 2"],
    ["log", "{ a: 'b' }"],
    ["log", "'text'"],
  ]);
});

test("format specifiers take the following arguments", () => {
  const cases = [
    [["%s is %d years and %i months", "Bob", 42.9, "7.5"], "Bob is 42 years and 7 months"],
    [["%f %f", "1.50", "x"], "1.5 NaN"],
    [["%o %O", { a: 1 }, [1]], "{ a: 1 } [ 1 ]"],
    [["%cred%c plain", "color: red", ""], "red plain"],
    [["100%% %s", "sure"], "100% sure"],
    [["%s", "a", "b", { c: 1 }], "a b { c: 1 }"],
    [["%s and %s", "one"], "one and %s"],
    [["%x %s", 1], "%x 1"],
    [["50%", 1], "50% 1"],
    [["%d %i", Symbol("a"), 3n], "NaN 3"],
    [["%s", Symbol("a")], "Symbol(a)"],
    [["%s", { toString: () => "mine" }], "mine"],
    [["%s", Object.create(null)], "[Object: null prototype] {}"],
    [["%s"], "%s"],
    [["100%%"], "100%%"],
    [[1, "%s", 2], "1 %s 2"],
    [[], ""],
  ];
  for (const [args, want] of cases) assertEquals(formatLog(args), want);
});

test("groups indent, line by line", () => {
  const [c, lines] = recorder();
  c.group("one");
  c.log("a\nb");
  c.groupCollapsed();
  c.warn("deep");
  c.groupEnd();
  c.groupEnd();
  c.groupEnd();
  c.log("out");
  c.group("x");
  c.clear();
  c.log("cleared");
  assertEquals(lines.map((l) => l[1]), ["one", "  a\n  b", "    deep", "out", "x", "cleared"]);
});

test("a group that was left open does not indent the next invocation", () => {
  const [c, lines] = recorder();
  const outer = native_invocation();
  c.group("open");
  native_set_invocation(outer + 1000);
  c.log("other");
  native_set_invocation(outer);
  assertEquals(lines.map((l) => l[1]), ["open", "other"]);
});

test("assert logs what is false", () => {
  const [c, lines] = recorder();
  c.assert(true, "never");
  c.assert(1);
  c.assert();
  c.assert(false, "%s is wrong", "it");
  c.assert(0, { a: 1 });
  assertEquals(lines, [
    ["error", "Assertion failed"],
    ["error", "Assertion failed: it is wrong"],
    ["error", "Assertion failed { a: 1 }"],
  ]);
});

test("count counts by label", () => {
  const [c, lines] = recorder();
  c.count();
  c.count("x");
  c.count(undefined);
  c.countReset();
  c.count("default");
  c.countReset("nobody");
  assertEquals(lines, [
    ["info", "default: 1"],
    ["info", "x: 1"],
    ["info", "default: 2"],
    ["info", "default: 1"],
    ["warn", "Count for 'nobody' does not exist"],
  ]);
});

test("time measures by label", () => {
  const [c, lines] = recorder();
  c.time();
  c.time();
  c.timeLog("default", { step: 1 }, "%s");
  c.timeEnd();
  c.timeEnd();
  c.timeLog("other");
  assertEquals(lines[0], ["warn", "Timer 'default' already exists"]);
  assert(/^default: [0-9.]+ms \{ step: 1 \} %s$/.test(lines[1][1]), lines[1][1]);
  assert(/^default: [0-9.]+ms$/.test(lines[2][1]) && lines[2][0] === "info", lines[2][1]);
  assertEquals(lines.slice(3), [["warn", "Timer 'default' does not exist"], ["warn", "Timer 'other' does not exist"]]);
});

test("trace shows where it was called", () => {
  const [c, lines] = recorder();
  (function caller() {
    c.trace("at %s", "home");
    c.trace();
  })();
  const [level, text] = lines[0];
  assertEquals(level, "log");
  assert(text.startsWith("Trace: at home\n    at caller "), text);
  assert(lines[1][1].startsWith("Trace\n    at caller "), lines[1][1]);
});

test("table draws rows and columns", () => {
  const [c, lines] = recorder();
  c.table([{ a: 1, b: "x" }, { a: 2, c: true }]);
  c.table(["p", "q"]);
  c.table([{ a: 1, b: 2 }], ["b"]);
  c.table("not an object");
  const ascii = (text) => text.replace(/[\u2500]/g, "-").replace(/[\u2502]/g, "|").replace(/[\u250c\u252c\u2510\u251c\u253c\u2524\u2514\u2534\u2518]/g, "+");
  assertEquals(ascii(lines[0][1]).split("\n"), [
    "+---------+---+-----+------+",
    "| (index) | a | b   | c    |",
    "+---------+---+-----+------+",
    "| 0       | 1 | 'x' |      |",
    "| 1       | 2 |     | true |",
    "+---------+---+-----+------+",
  ]);
  assertEquals(ascii(lines[1][1]).split("\n")[1], "| (index) | Values |");
  assertEquals(ascii(lines[2][1]).split("\n")[3], "| 0       | 2 |");
  assertEquals(lines[3], ["log", "not an object"]);
});

test("what a console is given cannot break it", () => {
  const [c, lines] = recorder();
  const hostile = new Proxy({}, { get() { throw new Error("trap"); }, ownKeys() { throw new Error("trap"); } });
  c.log(hostile);
  c.log("%s", hostile);
  c.table(hostile);
  assertEquals(lines.length, 3);
});
