// Encoding Standard: TextEncoder and TextDecoder.

const bytes = (...list) => new Uint8Array(list);
const utf16 = (text, bigEndian) => {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), !bigEndian);
  return new Uint8Array(view.buffer);
};

test("TextEncoder.encode", () => {
  const encoder = new TextEncoder();
  assertEquals(encoder.encoding, "utf-8");
  for (const [text, want] of [
    ["", []],
    [undefined, []],
    [null, [110, 117, 108, 108]],
    ["a\u0000\u00e9\u4f60\ud83d\ude00", [97, 0, 0xc3, 0xa9, 0xe4, 0xbd, 0xa0, 0xf0, 0x9f, 0x98, 0x80]],
    ["\ud800", [0xef, 0xbf, 0xbd]],
    ["\udc00\ud800", [0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd]],
    ["x\ud800y", [120, 0xef, 0xbf, 0xbd, 121]],
    ["\ufeff", [0xef, 0xbb, 0xbf]],
  ]) assertEquals(encoder.encode(text), bytes(...want), JSON.stringify(text));
  assert(encoder.encode("x").buffer !== encoder.encode("x").buffer);
});

test("TextEncoder.encodeInto", () => {
  const encoder = new TextEncoder();
  for (const [text, size, read, want] of [
    ["abc", 5, 3, [97, 98, 99]],
    ["abc", 2, 2, [97, 98]],
    ["a\u00e9", 2, 1, [97]],
    ["\u4f60\u4f60", 5, 1, [0xe4, 0xbd, 0xa0]],
    ["\ud83d\ude00", 3, 0, []],
    ["\ud83d\ude00", 4, 2, [0xf0, 0x9f, 0x98, 0x80]],
    ["\ud83d", 3, 1, [0xef, 0xbf, 0xbd]],
    ["", 3, 0, []],
    ["abc", 0, 0, []],
  ]) {
    const target = new Uint8Array(size + 2).fill(7);
    const got = encoder.encodeInto(text, target.subarray(1, size + 1));
    assertEquals(got, { read, written: want.length }, text);
    const all = new Uint8Array(size + 2).fill(7);
    all.set(want, 1);
    assertEquals(target, all, text);
  }
  assertThrows(() => encoder.encodeInto("x", new Uint16Array(2)), TypeError);
  assertThrows(() => encoder.encodeInto("x"), TypeError, "2 arguments required");
});

test("TextDecoder takes every kind of buffer source", () => {
  const decoder = new TextDecoder();
  const buffer = bytes(120, 97, 98, 121).buffer;
  assertEquals(decoder.decode(), "");
  assertEquals(decoder.decode(undefined), "");
  assertEquals(decoder.decode(buffer), "xaby");
  assertEquals(decoder.decode(new Uint8Array(buffer, 1, 2)), "ab");
  assertEquals(decoder.decode(new DataView(buffer, 1, 2)), "ab");
  assertEquals(decoder.decode(new Uint16Array(buffer)), "xaby");
  assertEquals(new TextDecoder("windows-1252").decode(new DataView(buffer, 1, 2)), "ab");
  assertEquals(new TextDecoder("utf-16le").decode(new DataView(buffer, 2, 2)), "\u7962");
  assertThrows(() => decoder.decode("ab"), TypeError);
  assertThrows(() => decoder.decode(null), TypeError);
  assertThrows(() => decoder.decode(bytes(97), 1), TypeError);
});

test("UTF-8 errors are replaced by maximal subparts", () => {
  for (const [input, want] of [
    [[0xff], "\ufffd"],
    [[0xc3], "\ufffd"],
    [[0xc0, 0x80], "\ufffd\ufffd"],
    [[0xe4, 0xbd], "\ufffd"],
    [[0xe4, 0xbd, 0x41], "\ufffdA"],
    [[0xe0, 0x80, 0x80], "\ufffd\ufffd\ufffd"],
    [[0xed, 0xa0, 0x80], "\ufffd\ufffd\ufffd"],
    [[0xf0, 0x9f, 0x98], "\ufffd"],
    [[0xf4, 0x90, 0x80, 0x80], "\ufffd\ufffd\ufffd\ufffd"],
    [[0xf0, 0x9f, 0x98, 0x80], "\ud83d\ude00"],
  ]) {
    assertEquals(new TextDecoder().decode(bytes(...input)), want, String(input));
    if (want.includes("\ufffd")) assertThrows(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes(...input)), TypeError);
  }
});

test("byte order marks", () => {
  for (const [label, bom] of [["utf-8", [0xef, 0xbb, 0xbf]], ["utf-16le", [0xff, 0xfe]], ["utf-16be", [0xfe, 0xff]]]) {
    const text = label === "utf-8" ? [65] : label === "utf-16le" ? [65, 0] : [0, 65];
    assertEquals(new TextDecoder(label).decode(bytes(...bom, ...text)), "A", label);
    assertEquals(new TextDecoder(label).decode(bytes(...bom, ...bom, ...text)), "\ufeffA", label);
    assertEquals(new TextDecoder(label).decode(bytes(...text, ...bom)), "A\ufeff", label);
    assertEquals(new TextDecoder(label, { ignoreBOM: true }).decode(bytes(...bom, ...text)), "\ufeffA", label);
    const decoder = new TextDecoder(label);
    let got = "";
    for (const byte of [...bom, ...text, ...bom]) got += decoder.decode(bytes(byte), { stream: true });
    got += decoder.decode();
    assertEquals(got, "A\ufeff", `${label}, streamed`);
    assertEquals(decoder.decode(bytes(...bom, ...text)), "A", `${label}, used again`);
  }
});

test("streams cut anywhere give the same text", () => {
  const text = "z\u00a2\u6c34\ud834\udd1e\uf8ff\udbff\udffd\ufffe";
  const encoded = { "utf-8": new TextEncoder().encode(text), "utf-16le": utf16(text, false), "utf-16be": utf16(text, true) };
  for (const label of Object.keys(encoded)) {
    for (let size = 1; size < 6; size++) {
      for (const fatal of [false, true]) {
        const decoder = new TextDecoder(label, { fatal });
        let got = "";
        for (let i = 0; i < encoded[label].length; i += size) {
          got += decoder.decode(encoded[label].subarray(i, i + size), { stream: true });
        }
        assertEquals(got + decoder.decode(), text, `${label} in pieces of ${size}`);
      }
    }
  }
});

test("a stream shows an error as soon as it is one", () => {
  const decoder = new TextDecoder();
  const step = (...list) => decoder.decode(bytes(...list), { stream: true });
  assertEquals(step(0xf0), "");
  assertEquals(step(0x9f), "");
  assertEquals(step(0x41), "\ufffdA");
  assertEquals(step(0xed, 0xa0), "\ufffd\ufffd");
  assertEquals(step(0xe4, 0xbd), "");
  assertEquals(decoder.decode(), "\ufffd");
  assertEquals(decoder.decode(bytes(0xa0)), "\ufffd");
});

test("the end of a fatal stream is an error when something is incomplete", () => {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  assertEquals(decoder.decode(bytes(0x41, 0xe2), { stream: true }), "A");
  assertThrows(() => decoder.decode(), TypeError);
  assertEquals(decoder.decode(bytes(0x42)), "B");
});

test("UTF-16 errors", () => {
  for (const [input, want] of [
    ["\ud800", "\ufffd"],
    ["\udc00\ud800", "\ufffd\ufffd"],
    ["a\ud800b", "a\ufffdb"],
    ["\ud800\ud800\udc00", "\ufffd\ud800\udc00"],
  ]) {
    assertEquals(new TextDecoder("utf-16le").decode(utf16(input, false)), want);
    assertEquals(new TextDecoder("utf-16be").decode(utf16(input, true)), want);
    assertThrows(() => new TextDecoder("utf-16le", { fatal: true }).decode(utf16(input, false)), TypeError);
  }
  assertEquals(new TextDecoder("utf-16le").decode(bytes(65, 0, 66)), "A\ufffd");
  assertEquals(new TextDecoder("utf-16le").decode(bytes(0, 0xd8, 66)), "\ufffd");
  const long = "\u4f60\ud83d\ude00".repeat(10000);
  assertEquals(new TextDecoder("utf-16be").decode(utf16(long, true)), long);
});

test("labels", () => {
  for (const [label, name] of [
    ["UTF-8", "utf-8"], [" utf8\n", "utf-8"], ["unicode-1-1-utf-8", "utf-8"], ["utf-16", "utf-16le"], ["ucs-2", "utf-16le"],
    ["unicodefffe", "utf-16be"], ["latin1", "windows-1252"], ["ASCII", "windows-1252"], ["iso-8859-9", "windows-1254"],
    ["sjis", "shift_jis"], ["x-sjis", "shift_jis"], ["gb2312", "gbk"], ["big5-hkscs", "big5"], ["ks_c_5601-1987", "euc-kr"],
    ["logical", "iso-8859-8-i"], ["visual", "iso-8859-8"], ["866", "ibm866"], ["x-user-defined", "x-user-defined"], ["koi8-ru", "koi8-u"],
  ]) assertEquals(new TextDecoder(label).encoding, name, label);
  for (const label of ["", "x", "utf-7", "utf-32", "replacement", "iso-2022-kr", "utf\u200b-8", "\u00a0utf-8", "utf-8\u0000", "\u212aoi8-r", null]) {
    assertThrows(() => new TextDecoder(label), RangeError);
  }
});

test("legacy encodings", () => {
  for (const [label, input, want] of [
    ["windows-1252", [0x80, 0x81, 0xe9], "\u20ac\u0081\u00e9"],
    ["windows-1251", [0xcf, 0xf0], "\u041f\u0440"],
    ["koi8-r", [0xf0, 0xd2], "\u041f\u0440"],
    ["windows-1253", [0xaa, 0xe1], "\ufffd\u03b1"],
    ["x-user-defined", [0x41, 0x80, 0xff], "A\uf780\uf7ff"],
    ["macintosh", [0x8e, 0xdb], "\u00e9\u20ac"],
    ["shift_jis", [0x82, 0xa0, 0xb1, 0x5c, 0x80], "\u3042\uff71\\\u0080"],
    ["shift_jis", [0x82, 0x3a, 0x82], "\ufffd:\ufffd"],
    ["euc-jp", [0xa4, 0xa2, 0x8e, 0xb1, 0x8f, 0xb0, 0xa1], "\u3042\uff71\u4e02"],
    ["iso-2022-jp", [0x1b, 0x24, 0x42, 0x24, 0x22, 0x1b, 0x28, 0x42, 0x41], "\u3042A"],
    ["iso-2022-jp", [0x1b, 0x28, 0x4a, 0x5c, 0x7e], "\u00a5\u203e"],
    ["euc-kr", [0xb0, 0xa1, 0xff], "\uac00\ufffd"],
    ["big5", [0xa4, 0xa4, 0x88, 0x62, 0x88, 0xa5], "\u4e2d\u00ca\u0304\u00ea\u030c"],
    ["gbk", [0xc4, 0xe3, 0x80, 0xff], "\u4f60\u20ac\ufffd"],
    ["gb18030", [0x81, 0x30, 0x81, 0x30, 0x90, 0x30, 0x81, 0x30, 0x81, 0x35, 0xf4, 0x37], "\u0080\ud800\udc00\ue7c7"],
    ["gb18030", [0x81, 0x30, 0x81, 0xff, 0x81, 0x30], "\ufffd0\ufffd\ufffd"],
  ]) {
    assertEquals(new TextDecoder(label).decode(bytes(...input)), want, label);
    const decoder = new TextDecoder(label);
    let got = "";
    for (const byte of input) got += decoder.decode(bytes(byte), { stream: true });
    assertEquals(got + decoder.decode(), want, `${label}, streamed`);
    if (want.includes("\ufffd")) assertThrows(() => new TextDecoder(label, { fatal: true }).decode(bytes(...input)), TypeError);
  }
});

test("interfaces", () => {
  assertEquals(Object.prototype.toString.call(new TextDecoder()), "[object TextDecoder]");
  assertEquals(Object.prototype.toString.call(new TextEncoder()), "[object TextEncoder]");
  assertEquals([TextDecoder.length, TextDecoder.prototype.decode.length, TextEncoder.prototype.encodeInto.length], [0, 0, 2]);
  const decoder = new TextDecoder("utf-8", { fatal: 1, ignoreBOM: "x" });
  assertEquals([decoder.encoding, decoder.fatal, decoder.ignoreBOM], ["utf-8", true, true]);
  assertThrows(() => TextDecoder(), TypeError);
  assertThrows(() => TextDecoder.prototype.encoding, TypeError);
  assertThrows(() => TextDecoder.prototype.decode.call({}), TypeError);
  assertThrows(() => TextEncoder.prototype.encode.call({}, "x"), TypeError);
  assertThrows(() => TextEncoder.prototype.encoding, TypeError);
  assertThrows(() => new TextDecoder("utf-8", 1), TypeError);
});
