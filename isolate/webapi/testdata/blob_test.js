const bytes = (...b) => new Uint8Array(b);

test("Blob: parts of every kind", async () => {
  const buffer = bytes(1, 2, 3, 4);
  const blob = new Blob([buffer, buffer.buffer, new DataView(buffer.buffer, 1, 2), "\u00e9", new Blob(["x"]), 5, { toString: () => "o" }]);
  assertEquals(await blob.bytes(), bytes(1, 2, 3, 4, 1, 2, 3, 4, 2, 3, 0xc3, 0xa9, 120, 53, 111));
  assertEquals(blob.size, 15);
  assertEquals(new Blob().size, 0);
  assertEquals(new Blob(undefined, { type: "a/b" }).type, "a/b");
  assertEquals(await new Blob(["\ud800"]).text(), "\ufffd");
  assertEquals(await new Blob(new Set(["a", "b"])).text(), "ab");
});

test("Blob: refuse parts that are no sequence", () => {
  for (const parts of [null, "abc", 5, {}, true]) assertThrows(() => new Blob(parts), TypeError);
  assertThrows(() => Blob(), TypeError);
  assertThrows(() => new Blob([], { endings: "crlf" }), TypeError);
  assertThrows(() => new Blob([], 5), TypeError);
  assertThrows(() => new Blob([Symbol("x")]), TypeError);
});

test("Blob: bytes are copied when it is made and when it is read", async () => {
  const source = bytes(1, 2);
  const blob = new Blob([source]);
  source[0] = 9;
  const first = await blob.bytes();
  first[1] = 9;
  assertEquals(await blob.bytes(), bytes(1, 2));
  new Uint8Array(await blob.arrayBuffer())[0] = 9;
  assertEquals(await blob.arrayBuffer(), bytes(1, 2).buffer);
});

test("Blob: type is lower-cased, or empty when it is not printable ASCII", () => {
  assertEquals(new Blob([], { type: "Text/PLAIN; Charset=UTF-8" }).type, "text/plain; charset=utf-8");
  assertEquals(new Blob([], { type: "te\u00e9t" }).type, "");
  assertEquals(new Blob([], { type: "a\u007f" }).type, "");
  assertEquals(new Blob([], { type: null }).type, "null");
  assertEquals(new Blob([], { type: undefined }).type, "");
});

test("Blob: native line endings", async () => {
  const text = (parts, endings) => new Blob(parts, { endings }).text();
  assertEquals(await text(["a\r\nb\rc\nd\r"], "native"), "a\nb\nc\nd\n");
  assertEquals(await text(["a\r", "\nb"], "native"), "a\n\nb");
  assertEquals(await text(["a\r\nb"], "transparent"), "a\r\nb");
  assertEquals(await text([new TextEncoder().encode("a\r\n")], "native"), "a\r\n");
});

test("Blob: slice counts from both ends", async () => {
  const blob = new Blob(["0123456789"], { type: "a/b" });
  for (const [args, want] of [
    [[], "0123456789"], [[3], "3456789"], [[-3], "789"], [[2, 4], "23"], [[2, -2], "234567"], [[5, 2], ""],
    [[-100, 100], "0123456789"], [[NaN, 3], "012"], [[undefined, 3], "012"],
    [[null, 2], "01"], [[0, Infinity], "0123456789"], [[20], ""],
  ]) {
    assertEquals(await blob.slice(...args).text(), want, String(args));
  }
  assertEquals(await blob.slice(1.5, 3.5).text(), "23", "halves round to even");
  assertEquals(blob.slice(0, 1).type, "");
  assertEquals(blob.slice(0, 1, "C/D").type, "c/d");
  assertEquals(await blob.slice(2, 8).slice(1, 3).text(), "34");
});

test("Blob: text decodes UTF-8 and drops a byte order mark", async () => {
  assertEquals(await new Blob([bytes(0xef, 0xbb, 0xbf, 65, 0xff)]).text(), "A\ufffd");
});

test("Blob: stream delivers all bytes, in pieces, to both kinds of reader", async () => {
  const data = new Uint8Array(150000).map((_, i) => i);
  const got = [];
  let pieces = 0;
  for await (const chunk of new Blob([data]).stream()) {
    pieces++;
    for (const b of chunk) got.push(b);
  }
  assert(pieces > 1);
  assertEquals(new Uint8Array(got), data);
  const reader = new Blob(["hello"]).stream().getReader({ mode: "byob" });
  const { value } = await reader.read(new Uint8Array(3));
  assertEquals(new TextDecoder().decode(value), "hel");
  assertEquals((await new Blob().stream().getReader().read()).done, true);
  assertEquals((await new Blob().stream().getReader({ mode: "byob" }).read(new Uint8Array(1))).done, true);
});

test("File: name, type, lastModified", async () => {
  const before = Date.now();
  const file = new File(["ab", "c"], "na/me\ud800.txt", { type: "Text/Plain" });
  assertEquals([file.name, file.type, file.size], ["na/me\ufffd.txt", "text/plain", 3]);
  assert(file.lastModified >= before && file.lastModified <= Date.now());
  assertEquals(new File([], "a", { lastModified: 12.9 }).lastModified, 12);
  assertEquals(new File([], "a", { lastModified: new Date(7) }).lastModified, 7);
  assertEquals(new File([], "a", { lastModified: NaN }).lastModified, 0);
  assert(file instanceof Blob);
  assertEquals(Object.prototype.toString.call(file), "[object File]");
  assert(!(file.slice() instanceof File));
  assertEquals(await file.text(), "abc");
  assertThrows(() => new File(), TypeError, "2 arguments required");
  assertThrows(() => new File([]), TypeError, "only 1 present");
  assertThrows(() => new File("a", "b"), TypeError);
  assertEquals(new File([], undefined).name, "undefined");
});

test("Blob and File: structured clones", async () => {
  const blob = structuredClone(new Blob(["abcdef"], { type: "a/b" }).slice(1, 4, "c/d"));
  assertEquals([blob instanceof File, blob.type, await blob.text()], [false, "c/d", "bcd"]);
  const { file, again } = structuredClone((() => {
    const file = new File(["x"], "n", { type: "t/t", lastModified: 7 });
    return { file, again: file };
  })());
  assert(file instanceof File && file === again);
  assertEquals([file.name, file.type, file.lastModified, await file.text()], ["n", "t/t", 7, "x"]);
});

test("Blob and File: shape of the interfaces", async () => {
  assertEquals([Blob.length, File.length, Blob.prototype.slice.length], [0, 2, 0]);
  for (const name of ["size", "type", "slice", "stream", "text", "arrayBuffer", "bytes"]) {
    assert(Object.getOwnPropertyDescriptor(Blob.prototype, name).enumerable, name);
  }
  assertThrows(() => Blob.prototype.size, TypeError);
  assertThrows(() => Blob.prototype.slice.call({}), TypeError);
  assertThrows(() => Blob.prototype.stream.call({}), TypeError);
  await assertRejects(Blob.prototype.text.call({}), TypeError);
  await assertRejects(Blob.prototype.bytes.call({}), TypeError);
  await assertRejects(Blob.prototype.arrayBuffer.call({}), TypeError);
  assertThrows(() => File.prototype.name, TypeError);
  assertThrows(() => Object.getOwnPropertyDescriptor(File.prototype, "lastModified").get.call(new Blob()), TypeError);
});
