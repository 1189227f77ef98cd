const settle = async (n = 10) => { for (let i = 0; i < n; i++) await undefined; };
/** Tells how a promise stands: "pending", ["ok", value] or ["err", reason]. */
const stateOf = async (p) => {
  let state = "pending";
  p.then((v) => { state = ["ok", v]; }, (e) => { state = ["err", e]; });
  await settle();
  return state;
};

test("the constructor converts strategy, then source, in the order of the names", () => {
  const seen = [];
  const spy = (name, value) => ({ get() { seen.push(name); return value; }, enumerable: true });
  const source = Object.defineProperties({}, Object.fromEntries(["type", "start", "pull", "cancel", "autoAllocateChunkSize"].map((n) => [n, spy(n)])));
  const strategy = Object.defineProperties({}, { size: spy("size"), highWaterMark: spy("highWaterMark", 1) });
  new ReadableStream(source, strategy);
  assertEquals(seen, ["highWaterMark", "size", "autoAllocateChunkSize", "cancel", "pull", "start", "type"]);
});

test("the constructor refuses bad sources", () => {
  for (const source of [null, 1, "text", Symbol()]) assertThrows(() => new ReadableStream(source), TypeError);
  for (const name of ["start", "pull", "cancel"]) {
    for (const value of [1, "f", {}, null]) assertThrows(() => new ReadableStream({ [name]: value }), TypeError);
    new ReadableStream({ [name]: undefined });
  }
  for (const type of ["", "BYTES", null, "asdf", { toString: () => "x" }]) assertThrows(() => new ReadableStream({ type }), TypeError);
  new ReadableStream({ type: { toString: () => "bytes" } });
  const thrown = new RangeError("start");
  assert(assertThrows(() => new ReadableStream({ start() { throw thrown; } })) === thrown);
  assertThrows(() => ReadableStream(), TypeError);
  assertThrows(() => new ReadableStreamDefaultController(), TypeError, "Illegal constructor");
});

test("start, pull and cancel are called on the source, with the controller", async () => {
  const seen = [];
  const source = {
    start(...args) { seen.push(["start", this === source, args.length, args[0] instanceof ReadableStreamDefaultController]); this.controller = args[0]; },
    pull(...args) { seen.push(["pull", this === source, args.length, args[0] === this.controller]); },
    cancel(...args) { seen.push(["cancel", this === source, args.length, args[0]]); },
  };
  const rs = new ReadableStream(source);
  await settle();
  await rs.cancel("why");
  assertEquals(seen, [["start", true, 1, true], ["pull", true, 1, true], ["cancel", true, 1, "why"]]);
});

test("pull is called as the high water mark asks, not while one is under way", async () => {
  let pulls = 0;
  let finish;
  const rs = new ReadableStream({ pull() { pulls++; return new Promise((r) => { finish = r; }); } }, { highWaterMark: 0 });
  await settle();
  assertEquals(pulls, 0, "nothing is wanted");
  const reader = rs.getReader();
  reader.read();
  await settle();
  assertEquals(pulls, 1);
  reader.read();
  await settle();
  assertEquals(pulls, 1, "the first goes on");
  finish();
  await settle();
  assertEquals(pulls, 2, "asked again");
});

test("desiredSize follows the queue and the state", async () => {
  let controller;
  const make = (hwm) => new ReadableStream({ start: (c) => (controller = c) }, { highWaterMark: hwm });
  const rs = make(2);
  assertEquals(controller.desiredSize, 2);
  controller.enqueue("a"); controller.enqueue("b"); controller.enqueue("c");
  assertEquals(controller.desiredSize, -1);
  await rs.getReader().read();
  assertEquals(controller.desiredSize, 0);
  controller.error();
  assertEquals(controller.desiredSize, null);
  make(3);
  controller.close();
  assertEquals(controller.desiredSize, 0);
});

test("the controller throws once the stream is closed, closing or errored", () => {
  let controller;
  const make = () => new ReadableStream({ start: (c) => (controller = c) });
  make(); controller.close();
  assertThrows(() => controller.close(), TypeError);
  assertThrows(() => controller.enqueue("a"), TypeError);
  controller.error(new Error("ignored"));
  make(); controller.enqueue("a"); controller.close();
  assertThrows(() => controller.enqueue("b"), TypeError);
  make(); controller.error(1);
  assertThrows(() => controller.close(), TypeError);
  assertThrows(() => controller.enqueue("b"), TypeError);
  controller.error(2);
});

test("what was queued is read before close, and not after an error", async () => {
  let controller;
  let reader = new ReadableStream({ start: (c) => (controller = c) }).getReader();
  controller.enqueue("a"); controller.close();
  assertEquals(await stateOf(reader.closed), "pending");
  assertEquals(await reader.read(), { value: "a", done: false });
  assertEquals(await reader.read(), { value: undefined, done: true });
  assertEquals(await reader.closed, undefined);
  reader = new ReadableStream({ start: (c) => (controller = c) }).getReader();
  const e = new Error("x");
  controller.enqueue("a"); controller.error(e);
  assert((await assertRejects(reader.read())) === e);
  assert((await assertRejects(reader.closed)) === e);
});

test("closed is one promise until the lock is released, then another", async () => {
  const rs = new ReadableStream();
  const reader = rs.getReader();
  const { closed } = reader;
  assert(closed === reader.closed);
  reader.releaseLock();
  assert(closed === reader.closed, "a pending promise is rejected itself");
  await assertRejects(closed, TypeError);

  const done = new ReadableStream({ start: (c) => c.close() }).getReader();
  const before = done.closed;
  done.releaseLock();
  assert(before !== done.closed, "a settled promise is replaced");
  assertEquals(await before, undefined);
  await assertRejects(done.closed, TypeError);
});

test("closed is settled before the reads, in the order of the reads", async () => {
  let controller;
  const reader = new ReadableStream({ start: (c) => (controller = c) }).getReader();
  const order = [];
  reader.read().then(() => order.push("read 1"));
  reader.read().then(() => order.push("read 2"));
  reader.closed.then(() => order.push("closed"));
  controller.close();
  await settle();
  assertEquals(order, ["closed", "read 1", "read 2"]);
});

test("releaseLock rejects pending reads, and the chunks stay for the next reader", async () => {
  let controller;
  const rs = new ReadableStream({ start: (c) => (controller = c) });
  const first = rs.getReader();
  const pending = [first.read(), first.read()];
  first.releaseLock();
  for (const p of pending) await assertRejects(p, TypeError);
  await assertRejects(first.read(), TypeError);
  await assertRejects(first.cancel(), TypeError);
  first.releaseLock();
  const second = rs.getReader();
  controller.enqueue("a");
  assertEquals(await second.read(), { value: "a", done: false });
});

test("a locked stream refuses what needs the lock", async () => {
  const rs = new ReadableStream();
  assertEquals(rs.locked, false);
  rs.getReader();
  assertEquals(rs.locked, true);
  assertThrows(() => rs.getReader(), TypeError);
  assertThrows(() => rs.tee(), TypeError);
  assertThrows(() => rs.values(), TypeError);
  assertThrows(() => rs.pipeThrough(new TransformStream()), TypeError);
  assertThrows(() => new ReadableStreamDefaultReader(rs), TypeError);
  await assertRejects(rs.cancel(), TypeError);
  await assertRejects(rs.pipeTo(new WritableStream()), TypeError);
});

test("getReader takes a mode", () => {
  const rs = new ReadableStream();
  for (const mode of ["", "BYOB", null, 1]) assertThrows(() => rs.getReader({ mode }), TypeError);
  assertThrows(() => rs.getReader({ mode: "byob" }), TypeError);
  assertThrows(() => rs.getReader(1), TypeError);
  assertEquals(rs.locked, false);
  assert(rs.getReader({ mode: undefined }) instanceof ReadableStreamDefaultReader);
  assert(new ReadableStream().getReader(null) instanceof ReadableStreamDefaultReader);
});

test("cancel closes at once, drops the queue and waits for the source", async () => {
  let finish;
  let controller;
  const rs = new ReadableStream({ start(c) { controller = c; c.enqueue("a"); }, cancel: () => new Promise((r) => { finish = r; }) });
  const reader = rs.getReader();
  const canceled = reader.cancel("why");
  assertEquals(await reader.read(), { value: undefined, done: true });
  assertEquals(await stateOf(canceled), "pending");
  assertThrows(() => controller.enqueue("b"), TypeError);
  finish("ignored");
  assertEquals(await canceled, undefined);
  assertEquals(await reader.cancel(), undefined);
});

test("cancel rejects with what the source's cancel does, or the stream's error", async () => {
  const e = new Error("cancel");
  for (const cancel of [() => { throw e; }, () => Promise.reject(e)]) assert((await assertRejects(new ReadableStream({ cancel }).cancel())) === e);
  assert((await assertRejects(new ReadableStream({ start: (c) => c.error(e) }).cancel())) === e);
  const rs = new ReadableStream({ cancel() { throw e; } });
  const reader = rs.getReader();
  await assertRejects(reader.cancel());
  assertEquals(await reader.closed, undefined, "the stream is closed nevertheless");
});

test("start and pull that reject error the stream", async () => {
  const e = new Error("source");
  for (const source of [{ start: () => Promise.reject(e) }, { pull: () => Promise.reject(e) }, { pull() { throw e; } }]) {
    const rs = new ReadableStream(source);
    assert((await assertRejects(rs.getReader().closed)) === e);
  }
});

test("pull waits for a start that takes its time", async () => {
  let begin;
  let pulled = false;
  const rs = new ReadableStream({ start: () => new Promise((r) => { begin = r; }), pull(c) { pulled = true; c.enqueue(1); } });
  const read = rs.getReader().read();
  await settle();
  assertEquals(pulled, false);
  begin();
  assertEquals((await read).value, 1);
});

test("methods that return promises reject for another receiver", async () => {
  const reader = new ReadableStream().getReader();
  await assertRejects(reader.read.call({}), TypeError);
  await assertRejects(reader.cancel.call({}), TypeError);
  await assertRejects(Object.getOwnPropertyDescriptor(ReadableStreamDefaultReader.prototype, "closed").get.call({}), TypeError);
  await assertRejects(ReadableStream.prototype.cancel.call({}), TypeError);
  await assertRejects(ReadableStream.prototype.pipeTo.call({}, new WritableStream()), TypeError);
  assertThrows(() => ReadableStream.prototype.tee.call({}), TypeError);
  assertThrows(() => reader.releaseLock.call(new ReadableStream()), TypeError);
  for (const name of ["locked"]) assertThrows(() => Object.getOwnPropertyDescriptor(ReadableStream.prototype, name).get.call({}), TypeError);
});

test("a read result is a plain object with value and done", async () => {
  const reader = new ReadableStream({ start(c) { c.enqueue(undefined); } }).getReader();
  const result = await reader.read();
  assertEquals(Object.keys(result), ["value", "done"]);
  assert(Object.getPrototypeOf(result) === Object.prototype);
});

test("nothing on Object.prototype or in patched globals is used", async () => {
  const then = Promise.prototype.then;
  const keys = ["start", "pull", "cancel", "type", "size", "highWaterMark", "next", "state", "stream", "value"];
  for (const k of keys) Object.defineProperty(Object.prototype, k, { get() { throw new Error(`read ${k}`); }, set() { throw new Error(`set ${k}`); }, configurable: true });
  Promise.prototype.then = () => { throw new Error("then was called"); };
  let branches;
  try {
    branches = new ReadableStream().tee();
    new TransformStream();
  } finally {
    for (const k of keys) delete Object.prototype[k];
    Promise.prototype.then = then;
  }
  assertEquals(branches.length, 2);
});

test("a subclass keeps its prototype and its brand", async () => {
  class Mine extends ReadableStream {
    constructor() { super({ start(c) { c.enqueue("a"); c.close(); } }); }
    extra() { return this.locked; }
  }
  const rs = new Mine();
  assertEquals(rs.extra(), false);
  assertEquals(await rs.getReader().read(), { value: "a", done: false });
});

test("a thousand queued chunks come out in order", async () => {
  const rs = new ReadableStream({ start(c) { for (let i = 0; i < 1000; i++) c.enqueue(i); c.close(); } });
  const reader = rs.getReader();
  for (let i = 0; i < 1000; i++) assertEquals((await reader.read()).value, i);
  assertEquals((await reader.read()).done, true);
});
