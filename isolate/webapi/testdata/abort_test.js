test("abort sets aborted and reason, and fires once", () => {
  const controller = new AbortController();
  const { signal } = controller;
  assertEquals([signal.aborted, signal.reason, controller.signal === signal], [false, undefined, true]);
  const seen = [];
  signal.addEventListener("abort", (e) => seen.push([e.type, e.isTrusted, e.target === signal, signal.aborted]));
  signal.onabort = function () { seen.push(this === signal); };
  controller.abort();
  controller.abort("again");
  assertEquals(seen, [["abort", true, true, true], true]);
  assertEquals([signal.aborted, signal.reason.name, signal.reason instanceof DOMException], [true, "AbortError", true]);
  assertThrows(() => signal.throwIfAborted(), DOMException);
});

test("any reason is kept as it is", () => {
  for (const reason of [null, 0, "why", {}]) {
    const controller = new AbortController();
    controller.signal.throwIfAborted();
    controller.abort(reason);
    assertEquals(controller.signal.reason, reason);
    let thrown;
    try {
      controller.signal.throwIfAborted();
    } catch (e) {
      thrown = e;
    }
    assertEquals(thrown, reason);
  }
});

test("signals are not constructed by scripts", () => {
  assertThrows(() => new AbortSignal(), TypeError, "Illegal constructor");
  assertThrows(() => new (class extends AbortSignal {})(), TypeError, "Illegal constructor");
  assert(new AbortController().signal instanceof EventTarget);
  assertEquals(Object.keys(AbortSignal), ["abort", "timeout", "any"]);
  assertThrows(() => Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted").get.call({}), TypeError);
});

test("AbortSignal.abort gives an aborted signal", () => {
  assertEquals([AbortSignal.abort().aborted, AbortSignal.abort().reason.name], [true, "AbortError"]);
  assertEquals(AbortSignal.abort("x").reason, "x");
});

test("AbortSignal.timeout aborts with a TimeoutError", async () => {
  const signal = AbortSignal.timeout(1);
  assertEquals(signal.aborted, false);
  await new Promise((resolve) => { signal.onabort = resolve; });
  assertEquals([signal.aborted, signal.reason.name, signal.reason.code], [true, "TimeoutError", 23]);
  for (const value of [-1, NaN, Infinity, 2 ** 53]) assertThrows(() => AbortSignal.timeout(value), TypeError, "Argument 1");
  assertThrows(() => AbortSignal.timeout(), TypeError);
});

test("AbortSignal.any follows its sources", () => {
  const a = new AbortController();
  const b = new AbortController();
  const any = AbortSignal.any([a.signal, b.signal, a.signal]);
  let fired = 0;
  any.onabort = () => fired++;
  b.abort("b");
  a.abort("a");
  assertEquals([any.aborted, any.reason, fired], [true, "b", 1]);
  assertEquals(AbortSignal.any([]).aborted, false);
  assertEquals(AbortSignal.any(new Set([a.signal])).reason, "a");
  assertEquals(AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason, 1);
  assertThrows(() => AbortSignal.any([{}]), TypeError);
  assertThrows(() => AbortSignal.any(a.signal), TypeError);
});

test("composite signals of composite signals follow the first sources", () => {
  const controller = new AbortController();
  const order = [];
  const inner = AbortSignal.any([controller.signal]);
  const outer = AbortSignal.any([inner]);
  controller.signal.onabort = () => order.push(["source", inner.aborted, outer.aborted]);
  outer.onabort = () => order.push("outer");
  inner.onabort = () => order.push("inner");
  controller.abort("r");
  assertEquals(order, [["source", true, true], "inner", "outer"]);
  assertEquals([inner.reason, outer.reason], ["r", "r"]);
});

test("many composite signals of one source all follow", () => {
  const controller = new AbortController();
  const signals = [];
  for (let i = 0; i < 200; i++) signals.push(AbortSignal.any([controller.signal]));
  controller.abort();
  assertEquals(signals.filter((s) => !s.aborted).length, 0);
});

test("onabort takes functions and objects, anything else clears it", () => {
  const { signal } = new AbortController();
  const f = () => {};
  signal.onabort = f;
  assertEquals(signal.onabort, f);
  signal.onabort = 1;
  assertEquals(signal.onabort, null);
});

test("algorithms of the platform run once, before the event, and can be removed", () => {
  const { createAbortSignal, addAbortAlgorithm, removeAbortAlgorithm, signalAbort } = internals;
  const signal = createAbortSignal();
  const seen = [];
  const removed = () => seen.push("removed");
  addAbortAlgorithm(signal, () => seen.push("algorithm"));
  addAbortAlgorithm(signal, removed);
  removeAbortAlgorithm(signal, removed);
  signal.onabort = () => seen.push("event");
  signalAbort(signal, "r");
  signalAbort(signal, "again");
  addAbortAlgorithm(signal, () => seen.push("late"));
  assertEquals(seen, ["algorithm", "event"]);
  assertEquals(signal.reason, "r");
});
