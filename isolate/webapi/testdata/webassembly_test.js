const header = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const bytes = (...sections) => new Uint8Array([...header, ...sections.flat()]);

// (memory (export "m") 1)
const plain = bytes([5, 3, 1, 0, 1], [7, 5, 1, 1, 0x6d, 2, 0]);
// (memory (export "m") 1 1 shared)
const declared = bytes([5, 4, 1, 3, 1, 1], [7, 5, 1, 1, 0x6d, 2, 0]);
// (import "a" "g" (global i32)) (import "a" "m" (memory 1 1 shared))
const imported = bytes([2, 16, 2, 1, 0x61, 1, 0x67, 3, 0x7f, 0, 1, 0x61, 1, 0x6d, 2, 3, 1, 1]);
// (import "a" "t" (table 1 funcref)) (import "a" "m" (memory 1))
const harmless = bytes([2, 16, 2, 1, 0x61, 1, 0x74, 1, 0x70, 0, 1, 1, 0x61, 1, 0x6d, 2, 0, 1]);

test("modules without shared memories work as ever", async () => {
  assert(WebAssembly.validate(plain));
  const module = new WebAssembly.Module(plain);
  assert(module instanceof WebAssembly.Module);
  assertEquals(WebAssembly.Module.exports(module), [{ name: "m", kind: "memory" }]);
  const { instance } = await WebAssembly.instantiate(plain);
  const { m } = instance.exports;
  assert(m instanceof WebAssembly.Memory);
  assertEquals(m.constructor, WebAssembly.Memory);
  assertEquals(m.buffer.byteLength, 65536);
  const again = await WebAssembly.instantiate(module, {});
  assert(again instanceof WebAssembly.Instance);
  assertEquals(WebAssembly.Module.imports(await WebAssembly.compile(harmless)).length, 2);
});

test("a memory is made from its descriptor", () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: false });
  assertEquals(memory.grow(1), 1);
  assertThrows(() => memory.grow(1), RangeError);
  assertThrows(() => WebAssembly.Memory({ initial: 1 }), TypeError);
  assertThrows(() => new WebAssembly.Memory(), TypeError);
  assertThrows(() => new WebAssembly.Memory({}), TypeError);
});

test("a shared memory is refused with the reason", () => {
  assertThrows(() => new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }), TypeError, "not offered");
  assertThrows(() => new m0.constructor({ initial: 1, maximum: 1, shared: true }), TypeError, "not offered");
  assertThrows(() => Reflect.construct(WebAssembly.Memory, [{ initial: 1, maximum: 1, shared: 1 }], Object), TypeError, "not offered");
});
const m0 = new WebAssembly.Memory({ initial: 0 });

test("a descriptor is read once", () => {
  let reads = 0;
  const descriptor = {
    initial: 1,
    maximum: 1,
    get shared() {
      return reads++ > 0;
    },
  };
  const { buffer } = new WebAssembly.Memory(descriptor);
  assertEquals(reads, 1);
  assert(buffer instanceof ArrayBuffer);
});

test("modules that declare or import a shared memory are refused", async () => {
  for (const source of [declared, imported, declared.buffer, new DataView(imported.buffer)]) {
    assertThrows(() => new WebAssembly.Module(source), TypeError, "not offered");
    assertThrows(() => new WebAssembly.Module(source, { builtins: [] }), TypeError, "not offered");
    await assertRejects(WebAssembly.compile(source), TypeError, "not offered");
    await assertRejects(WebAssembly.instantiate(source, {}), TypeError, "not offered");
    assertEquals(WebAssembly.validate(source), false);
  }
});

test("what is no module gets the engine's error", async () => {
  assertThrows(() => new WebAssembly.Module(new Uint8Array([1, 2, 3])), WebAssembly.CompileError);
  assertThrows(() => new WebAssembly.Module("text"), TypeError);
  assertThrows(() => WebAssembly.Module(plain), TypeError);
  await assertRejects(WebAssembly.compile(bytes([2, 200, 1])), WebAssembly.CompileError);
  await assertRejects(WebAssembly.compile(), TypeError);
  assertEquals(WebAssembly.validate(new Uint8Array()), false);
});

test("nothing leads to the engine's constructors", () => {
  for (const Class of [WebAssembly.Memory, WebAssembly.Module]) {
    assertEquals(Object.getPrototypeOf(Class), Function.prototype);
    assertEquals(Class.prototype.constructor, Class);
    assertEquals(Class.length, 1);
  }
});
