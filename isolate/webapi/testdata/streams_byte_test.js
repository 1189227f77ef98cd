const settle = async (n = 10) => { for (let i = 0; i < n; i++) await undefined; };
const bytes = (...values) => new Uint8Array(values);
/** A byte stream with its controller; source is what else it has. */
const make = (source = {}, strategy = undefined) => {
  let controller;
  const stream = new ReadableStream({ type: "bytes", ...source, start(c) { controller = c; return source.start?.(c); } }, strategy);
  return { stream, controller };
};

test("a byte stream takes no size, and a high water mark of 0 by default", () => {
  assertThrows(() => new ReadableStream({ type: "bytes" }, { size: () => 1 }), RangeError);
  assertThrows(() => new ReadableStream({ type: "bytes" }, new CountQueuingStrategy({ highWaterMark: 1 })), RangeError);
  assertEquals(make().controller.desiredSize, 0);
  assertEquals(make({}, { highWaterMark: 7 }).controller.desiredSize, 7);
  for (const n of [0, -1, NaN, Infinity, 2 ** 53]) assertThrows(() => make({ autoAllocateChunkSize: n }), TypeError);
  assertThrows(() => new ReadableByteStreamController(), TypeError, "Illegal constructor");
  assertThrows(() => new ReadableStreamBYOBRequest(), TypeError, "Illegal constructor");
  assertThrows(() => new ReadableStreamBYOBReader(new ReadableStream()), TypeError);
  assertThrows(() => new ReadableStreamBYOBReader({}), TypeError);
});

test("enqueue takes views that have bytes, and transfers their buffer", async () => {
  const { stream, controller } = make();
  for (const chunk of [undefined, null, 1, "text", {}, new ArrayBuffer(1), new Uint8Array(0), new Uint8Array(new ArrayBuffer(1), 1, 0)]) {
    assertThrows(() => controller.enqueue(chunk), TypeError);
  }
  assertThrows(() => controller.enqueue(), TypeError);
  const chunk = new Uint16Array(new ArrayBuffer(10), 2, 2);
  controller.enqueue(chunk);
  assertEquals(chunk.byteLength, 0);
  assertThrows(() => controller.enqueue(chunk), TypeError);
  const { value } = await stream.getReader().read();
  assertEquals([value.constructor.name, value.byteOffset, value.byteLength, value.buffer.byteLength], ["Uint8Array", 2, 4, 10]);
});

test("a default reader gets one chunk per enqueue, a BYOB reader what fits", async () => {
  const { stream, controller } = make();
  controller.enqueue(bytes(1, 2, 3));
  controller.enqueue(bytes(4, 5));
  let reader = stream.getReader();
  assertEquals((await reader.read()).value, bytes(1, 2, 3));
  reader.releaseLock();
  reader = stream.getReader({ mode: "byob" });
  controller.enqueue(bytes(6, 7, 8));
  assertEquals((await reader.read(new Uint8Array(4))).value, bytes(4, 5, 6, 7));
  assertEquals((await reader.read(new Uint8Array(4))).value, bytes(8));
});

test("read(view) transfers the view's buffer and refuses what has no bytes", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  for (const view of [undefined, 1, new ArrayBuffer(1), new Uint8Array(0), new Uint8Array(new ArrayBuffer(1), 1, 0)]) await assertRejects(reader.read(view), TypeError);
  const buffer = new ArrayBuffer(8);
  const view = new Uint8Array(buffer, 2, 4);
  const read = reader.read(view);
  assertEquals([buffer.byteLength, view.byteLength], [0, 0]);
  await assertRejects(reader.read(view), TypeError);
  controller.enqueue(bytes(1, 2));
  const { value, done } = await read;
  assertEquals([value.byteOffset, value.byteLength, value.buffer.byteLength, done], [2, 2, 8, false]);
});

test("memory of WebAssembly cannot be transferred", async () => {
  if (typeof WebAssembly !== "object") return;
  const { buffer } = new WebAssembly.Memory({ initial: 1 });
  const { stream, controller } = make();
  assertThrows(() => controller.enqueue(new Uint8Array(buffer, 0, 1)), TypeError);
  const reader = stream.getReader({ mode: "byob" });
  await assertRejects(reader.read(new Uint8Array(buffer, 0, 1)), TypeError);
});

test("the kind of the view is kept, and elements are never split", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  for (const Class of [Int8Array, Uint8ClampedArray, Uint16Array, Int32Array, Float32Array, Float64Array, BigInt64Array, DataView]) {
    const read = reader.read(new Class(new ArrayBuffer(16)));
    controller.enqueue(new Uint8Array(8));
    const { value } = await read;
    assertEquals([value.constructor, value.byteLength], [Class, 8]);
  }
  const read = reader.read(new Uint16Array(4));
  controller.enqueue(bytes(1));
  await settle();
  controller.enqueue(bytes(0, 2));
  assertEquals((await read).value, new Uint16Array([1]), "the third byte waits");
  controller.enqueue(bytes(0));
  assertEquals((await reader.read(new Uint16Array(1))).value, new Uint16Array([2]));
});

test("close with a part of an element filled is an error", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  const read = reader.read(new Uint16Array(1));
  controller.enqueue(bytes(1));
  assertThrows(() => controller.close(), TypeError);
  await assertRejects(read, TypeError);
  await assertRejects(reader.closed, TypeError);
});

test("byobRequest shows the rest of the reader's buffer, one object at a time", async () => {
  const { stream, controller } = make();
  assertEquals(controller.byobRequest, null);
  const reader = stream.getReader({ mode: "byob" });
  const read = reader.read(new Uint16Array(new ArrayBuffer(8), 2, 3));
  const first = controller.byobRequest;
  assert(first === controller.byobRequest && first instanceof ReadableStreamBYOBRequest);
  assertEquals([first.view.constructor, first.view.byteOffset, first.view.byteLength], [Uint8Array, 2, 6]);
  first.view[0] = 7;
  first.respond(1);
  assertEquals(first.view, null);
  assertThrows(() => first.respond(1), TypeError);
  assertThrows(() => first.respondWithNewView(bytes(1)), TypeError);
  const second = controller.byobRequest;
  assert(second !== first);
  assertEquals([second.view.byteOffset, second.view.byteLength], [3, 5]);
  second.respond(1);
  assertEquals((await read).value, new Uint16Array([7]));
  assertEquals(controller.byobRequest, null);
});

test("respond checks the number of bytes", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  const read = reader.read(new Uint8Array(2));
  const request = controller.byobRequest;
  assertThrows(() => request.respond(), TypeError);
  for (const n of [-1, NaN, 2 ** 53, "x"]) assertThrows(() => request.respond(n), TypeError);
  assertThrows(() => request.respond(3), RangeError);
  assertThrows(() => request.respond(0), TypeError, "above 0");
  controller.close();
  assertThrows(() => controller.byobRequest.respond(1), TypeError);
  controller.byobRequest.respond(0);
  const { value, done } = await read;
  assertEquals([value, done, value.buffer.byteLength], [bytes(), true, 2]);
});

test("respondWithNewView takes only a view like the one it gave", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  const read = reader.read(new Uint8Array(new ArrayBuffer(10), 2, 4));
  const answer = (view) => controller.byobRequest.respondWithNewView(view);
  assertThrows(() => answer(), TypeError);
  assertThrows(() => answer({}), TypeError);
  assertThrows(() => answer(new Uint8Array(new ArrayBuffer(10), 3, 1)), RangeError, "begin");
  assertThrows(() => answer(new Uint8Array(new ArrayBuffer(11), 2, 1)), RangeError, "buffer");
  assertThrows(() => answer(new Uint8Array(new ArrayBuffer(10), 2, 5)), RangeError, "longer");
  assertThrows(() => answer(new Uint8Array(new ArrayBuffer(10), 2, 0)), TypeError, "above 0");
  const gone = new ArrayBuffer(10);
  const view = new Uint8Array(gone, 2, 1);
  gone.transfer();
  assertThrows(() => answer(view), TypeError, "detached");
  const good = new ArrayBuffer(10);
  new Uint8Array(good)[2] = 9;
  answer(new Uint8Array(good, 2, 1));
  assertEquals([(await read).value, good.byteLength], [bytes(9), 0]);
});

test("a BYOB request whose buffer was taken away cannot be answered", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  reader.read(new Uint8Array(4)).catch(() => {});
  const request = controller.byobRequest;
  const { buffer } = request.view;
  buffer.transfer();
  assertThrows(() => request.respond(1), TypeError, "detached");
  assertThrows(() => controller.enqueue(bytes(1)), TypeError, "detached");
});

test("read with min waits for that many elements", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  await assertRejects(reader.read(new Uint8Array(2), { min: 0 }), TypeError);
  await assertRejects(reader.read(new Uint8Array(2), { min: -1 }), TypeError);
  await assertRejects(reader.read(new Uint8Array(2), { min: 3 }), RangeError);
  await assertRejects(reader.read(new Uint16Array(2), { min: 3 }), RangeError);
  await assertRejects(reader.read(new DataView(new ArrayBuffer(2)), { min: 3 }), RangeError);
  let done = false;
  const read = reader.read(new Uint16Array(4), { min: 2 }).finally(() => { done = true; });
  controller.enqueue(bytes(1, 0, 2));
  await settle();
  assertEquals(done, false);
  assertEquals(controller.byobRequest.view.byteOffset, 3);
  controller.enqueue(bytes(0, 3));
  assertEquals((await read).value, new Uint16Array([1, 2]));
});

test("read with min gets less at the end", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  const read = reader.read(new Uint8Array(4), { min: 4 });
  controller.enqueue(bytes(1, 2));
  controller.close();
  controller.byobRequest.respond(0);
  const { value, done } = await read;
  assertEquals([value, done], [bytes(1, 2), true]);
});

test("autoAllocateChunkSize gives default reads a BYOB request", async () => {
  const seen = [];
  const { stream } = make({ autoAllocateChunkSize: 16, pull(c) { seen.push(c.byobRequest.view.byteLength); c.byobRequest.view[0] = 5; c.byobRequest.respond(1); } });
  const { value } = await stream.getReader().read();
  assertEquals([value, value.buffer.byteLength, seen], [bytes(5), 16, [16]]);
});

test("autoAllocateChunkSize: enqueue instead of respond is fine", async () => {
  const { stream } = make({ autoAllocateChunkSize: 16, pull(c) { c.enqueue(bytes(1, 2)); } });
  const reader = stream.getReader();
  assertEquals((await reader.read()).value, bytes(1, 2));
  assertEquals((await reader.read()).value, bytes(1, 2));
});

test("a released reader leaves its half filled buffer to the next", async () => {
  const { stream, controller } = make();
  const first = stream.getReader({ mode: "byob" });
  const lost = first.read(new Uint16Array(1));
  controller.enqueue(bytes(1));
  first.releaseLock();
  await assertRejects(lost, TypeError);
  const second = stream.getReader({ mode: "byob" });
  const read = second.read(new Uint8Array(3));
  controller.byobRequest.respondWithNewView(new Uint8Array(controller.byobRequest.view.buffer, 1, 1));
  assertEquals((await read).value, bytes(1, 0));
});

test("a released reader's request is answered for a default reader too", async () => {
  const { stream, controller } = make();
  const first = stream.getReader({ mode: "byob" });
  const lost = first.read(new Uint8Array(4));
  const request = controller.byobRequest;
  first.releaseLock();
  await assertRejects(lost, TypeError);
  const read = stream.getReader().read();
  request.view[0] = 3;
  request.respond(1);
  await settle();
  controller.enqueue(bytes(8));
  assertEquals((await read).value, bytes(3));
});

test("cancel answers pending BYOB reads without a view", async () => {
  const { stream } = make();
  const reader = stream.getReader({ mode: "byob" });
  const read = reader.read(new Uint8Array(1));
  await reader.cancel();
  assertEquals(await read, { value: undefined, done: true });
  const { value, done } = await reader.read(new Uint8Array(3));
  assertEquals([value, done, value.buffer.byteLength], [bytes(), true, 3]);
});

test("error rejects reads and invalidates the request", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  const read = reader.read(new Uint8Array(1));
  const request = controller.byobRequest;
  const e = new Error("x");
  controller.error(e);
  assert((await assertRejects(read)) === e);
  assertEquals([request.view, controller.byobRequest, controller.desiredSize], [null, null, null]);
  assert((await assertRejects(reader.read(new Uint8Array(1)))) === e);
});

test("several BYOB reads are answered in order from one chunk", async () => {
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  const reads = [reader.read(new Uint8Array(2)), reader.read(new Uint8Array(2)), reader.read(new Uint8Array(2))];
  controller.enqueue(bytes(1, 2, 3, 4, 5));
  assertEquals((await Promise.all(reads)).map((r) => r.value), [bytes(1, 2), bytes(3, 4), bytes(5)]);
});

test("methods reject or throw for another receiver", async () => {
  const { stream } = make();
  const reader = stream.getReader({ mode: "byob" });
  await assertRejects(reader.read.call({}, bytes(1)), TypeError);
  await assertRejects(reader.cancel.call({}), TypeError);
  assertThrows(() => reader.releaseLock.call({}), TypeError);
  assertThrows(() => ReadableStreamBYOBRequest.prototype.respond.call({}, 1), TypeError);
  reader.releaseLock();
  await assertRejects(reader.read(bytes(1)), TypeError);
  await assertRejects(reader.cancel(), TypeError);
});

test("patched iteration and species are not used", async () => {
  const iterate = Array.prototype[Symbol.iterator];
  const { stream, controller } = make();
  const reader = stream.getReader({ mode: "byob" });
  Array.prototype[Symbol.iterator] = () => { throw new Error("iterated"); };
  Object.defineProperty(ArrayBuffer, Symbol.species, { get() { throw new Error("species"); }, configurable: true });
  let read;
  try {
    read = reader.read(new Uint16Array(2), { min: 1 });
    controller.enqueue(new Uint8Array(3));
  } finally {
    Array.prototype[Symbol.iterator] = iterate;
    Object.defineProperty(ArrayBuffer, Symbol.species, { get() { return this; }, configurable: true });
  }
  assertEquals((await read).value, new Uint16Array(1));
});
