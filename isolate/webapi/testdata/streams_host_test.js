// Streams whose bytes Go has or gets, seen through fetch from the test's origin
// (webapitest.Origin): /stream?n= gives n chunks, /large 100,000 bytes, /echo
// what it was sent, /broken an error, /endless nothing more after a chunk.
const origin = "http://origin.example";
const get = async (path) => (await fetch(`${origin}${path}`)).body;
const text = (bytes) => new TextDecoder().decode(bytes);
const post = async (body) => (await (await fetch(`${origin}/echo`, { method: "POST", body })).json()).body;
/** A stream of n chunks of size bytes that notes how far it was pulled. */
const source = (n, size, log = {}) => {
  log.pulled = 0;
  return new ReadableStream({
    pull(c) {
      if (log.pulled === n) c.close();
      else c.enqueue(new Uint8Array(size).fill(97 + (log.pulled++ % 26)));
    },
    cancel(reason) { log.canceled = reason; },
  }, { highWaterMark: 0 });
};

test("host stream: it is a byte stream that nobody touched", async () => {
  const body = await get("/stream?n=1");
  assert(body instanceof ReadableStream);
  assertEquals(body.locked, false);
  assert(body.getReader({ mode: "byob" }) instanceof ReadableStreamBYOBReader);
  assertEquals(body.locked, true);
});

test("host stream: chunks, then the end, again and again", async () => {
  const reader = (await get("/stream?n=3")).getReader();
  let all = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    assert(value instanceof Uint8Array && value.length > 0);
    all += text(value);
  }
  assertEquals(all, "012");
  assertEquals(await reader.read(), { value: undefined, done: true });
  assertEquals(await reader.closed, undefined);
});

test("host stream: reads that overlap are answered in order", async () => {
  const reader = (await get("/stream?n=4")).getReader();
  const results = await Promise.all([1, 2, 3, 4, 5].map(() => reader.read()));
  assertEquals(results.map((r) => (r.done ? "end" : text(r.value))), ["0", "1", "2", "3", "end"]);
});

test("host stream: a long body comes in chunks of a bounded size", async () => {
  let total = 0;
  let count = 0;
  for await (const chunk of await get("/large")) {
    assert(chunk.length <= 65536, `chunk of ${chunk.length} bytes`);
    total += chunk.length;
    count++;
  }
  assertEquals(total, 100000);
  assert(count >= 2);
});

test("host stream: BYOB reads fill the reader's own buffer", async () => {
  const reader = (await get("/large")).getReader({ mode: "byob" });
  let view = new Uint8Array(1000);
  let total = 0;
  for (;;) {
    const { value, done } = await reader.read(view);
    assertEquals(value.buffer.byteLength, 1000);
    if (done) break;
    total += value.length;
    assert(value.every((b) => b === 120));
    view = new Uint8Array(value.buffer);
  }
  assertEquals(total, 100000);
});

test("host stream: BYOB reads with min wait for enough", async () => {
  const reader = (await get("/stream?n=5")).getReader({ mode: "byob" });
  let { value, done } = await reader.read(new Uint8Array(4), { min: 4 });
  assertEquals([text(value), done], ["0123", false]);
  ({ value, done } = await reader.read(new Uint8Array(4), { min: 4 }));
  assertEquals([text(value), done], ["4", true]);
  ({ value, done } = await reader.read(new Uint8Array(4)));
  assertEquals([value.length, done], [0, true]);
});

test("host stream: a BYOB read of wider elements", async () => {
  const reader = (await get("/stream?n=4")).getReader({ mode: "byob" });
  const { value } = await reader.read(new Uint16Array(2), { min: 2 });
  assertEquals(value, new Uint16Array([0x3130, 0x3332]));
});

test("host stream: another reader goes on where the first one stopped", async () => {
  const body = await get("/stream?n=3");
  const first = body.getReader();
  assertEquals(text((await first.read()).value), "0");
  first.releaseLock();
  let rest = "";
  for await (const chunk of body) rest += text(chunk);
  assertEquals(rest, "12");
});

test("host stream: tee, one branch with a BYOB reader", async () => {
  const [one, two] = (await get("/stream?n=3")).tee();
  const reader = one.getReader({ mode: "byob" });
  const { value } = await reader.read(new Uint8Array(3), { min: 3 });
  assertEquals(text(value), "012");
  assertEquals(await new Response(two).text(), "012");
});

test("host stream: cancel, before and while it is read", async () => {
  const untouched = await get("/endless");
  assertEquals(await untouched.cancel("why"), undefined);
  const body = await get("/endless");
  const reader = body.getReader();
  assertEquals(text((await reader.read()).value), "0");
  const pending = reader.read();
  assertEquals(await reader.cancel(), undefined);
  assertEquals(await pending, { value: undefined, done: true });
});

test("host stream: an error comes after the bytes before it", async () => {
  const reader = (await get("/broken")).getReader();
  assertEquals(text((await reader.read()).value), "0");
  const error = await assertRejects(reader.read(), TypeError);
  assert(!error.message.includes("cable"), "the cause stays inside");
  assert((await assertRejects(reader.closed, TypeError)) === error);
  await assertRejects(new Response(await get("/broken")).text(), TypeError);
});

test("host stream: it pipes through a transform and back out", async () => {
  const upper = new TransformStream({ transform(chunk, c) { c.enqueue(new Uint8Array(chunk).fill(65)); } });
  assertEquals(await post((await get("/stream?n=5")).pipeThrough(upper)), "AAAAA");
});

test("host stream: what is sent on is locked and used, what was read is sent from there", async () => {
  const body = await get("/stream?n=3");
  assertEquals(await post(body), "012");
  assertEquals(body.locked, true);
  assertThrows(() => body.getReader(), TypeError);
  assertThrows(() => new Response(body), TypeError);
  const begun = await get("/stream?n=3");
  const reader = begun.getReader();
  await reader.read();
  reader.releaseLock();
  assertThrows(() => new Response(begun), TypeError, "read");
  assertEquals(await new Response(begun.pipeThrough(new TransformStream())).text(), "12");
});

test("pump: a stream is sent whole, in chunks of any size", async () => {
  assertEquals(await post(source(0, 1)), "");
  assertEquals(await post(source(3, 2)), "aabbcc");
  const sizes = [1, 100000, 3, 40000, 40000, 1];
  const mixed = new ReadableStream({ start(c) { for (const n of sizes) c.enqueue(new Uint8Array(n).fill(97)); c.enqueue(new Uint8Array(0)); c.close(); } });
  assertEquals((await post(mixed)).length, sizes.reduce((a, b) => a + b));
  assertEquals((await post(source(500, 1500))).length, 750000);
});

test("pump: views and subarrays are sent as they are, a byte stream too", async () => {
  const bytes = new TextEncoder().encode("abcdef");
  assertEquals(await post(new ReadableStream({ start(c) { c.enqueue(bytes.subarray(1, 3)); c.enqueue(bytes.subarray(5)); c.close(); } })), "bcf");
  assertEquals(await post(new ReadableStream({ type: "bytes", start(c) { c.enqueue(new TextEncoder().encode("xy")); c.close(); } })), "xy");
});

test("pump: a chunk that is no Uint8Array fails the sending and cancels the stream", async () => {
  for (const chunk of ["text", 1, null, new ArrayBuffer(1), new Uint16Array(1), new DataView(new ArrayBuffer(1)), {}]) {
    let canceled;
    const body = new ReadableStream({ start(c) { c.enqueue(chunk); }, cancel(reason) { canceled = reason; } });
    await assertRejects(post(body), TypeError);
    assert(canceled instanceof TypeError, `canceled with ${canceled}`);
  }
});

test("pump: a stream that fails fails the sending", async () => {
  await assertRejects(post(new ReadableStream({ start(c) { c.error(new RangeError("mine")); } })));
  let n = 0;
  await assertRejects(post(new ReadableStream({ pull(c) { if (n++ < 3) c.enqueue(new Uint8Array(10)); else throw new RangeError("mine"); } })));
});

test("pump: it holds the stream back when nobody reads", async () => {
  const log = {};
  const abort = new AbortController();
  const sending = fetch(`${origin}/hang`, { method: "POST", body: source(1000, 10000, log), signal: abort.signal }).catch((e) => e);
  // However often the loop turns, it is not pulled beyond what may wait in Go.
  for (let turn = 0; turn < 10 || log.pulled === 0; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  assert(log.pulled < 30, `pulled ${log.pulled} chunks of 10,000 bytes`);
  abort.abort("enough");
  assertEquals(await sending, "enough");
  assertEquals(log.canceled, "enough");
});

test("read all: script streams as bodies", async () => {
  assertEquals(await new Response(source(3, 2)).text(), "aabbcc");
  assertEquals((await new Response(source(0, 1)).bytes()).length, 0);
  assertEquals((await new Response(source(100, 1000)).arrayBuffer()).byteLength, 100000);
  const shared = new Uint8Array([1]);
  const body = new ReadableStream({ start(c) { c.enqueue(shared); c.enqueue(shared); c.close(); } });
  const bytes = await new Response(body).bytes();
  shared[0] = 9;
  assertEquals(bytes, new Uint8Array([1, 1]));
  await assertRejects(new Response(new ReadableStream({ start(c) { c.enqueue("text"); c.close(); } })).text(), TypeError);
});
