// Web Cryptography: the algorithms of SubtleCrypto.

const { subtle } = crypto;
const text = (s) => new TextEncoder().encode(s);
const hex = (bytes) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, "0")).join("");
const unhex = (s) => Uint8Array.from(s.match(/../g) ?? [], (b) => parseInt(b, 16));
const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const unbase64url = (s) => Uint8Array.from(atob(s.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const rejectsWith = async (promise, name) => {
  const error = await promise.then(() => "nothing", (e) => e);
  assert(error instanceof DOMException && error.name === name, `rejected with ${error}, want ${name}`);
};

test("HMAC: RFC 4231, case 2", async () => {
  const key = await subtle.importKey("raw", text("Jefe"), { name: "HMAC", hash: "SHA-256" }, true, ["sign", "verify"]);
  const data = text("what do ya want for nothing?");
  const mac = await subtle.sign("HMAC", key, data);
  assertEquals(hex(mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  assertEquals(await subtle.verify("HMAC", key, mac, data), true);
  assertEquals(await subtle.verify("HMAC", key, mac, text("other")), false);
  assertEquals(await subtle.verify("HMAC", key, mac.slice(1), data), false);
  assertEquals(hex(await subtle.exportKey("raw", key)), hex(text("Jefe")));
  assertEquals(await subtle.exportKey("jwk", key), { kty: "oct", k: "SmVmZQ", alg: "HS256", key_ops: ["sign", "verify"], ext: true });
});

test("a JSON Web Token: RFC 7515, appendix A.1", async () => {
  const k = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
  const jwk = { kty: "oct", k, alg: "HS256", use: "sig", key_ops: ["verify", "sign"] };
  const key = await subtle.importKey("jwk", jwk, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
  assertEquals(await subtle.verify("HMAC", key, unbase64url("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), text(signed)), true);
  const reject = (change) => rejectsWith(subtle.importKey("jwk", { ...jwk, ...change }, { name: "HMAC", hash: "SHA-256" }, true, ["verify"]), "DataError");
  await reject({ kty: "RSA" });
  await reject({ k: "a=" });
  await reject({ k: "+/" });
  await reject({ alg: "HS512" });
  await reject({ use: "enc" });
  await reject({ key_ops: ["sign"] });
  await reject({ key_ops: ["verify", "verify"] });
  await reject({ ext: false });
});

/** [algorithm of the key, parameters, key, data, encrypted] */
const ciphers = [
  ["AES-CBC", { iv: unhex("000102030405060708090a0b0c0d0e0f") }, "2b7e151628aed2a6abf7158809cf4f3c", "6bc1bee22e409f96e93d7e117393172a", "7649abac8119b246cee98e9b12e9197d"],
  ["AES-CTR", { counter: unhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"), length: 128 }, "2b7e151628aed2a6abf7158809cf4f3c", "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51", "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"],
  ["AES-GCM", { iv: unhex("000000000000000000000000") }, "00000000000000000000000000000000", "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"],
];

test("AES: vectors of SP 800-38A and of GCM", async () => {
  for (const [name, params, rawKey, data, want] of ciphers) {
    const key = await subtle.importKey("raw", unhex(rawKey), name, true, ["encrypt", "decrypt"]);
    const encrypted = await subtle.encrypt({ name, ...params }, key, unhex(data));
    assert(hex(encrypted).startsWith(want), `${name}: ${hex(encrypted)}`);
    assertEquals(hex(await subtle.decrypt({ name, ...params }, key, encrypted)), data);
  }
});

test("AES-GCM with tags and additional data", async () => {
  const key = await subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  for (const tagLength of [32, 64, 96, 104, 112, 120, 128]) {
    for (const size of [0, 1, 12, 16, 60]) {
      const params = { name: "AES-GCM", iv: crypto.getRandomValues(new Uint8Array(size || 12)), tagLength, additionalData: text("header") };
      const data = crypto.getRandomValues(new Uint8Array(size));
      const encrypted = await subtle.encrypt(params, key, data);
      assertEquals(encrypted.byteLength, size + tagLength / 8);
      assertEquals(hex(await subtle.decrypt(params, key, encrypted)), hex(data));
      await rejectsWith(subtle.decrypt({ ...params, additionalData: text("other") }, key, encrypted), "OperationError");
      new Uint8Array(encrypted)[0] ^= 1;
      await rejectsWith(subtle.decrypt(params, key, encrypted), "OperationError");
    }
  }
  const iv = new Uint8Array(12);
  for (const tagLength of [0, 8, 72, 127, 136]) await rejectsWith(subtle.encrypt({ name: "AES-GCM", iv, tagLength }, key, iv), "OperationError");
  await rejectsWith(subtle.encrypt({ name: "AES-GCM", iv: new Uint8Array(0) }, key, iv), "OperationError");
});

test("AES-CBC refuses bad padding, and AES-CTR counters that repeat", async () => {
  const cbc = await subtle.generateKey({ name: "AES-CBC", length: 128 }, false, ["encrypt", "decrypt"]);
  const iv = new Uint8Array(16);
  for (let size = 0; size < 40; size++) {
    const data = crypto.getRandomValues(new Uint8Array(size));
    const encrypted = await subtle.encrypt({ name: "AES-CBC", iv }, cbc, data);
    assertEquals(encrypted.byteLength, (Math.floor(size / 16) + 1) * 16);
    assertEquals(hex(await subtle.decrypt({ name: "AES-CBC", iv }, cbc, encrypted)), hex(data));
    await rejectsWith(subtle.decrypt({ name: "AES-CBC", iv }, cbc, encrypted.slice(1)), "OperationError");
  }
  await rejectsWith(subtle.decrypt({ name: "AES-CBC", iv }, cbc, new Uint8Array(0)), "OperationError");
  await rejectsWith(subtle.encrypt({ name: "AES-CBC", iv: new Uint8Array(12) }, cbc, iv), "OperationError");
  const ctr = await subtle.generateKey({ name: "AES-CTR", length: 128 }, false, ["encrypt"]);
  const counter = new Uint8Array(16).fill(255);
  const wrapped = new Uint8Array(await subtle.encrypt({ name: "AES-CTR", counter, length: 8 }, ctr, new Uint8Array(32)));
  const zero = counter.slice();
  zero[15] = 0;
  assertEquals(hex(wrapped.slice(16)), hex(await subtle.encrypt({ name: "AES-CTR", counter: zero, length: 8 }, ctr, new Uint8Array(16))));
  await subtle.encrypt({ name: "AES-CTR", counter, length: 1 }, ctr, new Uint8Array(32));
  await rejectsWith(subtle.encrypt({ name: "AES-CTR", counter, length: 1 }, ctr, new Uint8Array(33)), "OperationError");
  await rejectsWith(subtle.encrypt({ name: "AES-CTR", counter, length: 0 }, ctr, new Uint8Array(1)), "OperationError");
});

test("ECDSA: the key of RFC 7515, appendix A.3", async () => {
  const jwk = {
    kty: "EC", crv: "P-256", x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    d: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
  };
  const signed = text("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ");
  const signature = unbase64url("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const hash = { name: "ECDSA", hash: "SHA-256" };
  const { d, ...publicJwk } = jwk;
  const publicKey = await subtle.importKey("jwk", publicJwk, algorithm, true, ["verify"]);
  assertEquals(await subtle.verify(hash, publicKey, signature, signed), true);
  assertEquals(await subtle.verify(hash, publicKey, signature.subarray(1), signed), false);
  const privateKey = await subtle.importKey("jwk", jwk, algorithm, true, ["sign"]);
  assertEquals([privateKey.type, privateKey.algorithm.namedCurve], ["private", "P-256"]);
  assertEquals(await subtle.verify(hash, publicKey, await subtle.sign(hash, privateKey, signed), signed), true);
  assertEquals(await subtle.exportKey("jwk", privateKey), { ...jwk, key_ops: ["sign"], ext: true });
  await rejectsWith(subtle.importKey("jwk", { ...jwk, d: jwk.x }, algorithm, true, ["sign"]), "DataError");
  await rejectsWith(subtle.importKey("jwk", { ...publicJwk, y: jwk.x }, algorithm, true, ["verify"]), "DataError");
  await rejectsWith(subtle.importKey("jwk", publicJwk, { name: "ECDSA", namedCurve: "P-384" }, true, ["verify"]), "DataError");
  await rejectsWith(subtle.importKey("jwk", { ...publicJwk, alg: "ES384" }, algorithm, true, ["verify"]), "DataError");
  await rejectsWith(subtle.importKey("jwk", publicJwk, { name: "ECDSA", namedCurve: "P-257" }, true, ["verify"]), "NotSupportedError");
});

const pairs = [
  [{ name: "ECDSA", namedCurve: "P-256" }, { name: "ECDSA", hash: "SHA-256" }, 64],
  [{ name: "ECDSA", namedCurve: "P-384" }, { name: "ECDSA", hash: "SHA-1" }, 96],
  [{ name: "ECDSA", namedCurve: "P-521" }, { name: "ECDSA", hash: "SHA-512" }, 132],
  [{ name: "Ed25519" }, { name: "Ed25519" }, 64],
  [{ name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: unhex("010001"), hash: "SHA-256" }, { name: "RSASSA-PKCS1-v1_5" }, 256],
  [{ name: "RSA-PSS", modulusLength: 1024, publicExponent: unhex("010001"), hash: "SHA-384" }, { name: "RSA-PSS", saltLength: 20 }, 128],
  [{ name: "RSA-PSS", modulusLength: 1032, publicExponent: unhex("010001"), hash: "SHA-1" }, { name: "RSA-PSS", saltLength: 0 }, 129],
];

test("key pairs sign, and go out and in in every format", async () => {
  const data = text("data");
  for (const [algorithm, params, size] of pairs) {
    const { privateKey, publicKey } = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
    assertEquals([privateKey.type, publicKey.type, privateKey.usages, publicKey.usages], ["private", "public", ["sign"], ["verify"]]);
    const signature = await subtle.sign(params, privateKey, data);
    assertEquals(signature.byteLength, size, algorithm.name);
    assertEquals(await subtle.verify(params, publicKey, signature, data), true, algorithm.name);
    assertEquals(await subtle.verify(params, publicKey, signature, text("other")), false);
    new Uint8Array(signature)[3] ^= 4;
    assertEquals(await subtle.verify(params, publicKey, signature, data), false);
    for (const format of ["pkcs8", "jwk"]) {
      const copy = await subtle.importKey(format, await subtle.exportKey(format, privateKey), algorithm, false, ["sign"]);
      assertEquals(copy.algorithm, privateKey.algorithm);
      assertEquals(await subtle.verify(params, publicKey, await subtle.sign(params, copy, data), data), true, format);
      await rejectsWith(subtle.exportKey(format, copy), "InvalidAccessError");
    }
    for (const format of algorithm.hash ? ["spki", "jwk"] : ["spki", "jwk", "raw"]) {
      const copy = await subtle.importKey(format, await subtle.exportKey(format, publicKey), algorithm, true, ["verify"]);
      assertEquals(copy.algorithm, publicKey.algorithm);
      assertEquals(await subtle.verify(params, copy, await subtle.sign(params, privateKey, data), data), true, format);
    }
    await rejectsWith(subtle.exportKey("spki", privateKey), "InvalidAccessError");
    await rejectsWith(subtle.exportKey("pkcs8", publicKey), "InvalidAccessError");
    await rejectsWith(subtle.importKey("spki", new Uint8Array(20), algorithm, true, ["verify"]), "DataError");
    await rejectsWith(subtle.importKey("pkcs8", await subtle.exportKey("spki", publicKey), algorithm, true, ["sign"]), "DataError");
    await rejectsWith(subtle.importKey("pkcs8", await subtle.exportKey("pkcs8", privateKey), algorithm, true, []), "SyntaxError");
    await rejectsWith(subtle.generateKey(algorithm, true, ["verify"]), "SyntaxError");
    await rejectsWith(subtle.generateKey(algorithm, true, ["encrypt"]), "SyntaxError");
  }
});

test("RSA keys name their modulus and exponent", async () => {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", modulusLength: 1024, publicExponent: unhex("010001"), hash: "SHA-512" };
  const { publicKey } = await subtle.generateKey(algorithm, false, ["sign", "verify"]);
  assertEquals(publicKey.algorithm, { ...algorithm, hash: { name: "SHA-512" } });
  assertEquals(publicKey.extractable, true);
  assertEquals((await subtle.exportKey("jwk", publicKey)).alg, "RS512");
  for (const change of [{ modulusLength: 512 }, { modulusLength: 16384 }, { publicExponent: unhex("04") }]) {
    await rejectsWith(subtle.generateKey({ ...algorithm, ...change }, true, ["sign"]), "OperationError");
  }
});

test("RSA-OAEP", async () => {
  const algorithm = { name: "RSA-OAEP", modulusLength: 2048, publicExponent: unhex("010001"), hash: "SHA-256" };
  const { privateKey, publicKey } = await subtle.generateKey(algorithm, true, ["encrypt", "decrypt", "wrapKey", "unwrapKey"]);
  assertEquals([privateKey.usages, publicKey.usages], [["decrypt", "unwrapKey"], ["encrypt", "wrapKey"]]);
  const params = { name: "RSA-OAEP", label: text("label") };
  const encrypted = await subtle.encrypt(params, publicKey, text("data"));
  assertEquals(hex(await subtle.decrypt(params, privateKey, encrypted)), hex(text("data")));
  await rejectsWith(subtle.decrypt("RSA-OAEP", privateKey, encrypted), "OperationError");
  await rejectsWith(subtle.encrypt(params, publicKey, new Uint8Array(191)), "OperationError");
  assertEquals((await subtle.exportKey("jwk", publicKey)).alg, "RSA-OAEP-256");
});

test("ECDH and X25519 agree on a secret", async () => {
  for (const algorithm of [{ name: "ECDH", namedCurve: "P-256" }, { name: "ECDH", namedCurve: "P-521" }, { name: "X25519" }]) {
    const ours = await subtle.generateKey(algorithm, true, ["deriveBits", "deriveKey"]);
    const theirs = await subtle.generateKey(algorithm, true, ["deriveBits"]);
    const params = (pair) => ({ name: algorithm.name, public: pair.publicKey });
    const all = await subtle.deriveBits(params(theirs), ours.privateKey, null);
    assertEquals(hex(await subtle.deriveBits(params(ours), theirs.privateKey)), hex(all));
    assertEquals(hex(await subtle.deriveBits(params(theirs), ours.privateKey, 128)), hex(all.slice(0, 16)));
    const odd = new Uint8Array(await subtle.deriveBits(params(theirs), ours.privateKey, 13));
    assertEquals([odd.length, odd[1] & 7], [2, 0]);
    await rejectsWith(subtle.deriveBits(params(theirs), ours.privateKey, 1024), "OperationError");
    const key = await subtle.deriveKey(params(theirs), ours.privateKey, { name: "AES-GCM", length: 256 }, true, ["encrypt"]);
    assertEquals(hex(await subtle.exportKey("raw", key)), hex(all.slice(0, 32)));
    const copy = await subtle.importKey("raw", await subtle.exportKey("raw", theirs.publicKey), algorithm, true, []);
    assertEquals(hex(await subtle.deriveBits({ name: algorithm.name, public: copy }, ours.privateKey, null)), hex(all));
    await rejectsWith(subtle.deriveBits({ name: algorithm.name, public: ours.privateKey }, ours.privateKey, 8), "InvalidAccessError");
  }
  const low = await subtle.importKey("raw", new Uint8Array(32), "X25519", true, []);
  const { privateKey } = await subtle.generateKey("X25519", false, ["deriveBits"]);
  await rejectsWith(subtle.deriveBits({ name: "X25519", public: low }, privateKey, 256), "OperationError");
});

test("PBKDF2: RFC 6070 and limits", async () => {
  const key = await subtle.importKey("raw", text("password"), "PBKDF2", false, ["deriveBits", "deriveKey"]);
  const params = { name: "PBKDF2", hash: "SHA-1", salt: text("salt"), iterations: 4096 };
  assertEquals(hex(await subtle.deriveBits(params, key, 160)), "4b007901b765489abead49d926f721d065a429c1");
  assertEquals((await subtle.deriveBits(params, key, 0)).byteLength, 0);
  const derived = await subtle.deriveKey(params, key, { name: "HMAC", hash: "SHA-256", length: 256 }, true, ["sign"]);
  assertEquals((await subtle.exportKey("raw", derived)).byteLength, 32);
  await rejectsWith(subtle.deriveBits({ ...params, iterations: 0 }, key, 160), "OperationError");
  await rejectsWith(subtle.deriveBits({ ...params, iterations: 2 ** 31 }, key, 160), "NotSupportedError");
  await rejectsWith(subtle.deriveBits(params, key, 9), "OperationError");
  await rejectsWith(subtle.deriveBits(params, key), "OperationError");
  await rejectsWith(subtle.importKey("raw", text("x"), "PBKDF2", true, ["deriveBits"]), "SyntaxError");
  await rejectsWith(subtle.exportKey("raw", key), "NotSupportedError");
});

test("HKDF: RFC 5869, case 1", async () => {
  const key = await subtle.importKey("raw", new Uint8Array(22).fill(0x0b), "HKDF", false, ["deriveBits"]);
  const params = { name: "HKDF", hash: "SHA-256", salt: unhex("000102030405060708090a0b0c"), info: unhex("f0f1f2f3f4f5f6f7f8f9") };
  assertEquals(hex(await subtle.deriveBits(params, key, 336)), "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  await rejectsWith(subtle.deriveBits(params, key, 8 * 255 * 32 + 8), "OperationError");
});

test("AES-KW: RFC 3394, 4.1", async () => {
  const kek = await subtle.importKey("raw", unhex("000102030405060708090a0b0c0d0e0f"), "AES-KW", false, ["wrapKey", "unwrapKey"]);
  const key = await subtle.importKey("raw", unhex("00112233445566778899aabbccddeeff"), "AES-CBC", true, ["encrypt"]);
  const wrapped = await subtle.wrapKey("raw", key, kek, "AES-KW");
  assertEquals(hex(wrapped), "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5");
  const copy = await subtle.unwrapKey("raw", wrapped, kek, "AES-KW", "AES-CBC", true, ["decrypt"]);
  assertEquals([hex(await subtle.exportKey("raw", copy)), copy.usages], ["00112233445566778899aabbccddeeff", ["decrypt"]]);
  new Uint8Array(wrapped)[0] ^= 1;
  await rejectsWith(subtle.unwrapKey("raw", wrapped, kek, "AES-KW", "AES-CBC", true, ["decrypt"]), "OperationError");
});

test("keys are wrapped as JSON Web Keys", async () => {
  const kek = await subtle.generateKey({ name: "AES-GCM", length: 128 }, false, ["wrapKey", "unwrapKey"]);
  const params = { name: "AES-GCM", iv: new Uint8Array(12) };
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const { privateKey, publicKey } = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const wrapped = await subtle.wrapKey("jwk", privateKey, kek, params);
  const copy = await subtle.unwrapKey("jwk", wrapped, kek, params, algorithm, false, ["sign"]);
  const hash = { name: "ECDSA", hash: "SHA-256" };
  assertEquals(await subtle.verify(hash, publicKey, await subtle.sign(hash, copy, text("x")), text("x")), true);
  await rejectsWith(subtle.wrapKey("raw", copy, kek, params), "InvalidAccessError");
  await rejectsWith(subtle.wrapKey("jwk", privateKey, kek, "AES-KW"), "InvalidAccessError");
});

test("data and parameters are read when a method is called", async () => {
  const key = await subtle.generateKey({ name: "AES-GCM", length: 128 }, false, ["encrypt", "decrypt"]);
  const iv = new Uint8Array(12).fill(1);
  const data = text("data");
  const promise = subtle.encrypt({ name: "AES-GCM", iv }, key, data);
  iv.fill(2);
  data.fill(0);
  assertEquals(hex(await subtle.decrypt({ name: "AES-GCM", iv: new Uint8Array(12).fill(1) }, key, await promise)), hex(text("data")));
  assertEquals(base64url(unbase64url("-_8")), "-_8");
});
