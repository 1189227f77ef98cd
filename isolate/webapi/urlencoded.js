// URL Standard, application/x-www-form-urlencoded:
// https://url.spec.whatwg.org/#application/x-www-form-urlencoded
// Public: nothing. Ops: none (native_utf8_*, native_latin1_*).

import { primordials } from "edge:primordials";
import { native_latin1_decode, native_latin1_encode, native_utf8_decode, native_utf8_encode } from "edge:ops";

const {
  ArrayPrototypePush,
  RegExpPrototypeExec,
  StringPrototypeCharCodeAt,
  StringPrototypeIndexOf,
  StringPrototypeReplaceAll,
  StringPrototypeSlice,
  TypedArrayPrototypeGetLength,
  TypedArrayPrototypeSubarray,
  decodeURIComponent,
  encodeURIComponent,
} = primordials;

const nonAscii = /[^\x00-\x7f]/;

// https://url.spec.whatwg.org/#application-x-www-form-urlencoded-percent-encode-set
const keep = [];
for (let c = 0; c < 128; c++) {
  keep[c] = (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 42 || c === 45 || c === 46 || c === 95;
}
const escapes = [];
for (let c = 0; c < 128; c++) escapes[c] = `%${c < 16 ? "0" : ""}${c.toString(16).toUpperCase()}`;
escapes[32] = "+";

function hexValue(c) {
  if (c >= 48 && c <= 57) return c - 48;
  c |= 32;
  return c >= 97 && c <= 102 ? c - 87 : -1;
}

// https://url.spec.whatwg.org/#percent-decode, in place
function percentDecode(bytes) {
  const length = TypedArrayPrototypeGetLength(bytes);
  let to = 0;
  for (let i = 0; i < length; i++) {
    let c = bytes[i];
    if (c === 37 && i + 2 < length) {
      const high = hexValue(bytes[i + 1]);
      const low = hexValue(bytes[i + 2]);
      if (high >= 0 && low >= 0) {
        c = high * 16 + low;
        i += 2;
      }
    }
    bytes[to++] = c;
  }
  return TypedArrayPrototypeSubarray(bytes, 0, to);
}

/**
 * Decodes a name or a value.
 * @param {string} text
 * @param {boolean} isBytes whether a character stands for a byte above 127
 */
function decode(text, isBytes) {
  if (StringPrototypeIndexOf(text, "+") >= 0) text = StringPrototypeReplaceAll(text, "+", " ");
  if (!isBytes) {
    if (StringPrototypeIndexOf(text, "%") < 0) return text;
    // It is stricter than the standard, and the same where it succeeds.
    try {
      return decodeURIComponent(text);
    } catch {
      // Malformed: what follows replaces bytes one by one.
    }
  }
  const bytes = isBytes ? native_latin1_encode(text) : native_utf8_encode(text);
  return native_utf8_decode(percentDecode(bytes), false, true);
}

/**
 * https://url.spec.whatwg.org/#concept-urlencoded-parser
 * @param {string | BufferSource} input a string without lone surrogates, or bytes
 * @returns {[string, string][]}
 */
export function parseUrlencoded(input) {
  let isBytes = false;
  if (typeof input !== "string") {
    input = native_latin1_decode(input);
    isBytes = RegExpPrototypeExec(nonAscii, input) !== null;
  }
  const list = [];
  const length = input.length;
  for (let at = 0; at < length;) {
    let end = StringPrototypeIndexOf(input, "&", at);
    if (end < 0) end = length;
    if (end > at) {
      const part = StringPrototypeSlice(input, at, end);
      const equals = StringPrototypeIndexOf(part, "=");
      if (equals < 0) {
        ArrayPrototypePush(list, [decode(part, isBytes), ""]);
      } else {
        ArrayPrototypePush(list, [decode(StringPrototypeSlice(part, 0, equals), isBytes), decode(StringPrototypeSlice(part, equals + 1), isBytes)]);
      }
    }
    at = end + 1;
  }
  return list;
}

function encode(text) {
  let result = "";
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = StringPrototypeCharCodeAt(text, i);
    if (c < 128 && keep[c]) continue;
    result += StringPrototypeSlice(text, from, i);
    if (c < 128) {
      result += escapes[c];
    } else {
      const start = i;
      while (i + 1 < text.length && StringPrototypeCharCodeAt(text, i + 1) >= 128) i++;
      result += encodeURIComponent(StringPrototypeSlice(text, start, i + 1));
    }
    from = i + 1;
  }
  return from === 0 ? text : result + StringPrototypeSlice(text, from);
}

/**
 * https://url.spec.whatwg.org/#concept-urlencoded-serializer
 * @param {[string, string][]} entries strings without lone surrogates
 * @returns {string}
 */
export function serializeUrlencoded(entries) {
  let result = "";
  for (let i = 0; i < entries.length; i++) {
    if (i > 0) result += "&";
    result += `${encode(entries[i][0])}=${encode(entries[i][1])}`;
  }
  return result;
}
