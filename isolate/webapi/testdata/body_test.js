const bytes = (...b) => new Uint8Array(b);
const streamOf = (...chunks) => new ReadableStream({
  pull(c) {
    if (chunks.length === 0) c.close();
    else c.enqueue(chunks.shift());
  },
});

test("Body: every way to read every kind of source", async () => {
  const form = new FormData();
  form.append("a", "\u00e9");
  const sources = {
    string: () => "h\u00e9",
    bytes: () => new TextEncoder().encode("h\u00e9"),
    buffer: () => new TextEncoder().encode("h\u00e9").buffer,
    view: () => new DataView(new TextEncoder().encode("xh\u00e9y").buffer, 1, 3),
    blob: () => new Blob(["h\u00e9"]),
    stream: () => streamOf(bytes(0x68), bytes(0xc3), bytes(), bytes(0xa9)),
  };
  for (const [name, make] of Object.entries(sources)) {
    assertEquals(await new Response(make()).text(), "h\u00e9", name);
    assertEquals(await new Response(make()).bytes(), bytes(0x68, 0xc3, 0xa9), name);
    assertEquals(await new Response(make()).arrayBuffer(), bytes(0x68, 0xc3, 0xa9).buffer, name);
    const blob = await new Response(make(), { headers: { "content-type": "A/b ;c=D" } }).blob();
    assertEquals([await blob.text(), blob.type], ["h\u00e9", "a/b;c=D"], name);
    const response = new Response(make());
    const chunks = [];
    for await (const chunk of response.body) chunks.push(...chunk);
    assertEquals(bytes(...chunks), bytes(0x68, 0xc3, 0xa9), name);
    assert(response.bodyUsed);
  }
  assertEquals(await new Response(new URLSearchParams({ a: "\u00e9" })).text(), "a=%C3%A9");
  assertEquals((await new Response(form).formData()).get("a"), "\u00e9");
});

test("Body: a null body reads as empty, and is never used", async () => {
  const r = new Response();
  assertEquals([await r.text(), await r.bytes(), (await r.blob()).size, (await r.arrayBuffer()).byteLength], ["", bytes(), 0, 0]);
  assertEquals(r.bodyUsed, false);
  await assertRejects(r.json(), SyntaxError);
  await assertRejects(r.formData(), TypeError);
});

test("Body: it is read once", async () => {
  for (const body of ["x", bytes(1), streamOf(bytes(1))]) {
    const r = new Response(body);
    assertEquals(r.bodyUsed, false);
    const first = r.text();
    assertEquals(r.bodyUsed, true);
    await first;
    for (const method of ["text", "json", "bytes", "arrayBuffer", "blob", "formData"]) await assertRejects(r[method](), TypeError, "already read");
    assert(r.body.locked);
    assertThrows(() => r.body.getReader(), TypeError);
  }
});

test("Body: touching the stream does not use it", async () => {
  const r = new Response("abc");
  const { body } = r;
  assert(body instanceof ReadableStream && r.body === body);
  assertEquals([r.bodyUsed, body.locked], [false, false]);
  assertEquals(await r.text(), "abc");
  assertEquals([r.bodyUsed, body.locked], [true, true]);
  const locked = new Response("abc");
  const reader = locked.body.getReader();
  assertEquals(locked.bodyUsed, false);
  await assertRejects(locked.text(), TypeError);
  reader.releaseLock();
  assertEquals(await locked.text(), "abc");
  const canceled = new Response("abc");
  await canceled.body.cancel();
  assert(canceled.bodyUsed);
});

test("Body: byte order marks", async () => {
  assertEquals(await new Response("\ufeffa").text(), "a");
  assertEquals(await new Response(bytes(0xef, 0xbb, 0xbf, 97)).text(), "a");
  assertEquals(await new Response("\ufeff1").json(), 1);
  assertEquals(await new Response("\ufeffa").bytes(), bytes(0xef, 0xbb, 0xbf, 97));
});

test("Body: lone surrogates and invalid UTF-8 are replaced", async () => {
  assertEquals(await new Response("a\ud800b").text(), "a\ufffdb");
  assertEquals(await new Response(bytes(0xff, 65)).text(), "\ufffdA");
});

test("Body: source bytes are copied, results belong to the caller", async () => {
  const source = bytes(1, 2, 3);
  const r = new Response(source);
  source[0] = 9;
  assertEquals(await r.bytes(), bytes(1, 2, 3));
  const blob = new Blob([bytes(1, 2)]);
  (await new Response(blob).bytes())[0] = 9;
  assertEquals(await blob.bytes(), bytes(1, 2));
});

test("Body: bad JSON is a SyntaxError", async () => {
  await assertRejects(new Response("{").json(), SyntaxError);
  await assertRejects(new Response("").json(), SyntaxError);
});

test("Body: streams that fail or deliver no bytes", async () => {
  const error = new RangeError("mine");
  await assertRejects(new Response(new ReadableStream({ start: (c) => c.error(error) })).text(), RangeError, "mine");
  await assertRejects(new Response(streamOf("text")).text(), TypeError, "Uint8Array");
  await assertRejects(new Response(streamOf(new Uint16Array(1))).bytes(), TypeError);
  let canceled;
  await assertRejects(new Response(new ReadableStream({ pull: (c) => c.enqueue(1), cancel: (r) => { canceled = r; } })).bytes(), TypeError);
  assert(canceled instanceof TypeError);
});

test("Body: a locked or disturbed stream is no body", async () => {
  const locked = streamOf();
  locked.getReader();
  assertThrows(() => new Response(locked), TypeError, "locked");
  const read = streamOf(bytes(1));
  const reader = read.getReader();
  await reader.read();
  reader.releaseLock();
  assertThrows(() => new Response(read), TypeError);
});

test("Body: many chunks that are there already do not overflow the stack", async () => {
  const stream = new ReadableStream({
    start(c) {
      for (let i = 0; i < 50000; i++) c.enqueue(bytes(97));
      c.close();
    },
  });
  assertEquals((await new Response(stream).text()).length, 50000);
});

test("Body: a stream and its Content-Type survive clone, both ends read", async () => {
  const r = new Response(streamOf(bytes(1), bytes(2)), { headers: { "content-type": "a/b" } });
  const c = r.clone();
  const { value } = await r.body.getReader().read();
  value[0] = 9;
  assertEquals((await c.blob()).type, "a/b");
});

test("Body: other things become strings", async () => {
  assertEquals(await new Response(5).text(), "5");
  assertEquals(await new Response({}).text(), "[object Object]");
  assertEquals(await new Response({ toString: () => "mine" }).text(), "mine");
  assertEquals(await new Response([1, 2]).text(), "1,2");
  assertThrows(() => new Response(Symbol("s")), TypeError);
});

test("Body: detached buffers are empty", async () => {
  const buffer = new ArrayBuffer(4);
  const view = new Uint8Array(buffer);
  buffer.transfer();
  assertEquals(await new Response(view).bytes(), bytes());
  assertEquals(await new Response(buffer).bytes(), bytes());
});

test("Body: methods of another object reject", async () => {
  for (const method of ["text", "json", "bytes", "arrayBuffer", "blob", "formData"]) {
    await assertRejects(Response.prototype[method].call({}), TypeError);
    await assertRejects(Request.prototype[method].call(new Response()), TypeError);
  }
});

test("Body: blob takes the MIME type of the headers", async () => {
  const type = async (value) => (await new Response("", { headers: [["content-type", value]] }).blob()).type;
  assertEquals(await type("text/plain"), "text/plain");
  assertEquals(await type('TEXT/html; Charset="a b"; x=y'), 'text/html;charset="a b";x=y');
  assertEquals(await type("nonsense"), "");
  assertEquals(await type("a/b, c/d"), "c/d");
  assertEquals(await type("text/html;charset=gbk, text/html"), "text/html;charset=gbk");
  assertEquals(await type("text/html, */*"), "text/html");
  assertEquals(await type('text/html;x="a,b/c", z/z'), "z/z");
  assertEquals(await type("a/b;c= D"), 'a/b;c=" D"');
});
