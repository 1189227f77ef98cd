test("an event has its type, flags and defaults", () => {
  const e = new Event("ping");
  assertEquals([e.type, e.bubbles, e.cancelable, e.composed, e.defaultPrevented, e.isTrusted], ["ping", false, false, false, false, false]);
  assertEquals([e.target, e.srcElement, e.currentTarget, e.eventPhase, e.returnValue, e.cancelBubble], [null, null, null, 0, true, false]);
  assertEquals(e.composedPath(), []);
  assertEquals(typeof e.timeStamp, "number");
  const all = new Event("x", { bubbles: 1, cancelable: "yes", composed: true });
  assertEquals([all.bubbles, all.cancelable, all.composed], [true, true, true]);
  assertThrows(() => new Event(), TypeError, "1 argument required, but only 0 present.");
  assertThrows(() => new Event("x", 1), TypeError);
  assertThrows(() => Event("x"), TypeError);
  assertEquals([Event.NONE, Event.CAPTURING_PHASE, e.AT_TARGET, Event.prototype.BUBBLING_PHASE], [0, 1, 2, 3]);
});

test("isTrusted is an unforgeable accessor that all events share", () => {
  const a = Object.getOwnPropertyDescriptor(new Event("a"), "isTrusted");
  const b = Object.getOwnPropertyDescriptor(new Event("b"), "isTrusted");
  assertEquals([a.get === b.get, a.set, a.enumerable, a.configurable], [true, undefined, true, false]);
  assertThrows(() => a.get.call({}), TypeError);
});

test("listeners run in order, capturing ones first", () => {
  const target = new EventTarget();
  const seen = [];
  target.addEventListener("x", () => seen.push("bubble 1"));
  target.addEventListener("x", () => seen.push("capture"), true);
  target.addEventListener("x", () => seen.push("bubble 2"), { capture: false });
  target.addEventListener("y", () => seen.push("other"));
  assertEquals(target.dispatchEvent(new Event("x")), true);
  assertEquals(seen, ["capture", "bubble 1", "bubble 2"]);
});

test("during dispatch the event knows where it is", () => {
  const target = new EventTarget();
  const event = new Event("x");
  let seen;
  target.addEventListener("x", function (e) {
    seen = [this === target, e === event, e.target === target, e.currentTarget === target, e.eventPhase, e.composedPath()[0] === target];
  });
  target.dispatchEvent(event);
  assertEquals(seen, [true, true, true, true, 2, true]);
  assertEquals([event.target === target, event.currentTarget, event.eventPhase], [true, null, 0]);
});

test("a listener is added once per type, callback and capture", () => {
  const target = new EventTarget();
  let calls = 0;
  const f = () => calls++;
  target.addEventListener("x", f);
  target.addEventListener("x", f, { once: true });
  target.addEventListener("x", f, true);
  target.dispatchEvent(new Event("x"));
  assertEquals(calls, 2);
  target.removeEventListener("x", f, { capture: true });
  target.removeEventListener("x", f);
  target.removeEventListener("x", f);
  target.dispatchEvent(new Event("x"));
  assertEquals(calls, 2);
});

test("once listeners run once, even when they dispatch again", () => {
  const target = new EventTarget();
  let calls = 0;
  target.addEventListener("x", () => {
    calls++;
    target.dispatchEvent(new Event("x"));
  }, { once: true });
  target.dispatchEvent(new Event("x"));
  assertEquals(calls, 1);
});

test("listeners removed meanwhile do not run, added ones wait", () => {
  const target = new EventTarget();
  const seen = [];
  const late = () => seen.push("late");
  const removed = () => seen.push("removed");
  target.addEventListener("x", () => {
    seen.push("first");
    target.removeEventListener("x", removed);
    target.addEventListener("x", late);
  });
  target.addEventListener("x", removed);
  target.dispatchEvent(new Event("x"));
  assertEquals(seen, ["first"]);
  target.dispatchEvent(new Event("x"));
  assertEquals(seen, ["first", "first", "late"]);
});

test("propagation can be stopped", () => {
  const run = (stop) => {
    const target = new EventTarget();
    const seen = [];
    target.addEventListener("x", (e) => { seen.push(1); stop(e); }, true);
    target.addEventListener("x", () => seen.push(2), true);
    target.addEventListener("x", () => seen.push(3));
    const event = new Event("x");
    target.dispatchEvent(event);
    return [...seen, event.cancelBubble];
  };
  assertEquals(run((e) => e.stopPropagation()), [1, 2, false]);
  assertEquals(run((e) => { e.cancelBubble = true; }), [1, 2, false]);
  assertEquals(run((e) => e.stopImmediatePropagation()), [1, false]);
  assertEquals(run((e) => { e.cancelBubble = false; }), [1, 2, 3, false]);
});

test("canceling needs cancelable and a listener that is not passive", () => {
  const run = (init, options, cancel = (e) => e.preventDefault()) => {
    const target = new EventTarget();
    target.addEventListener("x", cancel, options);
    const event = new Event("x", init);
    return [target.dispatchEvent(event), event.defaultPrevented, event.returnValue];
  };
  assertEquals(run({ cancelable: true }), [false, true, false]);
  assertEquals(run({ cancelable: true }, {}, (e) => { e.returnValue = false; }), [false, true, false]);
  assertEquals(run({ cancelable: true }, { passive: true }), [true, false, true]);
  assertEquals(run({}), [true, false, true]);
  const event = new Event("x", { cancelable: true });
  event.preventDefault();
  assertEquals(new EventTarget().dispatchEvent(event), false);
});

test("a signal removes its listeners", () => {
  const target = new EventTarget();
  const controller = new AbortController();
  let calls = 0;
  target.addEventListener("x", () => calls++, { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  controller.abort();
  target.dispatchEvent(new Event("x"));
  target.addEventListener("x", () => calls++, { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  assertEquals(calls, 1);
  assertThrows(() => target.addEventListener("x", null, { signal: null }), TypeError, "AbortSignal");
  assertThrows(() => target.addEventListener("x", null, { signal: {} }), TypeError, "AbortSignal");
});

test("objects with handleEvent are listeners; it is looked up at each event", () => {
  const target = new EventTarget();
  const seen = [];
  const listener = {};
  target.addEventListener("x", listener);
  listener.handleEvent = function (e) {
    seen.push([this === listener, e.type]);
  };
  target.dispatchEvent(new Event("x"));
  assertEquals(seen, [[true, "x"]]);
  for (const value of [1, "s", true]) assertThrows(() => target.addEventListener("x", value), TypeError);
  target.addEventListener("x", null);
  target.addEventListener("x", undefined);
  assertThrows(() => target.addEventListener("x"), TypeError, "2 arguments required");
});

test("a throwing listener is reported and stops nobody", () => {
  const target = new EventTarget();
  const reported = [];
  const boom = new Error("boom");
  const onError = (e) => {
    reported.push(e.error);
    e.preventDefault();
  };
  addEventListener("error", onError);
  let ran = false;
  target.addEventListener("x", () => { throw boom; });
  target.addEventListener("x", {});
  target.addEventListener("x", () => { ran = true; });
  target.dispatchEvent(new Event("x"));
  removeEventListener("error", onError);
  assert(ran);
  assertEquals([reported.length, reported[0] === boom, reported[1] instanceof TypeError], [2, true, true]);
});

test("an event in dispatch cannot be dispatched", () => {
  const target = new EventTarget();
  let error;
  target.addEventListener("x", (e) => {
    error = assertThrows(() => target.dispatchEvent(e), DOMException);
    e.initEvent("y", true, true);
  });
  const event = new Event("x");
  target.dispatchEvent(event);
  assertEquals([error.name, event.type, event.bubbles], ["InvalidStateError", "x", false]);
  assertThrows(() => target.dispatchEvent({ type: "x" }), TypeError, "is not of type Event");
  assertThrows(() => EventTarget.prototype.dispatchEvent.call({}, event), TypeError);
  target.dispatchEvent(new Event("z"));
});

test("initEvent starts an event anew", () => {
  const event = new Event("x", { cancelable: true });
  event.preventDefault();
  event.stopPropagation();
  event.initEvent("y", true);
  assertEquals([event.type, event.bubbles, event.cancelable, event.defaultPrevented, event.cancelBubble], ["y", true, false, false, false]);
});

test("EventTarget can be extended", () => {
  class Mine extends EventTarget {}
  const mine = new Mine();
  let count = 0;
  mine.addEventListener("x", () => count++);
  mine.dispatchEvent(new Event("x"));
  assertEquals(count, 1);
  assertEquals(Object.prototype.toString.call(mine), "[object EventTarget]");
  assertEquals(Object.keys(EventTarget.prototype), ["addEventListener", "removeEventListener", "dispatchEvent"]);
});

test("CustomEvent carries a detail", () => {
  const detail = {};
  const e = new CustomEvent("x", { detail, bubbles: true });
  assertEquals([e.detail === detail, e.bubbles, e instanceof Event], [true, true, true]);
  assertEquals(new CustomEvent("x").detail, null);
  e.initCustomEvent("y", false, false, 5);
  assertEquals([e.type, e.detail], ["y", 5]);
  assertThrows(() => new CustomEvent(), TypeError);
});

test("ErrorEvent and PromiseRejectionEvent carry what they are given", () => {
  const error = new Error("x");
  const e = new ErrorEvent("error", { message: "m", filename: "f.js", lineno: 3, colno: 4, error });
  assertEquals([e.message, e.filename, e.lineno, e.colno, e.error === error], ["m", "f.js", 3, 4, true]);
  assertEquals([new ErrorEvent("e").message, new ErrorEvent("e").lineno, new ErrorEvent("e").error], ["", 0, undefined]);
  const promise = Promise.resolve();
  const p = new PromiseRejectionEvent("unhandledrejection", { promise, reason: 1 });
  assertEquals([p.promise === promise, p.reason], [true, 1]);
  assertThrows(() => new PromiseRejectionEvent("x"), TypeError, "2 arguments required");
  assertThrows(() => new PromiseRejectionEvent("x", {}), TypeError, "'promise' is required");
});
