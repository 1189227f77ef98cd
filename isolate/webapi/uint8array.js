// Uint8Array to and from base64 and hex: https://tc39.es/proposal-arraybuffer-base64/spec/
// Public: Uint8Array.fromBase64, Uint8Array.fromHex, Uint8Array.prototype.toBase64,
// toHex, setFromBase64, setFromHex. Ops: none (native_base64_encode).
//
// V8 13.6 has four of them behind --js-base-64, which stays off: its toHex errs
// from 8 bytes on, its toBase64 when the length is no multiple of 3. With the flag
// on it would also add its own to each context made from the snapshot, beside
// these, and give up.

import { primordials } from "edge:primordials";
import { native_base64_encode } from "edge:ops";

const {
  ArrayPrototypeJoin,
  ArrayPrototypePush,
  Boolean,
  NumberMAX_SAFE_INTEGER: unbounded,
  ObjectDefineProperty,
  StringPrototypeCharCodeAt,
  StringPrototypeReplaceAll,
  StringPrototypeSlice,
  SyntaxError,
  TypeError,
  TypedArrayPrototypeAt,
  TypedArrayPrototypeGetLength,
  TypedArrayPrototypeGetSymbolToStringTag,
  Uint8Array,
} = primordials;

const digits = "0123456789abcdef";
const EQUALS = 0x3d;

/** @type {string[] | undefined} the two digits of each byte, made when first needed */
let pairs;

function hexPairs() {
  if (pairs === undefined) {
    pairs = [];
    for (let i = 0; i < 256; i++) ArrayPrototypePush(pairs, digits[i >> 4] + digits[i & 15]);
  }
  return pairs;
}

// https://tc39.es/proposal-arraybuffer-base64/spec/#sec-validateuint8array
function validate(array) {
  if (TypedArrayPrototypeGetSymbolToStringTag(array) !== "Uint8Array") throw new TypeError("this is not a Uint8Array");
}

/** Throws when the buffer of array is detached or has become too short. */
function validateBounds(array) {
  TypedArrayPrototypeAt(array, 0);
}

function validateString(string) {
  if (typeof string !== "string") throw new TypeError("the input is not a string");
}

// https://tc39.es/proposal-arraybuffer-base64/spec/#sec-getoptionsobject
function option(options, name, values) {
  const value = options[name];
  if (value === undefined) return values[0];
  for (let i = 0; i < values.length; i++) {
    if (value === values[i]) return value;
  }
  throw new TypeError(`${name} has to be one of "${ArrayPrototypeJoin(values, '", "')}"`);
}

function optionsObject(options) {
  if (options === undefined) return { __proto__: null };
  if (options === null || typeof options !== "object" && typeof options !== "function") throw new TypeError("options is not an object");
  return options;
}

const alphabets = ["base64", "base64url"];
const endings = ["loose", "strict", "stop-before-partial"];

/** Returns the value of a character, -1 when it is none of the alphabet. */
function sextet(c, url) {
  if (c >= 0x61 && c <= 0x7a) return c - 71;
  if (c >= 0x41 && c <= 0x5a) return c - 65;
  if (c >= 0x30 && c <= 0x39) return c + 4;
  if (c === (url ? 0x2d : 0x2b)) return 62;
  if (c === (url ? 0x5f : 0x2f)) return 63;
  return -1;
}

// https://tc39.es/proposal-arraybuffer-base64/spec/#sec-skipasciiwhitespace
function skipWhitespace(string, i) {
  for (; i < string.length; i++) {
    const c = StringPrototypeCharCodeAt(string, i);
    if (c !== 0x20 && c !== 0x09 && c !== 0x0a && c !== 0x0c && c !== 0x0d) break;
  }
  return i;
}

/**
 * Decodes into bytes, at most max of them; returns how much was read and written,
 * and the message of what is wrong.
 * https://tc39.es/proposal-arraybuffer-base64/spec/#sec-frombase64
 */
function decodeBase64(string, alphabet, ending, bytes, max) {
  const url = alphabet === "base64url";
  const result = { read: 0, written: 0, error: undefined };
  if (max === 0) return result;
  let bits = 0;
  let count = 0; // of characters in bits
  let i = 0;
  for (;;) {
    i = skipWhitespace(string, i);
    if (i === string.length) return endOfInput(result, bytes, bits, count, ending, i);
    const c = StringPrototypeCharCodeAt(string, i++);
    if (c === EQUALS) return padding(result, string, bytes, bits, count, ending, i);
    const value = sextet(c, url);
    if (value < 0) return failed(result, `the input has a character that is none of ${alphabet}`);
    const remaining = max - result.written;
    if (remaining === 1 && count === 2 || remaining === 2 && count === 3) return result;
    bits = bits << 6 | value;
    if (++count < 4) continue;
    bytes[result.written++] = bits >> 16 & 255;
    bytes[result.written++] = bits >> 8 & 255;
    bytes[result.written++] = bits & 255;
    bits = count = 0;
    result.read = i;
    if (result.written === max) return result;
  }
}

function failed(result, message) {
  result.error = message;
  return result;
}

/** The input ends without padding. */
function endOfInput(result, bytes, bits, count, ending, length) {
  if (count > 0) {
    if (ending === "stop-before-partial") return result;
    if (ending === "strict") return failed(result, "the input ends without its padding");
    if (count === 1) return failed(result, "the input ends within a byte");
    lastChunk(result, bytes, bits, count);
  }
  result.read = length;
  return result;
}

/** The input has an equals sign before i. */
function padding(result, string, bytes, bits, count, ending, i) {
  if (count < 2) return failed(result, "the input has padding where there is nothing to pad");
  i = skipWhitespace(string, i);
  if (count === 2) {
    if (i === string.length) {
      return ending === "stop-before-partial" ? result : failed(result, "the input ends within its padding");
    }
    if (StringPrototypeCharCodeAt(string, i) === EQUALS) i = skipWhitespace(string, i + 1);
  }
  if (i < string.length) return failed(result, "the input goes on after its padding");
  if (ending === "strict" && (bits & (count === 2 ? 15 : 3)) !== 0) return failed(result, "the input has bits beyond its last byte");
  lastChunk(result, bytes, bits, count);
  result.read = string.length;
  return result;
}

/** Writes the one or two bytes of an incomplete chunk. */
function lastChunk(result, bytes, bits, count) {
  if (count === 2) {
    bytes[result.written++] = bits >> 4 & 255;
    return;
  }
  bytes[result.written++] = bits >> 10 & 255;
  bytes[result.written++] = bits >> 2 & 255;
}

function hexDigit(c) {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  c |= 0x20;
  return c >= 0x61 && c <= 0x66 ? c - 87 : -1;
}

// https://tc39.es/proposal-arraybuffer-base64/spec/#sec-fromhex
function decodeHex(string, bytes, max) {
  const result = { read: 0, written: 0, error: undefined };
  if (string.length % 2 !== 0) return failed(result, "the input has an odd number of digits");
  while (result.read < string.length && result.written < max) {
    const high = hexDigit(StringPrototypeCharCodeAt(string, result.read));
    const low = hexDigit(StringPrototypeCharCodeAt(string, result.read + 1));
    if (high < 0 || low < 0) return failed(result, "the input has a character that is no hexadecimal digit");
    bytes[result.written++] = high << 4 | low;
    result.read += 2;
  }
  return result;
}

/** Returns the bytes of a result as a Uint8Array of just that length. */
function exact(bytes, result) {
  if (result.error !== undefined) throw new SyntaxError(result.error);
  if (result.written === bytes.length) return bytes;
  const out = new Uint8Array(result.written);
  for (let i = 0; i < out.length; i++) out[i] = bytes[i];
  return out;
}

/** Returns how many bytes a string of base64 has, when it has no whitespace. */
function expectedLength(string) {
  let n = string.length;
  while (n > 0 && StringPrototypeCharCodeAt(string, n - 1) === EQUALS) n--;
  return (n >> 2) * 3 + (n & 3);
}

function outcome(result) {
  if (result.error !== undefined) throw new SyntaxError(result.error);
  return { read: result.read, written: result.written };
}

const statics = {
  // https://tc39.es/proposal-arraybuffer-base64/spec/#sec-uint8array.frombase64
  fromBase64(string, options = undefined) {
    validateString(string);
    options = optionsObject(options);
    const alphabet = option(options, "alphabet", alphabets);
    const ending = option(options, "lastChunkHandling", endings);
    const bytes = new Uint8Array(expectedLength(string));
    return exact(bytes, decodeBase64(string, alphabet, ending, bytes, unbounded));
  },

  // https://tc39.es/proposal-arraybuffer-base64/spec/#sec-uint8array.fromhex
  fromHex(string) {
    validateString(string);
    const bytes = new Uint8Array(string.length >> 1);
    return exact(bytes, decodeHex(string, bytes, unbounded));
  },
};

const methods = {
  // https://tc39.es/proposal-arraybuffer-base64/spec/#sec-uint8array.prototype.tobase64
  toBase64(options = undefined) {
    validate(this);
    options = optionsObject(options);
    const alphabet = option(options, "alphabet", alphabets);
    const omitPadding = Boolean(options.omitPadding);
    validateBounds(this);
    let text = native_base64_encode(this);
    if (alphabet === "base64url") text = StringPrototypeReplaceAll(StringPrototypeReplaceAll(text, "+", "-"), "/", "_");
    const rest = TypedArrayPrototypeGetLength(this) % 3;
    return omitPadding && rest > 0 ? StringPrototypeSlice(text, 0, rest - 3) : text;
  },

  // https://tc39.es/proposal-arraybuffer-base64/spec/#sec-uint8array.prototype.tohex
  toHex() {
    validate(this);
    validateBounds(this);
    const table = hexPairs();
    const length = TypedArrayPrototypeGetLength(this);
    let text = "";
    for (let i = 0; i < length; i++) text += table[this[i]];
    return text;
  },

  // https://tc39.es/proposal-arraybuffer-base64/spec/#sec-uint8array.prototype.setfrombase64
  setFromBase64(string, options = undefined) {
    validate(this);
    validateString(string);
    options = optionsObject(options);
    const alphabet = option(options, "alphabet", alphabets);
    const ending = option(options, "lastChunkHandling", endings);
    validateBounds(this);
    return outcome(decodeBase64(string, alphabet, ending, this, TypedArrayPrototypeGetLength(this)));
  },

  // https://tc39.es/proposal-arraybuffer-base64/spec/#sec-uint8array.prototype.setfromhex
  setFromHex(string) {
    validate(this);
    validateString(string);
    validateBounds(this);
    return outcome(decodeHex(string, this, TypedArrayPrototypeGetLength(this)));
  },
};

function define(target, functions, names) {
  for (let i = 0; i < names.length; i++) {
    ObjectDefineProperty(target, names[i], {
      __proto__: null,
      value: functions[names[i]],
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
}

/** Gives Uint8Array its functions. For edge:globals. */
export function installUint8Array() {
  define(Uint8Array, statics, ["fromBase64", "fromHex"]);
  define(Uint8Array.prototype, methods, ["toBase64", "toHex", "setFromBase64", "setFromHex"]);
}
