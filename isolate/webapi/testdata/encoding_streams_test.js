// Encoding Standard: TextDecoderStream and TextEncoderStream.

const bytes = (...list) => new Uint8Array(list);

async function pump(stream, chunks) {
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  const written = (async () => {
    for (const chunk of chunks) await writer.write(chunk);
    await writer.close();
  })();
  written.catch(() => {});
  const out = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    out.push(value);
  }
  await written;
  return out;
}

test("TextDecoderStream joins characters that chunks cut", async () => {
  const out = await pump(new TextDecoderStream(), [bytes(0xef, 0xbb), bytes(0xbf, 0x61, 0xf0), bytes(0x9f, 0x98), bytes(0x80), bytes(0xe4)]);
  assertEquals(out, ["a", "\ud83d\ude00", "\ufffd"]);
});

test("TextDecoderStream takes labels and options", async () => {
  const stream = new TextDecoderStream("UTF-16", { fatal: true, ignoreBOM: true });
  assertEquals([stream.encoding, stream.fatal, stream.ignoreBOM], ["utf-16le", true, true]);
  assertEquals(await pump(stream, [bytes(0xff), bytes(0xfe, 0x41, 0), new DataView(bytes(0x42, 0).buffer)]), ["\ufeffA", "B"]);
  assertEquals(await pump(new TextDecoderStream("shift_jis"), [bytes(0x82), bytes(0xa0)]), ["\u3042"]);
  assertThrows(() => new TextDecoderStream("nope"), RangeError);
});

test("TextDecoderStream fails on bad data and bad chunks", async () => {
  await assertRejects(pump(new TextDecoderStream("utf-8", { fatal: true }), [bytes(0xff)]), TypeError);
  await assertRejects(pump(new TextDecoderStream("utf-8", { fatal: true }), [bytes(0xe4)]), TypeError);
  for (const chunk of [undefined, null, 1, "x", {}, [1]]) await assertRejects(pump(new TextDecoderStream(), [chunk]), TypeError);
});

test("TextEncoderStream joins surrogates that chunks cut", async () => {
  const stream = new TextEncoderStream();
  assertEquals(stream.encoding, "utf-8");
  assertEquals(await pump(stream, ["a\ud83d", "\ude00b", "", "\ud800", "c", "\ud800"]), [
    bytes(97), bytes(0xf0, 0x9f, 0x98, 0x80, 98), bytes(0xef, 0xbf, 0xbd, 99), bytes(0xef, 0xbf, 0xbd),
  ]);
});

test("TextEncoderStream converts chunks to strings", async () => {
  assertEquals(await pump(new TextEncoderStream(), [1, null, undefined]), [bytes(49), bytes(110, 117, 108, 108), bytes(117, 110, 100, 101, 102, 105, 110, 101, 100)]);
  await assertRejects(pump(new TextEncoderStream(), [Symbol("x")]), TypeError);
});

test("pipeThrough both", async () => {
  const source = new ReadableStream({
    start(controller) {
      controller.enqueue("\u4f60");
      controller.enqueue("\u597d");
      controller.close();
    },
  });
  let text = "";
  for await (const chunk of source.pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream())) text += chunk;
  assertEquals(text, "\u4f60\u597d");
});

test("interfaces", () => {
  for (const Class of [TextDecoderStream, TextEncoderStream]) {
    const stream = new Class();
    assertEquals(Object.prototype.toString.call(stream), `[object ${Class.name}]`);
    assert(stream.readable instanceof ReadableStream && stream.readable === stream.readable);
    assert(stream.writable instanceof WritableStream && stream.writable === stream.writable);
    assertThrows(() => Class.prototype.readable, TypeError);
    assertThrows(() => Class.prototype.encoding, TypeError);
    assertThrows(() => Class(), TypeError);
  }
});
