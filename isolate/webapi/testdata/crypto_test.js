// Web Cryptography: Crypto, digest and what every key has.

const text = (s) => new TextEncoder().encode(s);
const hex = (bytes) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, "0")).join("");
const rejectsWith = async (promise, name) => {
  const error = await promise.then(() => "nothing", (e) => e);
  assert(error instanceof DOMException && error.name === name, `rejected with ${error}, want ${name}`);
};
test("getRandomValues fills every array of integers", () => {
  for (const Class of [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array]) {
    const array = new Class(32);
    assert(crypto.getRandomValues(array) === array);
    assert(array.some((x) => x != 0), Class.name);
  }
  const outside = new Uint8Array(30);
  crypto.getRandomValues(outside.subarray(10, 20));
  assert(outside.slice(0, 10).every((x) => x === 0) && outside.slice(20).every((x) => x === 0));
  assertEquals(crypto.getRandomValues(new Uint8Array(0)).length, 0);
  assertEquals(crypto.getRandomValues(new Uint8Array(65536)).length, 65536);
});

test("getRandomValues refuses other arrays and too many bytes", () => {
  for (const array of [new Float32Array(2), new Float64Array(2), new DataView(new ArrayBuffer(2))]) {
    assertEquals(assertThrows(() => crypto.getRandomValues(array), DOMException).name, "TypeMismatchError");
  }
  const error = assertThrows(() => crypto.getRandomValues(new Uint16Array(32769)), DOMException);
  assertEquals([error.name, error.code], ["QuotaExceededError", 22]);
  for (const value of [undefined, null, [], {}, new ArrayBuffer(4)]) assertThrows(() => crypto.getRandomValues(value), TypeError);
  assertThrows(() => crypto.getRandomValues(), TypeError, "1 argument required");
});

test("randomUUID", () => {
  const seen = new Set();
  for (let i = 0; i < 200; i++) {
    const uuid = crypto.randomUUID();
    assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid), uuid);
    seen.add(uuid);
  }
  assertEquals(seen.size, 200);
});

test("digest", async () => {
  for (const [name, want] of [
    ["SHA-1", "a9993e364706816aba3e25717850c26c9cd0d89d"],
    ["sha-256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    [{ name: "Sha-384" }, "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"],
    ["SHA-512", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"],
  ]) {
    const digest = await crypto.subtle.digest(name, text("abc"));
    assert(digest instanceof ArrayBuffer);
    assertEquals(hex(digest), want);
  }
  const bytes = text("xabcx");
  const want = hex(await crypto.subtle.digest("SHA-256", text("abc")));
  assertEquals(hex(await crypto.subtle.digest("SHA-256", bytes.subarray(1, 4))), want);
  assertEquals(hex(await crypto.subtle.digest("SHA-256", new DataView(bytes.buffer, 1, 3))), want);
  assertEquals(hex(await crypto.subtle.digest("SHA-256", text("abc").buffer)), want);
  assertEquals(hex(await crypto.subtle.digest("SHA-1", new ArrayBuffer(0))), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
});

test("digest reads its data when it is called, however long it is", async () => {
  const data = new Uint8Array(1 << 20);
  const promise = crypto.subtle.digest("SHA-1", data);
  data.fill(1);
  assertEquals(hex(await promise), "3b71f43ff30f4b15b5cd85dd9e95ebc7e84eb5a3");
});

test("digest rejects", async () => {
  await rejectsWith(crypto.subtle.digest("MD5", text("x")), "NotSupportedError");
  await rejectsWith(crypto.subtle.digest({ name: "HMAC" }, text("x")), "NotSupportedError");
  await assertRejects(crypto.subtle.digest("SHA-1", "x"), TypeError);
  await assertRejects(crypto.subtle.digest("SHA-1"), TypeError);
  await assertRejects(crypto.subtle.digest({}, text("x")), TypeError);
  await assertRejects(SubtleCrypto.prototype.digest.call({}, "SHA-1", text("x")), TypeError);
});

test("timingSafeEqual", () => {
  assertEquals(crypto.subtle.timingSafeEqual(text("abc"), text("abc").buffer), true);
  assertEquals(crypto.subtle.timingSafeEqual(text("abc"), text("abd")), false);
  assertEquals(crypto.subtle.timingSafeEqual(new Uint8Array(0), new Uint8Array(0)), true);
  assertThrows(() => crypto.subtle.timingSafeEqual(text("abc"), text("ab")), TypeError);
  assertThrows(() => crypto.subtle.timingSafeEqual("a", "a"), TypeError);
});

test("interfaces", () => {
  assertEquals(String(crypto), "[object Crypto]");
  assertEquals(String(crypto.subtle), "[object SubtleCrypto]");
  assert(crypto instanceof Crypto && crypto.subtle instanceof SubtleCrypto && crypto.subtle === crypto.subtle);
  for (const Class of [Crypto, SubtleCrypto, CryptoKey]) assertThrows(() => new Class(), TypeError, "Illegal constructor");
  assertThrows(() => Crypto.prototype.subtle, TypeError);
  assertThrows(() => crypto.getRandomValues.call({}, new Uint8Array(1)), TypeError);
  assertThrows(() => CryptoKey.prototype.type, TypeError);
});

test("keys hold what scripts change of them apart", async () => {
  const key = await crypto.subtle.generateKey({ name: "hmac", hash: "sha-256" }, false, ["verify", "sign", "sign"]);
  assertEquals(String(key), "[object CryptoKey]");
  assertEquals([key.type, key.extractable], ["secret", false]);
  assertEquals(key.algorithm, { name: "HMAC", length: 512, hash: { name: "SHA-256" } });
  assertEquals(key.usages, ["sign", "verify"]);
  assert(key.algorithm === key.algorithm && key.usages === key.usages);
  key.algorithm.name = "AES-GCM";
  key.usages.length = 0;
  assertEquals((await crypto.subtle.sign("HMAC", key, text("x"))).byteLength, 32);
  await rejectsWith(crypto.subtle.exportKey("raw", key), "InvalidAccessError");
  assertThrows(() => structuredClone(key), DOMException);
  assertEquals(Object.keys(key), []);
});

test("keys are for their algorithm and usages only", async () => {
  const key = await crypto.subtle.importKey("raw", text("secret"), { name: "HMAC", hash: "SHA-1" }, true, ["sign"]);
  await rejectsWith(crypto.subtle.verify("HMAC", key, text("x"), text("x")), "InvalidAccessError");
  await assertRejects(crypto.subtle.sign("ECDSA", key, text("x")), TypeError);
  await rejectsWith(crypto.subtle.sign({ name: "ECDSA", hash: "SHA-1" }, key, text("x")), "InvalidAccessError");
  await rejectsWith(crypto.subtle.sign("AES-GCM", key, text("x")), "NotSupportedError");
  await rejectsWith(crypto.subtle.importKey("raw", text("s"), { name: "HMAC", hash: "SHA-1" }, true, ["encrypt"]), "SyntaxError");
  await rejectsWith(crypto.subtle.importKey("raw", text("s"), { name: "HMAC", hash: "SHA-1" }, true, []), "SyntaxError");
  await rejectsWith(crypto.subtle.importKey("raw", text(""), { name: "HMAC", hash: "SHA-1" }, true, ["sign"]), "DataError");
  await assertRejects(crypto.subtle.importKey("raw", text("s"), { name: "HMAC" }, true, ["sign"]), TypeError);
  await assertRejects(crypto.subtle.importKey("raw", { kty: "oct" }, { name: "HMAC", hash: "SHA-1" }, true, ["sign"]), TypeError);
  await assertRejects(crypto.subtle.importKey("jwk", text("s"), { name: "HMAC", hash: "SHA-1" }, true, ["sign"]), TypeError);
  await assertRejects(crypto.subtle.importKey("pem", text("s"), { name: "HMAC", hash: "SHA-1" }, true, ["sign"]), TypeError);
  await assertRejects(crypto.subtle.importKey("raw", text("s"), { name: "HMAC", hash: "SHA-1" }, true, ["fly"]), TypeError);
  await assertRejects(crypto.subtle.sign("HMAC", {}, text("x")), TypeError);
});
