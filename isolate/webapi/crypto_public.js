// Web Cryptography, key pairs: RSA, elliptic curves, Curve25519.
// https://w3c.github.io/webcrypto/#rsassa-pkcs1 and what follows it
// Public: nothing. Ops: op_crypto_sign, op_crypto_verify, op_crypto_cipher,
// op_crypto_derive, op_crypto_generate, op_crypto_import, op_crypto_export.

import { primordials } from "edge:primordials";
import { createKey, keySlots, materialOf, pickUsages } from "edge:crypto_key";
import { checkJwk, checkUsages, fail } from "edge:crypto_jwk";
import { op_crypto_cipher, op_crypto_derive, op_crypto_export, op_crypto_generate, op_crypto_import, op_crypto_sign, op_crypto_verify } from "edge:ops";

const {
  ArrayPrototypeIncludes,
  ArrayPrototypePush,
  StringPrototypeSlice,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeSlice,
} = primordials;

/**
 * What one kind of key pair is.
 * @typedef {object} Pair
 * @property {string} name
 * @property {string} kty of its JSON Web Keys
 * @property {string} use of its JSON Web Keys
 * @property {string[]} members of its JSON Web Keys, as the ops order them
 * @property {boolean} raw whether public keys can be "raw"
 * @property {string[]} privateUsages
 * @property {string[]} publicUsages
 * @property {(params: object) => string} kind that the ops know it by
 * @property {(params: object, modulusLength: number, publicExponent: Uint8Array) => object} algorithm of its keys
 * @property {(algorithm: object) => string[] | null} algs that a JSON Web Key may name, the first being exported
 */

async function generatePair(pair, params, extractable, usages) {
  checkUsages(usages, [...pair.privateUsages, ...pair.publicUsages]);
  const generated = await op_crypto_generate(pair.kind(params), params.modulusLength, params.publicExponent);
  const algorithm = pair.algorithm(params, params.modulusLength, params.publicExponent);
  return {
    privateKey: createKey("private", extractable, algorithm, pickUsages(usages, pair.privateUsages), generated[0]),
    publicKey: createKey("public", true, algorithm, pickUsages(usages, pair.publicUsages), generated[1]),
  };
}

/** Checks a JSON Web Key and lists its members for the op. */
function membersOfJwk(pair, params, jwk, usages, extractable) {
  const algorithm = pair.algorithm(params, 0, undefined);
  if (jwk.kty !== pair.kty) fail("DataError", `The member 'kty' of the JSON Web Key is not '${pair.kty}'.`);
  if (pair.kty !== "RSA" && jwk.crv !== pair.kind(params)) fail("DataError", `The member 'crv' of the JSON Web Key is not '${pair.kind(params)}'.`);
  if (jwk.oth !== undefined) fail("NotSupportedError", "RSA keys with more than two primes are not supported.");
  const algs = pair.algs(algorithm);
  const alg = algs === null ? null : ArrayPrototypeIncludes(algs, jwk.alg) ? jwk.alg : algs[0];
  checkJwk(jwk, pair.use, alg, usages, extractable);
  const list = [];
  for (let i = 0; i < pair.members.length; i++) ArrayPrototypePush(list, jwk[pair.members[i]]);
  return list;
}

async function importPair(pair, format, keyData, params, extractable, usages) {
  const kind = pair.kind(params);
  if (format === "raw" && !pair.raw) fail("NotSupportedError", `The format 'raw' is not supported for ${pair.name}.`);
  const isPrivate = format === "pkcs8" || (format === "jwk" && keyData.d !== undefined);
  checkUsages(usages, isPrivate ? pair.privateUsages : pair.publicUsages);
  const data = format === "jwk" ? membersOfJwk(pair, params, keyData, usages, extractable) : keyData;
  const imported = await op_crypto_import(kind, format, data);
  if (imported[1] !== isPrivate) fail("DataError", "The key data is not valid.");
  const algorithm = pair.algorithm(params, imported[2], imported[3]);
  return createKey(isPrivate ? "private" : "public", extractable, algorithm, usages, imported[0]);
}

async function exportPair(pair, format, key) {
  const { type, algorithm, extractable, usages } = keySlots(key);
  if (format === "raw" && !pair.raw) fail("NotSupportedError", `The format 'raw' is not supported for ${pair.name}.`);
  if (format !== "jwk" && (format === "pkcs8") !== (type === "private")) {
    fail("InvalidAccessError", `A ${type} key cannot be exported as '${format}'.`);
  }
  if (format === "spki" || format === "pkcs8") return materialOf(key);
  const exported = await op_crypto_export(format, type === "private", materialOf(key));
  if (format === "raw") return exported;
  const jwk = { kty: pair.kty };
  if (pair.kty !== "RSA") jwk.crv = pair.kind(algorithm);
  const algs = pair.algs(algorithm);
  if (algs !== null) jwk.alg = algs[0];
  for (let i = 0; i < exported.length; i++) jwk[pair.members[i]] = exported[i];
  jwk.key_ops = [...usages];
  jwk.ext = extractable;
  return jwk;
}

/** @param {Pair} pair */
function pairOperations(pair) {
  return {
    generateKey: (params, extractable, usages) => generatePair(pair, params, extractable, usages),
    importKey: (format, keyData, params, extractable, usages) => importPair(pair, format, keyData, params, extractable, usages),
    exportKey: (format, key) => exportPair(pair, format, key),
  };
}

function checkType(key, type) {
  if (keySlots(key).type !== type) fail("InvalidAccessError", `The key is not a ${type} key.`);
}

/** Signs with the hash that the parameters or else the key name. */
function sign(params, key, data) {
  checkType(key, "private");
  const hash = params.hash ?? keySlots(key).algorithm.hash;
  return op_crypto_sign(params.name, hash === undefined ? "" : hash.name, materialOf(key), data, params.saltLength ?? 0);
}

function verify(params, key, signature, data) {
  checkType(key, "public");
  const hash = params.hash ?? keySlots(key).algorithm.hash;
  return op_crypto_verify(params.name, hash === undefined ? "" : hash.name, materialOf(key), data, params.saltLength ?? 0, signature);
}

/**
 * @param {string} name
 * @param {(hash: string) => string} alg names the JSON Web Algorithm
 */
function rsa(name, use, privateUsages, publicUsages, alg) {
  return pairOperations({
    name,
    kty: "RSA",
    use,
    members: ["n", "e", "d", "p", "q", "dp", "dq", "qi"],
    raw: false,
    privateUsages,
    publicUsages,
    kind: () => "RSA",
    algorithm: (params, modulusLength, publicExponent) => ({ name, modulusLength, publicExponent, hash: params.hash }),
    algs: (algorithm) => [alg(StringPrototypeSlice(algorithm.hash.name, 4))],
  });
}

// https://w3c.github.io/webcrypto/#rsassa-pkcs1-operations
export const rsaPkcs1 = {
  ...rsa("RSASSA-PKCS1-v1_5", "sig", ["sign"], ["verify"], (hash) => `RS${hash}`),
  sign,
  verify,
};

// https://w3c.github.io/webcrypto/#rsa-pss-operations
export const rsaPss = { ...rsa("RSA-PSS", "sig", ["sign"], ["verify"], (hash) => `PS${hash}`), sign, verify };

// https://w3c.github.io/webcrypto/#rsa-oaep-operations
export const rsaOaep = {
  ...rsa("RSA-OAEP", "enc", ["decrypt", "unwrapKey"], ["encrypt", "wrapKey"], (hash) => (hash === "1" ? "RSA-OAEP" : `RSA-OAEP-${hash}`)),

  encrypt(params, key, data) {
    checkType(key, "public");
    return op_crypto_cipher("RSA-OAEP", true, materialOf(key), data, keySlots(key).algorithm.hash.name, 0, params.label);
  },

  decrypt(params, key, data) {
    checkType(key, "private");
    return op_crypto_cipher("RSA-OAEP", false, materialOf(key), data, keySlots(key).algorithm.hash.name, 0, params.label);
  },
};

/** The signature algorithms of JSON Web Algorithms by curve. */
const curves = { __proto__: null, "P-256": "ES256", "P-384": "ES384", "P-521": "ES512" };

function ec(name, use, privateUsages, publicUsages) {
  return pairOperations({
    name,
    kty: "EC",
    use,
    members: ["x", "y", "d"],
    raw: true,
    privateUsages,
    publicUsages,
    kind({ namedCurve }) {
      if (curves[namedCurve] === undefined) fail("NotSupportedError", `The curve '${namedCurve}' is not supported: use P-256, P-384 or P-521.`);
      return namedCurve;
    },
    algorithm: ({ namedCurve }) => ({ name, namedCurve }),
    // Exported keys do not name an algorithm.
    algs: () => null,
  });
}

// https://w3c.github.io/webcrypto/#ecdsa-operations
const ecdsaPair = ec("ECDSA", "sig", ["sign"], ["verify"]);
export const ecdsa = {
  ...ecdsaPair,
  importKey(format, keyData, params, extractable, usages) {
    const alg = format === "jwk" ? keyData.alg : undefined;
    if (alg !== undefined && alg !== curves[params.namedCurve]) fail("DataError", `The member 'alg' of the JSON Web Key is not for ${params.namedCurve}.`);
    return ecdsaPair.importKey(format, keyData, params, extractable, usages);
  },
  sign,
  verify,
};

/**
 * The first bits of a shared secret.
 * @param {Uint8Array} secret
 * @param {number | null} length in bits, null for all
 */
function truncate(secret, length) {
  if (length === null) return secret;
  if (length > TypedArrayPrototypeGetByteLength(secret) * 8) fail("OperationError", "The shared secret is shorter than the length.");
  const size = (length + 7) >> 3;
  const bits = TypedArrayPrototypeSlice(secret, 0, size);
  if (length % 8 !== 0) bits[size - 1] &= 0xff00 >> length % 8;
  return bits;
}

// https://w3c.github.io/webcrypto/#ecdh-operations
async function deriveBits(params, key, length) {
  checkType(key, "private");
  checkType(params.public, "public");
  const ours = keySlots(key).algorithm;
  const theirs = keySlots(params.public).algorithm;
  if (ours.name !== theirs.name || ours.namedCurve !== theirs.namedCurve) fail("InvalidAccessError", "The keys are not of the same algorithm and curve.");
  return truncate(await op_crypto_derive(ours.name, "", materialOf(key), 0, materialOf(params.public)), length);
}

const deriveUsages = ["deriveKey", "deriveBits"];

export const ecdh = { ...ec("ECDH", "enc", deriveUsages, []), deriveBits };

function okp(name, use, privateUsages, publicUsages, algs) {
  return pairOperations({
    name,
    kty: "OKP",
    use,
    members: ["x", "d"],
    raw: true,
    privateUsages,
    publicUsages,
    kind: () => name,
    algorithm: () => ({ name }),
    algs: () => algs,
  });
}

// https://w3c.github.io/webcrypto/#ed25519-operations
export const ed25519 = { ...okp("Ed25519", "sig", ["sign"], ["verify"], ["Ed25519", "EdDSA"]), sign, verify };

// https://w3c.github.io/webcrypto/#x25519-operations
export const x25519 = { ...okp("X25519", "enc", deriveUsages, [], null), deriveBits };
