// Web Cryptography, secret keys: HMAC, AES, HKDF and PBKDF2.
// https://w3c.github.io/webcrypto/#hmac and what follows it
// Public: nothing. Ops: op_crypto_sign, op_crypto_verify, op_crypto_cipher,
// op_crypto_derive.

import { primordials } from "edge:primordials";
import { DOMException } from "edge:domexception";
import { createKey, keySlots, materialOf } from "edge:crypto_key";
import { checkJwk, checkUsages, decodeBase64url, encodeBase64url, fail } from "edge:crypto_jwk";
import { native_random_bytes, op_crypto_cipher, op_crypto_derive, op_crypto_sign, op_crypto_verify } from "edge:ops";

const { MathCeil, StringPrototypeSlice, TypedArrayPrototypeGetByteLength, Uint8Array } = primordials;

/** Block sizes of the hash functions, in bits. */
const blockBits = { __proto__: null, "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024 };

function randomKey(bits) {
  const key = new Uint8Array(MathCeil(bits / 8));
  native_random_bytes(key);
  return key;
}

/** Reads "raw" or "jwk" key data of a secret key. */
function secretOf(format, keyData, use, alg, usages, extractable) {
  if (format === "raw") return keyData;
  if (format !== "jwk") fail("NotSupportedError", `The format '${format}' is not supported for this algorithm.`);
  if (keyData.kty !== "oct" || keyData.k === undefined) fail("DataError", "The JSON Web Key is not an octet sequence.");
  const key = decodeBase64url(keyData.k);
  if (key === null) fail("DataError", "The member 'k' of the JSON Web Key is not valid.");
  checkJwk(keyData, use, alg(TypedArrayPrototypeGetByteLength(key)), usages, extractable);
  return key;
}

function exportSecret(format, key, alg) {
  const { extractable, usages } = keySlots(key);
  if (format === "raw") return materialOf(key);
  if (format !== "jwk") fail("NotSupportedError", `The format '${format}' is not supported for this algorithm.`);
  return { kty: "oct", k: encodeBase64url(materialOf(key)), alg, key_ops: [...usages], ext: extractable };
}

// https://w3c.github.io/webcrypto/#hmac-operations
export const hmac = {
  sign(_, key, data) {
    return op_crypto_sign("HMAC", keySlots(key).algorithm.hash.name, materialOf(key), data, 0);
  },

  verify(_, key, signature, data) {
    return op_crypto_verify("HMAC", keySlots(key).algorithm.hash.name, materialOf(key), data, 0, signature);
  },

  generateKey(params, extractable, usages) {
    checkUsages(usages, ["sign", "verify"]);
    const length = params.length ?? blockBits[params.hash.name];
    if (length === 0) fail("OperationError", "The length of the key is 0.");
    return createKey("secret", extractable, { name: "HMAC", length, hash: params.hash }, usages, randomKey(length));
  },

  importKey(format, keyData, params, extractable, usages) {
    checkUsages(usages, ["sign", "verify"]);
    const alg = () => `HS${StringPrototypeSlice(params.hash.name, 4)}`;
    const key = secretOf(format, keyData, "sig", alg, usages, extractable);
    let length = TypedArrayPrototypeGetByteLength(key) * 8;
    if (length === 0) fail("DataError", "The key is empty.");
    if (params.length !== undefined) {
      if (params.length > length || params.length <= length - 8) fail("DataError", "The length does not fit the key data.");
      length = params.length;
    }
    return createKey("secret", extractable, { name: "HMAC", length, hash: params.hash }, usages, key);
  },

  exportKey(format, key) {
    return exportSecret(format, key, `HS${StringPrototypeSlice(keySlots(key).algorithm.hash.name, 4)}`);
  },

  getKeyLength(params) {
    const length = params.length ?? blockBits[params.hash.name];
    if (length === 0) throw new DOMException("The length of the key is 0.", "OperationError");
    return length;
  },
};

const isAesLength = (bits) => bits === 128 || bits === 192 || bits === 256;

/**
 * What all modes of AES share. https://w3c.github.io/webcrypto/#aes-cbc-operations
 * @param {string} name
 * @param {string} mode as JSON Web Algorithms names it
 * @param {string[]} allowed usages
 */
function aes(name, mode, allowed) {
  return {
    generateKey(params, extractable, usages) {
      checkUsages(usages, allowed);
      if (!isAesLength(params.length)) fail("OperationError", "The length of an AES key is 128, 192 or 256 bits.");
      return createKey("secret", extractable, { name, length: params.length }, usages, randomKey(params.length));
    },

    importKey(format, keyData, _, extractable, usages) {
      checkUsages(usages, allowed);
      const alg = (size) => `A${size * 8}${mode}`;
      const key = secretOf(format, keyData, "enc", alg, usages, extractable);
      const length = TypedArrayPrototypeGetByteLength(key) * 8;
      if (!isAesLength(length)) fail("DataError", "The length of an AES key is 128, 192 or 256 bits.");
      return createKey("secret", extractable, { name, length }, usages, key);
    },

    exportKey(format, key) {
      return exportSecret(format, key, `A${keySlots(key).algorithm.length}${mode}`);
    },

    getKeyLength(params) {
      if (!isAesLength(params.length)) fail("OperationError", "The length of an AES key is 128, 192 or 256 bits.");
      return params.length;
    },
  };
}

const cipherUsages = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];

function cbc(encrypt, params, key, data) {
  if (TypedArrayPrototypeGetByteLength(params.iv) !== 16) fail("OperationError", "The initialization vector has to be 16 bytes long.");
  return op_crypto_cipher("AES-CBC", encrypt, materialOf(key), data, params.iv);
}

export const aesCbc = {
  ...aes("AES-CBC", "CBC", cipherUsages),
  encrypt: (params, key, data) => cbc(true, params, key, data),
  decrypt: (params, key, data) => cbc(false, params, key, data),
};

// https://w3c.github.io/webcrypto/#aes-ctr-operations
function ctr(params, key, data) {
  if (TypedArrayPrototypeGetByteLength(params.counter) !== 16) fail("OperationError", "The counter has to be 16 bytes long.");
  if (params.length < 1 || params.length > 128) fail("OperationError", "The length of the counter is 1 to 128 bits.");
  return op_crypto_cipher("AES-CTR", true, materialOf(key), data, params.counter, params.length);
}

export const aesCtr = { ...aes("AES-CTR", "CTR", cipherUsages), encrypt: ctr, decrypt: ctr };

// https://w3c.github.io/webcrypto/#aes-gcm-operations
function gcm(encrypt, params, key, data) {
  const { iv, additionalData, tagLength = 128 } = params;
  if (tagLength % 8 !== 0 || tagLength < 32 || tagLength > 128 || (tagLength > 64 && tagLength < 96) || (tagLength > 32 && tagLength < 64)) {
    fail("OperationError", "The length of the tag is 32, 64, 96, 104, 112, 120 or 128 bits.");
  }
  return op_crypto_cipher("AES-GCM", encrypt, materialOf(key), data, iv, tagLength, additionalData);
}

export const aesGcm = {
  ...aes("AES-GCM", "GCM", cipherUsages),
  encrypt: (params, key, data) => gcm(true, params, key, data),
  decrypt: (params, key, data) => gcm(false, params, key, data),
};

// https://w3c.github.io/webcrypto/#aes-kw-operations
export const aesKw = {
  ...aes("AES-KW", "KW", ["wrapKey", "unwrapKey"]),
  wrapKey: (_, key, data) => op_crypto_cipher("AES-KW", true, materialOf(key), data),
  unwrapKey: (_, key, data) => op_crypto_cipher("AES-KW", false, materialOf(key), data),
};

/** What HKDF and PBKDF2 share: keys that only derive. */
function derivation(name) {
  return {
    importKey(format, keyData, _, extractable, usages) {
      if (format !== "raw") fail("NotSupportedError", `The format '${format}' is not supported for ${name}.`);
      checkUsages(usages, ["deriveKey", "deriveBits"]);
      if (extractable) fail("SyntaxError", `A key of ${name} cannot be extractable.`);
      return createKey("secret", false, { name }, usages, keyData);
    },

    getKeyLength() {
      return null;
    },
  };
}

function checkLength(length) {
  if (length === null || length % 8 !== 0) fail("OperationError", "The length has to be a multiple of 8 bits.");
  return length / 8;
}

// https://w3c.github.io/webcrypto/#hkdf-operations
export const hkdf = {
  ...derivation("HKDF"),
  deriveBits(params, key, length) {
    return op_crypto_derive("HKDF", params.hash.name, materialOf(key), checkLength(length), params.salt, params.info);
  },
};

// https://w3c.github.io/webcrypto/#pbkdf2-operations
export const pbkdf2 = {
  ...derivation("PBKDF2"),
  deriveBits(params, key, length) {
    const size = checkLength(length);
    if (params.iterations === 0) fail("OperationError", "The number of iterations is 0.");
    return op_crypto_derive("PBKDF2", params.hash.name, materialOf(key), size, params.salt, params.iterations);
  },
};
