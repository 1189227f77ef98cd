// Web Cryptography, SubtleCrypto: https://w3c.github.io/webcrypto/#subtlecrypto-interface
// Public: SubtleCrypto. Ops: op_crypto_digest, op_crypto_equal.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { bytesOfBufferSource } from "edge:encoding";
import { convertCryptoKey, keySlots, keyUsages as allUsages } from "edge:crypto_key";
import { convertJsonWebKey, fail } from "edge:crypto_jwk";
import { normalizeAlgorithm } from "edge:crypto_normalize";
import { ecdh, ecdsa, ed25519, rsaOaep, rsaPkcs1, rsaPss, x25519 } from "edge:crypto_public";
import { aesCbc, aesCtr, aesGcm, aesKw, hkdf, hmac, pbkdf2 } from "edge:crypto_secret";
import { native_utf8_decode, native_utf8_encode, op_crypto_digest, op_crypto_equal } from "edge:ops";

const {
  ArrayBufferPrototypeGetByteLength,
  ArrayPrototypeIncludes,
  JSONParse,
  JSONStringify,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeSlice,
} = primordials;

/** What each algorithm does. */
const operations = {
  __proto__: null,
  HMAC: hmac,
  "RSASSA-PKCS1-v1_5": rsaPkcs1,
  "RSA-PSS": rsaPss,
  "RSA-OAEP": rsaOaep,
  ECDSA: ecdsa,
  ECDH: ecdh,
  Ed25519: ed25519,
  X25519: x25519,
  "AES-CBC": aesCbc,
  "AES-CTR": aesCtr,
  "AES-GCM": aesGcm,
  "AES-KW": aesKw,
  HKDF: hkdf,
  PBKDF2: pbkdf2,
};

const { converters } = webidl;

// https://w3c.github.io/webcrypto/#dfn-KeyFormat
const convertFormat = webidl.createEnumConverter("KeyFormat", ["raw", "spki", "pkcs8", "jwk"]);
// https://w3c.github.io/webcrypto/#dfn-KeyUsage
const convertUsages = webidl.createSequenceConverter(webidl.createEnumConverter("KeyUsage", allUsages));
const convertLength = webidl.createNullableConverter(converters["unsigned long"]);

/** Converts a BufferSource and copies its bytes. */
function copyOf(V, prefix, context) {
  return TypedArrayPrototypeSlice(bytesOfBufferSource(converters.BufferSource(V, prefix, context)));
}

/**
 * An AlgorithmIdentifier as Web IDL converts it; normalizeAlgorithm does the
 * rest.
 */
function convertIdentifier(V, prefix, context) {
  return webidl.isObject(V) ? V : converters.DOMString(V, prefix, context);
}

/** Makes the ArrayBuffer that scripts get of bytes that nobody else holds. */
function toArrayBuffer(bytes) {
  const buffer = TypedArrayPrototypeGetBuffer(bytes);
  if (ArrayBufferPrototypeGetByteLength(buffer) === TypedArrayPrototypeGetByteLength(bytes)) return buffer;
  return TypedArrayPrototypeGetBuffer(TypedArrayPrototypeSlice(bytes));
}

/** Throws unless a key is for an algorithm and a usage. */
function checkKey(params, key, usage) {
  const slots = keySlots(key);
  if (slots.algorithm.name !== params.name) fail("InvalidAccessError", `The key is for ${slots.algorithm.name}, not for ${params.name}.`);
  if (!ArrayPrototypeIncludes(slots.usages, usage)) fail("InvalidAccessError", `The key does not have the usage '${usage}'.`);
}

/** Normalizes for the first of two operations that the algorithm supports. */
function normalizeEither(first, second, algorithm, prefix) {
  try {
    return { operation: first, params: normalizeAlgorithm(first, algorithm, prefix) };
  } catch {
    return { operation: second, params: normalizeAlgorithm(second, algorithm, prefix) };
  }
}

async function importKey(format, keyData, params, extractable, usages) {
  const key = await operations[params.name].importKey(format, keyData, params, extractable, usages);
  const slots = keySlots(key);
  if (slots.type !== "public" && slots.usages.length === 0) fail("SyntaxError", "A secret or private key needs a usage.");
  return key;
}

async function exportKey(format, key) {
  const slots = keySlots(key);
  const { exportKey: run } = operations[slots.algorithm.name];
  if (run === undefined) fail("NotSupportedError", `Keys of ${slots.algorithm.name} cannot be exported.`);
  if (!slots.extractable) fail("InvalidAccessError", "The key is not extractable.");
  return run(format, key);
}

/** Tells the constructor that it is called here. */
const kInternal = {};

// https://w3c.github.io/webcrypto/#dfn-SubtleCrypto
export class SubtleCrypto {
  #brand;

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-encrypt
  async encrypt(algorithm, key, data) {
    this.#brand;
    const prefix = "Failed to execute 'encrypt' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 3, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    key = convertCryptoKey(key, prefix, "Argument 2");
    data = copyOf(data, prefix, "Argument 3");
    const params = normalizeAlgorithm("encrypt", algorithm, prefix);
    checkKey(params, key, "encrypt");
    return toArrayBuffer(await operations[params.name].encrypt(params, key, data));
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-decrypt
  async decrypt(algorithm, key, data) {
    this.#brand;
    const prefix = "Failed to execute 'decrypt' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 3, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    key = convertCryptoKey(key, prefix, "Argument 2");
    data = copyOf(data, prefix, "Argument 3");
    const params = normalizeAlgorithm("decrypt", algorithm, prefix);
    checkKey(params, key, "decrypt");
    return toArrayBuffer(await operations[params.name].decrypt(params, key, data));
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-sign
  async sign(algorithm, key, data) {
    this.#brand;
    const prefix = "Failed to execute 'sign' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 3, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    key = convertCryptoKey(key, prefix, "Argument 2");
    data = copyOf(data, prefix, "Argument 3");
    const params = normalizeAlgorithm("sign", algorithm, prefix);
    checkKey(params, key, "sign");
    return toArrayBuffer(await operations[params.name].sign(params, key, data));
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-verify
  async verify(algorithm, key, signature, data) {
    this.#brand;
    const prefix = "Failed to execute 'verify' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 4, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    key = convertCryptoKey(key, prefix, "Argument 2");
    signature = copyOf(signature, prefix, "Argument 3");
    data = copyOf(data, prefix, "Argument 4");
    const params = normalizeAlgorithm("verify", algorithm, prefix);
    checkKey(params, key, "verify");
    return operations[params.name].verify(params, key, signature, data);
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-digest
  async digest(algorithm, data) {
    this.#brand;
    const prefix = "Failed to execute 'digest' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    data = converters.BufferSource(data, prefix, "Argument 2");
    const { name } = normalizeAlgorithm("digest", algorithm, prefix);
    return toArrayBuffer(await op_crypto_digest(name, bytesOfBufferSource(data)));
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-generateKey
  async generateKey(algorithm, extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'generateKey' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 3, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    extractable = converters.boolean(extractable);
    keyUsages = convertUsages(keyUsages, prefix, "Argument 3");
    const params = normalizeAlgorithm("generateKey", algorithm, prefix);
    const result = await operations[params.name].generateKey(params, extractable, keyUsages);
    const secret = result.privateKey ?? result;
    if (keySlots(secret).usages.length === 0) fail("SyntaxError", "A secret or private key needs a usage.");
    return result;
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-deriveKey
  async deriveKey(algorithm, baseKey, derivedKeyType, extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'deriveKey' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 5, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    baseKey = convertCryptoKey(baseKey, prefix, "Argument 2");
    derivedKeyType = convertIdentifier(derivedKeyType, prefix, "Argument 3");
    extractable = converters.boolean(extractable);
    keyUsages = convertUsages(keyUsages, prefix, "Argument 5");
    const params = normalizeAlgorithm("deriveBits", algorithm, prefix);
    const importParams = normalizeAlgorithm("importKey", derivedKeyType, prefix);
    const lengthParams = normalizeAlgorithm("get key length", derivedKeyType, prefix);
    checkKey(params, baseKey, "deriveKey");
    const length = operations[lengthParams.name].getKeyLength(lengthParams);
    const secret = await operations[params.name].deriveBits(params, baseKey, length);
    return importKey("raw", secret, importParams, extractable, keyUsages);
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-deriveBits
  async deriveBits(algorithm, baseKey, length = null) {
    this.#brand;
    const prefix = "Failed to execute 'deriveBits' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    algorithm = convertIdentifier(algorithm, prefix, "Argument 1");
    baseKey = convertCryptoKey(baseKey, prefix, "Argument 2");
    length = convertLength(length, prefix, "Argument 3");
    const params = normalizeAlgorithm("deriveBits", algorithm, prefix);
    checkKey(params, baseKey, "deriveBits");
    return toArrayBuffer(await operations[params.name].deriveBits(params, baseKey, length));
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-importKey
  async importKey(format, keyData, algorithm, extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'importKey' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 5, prefix);
    format = convertFormat(format, prefix, "Argument 1");
    const isBuffer = webidl.isObject(keyData) && webidl.isBufferSource(keyData);
    keyData = isBuffer ? copyOf(keyData, prefix, "Argument 2") : convertJsonWebKey(keyData, prefix, "Argument 2");
    algorithm = convertIdentifier(algorithm, prefix, "Argument 3");
    extractable = converters.boolean(extractable);
    keyUsages = convertUsages(keyUsages, prefix, "Argument 5");
    const params = normalizeAlgorithm("importKey", algorithm, prefix);
    if (isBuffer === (format === "jwk")) throw new TypeError(`${prefix}: The key data does not fit the format '${format}'.`);
    return importKey(format, keyData, params, extractable, keyUsages);
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-exportKey
  async exportKey(format, key) {
    this.#brand;
    const prefix = "Failed to execute 'exportKey' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    format = convertFormat(format, prefix, "Argument 1");
    key = convertCryptoKey(key, prefix, "Argument 2");
    const exported = await exportKey(format, key);
    return format === "jwk" ? exported : toArrayBuffer(TypedArrayPrototypeSlice(exported));
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-wrapKey
  async wrapKey(format, key, wrappingKey, wrapAlgorithm) {
    this.#brand;
    const prefix = "Failed to execute 'wrapKey' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 4, prefix);
    format = convertFormat(format, prefix, "Argument 1");
    key = convertCryptoKey(key, prefix, "Argument 2");
    wrappingKey = convertCryptoKey(wrappingKey, prefix, "Argument 3");
    wrapAlgorithm = convertIdentifier(wrapAlgorithm, prefix, "Argument 4");
    const { operation, params } = normalizeEither("wrapKey", "encrypt", wrapAlgorithm, prefix);
    checkKey(params, wrappingKey, "wrapKey");
    const exported = await exportKey(format, key);
    const bytes = format === "jwk" ? native_utf8_encode(JSONStringify(exported)) : exported;
    return toArrayBuffer(await operations[params.name][operation](params, wrappingKey, bytes));
  }

  // https://w3c.github.io/webcrypto/#dfn-SubtleCrypto-method-unwrapKey
  async unwrapKey(format, wrappedKey, unwrappingKey, unwrapAlgorithm, unwrappedKeyAlgorithm, extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'unwrapKey' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 7, prefix);
    format = convertFormat(format, prefix, "Argument 1");
    wrappedKey = copyOf(wrappedKey, prefix, "Argument 2");
    unwrappingKey = convertCryptoKey(unwrappingKey, prefix, "Argument 3");
    unwrapAlgorithm = convertIdentifier(unwrapAlgorithm, prefix, "Argument 4");
    unwrappedKeyAlgorithm = convertIdentifier(unwrappedKeyAlgorithm, prefix, "Argument 5");
    extractable = converters.boolean(extractable);
    keyUsages = convertUsages(keyUsages, prefix, "Argument 7");
    const { operation, params } = normalizeEither("unwrapKey", "decrypt", unwrapAlgorithm, prefix);
    const importParams = normalizeAlgorithm("importKey", unwrappedKeyAlgorithm, prefix);
    checkKey(params, unwrappingKey, "unwrapKey");
    const bytes = await operations[params.name][operation](params, unwrappingKey, wrappedKey);
    return importKey(format, format === "jwk" ? parseJwk(bytes, prefix) : bytes, importParams, extractable, keyUsages);
  }

  // An extension: reports whether two buffers of one length hold the same
  // bytes, in a time that does not tell where they differ.
  timingSafeEqual(a, b) {
    this.#brand;
    const prefix = "Failed to execute 'timingSafeEqual' on 'SubtleCrypto'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    a = bytesOfBufferSource(converters.BufferSource(a, prefix, "Argument 1"));
    b = bytesOfBufferSource(converters.BufferSource(b, prefix, "Argument 2"));
    if (TypedArrayPrototypeGetByteLength(a) !== TypedArrayPrototypeGetByteLength(b)) {
      throw new TypeError(`${prefix}: The buffers are not of the same length.`);
    }
    return op_crypto_equal(a, b);
  }
}
webidl.configureInterface(SubtleCrypto);

/** The only instance. */
export const subtle = new SubtleCrypto(kInternal);

// https://w3c.github.io/webcrypto/#concept-parse-a-jwk
function parseJwk(bytes, prefix) {
  let json;
  try {
    json = JSONParse(native_utf8_decode(bytes, true, false));
  } catch {
    fail("DataError", "The key is not a JSON Web Key.");
  }
  const jwk = convertJsonWebKey(json, prefix, "The key");
  if (jwk.kty === undefined) fail("DataError", "The key is not a JSON Web Key.");
  return jwk;
}
