// Web Cryptography, algorithm normalization:
// https://w3c.github.io/webcrypto/#algorithm-normalization
// Public: nothing. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException } from "edge:domexception";
import { bytesOfBufferSource } from "edge:encoding";
import { convertCryptoKey } from "edge:crypto_key";

const { StringPrototypeToUpperCase, TypedArrayPrototypeSlice } = primordials;

const { converters, createDictionaryConverter } = webidl;

const enforced = { enforceRange: true };
const integer = (type) => (V, prefix, context) => converters[type](V, prefix, context, enforced);
/** A BufferSource, whose bytes are copied. */
const bytes = (V, prefix, context, opts) => TypedArrayPrototypeSlice(bytesOfBufferSource(converters.BufferSource(V, prefix, context, opts)));
/** A Uint8Array that holds a big-endian number, copied. */
const bigInteger = (V, prefix, context, opts) => TypedArrayPrototypeSlice(converters.Uint8Array(V, prefix, context, opts));
/** https://w3c.github.io/webcrypto/#dfn-HashAlgorithmIdentifier */
const hash = (V, prefix) => ({ name: normalizeAlgorithm("digest", V, prefix).name });

/**
 * A dictionary that inherits from Algorithm: "name" is read before, so that
 * only the others are converted here.
 * @param {string} name
 * @param {object} required members and their converters
 * @param {object} [optional]
 */
function dictionary(name, required, optional = {}) {
  const members = [];
  for (const key in required) members.push({ key, converter: required[key], required: true });
  for (const key in optional) members.push({ key, converter: optional[key] });
  return createDictionaryConverter(name, members);
}

const none = () => ({});
const aesKeyGen = dictionary("AesKeyGenParams", { length: integer("unsigned short") });
const aesDerived = dictionary("AesDerivedKeyParams", { length: integer("unsigned short") });
const hmacKeyGen = dictionary("HmacKeyGenParams", { hash }, { length: integer("unsigned long") });
const hmacImport = dictionary("HmacImportParams", { hash }, { length: integer("unsigned long") });
const rsaKeyGen = dictionary("RsaHashedKeyGenParams", { hash, modulusLength: integer("unsigned long"), publicExponent: bigInteger });
const rsaImport = dictionary("RsaHashedImportParams", { hash });
const rsaPss = dictionary("RsaPssParams", { saltLength: integer("unsigned long") });
const rsaOaep = dictionary("RsaOaepParams", {}, { label: bytes });
const ecKeyGen = dictionary("EcKeyGenParams", { namedCurve: converters.DOMString });
const ecImport = dictionary("EcKeyImportParams", { namedCurve: converters.DOMString });
const ecdsa = dictionary("EcdsaParams", { hash });
const keyDerive = dictionary("EcdhKeyDeriveParams", { public: convertCryptoKey });
const aesCbc = dictionary("AesCbcParams", { iv: bytes });
const aesCtr = dictionary("AesCtrParams", { counter: bytes, length: integer("octet") });
const aesGcm = dictionary("AesGcmParams", { iv: bytes }, { additionalData: bytes, tagLength: integer("octet") });
const hkdf = dictionary("HkdfParams", { hash, info: bytes, salt: bytes });
const pbkdf2 = dictionary("Pbkdf2Params", { hash, iterations: integer("unsigned long"), salt: bytes });

/**
 * What each algorithm supports: by operation, the dictionary of its parameters.
 * https://w3c.github.io/webcrypto/#algorithm-overview
 */
const algorithms = {
  __proto__: null,
  "SHA-1": { digest: none },
  "SHA-256": { digest: none },
  "SHA-384": { digest: none },
  "SHA-512": { digest: none },
  HMAC: { generateKey: hmacKeyGen, importKey: hmacImport, "get key length": hmacImport, sign: none, verify: none, exportKey: none },
  "RSASSA-PKCS1-v1_5": { generateKey: rsaKeyGen, importKey: rsaImport, sign: none, verify: none, exportKey: none },
  "RSA-PSS": { generateKey: rsaKeyGen, importKey: rsaImport, sign: rsaPss, verify: rsaPss, exportKey: none },
  "RSA-OAEP": { generateKey: rsaKeyGen, importKey: rsaImport, encrypt: rsaOaep, decrypt: rsaOaep, exportKey: none },
  ECDSA: { generateKey: ecKeyGen, importKey: ecImport, sign: ecdsa, verify: ecdsa, exportKey: none },
  ECDH: { generateKey: ecKeyGen, importKey: ecImport, deriveBits: keyDerive, exportKey: none },
  Ed25519: { generateKey: none, importKey: none, sign: none, verify: none, exportKey: none },
  X25519: { generateKey: none, importKey: none, deriveBits: keyDerive, exportKey: none },
  "AES-CBC": { generateKey: aesKeyGen, importKey: none, "get key length": aesDerived, encrypt: aesCbc, decrypt: aesCbc, exportKey: none },
  "AES-CTR": { generateKey: aesKeyGen, importKey: none, "get key length": aesDerived, encrypt: aesCtr, decrypt: aesCtr, exportKey: none },
  "AES-GCM": { generateKey: aesKeyGen, importKey: none, "get key length": aesDerived, encrypt: aesGcm, decrypt: aesGcm, exportKey: none },
  "AES-KW": { generateKey: aesKeyGen, importKey: none, "get key length": aesDerived, wrapKey: none, unwrapKey: none, exportKey: none },
  HKDF: { importKey: none, "get key length": none, deriveBits: hkdf },
  PBKDF2: { importKey: none, "get key length": none, deriveBits: pbkdf2 },
};

/** The names as they are written, by upper case. */
const canonical = { __proto__: null };
for (const name in algorithms) canonical[StringPrototypeToUpperCase(name)] = name;

const convertAlgorithm = createDictionaryConverter("Algorithm", [{ key: "name", converter: converters.DOMString, required: true }]);

/**
 * https://w3c.github.io/webcrypto/#algorithm-normalization-normalize-an-algorithm
 * @param {string} operation
 * @param {any} algorithm an AlgorithmIdentifier, not converted yet
 * @param {string} prefix
 * @returns {{name: string} & Record<string, any>} without a prototype
 */
export function normalizeAlgorithm(operation, algorithm, prefix) {
  const isObject = webidl.isObject(algorithm);
  const given = isObject ? convertAlgorithm(algorithm, prefix, "The algorithm").name : converters.DOMString(algorithm, prefix, "The algorithm");
  const name = canonical[StringPrototypeToUpperCase(given)];
  const convert = name === undefined ? undefined : algorithms[name][operation];
  if (convert === undefined) {
    throw new DOMException(`${prefix}: The algorithm '${given}' is not supported for ${operation}.`, "NotSupportedError");
  }
  const params = convert === none ? undefined : convert(isObject ? algorithm : undefined, prefix, "The algorithm");
  return { __proto__: null, ...params, name };
}
