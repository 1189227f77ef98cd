const settle = async (n = 10) => { for (let i = 0; i < n; i++) await undefined; };
const bytes = (...values) => new Uint8Array(values);
const collect = async (stream) => { const out = []; for await (const chunk of stream) out.push(chunk); return out; };

test("both branches get every chunk, the same object", async () => {
  const chunk = { a: 1 };
  const rs = new ReadableStream({ start(c) { c.enqueue(chunk); c.enqueue("b"); c.close(); } });
  const [one, two] = rs.tee();
  assertEquals(rs.locked, true);
  const [a, b] = await Promise.all([collect(one), collect(two)]);
  assert(a[0] === chunk && b[0] === chunk);
  assertEquals([a[1], b[1]], ["b", "b"]);
});

test("a slow branch keeps the chunks that the other one pulled", async () => {
  let n = 0;
  const [one, two] = new ReadableStream({ pull(c) { c.enqueue(++n); } }, { highWaterMark: 0 }).tee();
  const fast = one.getReader();
  for (let i = 1; i <= 5; i++) assertEquals((await fast.read()).value, i);
  const slow = two.getReader();
  for (let i = 1; i <= 5; i++) assertEquals((await slow.read()).value, i);
});

test("cancel waits for both branches and gives both reasons", async () => {
  let seen;
  const [one, two] = new ReadableStream({ cancel(reason) { seen = reason; } }).tee();
  let done = false;
  const first = one.cancel("r1").then(() => { done = true; });
  await settle();
  assertEquals([done, seen], [false, undefined]);
  await two.cancel("r2");
  await first;
  assertEquals(seen, ["r1", "r2"]);
});

test("cancel that fails rejects both", async () => {
  const e = new Error("cancel");
  const [one, two] = new ReadableStream({ cancel() { throw e; } }).tee();
  const both = [one.cancel(), two.cancel()];
  for (const p of both) assert((await assertRejects(p)) === e);
});

test("one canceled branch leaves the other one reading", async () => {
  let controller;
  const [one, two] = new ReadableStream({ start(c) { controller = c; } }).tee();
  const canceled = one.cancel("no");
  controller.enqueue("a");
  controller.close();
  assertEquals(await collect(two), ["a"]);
  assertEquals(await canceled, undefined);
});

test("an error reaches both branches, before chunks that nobody took", async () => {
  const e = new Error("x");
  for (const type of [undefined, "bytes"]) {
    let controller;
    const [one, two] = new ReadableStream({ type, start(c) { controller = c; } }).tee();
    const readers = [one.getReader(), two.getReader()];
    const reads = readers.map((r) => r.read());
    controller.error(e);
    for (const p of [...reads, readers[0].closed, readers[1].closed]) assert((await assertRejects(p)) === e);
  }
});

test("an error settles the cancel of the other branch", async () => {
  let controller;
  const [one, two] = new ReadableStream({ start(c) { controller = c; } }).tee();
  const canceled = one.cancel();
  controller.error(new Error("x"));
  assertEquals(await canceled, undefined);
  await assertRejects(two.getReader().closed);
});

test("tee of a byte stream copies for the second branch", async () => {
  const rs = new ReadableStream({ type: "bytes", start(c) { c.enqueue(bytes(1, 2)); c.close(); } });
  const [one, two] = rs.tee();
  const a = (await one.getReader().read()).value;
  a[0] = 9;
  const b = (await two.getReader().read()).value;
  assertEquals([a, b], [bytes(9, 2), bytes(1, 2)]);
  assert(a.buffer !== b.buffer);
});

test("branches of a byte stream take BYOB readers, and mix", async () => {
  let controller;
  const rs = new ReadableStream({ type: "bytes", start(c) { controller = c; } });
  const [one, two] = rs.tee();
  const byob = one.getReader({ mode: "byob" });
  const plain = two.getReader();
  const read = byob.read(new Uint8Array(2));
  await settle();
  controller.byobRequest.view.set([1, 2]);
  controller.byobRequest.respond(2);
  assertEquals((await read).value, bytes(1, 2));
  assertEquals((await plain.read()).value, bytes(1, 2));
  const second = plain.read();
  await settle();
  assertEquals(controller.byobRequest, null, "the default reader brought no buffer");
  controller.enqueue(bytes(3));
  assertEquals((await second).value, bytes(3));
  assertEquals((await byob.read(new Uint8Array(1))).value, bytes(3));
});

test("closing a byte stream ends BYOB reads of both branches", async () => {
  let controller;
  const [one, two] = new ReadableStream({ type: "bytes", start(c) { controller = c; } }).tee();
  const readers = [one.getReader({ mode: "byob" }), two.getReader({ mode: "byob" })];
  const reads = readers.map((r) => r.read(new Uint8Array(3)));
  await settle();
  controller.close();
  controller.byobRequest.respond(0);
  for (const p of reads) {
    const { value, done } = await p;
    assertEquals([value, done], [bytes(), true]);
  }
});

test("one branch of a byte stream canceled, the other reads the very buffer", async () => {
  let controller;
  const [one, two] = new ReadableStream({ type: "bytes", start(c) { controller = c; } }).tee();
  one.cancel();
  const reader = two.getReader({ mode: "byob" });
  const read = reader.read(new Uint8Array(4));
  await settle();
  controller.byobRequest.view[0] = 4;
  controller.byobRequest.respond(1);
  assertEquals((await read).value, bytes(4));
});

test("tee pulls no more than the branches want", async () => {
  let pulls = 0;
  const rs = new ReadableStream({ pull(c) { pulls++; c.enqueue(pulls); } }, { highWaterMark: 0 });
  const [one, two] = rs.tee();
  await settle();
  assertEquals(pulls, 1, "the default high water mark of the branches is 1");
  await Promise.all([one.getReader().read(), two.getReader().read()]);
  await settle();
  assertEquals(pulls, 2);
});
