// Web Cryptography, JSON Web Keys and checks that algorithms share:
// https://w3c.github.io/webcrypto/#JsonWebKey-dictionary
// Public: nothing. Ops: none (native_base64_*).

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException } from "edge:domexception";
import { native_base64_decode_forgiving, native_base64_encode, native_latin1_encode } from "edge:ops";

const {
  ArrayPrototypeIncludes,
  ArrayPrototypeJoin,
  RegExpPrototypeExec,
  StringPrototypeReplaceAll,
  StringPrototypeSplit,
} = primordials;

const { DOMString, boolean } = webidl.converters;

const convertOtherPrimes = webidl.createDictionaryConverter("RsaOtherPrimesInfo", [
  { key: "d", converter: DOMString },
  { key: "r", converter: DOMString },
  { key: "t", converter: DOMString },
]);

const members = [
  { key: "key_ops", converter: webidl.converters["sequence<DOMString>"] },
  { key: "ext", converter: boolean },
  { key: "oth", converter: webidl.createSequenceConverter(convertOtherPrimes) },
];
const texts = ["kty", "use", "alg", "crv", "x", "y", "d", "n", "e", "p", "q", "dp", "dq", "qi", "k"];
for (let i = 0; i < texts.length; i++) members.push({ key: texts[i], converter: DOMString });

// https://w3c.github.io/webcrypto/#JsonWebKey-dictionary
export const convertJsonWebKey = webidl.createDictionaryConverter("JsonWebKey", members);

/** Throws a DOMException. */
export function fail(name, message) {
  throw new DOMException(message, name);
}

/**
 * Throws unless all usages are allowed. That there are any is checked last.
 * @param {string[]} usages
 * @param {string[]} allowed
 */
export function checkUsages(usages, allowed) {
  for (let i = 0; i < usages.length; i++) {
    if (!ArrayPrototypeIncludes(allowed, usages[i])) fail("SyntaxError", `The usage '${usages[i]}' is not for this key, which has ${ArrayPrototypeJoin(allowed, ", ") || "none"}.`);
  }
}

/**
 * The checks that importKey makes on the members that all kinds of JSON Web Key
 * have.
 * @param {object} jwk
 * @param {string} use what "use" has to be, if it is there
 * @param {string | null} alg what "alg" has to be, if it is there
 * @param {string[]} usages
 * @param {boolean} extractable
 */
export function checkJwk(jwk, use, alg, usages, extractable) {
  if (usages.length > 0 && jwk.use !== undefined && jwk.use !== use) fail("DataError", `The member 'use' of the JSON Web Key is not '${use}'.`);
  const ops = jwk.key_ops;
  if (ops !== undefined) {
    for (let i = 0; i < ops.length; i++) {
      if (ArrayPrototypeIncludes(ops, ops[i], i + 1)) fail("DataError", "The member 'key_ops' of the JSON Web Key has duplicates.");
    }
    for (let i = 0; i < usages.length; i++) {
      if (!ArrayPrototypeIncludes(ops, usages[i])) fail("DataError", `The member 'key_ops' of the JSON Web Key lacks '${usages[i]}'.`);
    }
  }
  if (jwk.ext === false && extractable) fail("DataError", "The member 'ext' of the JSON Web Key forbids that it is extractable.");
  if (alg !== null && jwk.alg !== undefined && jwk.alg !== alg) fail("DataError", `The member 'alg' of the JSON Web Key is not '${alg}'.`);
}

const base64url = /^[A-Za-z0-9_-]*$/;

/**
 * @param {string} text
 * @returns {Uint8Array | null} null when it is not valid
 */
export function decodeBase64url(text) {
  if (RegExpPrototypeExec(base64url, text) === null) return null;
  const decoded = native_base64_decode_forgiving(StringPrototypeReplaceAll(StringPrototypeReplaceAll(text, "-", "+"), "_", "/"));
  return decoded === null ? null : native_latin1_encode(decoded);
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} without padding
 */
export function encodeBase64url(bytes) {
  const text = StringPrototypeReplaceAll(StringPrototypeReplaceAll(native_base64_encode(bytes), "+", "-"), "/", "_");
  return StringPrototypeSplit(text, "=", 1)[0];
}
