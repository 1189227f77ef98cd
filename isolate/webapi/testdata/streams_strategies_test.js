test("a strategy keeps the highWaterMark it was given", () => {
  for (const Class of [CountQueuingStrategy, ByteLengthQueuingStrategy]) {
    for (const [given, want] of [[5, 5], [-3, -3], [Infinity, Infinity], ["7", 7], [null, 0], [{ valueOf: () => 2 }, 2]]) {
      assertEquals(new Class({ highWaterMark: given }).highWaterMark, want);
    }
    assert(Number.isNaN(new Class({ highWaterMark: NaN }).highWaterMark));
    assertEquals(Object.keys(new Class({ highWaterMark: 1 })), []);
  }
});

test("a strategy needs a highWaterMark", () => {
  for (const Class of [CountQueuingStrategy, ByteLengthQueuingStrategy]) {
    for (const args of [[], [undefined], [null], [{}], [1], [{ highWaterMark: undefined }], [{ highWaterMark: Symbol() }]]) {
      assertThrows(() => new Class(...args), TypeError);
    }
    assertThrows(() => Class({ highWaterMark: 1 }), TypeError);
    const error = new RangeError("getter");
    assertEquals(assertThrows(() => new Class({ get highWaterMark() { throw error; } }), RangeError), error);
  }
});

test("size is one function of the realm, no constructor, and needs no receiver", () => {
  const count = new CountQueuingStrategy({ highWaterMark: 1 });
  const bytes = new ByteLengthQueuingStrategy({ highWaterMark: 1 });
  assert(count.size === new CountQueuingStrategy({ highWaterMark: 2 }).size);
  assert(bytes.size === new ByteLengthQueuingStrategy({ highWaterMark: 2 }).size);
  assertEquals([count.size.name, count.size.length, bytes.size.name, bytes.size.length], ["size", 0, "size", 1]);
  assertThrows(() => new count.size(), TypeError);
  assertEquals("prototype" in bytes.size, false);
  assertEquals((0, count.size)(), 1);
  assertEquals((0, bytes.size)({ byteLength: "any" }), "any");
  assertThrows(() => (0, bytes.size)(undefined), TypeError);
});

test("the getters check their receiver and are enumerable", () => {
  for (const Class of [CountQueuingStrategy, ByteLengthQueuingStrategy]) {
    for (const name of ["highWaterMark", "size"]) {
      const { get, enumerable, configurable } = Object.getOwnPropertyDescriptor(Class.prototype, name);
      assertThrows(() => get.call({}), TypeError);
      assertEquals([enumerable, configurable], [true, true]);
    }
    assertEquals(Object.prototype.toString.call(new Class({ highWaterMark: 1 })), `[object ${Class.name}]`);
  }
});

test("a stream takes only good strategies", () => {
  for (const make of [(s) => new ReadableStream({}, s), (s) => new WritableStream({}, s), (s) => new TransformStream({}, s), (s) => new TransformStream({}, {}, s)]) {
    for (const highWaterMark of [-1, NaN, -Infinity, "foo", {}]) assertThrows(() => make({ highWaterMark }), RangeError);
    assertThrows(() => make({ size: 1 }), TypeError);
    assertThrows(() => make({ highWaterMark: 1n }), TypeError);
    assertThrows(() => make(5), TypeError);
    make(null);
    make({ highWaterMark: Infinity, size: () => 1 });
  }
});

test("size is called as a function with the chunk, and its result is a number", async () => {
  let seen;
  const strategy = {
    highWaterMark: 10,
    size: function (...args) {
      seen = [this, ...args];
      return "3";
    },
  };
  let controller;
  new ReadableStream({ start: (c) => (controller = c) }, strategy);
  controller.enqueue("chunk");
  assertEquals(seen, [undefined, "chunk"]);
  assertEquals(controller.desiredSize, 7);
});

test("a size that is no finite, non-negative number errors the stream", async () => {
  for (const size of [NaN, -1, Infinity, -Infinity, undefined]) {
    let controller;
    const rs = new ReadableStream({ start: (c) => (controller = c) }, { size: () => size });
    const error = assertThrows(() => controller.enqueue("a"), RangeError);
    const closed = await assertRejects(rs.getReader().closed, RangeError);
    assert(closed === error, "the reader sees what enqueue threw");

    const writer = new WritableStream({}, { size: () => size }).getWriter();
    await assertRejects(writer.write("a"), RangeError);
    await assertRejects(writer.closed, RangeError);
  }
});

test("a size that throws errors the stream with that", async () => {
  const thrown = new Error("size");
  let controller;
  const rs = new ReadableStream({ start: (c) => (controller = c) }, { size() { throw thrown; } });
  assert(assertThrows(() => controller.enqueue("a")) === thrown);
  assert((await assertRejects(rs.getReader().read())) === thrown);
  const writer = new WritableStream({}, { size() { throw thrown; } }).getWriter();
  assert((await assertRejects(writer.write("a"))) === thrown);
});
