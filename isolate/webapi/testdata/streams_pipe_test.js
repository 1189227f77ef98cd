const settle = async (n = 12) => { for (let i = 0; i < n; i++) await undefined; };
const of = (...chunks) => new ReadableStream({ start(c) { for (const chunk of chunks) c.enqueue(chunk); c.close(); } });
const sink = (extra = {}, strategy = undefined) => {
  const calls = [];
  const stream = new WritableStream({
    start(c) { extra.controller = c; },
    write(chunk) { calls.push(chunk); return extra.write?.(chunk); },
    close() { calls.push("close"); return extra.close?.(); },
    abort(reason) { calls.push(["abort", reason]); return extra.abort?.(reason); },
  }, strategy);
  return { calls, stream };
};

test("pipeTo moves all chunks, closes, and unlocks", async () => {
  const rs = of(1, 2, 3);
  const { calls, stream } = sink();
  const piped = rs.pipeTo(stream);
  assertEquals([rs.locked, stream.locked], [true, true]);
  assertEquals(await piped, undefined);
  assertEquals([calls, rs.locked, stream.locked], [[1, 2, 3, "close"], false, false]);
});

test("preventClose leaves the destination open", async () => {
  const { calls, stream } = sink();
  await of(1).pipeTo(stream, { preventClose: true });
  await of(2).pipeTo(stream, { preventClose: 1 });
  assertEquals(calls, [1, 2]);
  await stream.getWriter().close();
});

test("an error of the source aborts the destination, unless preventAbort", async () => {
  const e = new Error("source");
  let { calls, stream } = sink();
  assert((await assertRejects(new ReadableStream({ start(c) { c.error(e); } }).pipeTo(stream))) === e);
  assertEquals(calls, [["abort", e]]);
  ({ calls, stream } = sink());
  await assertRejects(new ReadableStream({ start(c) { c.error(e); } }).pipeTo(stream, { preventAbort: true }));
  assertEquals(calls, []);
  await stream.getWriter().write("still open");
});

test("an abort that fails is the pipe's error", async () => {
  const e = new Error("abort");
  const { stream } = sink({ abort() { throw e; } });
  assert((await assertRejects(new ReadableStream({ start(c) { c.error("source"); } }).pipeTo(stream))) === e);
});

test("an error of the destination cancels the source, unless preventCancel", async () => {
  const e = new Error("dest");
  for (const preventCancel of [false, true]) {
    const canceled = [];
    const rs = new ReadableStream({ pull(c) { c.enqueue(1); }, cancel(r) { canceled.push(r); } });
    const extra = {};
    const { stream } = sink(extra);
    const piped = rs.pipeTo(stream, { preventCancel });
    extra.controller.error(e);
    assert((await assertRejects(piped)) === e);
    assertEquals(canceled.length, preventCancel ? 0 : 1);
    if (!preventCancel) assert(canceled[0] === e);
  }
});

test("a closed destination is an error and cancels the source with a TypeError", async () => {
  let reason;
  const { stream } = sink();
  await stream.close();
  const error = await assertRejects(new ReadableStream({ cancel(r) { reason = r; } }).pipeTo(stream), TypeError);
  assert(error === reason);
});

test("nothing is read while the destination has no room", async () => {
  let pulls = 0;
  const rs = new ReadableStream({ pull(c) { c.enqueue(++pulls); } }, { highWaterMark: 0 });
  const finish = [];
  const { calls, stream } = sink({ write: () => new Promise((r) => finish.push(r)) });
  rs.pipeTo(stream).catch(() => {});
  await settle();
  assertEquals([pulls, calls], [1, [1]]);
  finish.shift()();
  await settle();
  assertEquals([pulls, calls], [2, [1, 2]]);
});

test("shutdown waits for the writes of what was read", async () => {
  let finish;
  const { calls, stream } = sink({ write: () => new Promise((r) => { finish = r; }) }, { highWaterMark: 3 });
  let done = false;
  let controller;
  const rs = new ReadableStream({ start(c) { controller = c; c.enqueue("a"); c.enqueue("b"); } });
  const piped = rs.pipeTo(stream).catch((e) => { done = e; });
  await settle();
  controller.error("late");
  await settle();
  assertEquals([calls, done], [["a"], false]);
  finish();
  await settle();
  assertEquals([calls, done], [["a", "b"], false], "b was read, so it is written");
  finish();
  await piped;
  assertEquals([calls, done], [["a", "b", ["abort", "late"]], "late"]);
});

test("enqueue does not call the sink synchronously", async () => {
  let controller;
  const { calls, stream } = sink();
  new ReadableStream({ start(c) { controller = c; } }, { highWaterMark: 0 }).pipeTo(stream);
  await settle();
  controller.enqueue("a");
  assertEquals(calls, []);
  await settle();
  assertEquals(calls, ["a"]);
});

test("a signal aborts both sides with its reason", async () => {
  const seen = [];
  const abort = new AbortController();
  const rs = new ReadableStream({ cancel(r) { seen.push(["cancel", r]); } });
  const { calls, stream } = sink();
  const piped = rs.pipeTo(stream, { signal: abort.signal });
  await settle();
  abort.abort("why");
  assertEquals(await piped.catch((e) => e), "why");
  assertEquals([seen, calls, rs.locked, stream.locked], [[["cancel", "why"]], [["abort", "why"]], false, false]);
});

test("a signal that is aborted already ends the pipe before a chunk", async () => {
  const { calls, stream } = sink();
  const error = await of(1).pipeTo(stream, { signal: AbortSignal.abort() }).catch((e) => e);
  assertEquals([error.name, calls.length, calls[0][0]], ["AbortError", 1, "abort"]);
});

test("a signal respects preventCancel and preventAbort", async () => {
  const abort = new AbortController();
  let canceled = false;
  const rs = new ReadableStream({ cancel() { canceled = true; } });
  const { calls, stream } = sink();
  const piped = rs.pipeTo(stream, { signal: abort.signal, preventCancel: true, preventAbort: true });
  abort.abort("why");
  assertEquals(await piped.catch((e) => e), "why");
  assertEquals([canceled, calls], [false, []]);
});

test("a signal after the end does nothing", async () => {
  const abort = new AbortController();
  const { calls, stream } = sink();
  await of(1).pipeTo(stream, { signal: abort.signal });
  abort.abort();
  assertEquals(calls, [1, "close"]);
});

test("a signal while a write is under way waits for it", async () => {
  let finish;
  const abort = new AbortController();
  const { calls, stream } = sink({ write: () => new Promise((r) => { finish = r; }) });
  const piped = of("a", "b").pipeTo(stream, { signal: abort.signal }).catch((e) => e);
  await settle();
  abort.abort("why");
  await settle();
  assertEquals(calls, ["a"]);
  finish();
  assertEquals([await piped, calls], ["why", ["a", ["abort", "why"]]]);
});

test("pipeTo rejects for bad arguments and leaves the streams alone", async () => {
  const rs = of();
  const ws = new WritableStream();
  for (const args of [[], [{}], [null], [ws, 1], [ws, { signal: {} }], [ws, { signal: null }], [ws, { signal: "x" }]]) await assertRejects(rs.pipeTo(...args), TypeError);
  assertEquals([rs.locked, ws.locked], [false, false]);
  const order = [];
  const options = {};
  for (const k of ["signal", "preventClose", "preventCancel", "preventAbort"]) Object.defineProperty(options, k, { get() { order.push(k); } });
  await rs.pipeTo(ws, options);
  assertEquals(order, ["preventAbort", "preventCancel", "preventClose", "signal"]);
});

test("pipeThrough returns the readable side, whatever object the pair is", async () => {
  const ts = new TransformStream();
  const rs = of("a");
  assert(rs.pipeThrough({ readable: ts.readable, writable: ts.writable }) === ts.readable);
  assertEquals((await ts.readable.getReader().read()).value, "a");
  assertThrows(() => of().pipeThrough(), TypeError);
  assertThrows(() => of().pipeThrough({ readable: ts.readable }), TypeError);
  assertThrows(() => of().pipeThrough({ writable: ts.writable, readable: {} }), TypeError);
  const locked = new TransformStream();
  locked.writable.getWriter();
  assertThrows(() => of().pipeThrough(locked), TypeError);
});

test("pipeThrough marks its promise as handled", async () => {
  let reports = 0;
  const listener = () => { reports++; };
  globalThis.addEventListener?.("unhandledrejection", listener);
  new ReadableStream({ start(c) { c.error(new Error("x")); } }).pipeThrough(new TransformStream()).getReader().closed.catch(() => {});
  await new Promise((r) => setTimeout(r, 0));
  globalThis.removeEventListener?.("unhandledrejection", listener);
  assertEquals(reports, 0);
});

test("a pipe of pipes carries close, errors and cancels through", async () => {
  const chain = (rs) => rs.pipeThrough(new TransformStream()).pipeThrough(new TransformStream());
  const out = [];
  for await (const v of chain(of(1, 2))) out.push(v);
  assertEquals(out, [1, 2]);
  await assertRejects(chain(new ReadableStream({ start(c) { c.error(new RangeError("x")); } })).getReader().read(), RangeError);
  let canceled;
  await chain(new ReadableStream({ cancel(r) { canceled = r; } })).cancel("why");
  await settle(30);
  assertEquals(canceled, "why");
});

test("a byte stream pipes its chunks", async () => {
  const rs = new ReadableStream({ type: "bytes", start(c) { c.enqueue(new Uint8Array([1])); c.enqueue(new Uint8Array([2])); c.close(); } });
  const { calls, stream } = sink();
  await rs.pipeTo(stream);
  assertEquals(calls, [new Uint8Array([1]), new Uint8Array([2]), "close"]);
});
