const tick = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));

/** Collects events of a type while fn runs, canceling each. */
const collect = async (type, fn) => {
  const events = [];
  const listener = (e) => {
    events.push(e);
    e.preventDefault();
  };
  addEventListener(type, listener);
  try {
    await fn();
    await tick(1);
  } finally {
    removeEventListener(type, listener);
  }
  return events;
};

test("reportError fires error at the global object", async () => {
  const error = new RangeError("too far");
  const [event] = await collect("error", () => reportError(error));
  assert(event instanceof ErrorEvent);
  assertEquals([event.error === error, event.message, event.cancelable, event.isTrusted, event.target === globalThis], [true, "Uncaught RangeError: too far", true, true, true]);
  assert(event.filename.includes("report_test"), event.filename);
  assert(event.lineno > 0 && event.colno > 0);
  assertThrows(() => reportError(), TypeError, "1 argument required");
});

test("any value can be reported", async () => {
  const hostile = { get stack() { throw new Error("no"); }, toString() { throw new Error("no"); } };
  const values = ["text", undefined, null, 1n, Symbol("s"), hostile];
  const events = await collect("error", () => values.forEach((v) => reportError(v)));
  assertEquals(events.map((e) => e.error), values);
  assertEquals([events[0].message, events[1].message, events[0].filename, events[0].lineno], ["Uncaught 'text'", "Uncaught undefined", "", 0]);
});

test("an error of an error listener is not fired again", async () => {
  let calls = 0;
  const listener = (e) => {
    calls++;
    e.preventDefault();
    throw new Error("in the listener (logged once, as it should be)");
  };
  addEventListener("error", listener);
  reportError(1);
  removeEventListener("error", listener);
  assertEquals(calls, 1);
});

test("onerror gets five arguments and cancels by returning true", () => {
  let args;
  onerror = (...a) => {
    args = a;
    return true;
  };
  let last;
  const after = (e) => { last = e.defaultPrevented; };
  addEventListener("error", after);
  const error = new Error("boom");
  reportError(error);
  removeEventListener("error", after);
  onerror = null;
  assertEquals([args.length, args[0], args[4] === error, last], [5, "Uncaught Error: boom", true, true]);
  assertEquals(onerror, null);
});

test("onerror takes plain events like any handler, and keeps its place", () => {
  const seen = [];
  onerror = (e) => { seen.push(e.type); return false; };
  addEventListener("error", () => seen.push("second"), { once: true });
  onerror = (e) => { seen.push(`new ${e.type}`); return false; };
  const event = new Event("error", { cancelable: true });
  dispatchEvent(event);
  onerror = undefined;
  assertEquals(seen, ["new error", "second"]);
  assertEquals(event.defaultPrevented, true);
});

test("unhandled rejections are announced, once the checkpoint is over", async () => {
  const reason = new Error("nobody cares");
  let promise;
  const events = await collect("unhandledrejection", () => {
    promise = Promise.reject(reason);
    Promise.reject(1).catch(() => {});
  });
  assertEquals(events.length, 1);
  const [event] = events;
  assert(event instanceof PromiseRejectionEvent);
  assertEquals([event.promise === promise, event.reason === reason, event.cancelable, event.isTrusted], [true, true, true, true]);
  const handled = await collect("rejectionhandled", () => { promise.catch(() => {}); });
  assertEquals([handled.length, handled[0]?.promise === promise, handled[0]?.cancelable], [1, true, false]);
});

test("onunhandledrejection and onrejectionhandled are handlers", async () => {
  const seen = [];
  onunhandledrejection = (e) => { seen.push(e.reason); e.preventDefault(); };
  onrejectionhandled = (e) => seen.push(`handled ${e.promise === p}`);
  const p = Promise.reject("r");
  await tick(1);
  p.catch(() => {});
  await tick(1);
  onunhandledrejection = onrejectionhandled = null;
  assertEquals(seen, ["r", "handled true"]);
});
