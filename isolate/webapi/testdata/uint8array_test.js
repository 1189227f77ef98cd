const pair = (b) => (b < 16 ? "0" : "") + b.toString(16);
const plainHex = (bytes) => Array.from(bytes, pair).join("");
const plainBase64 = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""));

/** Views of every length up to 100, at several offsets, with bytes around them. */
function* views() {
  for (let n = 0; n <= 100; n++) {
    for (const offset of [0, 1, 7, 16]) {
      const buffer = new Uint8Array(offset + n + 9);
      for (let i = 0; i < buffer.length; i++) buffer[i] = i * 151 + n * 29;
      yield buffer.subarray(offset, offset + n);
    }
  }
}

test("toHex is right for every length and offset", () => {
  for (const view of views()) assertEquals(view.toHex(), plainHex(view));
});

test("toBase64 is right for every length and offset", () => {
  for (const view of views()) assertEquals(view.toBase64(), plainBase64(view));
});

test("toBase64 takes the alphabet and the padding", () => {
  for (const view of views()) {
    const url = plainBase64(view).replace(/\+/g, "-").replace(/\//g, "_");
    assertEquals(view.toBase64({ alphabet: "base64url" }), url);
    assertEquals(view.toBase64({ alphabet: "base64url", omitPadding: true }), url.replace(/=/g, ""));
    assertEquals(view.toBase64({ omitPadding: true }), plainBase64(view).replace(/=/g, ""));
  }
});

test("what is written is read back", () => {
  for (const view of views()) {
    assertEquals(Uint8Array.fromHex(view.toHex()), new Uint8Array(view));
    assertEquals(Uint8Array.fromHex(view.toHex().toUpperCase()), new Uint8Array(view));
    assertEquals(Uint8Array.fromBase64(view.toBase64()), new Uint8Array(view));
    const text = view.toBase64({ alphabet: "base64url", omitPadding: true });
    assertEquals(Uint8Array.fromBase64(text, { alphabet: "base64url" }), new Uint8Array(view));
  }
});

test("arrays that are read have a buffer of their length", () => {
  assertEquals(Uint8Array.fromBase64(" AA == ").buffer.byteLength, 1);
  assertEquals(Uint8Array.fromHex("0001").buffer.byteLength, 2);
});

test("fromBase64 skips whitespace", () => {
  assertEquals(Uint8Array.fromBase64(" Z\tm\n9\fv\rYg = = "), new Uint8Array([102, 111, 111, 98]));
});

test("fromBase64 treats the end as it is told", () => {
  const read = (text, lastChunkHandling) => Array.from(Uint8Array.fromBase64(text, { lastChunkHandling }));
  assertEquals(read("ZXhhZg", "loose"), [101, 120, 97, 102]);
  assertEquals(read("ZXhhZg", "stop-before-partial"), [101, 120, 97]);
  assertEquals(read("ZXhhZg=", "stop-before-partial"), [101, 120, 97]);
  assertEquals(read("ZXhhZg==", "strict"), [101, 120, 97, 102]);
  assertEquals(read("ZXhhZh==", "loose"), [101, 120, 97, 102]);
  for (const [text, ending] of [
    ["ZXhhZg", "strict"], ["ZXhhZh==", "strict"], ["ZXhhZ", "loose"], ["ZXhhZg=", "loose"], ["Z=", "loose"], ["=", "loose"],
    ["ZXhhZg==Z", "loose"], ["ZXhhZg===", "loose"], ["ZX*h", "loose"], ["ZX\u00a0h", "loose"],
  ]) {
    assertThrows(() => read(text, ending), SyntaxError);
  }
});

test("fromBase64 refuses the other alphabet", () => {
  assertThrows(() => Uint8Array.fromBase64("-_-_"), SyntaxError, "base64");
  assertThrows(() => Uint8Array.fromBase64("+/+/", { alphabet: "base64url" }), SyntaxError, "base64url");
});

test("fromHex refuses odd lengths and other characters", () => {
  for (const text of ["a", "0g", "a ", "\u0661\u0661", "+1"]) assertThrows(() => Uint8Array.fromHex(text), SyntaxError);
});

test("arguments are not converted", () => {
  for (const value of [undefined, 12, new String("00"), { toString: () => "00" }]) {
    assertThrows(() => Uint8Array.fromHex(value), TypeError);
    assertThrows(() => Uint8Array.fromBase64(value), TypeError);
    assertThrows(() => new Uint8Array(4).setFromHex(value), TypeError);
    assertThrows(() => new Uint8Array(4).setFromBase64(value), TypeError);
  }
  for (const options of [null, 1, "base64"]) assertThrows(() => new Uint8Array(1).toBase64(options), TypeError);
  for (const alphabet of ["other", Object("base64"), null]) assertThrows(() => new Uint8Array(1).toBase64({ alphabet }), TypeError, "alphabet");
  assertThrows(() => Uint8Array.fromBase64("", { lastChunkHandling: "lose" }), TypeError, "lastChunkHandling");
});

test("options are read even when the array turns out to be unusable", () => {
  let reads = "";
  const options = { get alphabet() { reads += "alphabet "; return "base64url"; }, get omitPadding() { reads += "omitPadding"; return 1; } };
  assertEquals(new Uint8Array([255]).toBase64(options), "_w");
  assertEquals(reads, "alphabet omitPadding");
  const gone = new Uint8Array(4);
  structuredClone(gone, { transfer: [gone.buffer] });
  assertThrows(() => gone.toBase64(), TypeError);
  assertThrows(() => gone.toHex(), TypeError);
  assertThrows(() => gone.setFromHex("00"), TypeError);
});

test("only Uint8Array has them", () => {
  for (const other of [new Uint8ClampedArray(1), new Int8Array(1), [1], undefined, {}]) {
    assertThrows(() => Uint8Array.prototype.toHex.call(other), TypeError);
    assertThrows(() => Uint8Array.prototype.toBase64.call(other), TypeError);
    assertThrows(() => Uint8Array.prototype.setFromBase64.call(other, ""), TypeError);
  }
});

test("setFromBase64 writes what fits", () => {
  const target = new Uint8Array(8).fill(255);
  assertEquals(target.setFromBase64("Zm9vYmFy"), { read: 8, written: 6 });
  assertEquals(target, new Uint8Array([102, 111, 111, 98, 97, 114, 255, 255]));
  assertEquals(new Uint8Array(4).setFromBase64("Zm9vYmFy"), { read: 4, written: 3 });
  assertEquals(new Uint8Array(3).setFromBase64("Zm9vYmFy"), { read: 4, written: 3 });
  assertEquals(new Uint8Array(0).setFromBase64("*"), { read: 0, written: 0 });
  assertEquals(new Uint8Array(4).setFromBase64("Zm9vYg=="), { read: 8, written: 4 });
});

test("setFromBase64 keeps what was written before a mistake", () => {
  const target = new Uint8Array(6).fill(255);
  assertThrows(() => target.setFromBase64("Zm9v*mFy"), SyntaxError);
  assertEquals(target, new Uint8Array([102, 111, 111, 255, 255, 255]));
});

test("setFromHex writes what fits", () => {
  const target = new Uint8Array(3);
  assertEquals(target.setFromHex("cafed00d"), { read: 6, written: 3 });
  assertEquals(target, new Uint8Array([0xca, 0xfe, 0xd0]));
  assertThrows(() => target.setFromHex("00zz"), SyntaxError);
  assertEquals(target[0], 0);
});

test("they look like functions of the language", () => {
  const shape = (o, name) => {
    const d = Object.getOwnPropertyDescriptor(o, name);
    return [d.enumerable, d.writable, d.configurable, d.value.name, d.value.length, "prototype" in d.value];
  };
  assertEquals(shape(Uint8Array, "fromBase64"), [false, true, true, "fromBase64", 1, false]);
  assertEquals(shape(Uint8Array, "fromHex"), [false, true, true, "fromHex", 1, false]);
  assertEquals(shape(Uint8Array.prototype, "toBase64"), [false, true, true, "toBase64", 0, false]);
  assertEquals(shape(Uint8Array.prototype, "toHex"), [false, true, true, "toHex", 0, false]);
  assertEquals(shape(Uint8Array.prototype, "setFromBase64"), [false, true, true, "setFromBase64", 1, false]);
  assertEquals(shape(Uint8Array.prototype, "setFromHex"), [false, true, true, "setFromHex", 1, false]);
});
