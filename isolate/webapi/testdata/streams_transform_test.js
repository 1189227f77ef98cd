const settle = async (n = 12) => { for (let i = 0; i < n; i++) await undefined; };
const stateOf = async (p) => {
  let state = "pending";
  p.then((v) => { state = ["ok", v]; }, (e) => { state = ["err", e]; });
  await settle();
  return state;
};
const collect = async (stream) => { const out = []; for await (const chunk of stream) out.push(chunk); return out; };

test("the constructor converts strategies, then transformer, in the order of the names", () => {
  const seen = [];
  const spy = (name) => ({ get() { seen.push(name); return undefined; } });
  const names = ["writableType", "transform", "start", "readableType", "flush", "cancel"];
  const strategy = (n) => Object.defineProperties({}, { size: spy(`${n} size`), highWaterMark: spy(`${n} highWaterMark`) });
  new TransformStream(Object.defineProperties({}, Object.fromEntries(names.map((n) => [n, spy(n)]))), strategy("w"), strategy("r"));
  assertEquals(seen, ["w highWaterMark", "w size", "r highWaterMark", "r size", "cancel", "flush", "readableType", "start", "transform", "writableType"]);
});

test("the constructor refuses bad transformers and types", () => {
  for (const t of [null, 1]) assertThrows(() => new TransformStream(t), TypeError);
  for (const name of ["start", "transform", "flush", "cancel"]) assertThrows(() => new TransformStream({ [name]: 1 }), TypeError);
  for (const name of ["readableType", "writableType"]) for (const v of ["bytes", "", null]) assertThrows(() => new TransformStream({ [name]: v }), RangeError);
  const thrown = new Error("start");
  assert(assertThrows(() => new TransformStream({ start() { throw thrown; } })) === thrown);
  assertThrows(() => new TransformStreamDefaultController(), TypeError, "Illegal constructor");
});

test("readable and writable are the same objects each time", () => {
  const ts = new TransformStream();
  assert(ts.readable === ts.readable && ts.readable instanceof ReadableStream);
  assert(ts.writable === ts.writable && ts.writable instanceof WritableStream);
  assertThrows(() => Object.getOwnPropertyDescriptor(TransformStream.prototype, "readable").get.call({}), TypeError);
});

test("without transform chunks pass through", async () => {
  assertEquals(await collect(ReadableStream.from([1, 2, 3]).pipeThrough(new TransformStream())), [1, 2, 3]);
});

test("transform and flush may enqueue any number, now or later", async () => {
  const ts = new TransformStream({
    start(c) { c.enqueue("start"); },
    async transform(chunk, c) { await undefined; for (let i = 0; i < chunk; i++) c.enqueue(chunk); },
    flush(c) { c.enqueue("flush"); return settle(); },
  });
  assertEquals(await collect(ReadableStream.from([0, 1, 2]).pipeThrough(ts)), ["start", 1, 2, 2, "flush"]);
});

test("methods are called on the transformer, with the controller", async () => {
  const seen = [];
  const t = {
    start(...a) { seen.push(["start", this === t, a.length, a[0] instanceof TransformStreamDefaultController]); },
    transform(...a) { seen.push(["transform", this === t, a.length, a[0]]); },
    flush(...a) { seen.push(["flush", this === t, a.length]); },
  };
  await collect(ReadableStream.from(["x"]).pipeThrough(new TransformStream(t)));
  assertEquals(seen, [["start", true, 1, true], ["transform", true, 2, "x"], ["flush", true, 1]]);
});

test("a write waits until the readable side wants a chunk", async () => {
  let called = 0;
  const ts = new TransformStream({ transform(chunk, c) { called++; c.enqueue(chunk); } });
  const writer = ts.writable.getWriter();
  assertEquals([writer.desiredSize, await stateOf(writer.ready)], [1, ["ok", undefined]]);
  const write = writer.write("a");
  assertEquals([await stateOf(write), called, writer.desiredSize], ["pending", 0, 0]);
  assertEquals((await ts.readable.getReader().read()).value, "a");
  assertEquals([await stateOf(write), called], [["ok", undefined], 1]);
});

test("desiredSize is that of the readable side", async () => {
  let controller;
  const ts = new TransformStream({ start(c) { controller = c; } }, undefined, { highWaterMark: 5 });
  assertEquals(controller.desiredSize, 5);
  controller.enqueue("a");
  assertEquals(controller.desiredSize, 4);
  await ts.readable.cancel();
  assertEquals(controller.desiredSize, 0);
});

test("transform that fails errors both sides with that", async () => {
  const e = new Error("transform");
  for (const transform of [() => { throw e; }, () => Promise.reject(e)]) {
    const ts = new TransformStream({ transform });
    const writer = ts.writable.getWriter();
    const reader = ts.readable.getReader();
    const results = await Promise.allSettled([writer.write("a"), reader.read(), writer.closed, reader.closed]);
    for (const r of results) assert(r.reason === e);
  }
});

test("flush that fails errors the readable side and the close", async () => {
  const e = new Error("flush");
  for (const flush of [() => { throw e; }, () => Promise.reject(e)]) {
    const ts = new TransformStream({ flush });
    const writer = ts.writable.getWriter();
    const results = await Promise.allSettled([writer.close(), ts.readable.getReader().closed, writer.closed]);
    for (const r of results) assert(r.reason === e);
  }
});

test("start that rejects errors both sides", async () => {
  const e = new Error("start");
  const ts = new TransformStream({ start: () => Promise.reject(e) });
  assert((await assertRejects(ts.readable.getReader().closed)) === e);
  assert((await assertRejects(ts.writable.getWriter().closed)) === e);
});

test("controller.error errors both sides, once", async () => {
  let controller;
  const ts = new TransformStream({ start(c) { controller = c; } });
  const e = new Error("x");
  controller.error(e);
  controller.error(new Error("ignored"));
  assert((await assertRejects(ts.readable.getReader().read())) === e);
  assert((await assertRejects(ts.writable.getWriter().write("a"))) === e);
  assertThrows(() => controller.enqueue("a"), TypeError);
});

test("terminate closes the readable side after what is queued, and errors the writable", async () => {
  let controller;
  const ts = new TransformStream({ start(c) { controller = c; } }, undefined, { highWaterMark: 2 });
  controller.enqueue("a");
  controller.terminate();
  assertThrows(() => controller.enqueue("b"), TypeError);
  assertEquals(await collect(ts.readable), ["a"]);
  await assertRejects(ts.writable.getWriter().closed, TypeError);
});

test("aborting the writable calls cancel and errors the readable side", async () => {
  const seen = [];
  const ts = new TransformStream({ cancel(r) { seen.push(r); }, flush() { seen.push("flush"); } });
  const reader = ts.readable.getReader();
  await ts.writable.abort("why");
  assertEquals([seen, await stateOf(reader.closed)], [["why"], ["err", "why"]]);
});

test("canceling the readable calls cancel and errors the writable side", async () => {
  const seen = [];
  const ts = new TransformStream({ cancel(r) { seen.push(r); return settle(); }, flush() { seen.push("flush"); } });
  const writer = ts.writable.getWriter();
  const canceled = ts.readable.cancel("why");
  assertEquals(await canceled, undefined);
  assertEquals([seen, await stateOf(writer.closed)], [["why"], ["err", "why"]]);
  await assertRejects(writer.write("a"));
});

test("cancel that fails rejects, and is the error of the other side", async () => {
  const e = new Error("cancel");
  let ts = new TransformStream({ cancel() { throw e; } });
  assert((await assertRejects(ts.readable.cancel("why"))) === e);
  assert((await assertRejects(ts.writable.getWriter().closed)) === e);
  ts = new TransformStream({ cancel: () => Promise.reject(e) });
  assert((await assertRejects(ts.writable.abort("why"))) === e);
  assert((await assertRejects(ts.readable.getReader().closed)) === e);
});

test("cancel while flush is under way waits for flush and calls nothing", async () => {
  const seen = [];
  let finish;
  const ts = new TransformStream({ flush() { seen.push("flush"); return new Promise((...f) => { finish = f; }); }, cancel() { seen.push("cancel"); } });
  const closed = ts.writable.close();
  await settle();
  const canceled = ts.readable.cancel("why");
  assertEquals([seen, await stateOf(canceled)], [["flush"], "pending"]);
  finish[0]();
  assertEquals([await closed, await canceled, seen], [undefined, undefined, ["flush"]]);
});

test("abort while the readable is being canceled waits for that cancel", async () => {
  const seen = [];
  let finish;
  const ts = new TransformStream({ cancel(r) { seen.push(r); return new Promise((r) => { finish = r; }); } });
  const canceled = ts.readable.cancel("first");
  await settle();
  const aborted = ts.writable.abort("second");
  assertEquals([seen, await stateOf(aborted)], [["first"], "pending"]);
  finish();
  await Promise.allSettled([canceled, aborted]);
  assertEquals(seen, ["first"]);
});

test("controller.error inside of cancel is what cancel rejects with", async () => {
  const e = new Error("x");
  let controller;
  const ts = new TransformStream({ start(c) { controller = c; }, cancel() { controller.error(e); } });
  await settle();
  assert((await assertRejects(ts.readable.cancel("why"))) === e);
});

test("a write parked by backpressure is rejected when the readable is canceled", async () => {
  const ts = new TransformStream();
  const writer = ts.writable.getWriter();
  const write = writer.write("a");
  await settle();
  await ts.readable.cancel("why");
  assertEquals(await stateOf(write), ["err", "why"]);
});

test("an async transform holds the next chunk back", async () => {
  let running = 0;
  let most = 0;
  const ts = new TransformStream({ async transform(chunk, c) { most = Math.max(most, ++running); await settle(); running--; c.enqueue(chunk); } });
  assertEquals((await collect(ReadableStream.from([1, 2, 3, 4]).pipeThrough(ts))).length, 4);
  assertEquals(most, 1);
});
