const settle = async (n = 10) => { for (let i = 0; i < n; i++) await undefined; };
const stateOf = async (p) => {
  let state = "pending";
  p.then((v) => { state = ["ok", v]; }, (e) => { state = ["err", e]; });
  await settle();
  return state;
};
/** A sink that notes its calls; what it has of write, close and abort decides when they end. */
const recorder = (sink = {}) => {
  const calls = [];
  return {
    calls,
    start(controller) { this.controller = controller; return sink.start?.(controller); },
    write(chunk) { calls.push(["write", chunk]); return sink.write?.(chunk); },
    close(...args) { calls.push(["close", ...args]); return sink.close?.(); },
    abort(reason) { calls.push(["abort", reason]); return sink.abort?.(reason); },
  };
};

test("the constructor converts strategy, then sink, in the order of the names", () => {
  const seen = [];
  const spy = (name, value) => ({ get() { seen.push(name); return value; } });
  const sink = Object.defineProperties({}, Object.fromEntries(["write", "type", "start", "close", "abort"].map((n) => [n, spy(n)])));
  new WritableStream(sink, Object.defineProperties({}, { size: spy("size"), highWaterMark: spy("highWaterMark", 1) }));
  assertEquals(seen, ["highWaterMark", "size", "abort", "close", "start", "type", "write"]);
});

test("the constructor refuses bad sinks", () => {
  for (const sink of [null, 1, "text"]) assertThrows(() => new WritableStream(sink), TypeError);
  for (const name of ["start", "write", "close", "abort"]) assertThrows(() => new WritableStream({ [name]: 1 }), TypeError);
  for (const type of ["", "bytes", null]) assertThrows(() => new WritableStream({ type }), RangeError);
  const thrown = new Error("start");
  assert(assertThrows(() => new WritableStream({ start() { throw thrown; } })) === thrown);
  assertThrows(() => new WritableStreamDefaultController(), TypeError, "Illegal constructor");
  assertThrows(() => new WritableStreamDefaultWriter({}), TypeError);
});

test("writes go to the sink one at a time, in order, then close", async () => {
  const finish = [];
  const sink = recorder({ write: () => new Promise((r) => finish.push(r)) });
  const writer = new WritableStream(sink).getWriter();
  const writes = [writer.write("a"), writer.write("b")];
  const closed = writer.close();
  await settle();
  assertEquals(sink.calls, [["write", "a"]]);
  finish.shift()();
  assertEquals(await writes[0], undefined);
  await settle();
  assertEquals(sink.calls, [["write", "a"], ["write", "b"]]);
  finish.shift()();
  assertEquals(await closed, undefined);
  assertEquals(sink.calls[2], ["close"]);
  assertEquals(await writer.closed, undefined);
});

test("ready is one promise until backpressure comes, then another until it goes", async () => {
  let finish;
  const writer = new WritableStream({ write: () => new Promise((r) => { finish = r; }) }).getWriter();
  const first = writer.ready;
  assert(first === writer.ready);
  assertEquals(await first, undefined);
  assertEquals(writer.desiredSize, 1);
  writer.write("a");
  const second = writer.ready;
  assert(first !== second && second === writer.ready);
  assertEquals([writer.desiredSize, await stateOf(second)], [0, "pending"]);
  finish();
  assertEquals(await second, undefined);
  assert(second === writer.ready);
  assertEquals(writer.desiredSize, 1);
});

test("a high water mark of 0 never has room, but takes writes", async () => {
  const sink = recorder();
  const writer = new WritableStream(sink, { highWaterMark: 0 }).getWriter();
  assertEquals([writer.desiredSize, await stateOf(writer.ready)], [0, "pending"]);
  await writer.write("a");
  assertEquals(sink.calls, [["write", "a"]]);
  const closed = writer.close();
  assertEquals(await writer.ready, undefined, "closing makes it ready");
  await closed;
});

test("start that rejects errors the stream; writes wait for start", async () => {
  const e = new Error("start");
  const bad = new WritableStream({ start: () => Promise.reject(e) }).getWriter();
  await settle();
  for (const p of [bad.ready, bad.closed, bad.write("a"), bad.close()]) await assertRejects(p);
  assert((await assertRejects(bad.closed)) === e);
  let begin;
  const sink = recorder({ start: () => new Promise((r) => { begin = r; }) });
  const write = new WritableStream(sink).getWriter().write("a");
  await settle();
  assertEquals(sink.calls, []);
  begin();
  await write;
  assertEquals(sink.calls, [["write", "a"]]);
});

test("a write that fails errors the stream and the writes behind it", async () => {
  const e = new Error("write");
  for (const write of [() => { throw e; }, () => Promise.reject(e)]) {
    const writer = new WritableStream({ write }).getWriter();
    const results = await Promise.allSettled([writer.write(1), writer.write(2), writer.close(), writer.closed]);
    for (const r of results) assert(r.reason === e, "the sink's error");
    assert((await assertRejects(writer.ready)) === e);
    assertEquals(writer.desiredSize, null);
    assert((await assertRejects(writer.write(3))) === e);
    await assertRejects(writer.close(), TypeError);
  }
});

test("controller.error errors what comes, not the write under way", async () => {
  let finish;
  const sink = recorder({ write: () => new Promise((r) => { finish = r; }) });
  const ws = new WritableStream(sink);
  const writer = ws.getWriter();
  const first = writer.write("a");
  const second = writer.write("b");
  await settle();
  const e = new Error("x");
  sink.controller.error(e);
  sink.controller.error(new Error("ignored"));
  assert((await assertRejects(writer.ready)) === e);
  assertEquals(await stateOf(writer.closed), "pending", "the write goes on");
  finish();
  assertEquals(await first, undefined);
  assert((await assertRejects(second)) === e);
  assert((await assertRejects(writer.closed)) === e);
  assertEquals(sink.calls, [["write", "a"]]);
});

test("abort ends the stream after the write under way, and tells the sink why", async () => {
  let finish;
  const sink = recorder({ write: () => new Promise((r) => { finish = r; }) });
  const writer = new WritableStream(sink).getWriter();
  const first = writer.write("a");
  const second = writer.write("b");
  await settle();
  const reason = new Error("why");
  const aborted = writer.abort(reason);
  const again = writer.abort("other");
  assert(aborted === again, "the pending abort's promise");
  assert((await assertRejects(writer.ready)) === reason);
  finish();
  assertEquals(await first, undefined);
  assert((await assertRejects(second)) === reason);
  assertEquals(await aborted, undefined);
  assert((await assertRejects(writer.closed)) === reason);
  assertEquals(sink.calls, [["write", "a"], ["abort", reason]]);
  assertEquals(await writer.abort(), undefined);
});

test("abort before start waits for it", async () => {
  let begin;
  const sink = recorder({ start: () => new Promise((r) => { begin = r; }) });
  const ws = new WritableStream(sink);
  const aborted = ws.abort("why");
  assertEquals(await stateOf(aborted), "pending");
  begin();
  assertEquals(await aborted, undefined);
  assertEquals(sink.calls, [["abort", "why"]]);
});

test("abort rejects with what the sink's abort does", async () => {
  const e = new Error("abort");
  for (const abort of [() => { throw e; }, () => Promise.reject(e)]) {
    const writer = new WritableStream({ abort }).getWriter();
    assert((await assertRejects(writer.abort("why"))) === e);
    assertEquals(await stateOf(writer.closed), ["err", "why"]);
  }
});

test("abort while an error is under way rejects with that error", async () => {
  let finish;
  const sink = recorder({ write: () => new Promise((r) => { finish = r; }) });
  const writer = new WritableStream(sink).getWriter();
  writer.write("a");
  await settle();
  const e = new Error("x");
  sink.controller.error(e);
  const aborted = writer.abort("why");
  finish();
  assert((await assertRejects(aborted)) === e);
  assertEquals(sink.calls, [["write", "a"]], "the sink's abort is not called");
});

test("abort while close is under way lets the close decide", async () => {
  let finish;
  const make = () => new WritableStream({ close: () => new Promise((...f) => { finish = f; }) }).getWriter();
  let writer = make();
  let closed = writer.close();
  await settle();
  let aborted = writer.abort("why");
  finish[0]();
  assertEquals([await closed, await aborted, await writer.closed], [undefined, undefined, undefined]);
  writer = make();
  closed = writer.close();
  await settle();
  aborted = writer.abort("why");
  const e = new Error("close");
  finish[1](e);
  assert((await assertRejects(closed)) === e);
  assert((await assertRejects(aborted)) === e);
  assertEquals(await stateOf(writer.closed), ["err", "why"], "what abort stored");
});

test("the signal is aborted with the reason, before the sink is told", async () => {
  const seen = [];
  const sink = { start(c) { this.c = c; c.signal.addEventListener("abort", () => seen.push(["signal", c.signal.reason])); }, abort(r) { seen.push(["abort", r]); } };
  const ws = new WritableStream(sink);
  assert(sink.c.signal === sink.c.signal && sink.c.signal instanceof AbortSignal);
  const aborted = ws.abort("why");
  assertEquals(seen, [["signal", "why"]]);
  await aborted;
  assertEquals(seen, [["signal", "why"], ["abort", "why"]]);
});

test("a signal asked for after the abort is aborted; without a reason it has an AbortError", async () => {
  const sink = { start(c) { this.c = c; } };
  const ws = new WritableStream(sink);
  await ws.abort();
  assertEquals([sink.c.signal.aborted, sink.c.signal.reason.name], [true, "AbortError"]);
  const quiet = { start(c) { this.c = c; } };
  new WritableStream(quiet);
  quiet.c.error(new Error("x"));
  assertEquals(quiet.c.signal.aborted, false, "an error is no abort");
});

test("releaseLock rejects ready and closed, and writes of the old writer", async () => {
  const ws = new WritableStream();
  const writer = ws.getWriter();
  const { ready, closed } = writer;
  assertEquals(await ready, undefined);
  writer.releaseLock();
  assertEquals(ws.locked, false);
  assert(ready !== writer.ready && closed === writer.closed);
  for (const p of [writer.ready, writer.closed, writer.write("a"), writer.close(), writer.abort()]) await assertRejects(p, TypeError);
  assertThrows(() => writer.desiredSize, TypeError);
  writer.releaseLock();
  ws.getWriter();
});

test("a lock released inside of size rejects the write", async () => {
  let writer;
  const ws = new WritableStream({}, { size() { writer.releaseLock(); return 1; } });
  writer = ws.getWriter();
  await assertRejects(writer.write("a"), TypeError);
});

test("a locked stream refuses abort, close and a second writer", async () => {
  const ws = new WritableStream();
  ws.getWriter();
  await assertRejects(ws.abort(), TypeError);
  await assertRejects(ws.close(), TypeError);
  assertThrows(() => ws.getWriter(), TypeError);
});

test("close twice rejects the second time; a closed stream takes no writes", async () => {
  const writer = new WritableStream().getWriter();
  const closed = writer.close();
  await assertRejects(writer.close(), TypeError);
  await assertRejects(writer.write("a"), TypeError);
  await closed;
  await assertRejects(writer.write("a"), TypeError);
  await assertRejects(writer.close(), TypeError);
  assertEquals(writer.desiredSize, 0);
  assertEquals(await writer.abort(), undefined);
  const ws = new WritableStream();
  const p = ws.close();
  await assertRejects(ws.close(), TypeError);
  await p;
});

test("methods that return promises reject for another receiver", async () => {
  const writer = new WritableStream().getWriter();
  for (const p of [writer.write.call({}), writer.close.call({}), writer.abort.call({}), WritableStream.prototype.abort.call({}), WritableStream.prototype.close.call({})]) await assertRejects(p, TypeError);
  for (const name of ["ready", "closed"]) await assertRejects(Object.getOwnPropertyDescriptor(WritableStreamDefaultWriter.prototype, name).get.call({}), TypeError);
  assertThrows(() => WritableStream.prototype.getWriter.call({}), TypeError);
});

test("sizes count against the high water mark", async () => {
  const writer = new WritableStream({ write: () => new Promise(() => {}) }, new ByteLengthQueuingStrategy({ highWaterMark: 10 })).getWriter();
  writer.write(new Uint8Array(4));
  assertEquals(writer.desiredSize, 6);
  writer.write(new Uint8Array(8));
  assertEquals(writer.desiredSize, -2);
});
