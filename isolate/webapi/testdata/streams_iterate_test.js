const settle = async (n = 10) => { for (let i = 0; i < n; i++) await undefined; };
const of = (...chunks) => new ReadableStream({ start(c) { for (const chunk of chunks) c.enqueue(chunk); c.close(); } });
const collect = async (iterable) => { const out = []; for await (const v of iterable) out.push(v); return out; };

test("the iterator's prototype is as Web IDL says", () => {
  const it = of().values();
  const proto = Object.getPrototypeOf(it);
  assert(Object.getPrototypeOf(proto) === Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype));
  assertEquals(Object.keys(proto), ["next", "return"]);
  assertEquals([proto.next.length, proto.return.length, Object.hasOwn(proto, "constructor")], [0, 1, false]);
  assertEquals(Object.prototype.toString.call(it), "[object ReadableStream AsyncIterator]");
  assert(ReadableStream.prototype[Symbol.asyncIterator] === ReadableStream.prototype.values);
  assertEquals(Object.getOwnPropertyDescriptor(ReadableStream.prototype, Symbol.asyncIterator).enumerable, false);
});

test("for await reads to the end and releases the lock", async () => {
  const rs = of(1, undefined, null);
  assertEquals(await collect(rs), [1, undefined, null]);
  assertEquals(rs.locked, false);
});

test("leaving the loop cancels, unless preventCancel", async () => {
  let canceled = [];
  const make = () => new ReadableStream({ pull(c) { c.enqueue(1); }, cancel(r) { canceled.push(r); } });
  let rs = make();
  for await (const _ of rs) break;
  assertEquals([canceled, rs.locked], [[undefined], false]);
  canceled = [];
  rs = make();
  for await (const _ of rs.values({ preventCancel: true })) break;
  assertEquals([canceled, rs.locked], [[], false]);
  assertEquals((await rs.getReader().read()).value, 1);
  try { for await (const _ of make()) throw new RangeError("mine"); } catch (e) { assertEquals(e.message, "mine"); }
  assertEquals(canceled, [undefined]);
});

test("next calls that overlap are answered in order", async () => {
  const it = of(1, 2).values();
  const results = await Promise.all([it.next(), it.next(), it.next(), it.next()]);
  assertEquals(results, [{ value: 1, done: false }, { value: 2, done: false }, { value: undefined, done: true }, { value: undefined, done: true }]);
});

test("return waits for the next under way, and next after it is done", async () => {
  let controller;
  const log = [];
  const rs = new ReadableStream({ start(c) { controller = c; }, cancel(r) { log.push(["cancel", r]); return settle(); } });
  const it = rs.values();
  const next = it.next().then((r) => log.push(["next", r.value]));
  const ret = it.return("r").then((r) => log.push(["return", r]));
  const after = it.next().then((r) => log.push(["after", r.done]));
  await settle();
  assertEquals(log, []);
  controller.enqueue("a");
  await Promise.all([next, ret, after]);
  assertEquals(log, [["next", "a"], ["cancel", "r"], ["return", { value: "r", done: true }], ["after", true]]);
  assertEquals(await it.return("again"), { value: "again", done: true });
});

test("an error rejects once, then the iterator is done", async () => {
  const e = new Error("x");
  const rs = new ReadableStream({ start(c) { c.error(e); } });
  const it = rs.values();
  const [first, second] = await Promise.allSettled([it.next(), it.next()]);
  assert(first.reason === e);
  assertEquals(second.value, { value: undefined, done: true });
  assertEquals(rs.locked, false);
});

test("return rejects with what cancel does", async () => {
  const e = new Error("x");
  const it = new ReadableStream({ cancel() { throw e; } }).values();
  assert((await assertRejects(it.return())) === e);
});

test("another receiver rejects", async () => {
  const it = of().values();
  await assertRejects(it.next.call({}), TypeError);
  await assertRejects(it.return.call(of()), TypeError);
});

test("a loop over a thousand chunks ends", async () => {
  let n = 0;
  const rs = new ReadableStream({ pull(c) { if (++n > 1000) c.close(); else c.enqueue(n); } });
  let sum = 0;
  for await (const v of rs) sum += v;
  assertEquals(sum, 500500);
});

test("from takes arrays, strings, sets, generators, streams and promises of values", async () => {
  assertEquals(await collect(ReadableStream.from(["a", "b"])), ["a", "b"]);
  assertEquals(await collect(ReadableStream.from("ab")), ["a", "b"]);
  assertEquals(await collect(ReadableStream.from(new Set([1]))), [1]);
  assertEquals(await collect(ReadableStream.from((function* () { yield 1; })())), [1]);
  assertEquals(await collect(ReadableStream.from((async function* () { yield 1; yield 2; })())), [1, 2]);
  assertEquals(await collect(ReadableStream.from([Promise.resolve(1), 2])), [1, 2]);
  assertEquals(await collect(ReadableStream.from(of(1, 2))), [1, 2]);
});

test("from refuses what is not iterable", () => {
  for (const v of [undefined, null, 0, true, {}, Symbol(), () => {}, { [Symbol.iterator]: 1 }, { [Symbol.asyncIterator]: {} }, { [Symbol.iterator]: () => 1 }]) {
    assertThrows(() => ReadableStream.from(v), TypeError);
  }
  assertThrows(() => ReadableStream.from(), TypeError);
  const thrown = new RangeError("mine");
  assert(assertThrows(() => ReadableStream.from({ [Symbol.asyncIterator]() { throw thrown; } })) === thrown);
});

test("from prefers the async iterator and falls back for null", async () => {
  const both = { [Symbol.asyncIterator]: () => of("async").values(), [Symbol.iterator]: () => ["sync"].values() };
  assertEquals(await collect(ReadableStream.from(both)), ["async"]);
  assertEquals(await collect(ReadableStream.from({ ...both, [Symbol.asyncIterator]: null })), ["sync"]);
});

test("from pulls only when it is read", async () => {
  let steps = 0;
  const rs = ReadableStream.from({ [Symbol.asyncIterator]: () => ({ next: async () => ({ value: ++steps, done: false }) }) });
  await settle();
  assertEquals(steps, 0);
  const reader = rs.getReader();
  assertEquals((await reader.read()).value, 1);
  await settle();
  assertEquals(steps, 1);
});

test("from errors the stream with what the iterator throws", async () => {
  const e = new Error("x");
  const nexts = [() => { throw e; }, () => Promise.reject(e), () => ({ get done() { throw e; } }), () => ({ done: false, get value() { throw e; } })];
  for (const next of nexts) {
    for (const symbol of [Symbol.iterator, Symbol.asyncIterator]) {
      if (symbol === Symbol.iterator && next === nexts[1]) continue;
      assert((await assertRejects(ReadableStream.from({ [symbol]: () => ({ next }) }).getReader().read())) === e);
    }
  }
  await assertRejects(ReadableStream.from({ [Symbol.asyncIterator]: () => ({ next: () => 1 }) }).getReader().read(), TypeError);
  await assertRejects(ReadableStream.from({ [Symbol.iterator]: () => ({ next: () => 1 }) }).getReader().read(), TypeError);
});

test("from closes a sync iterator whose value rejects", async () => {
  let closed = 0;
  const e = new Error("x");
  const iterator = { next: () => ({ done: false, value: Promise.reject(e) }), return() { closed++; throw new Error("less"); } };
  assert((await assertRejects(ReadableStream.from({ [Symbol.iterator]: () => iterator }).getReader().read())) === e);
  assertEquals(closed, 1);
});

test("cancel of from calls return with the reason and waits for it", async () => {
  for (const symbol of [Symbol.iterator, Symbol.asyncIterator]) {
    let seen;
    let finish;
    const waiting = new Promise((r) => { finish = r; });
    const iterator = { next() {}, return(...args) { seen = args; return symbol === Symbol.iterator ? { value: waiting, done: true } : waiting.then(() => ({})); } };
    let done = false;
    const p = ReadableStream.from({ [symbol]: () => iterator }).cancel("why").then((v) => { done = true; return v; });
    await settle();
    assertEquals([seen, done], [["why"], false]);
    finish();
    assertEquals(await p, undefined);
  }
});

test("cancel of from: no return, and returns that are wrong", async () => {
  const cancel = (ret) => ReadableStream.from({ [Symbol.asyncIterator]: () => ({ next() {}, return: ret }) }).cancel();
  assertEquals(await cancel(undefined), undefined);
  assertEquals(await cancel(null), undefined);
  await assertRejects(cancel(1), TypeError);
  await assertRejects(cancel(() => 1), TypeError);
  await assertRejects(cancel(() => { throw new RangeError("x"); }), RangeError);
});

test("from yields thenables of an async iterator as they are", async () => {
  const thenable = { then() { throw new Error("called"); } };
  const rs = ReadableStream.from({ [Symbol.asyncIterator]: () => ({ next: async () => ({ value: thenable, done: false }) }) });
  const reader = rs.getReader();
  const { value } = await reader.read();
  assert(value === thenable);
});
