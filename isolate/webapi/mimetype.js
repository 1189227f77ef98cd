// MIME Sniffing, MIME types: https://mimesniff.spec.whatwg.org/#understanding-mime-types
// Public: none. Ops: none.

import { primordials } from "edge:primordials";

const {
  ArrayPrototypePush,
  MapPrototypeForEach,
  MapPrototypeGet,
  MapPrototypeHas,
  MapPrototypeSet,
  SafeMap,
  StringPrototypeCharCodeAt,
  StringPrototypeIndexOf,
  StringPrototypeSlice,
  StringPrototypeToLowerCase,
} = primordials;

/**
 * @typedef {object} MIMEType
 * @property {string} essence
 * @property {Map<string, string>} parameters
 */

// https://mimesniff.spec.whatwg.org/#http-token-code-point
function isTokenChar(c) {
  return (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || (c >= 48 && c <= 57) || c === 45 || c === 46 || c === 95 ||
    c === 33 || (c >= 35 && c <= 39) || c === 42 || c === 43 || c === 94 || c === 96 || c === 124 || c === 126;
}

function isToken(s) {
  for (let i = 0; i < s.length; i++) {
    if (!isTokenChar(StringPrototypeCharCodeAt(s, i))) return false;
  }
  return s.length > 0;
}

// https://mimesniff.spec.whatwg.org/#http-quoted-string-token-code-point
function isQuotable(s) {
  for (let i = 0; i < s.length; i++) {
    const c = StringPrototypeCharCodeAt(s, i);
    if (c !== 9 && (c < 0x20 || c > 0xff || c === 0x7f)) return false;
  }
  return true;
}

// https://fetch.spec.whatwg.org/#http-whitespace
function isWhitespace(c) {
  return c === 32 || c === 9 || c === 10 || c === 13;
}

function trim(s, from, to) {
  while (from < to && isWhitespace(StringPrototypeCharCodeAt(s, from))) from++;
  return trimEnd(s, from, to);
}

function trimEnd(s, from, to) {
  while (to > from && isWhitespace(StringPrototypeCharCodeAt(s, to - 1))) to--;
  return StringPrototypeSlice(s, from, to);
}

/** Finds a character from a position on; the string's length when there is none. */
function find(s, char, from) {
  const i = StringPrototypeIndexOf(s, char, from);
  return i === -1 ? s.length : i;
}

/**
 * Collects the quoted string that begins at a position.
 * https://fetch.spec.whatwg.org/#collect-an-http-quoted-string
 * @returns {[string, number]} its value and where it ends
 */
function quotedString(s, at) {
  let value = "";
  at++;
  while (at < s.length) {
    const c = s[at++];
    if (c === '"') break;
    if (c !== "\\") value += c;
    else value += at < s.length ? s[at++] : "\\";
  }
  return [value, at];
}

/**
 * https://mimesniff.spec.whatwg.org/#parse-a-mime-type
 * @param {string} input
 * @returns {MIMEType | null} null for failure
 */
export function parseMIMEType(input) {
  const s = trim(input, 0, input.length);
  const slash = StringPrototypeIndexOf(s, "/");
  if (slash === -1) return null;
  const type = StringPrototypeSlice(s, 0, slash);
  let at = find(s, ";", slash + 1);
  const subtype = trimEnd(s, slash + 1, at);
  if (!isToken(type) || !isToken(subtype)) return null;
  const parameters = new SafeMap();
  while (at < s.length) {
    at++;
    while (at < s.length && isWhitespace(StringPrototypeCharCodeAt(s, at))) at++;
    const start = at;
    while (at < s.length && s[at] !== ";" && s[at] !== "=") at++;
    const name = StringPrototypeToLowerCase(StringPrototypeSlice(s, start, at));
    if (at >= s.length) break;
    if (s[at] === ";") continue;
    at++;
    if (at >= s.length) break;
    let value;
    if (s[at] === '"') {
      ({ 0: value, 1: at } = quotedString(s, at));
      at = find(s, ";", at);
    } else {
      const from = at;
      at = find(s, ";", from);
      value = trimEnd(s, from, at);
      if (value === "") continue;
    }
    if (isToken(name) && isQuotable(value) && !MapPrototypeHas(parameters, name)) MapPrototypeSet(parameters, name, value);
  }
  return { essence: StringPrototypeToLowerCase(`${type}/${subtype}`), parameters };
}

/**
 * https://mimesniff.spec.whatwg.org/#serialize-a-mime-type
 * @param {MIMEType} mimeType
 * @returns {string}
 */
export function serializeMIMEType(mimeType) {
  let out = mimeType.essence;
  MapPrototypeForEach(mimeType.parameters, (value, name) => {
    out += `;${name}=`;
    if (isToken(value)) {
      out += value;
      return;
    }
    out += '"';
    for (let i = 0; i < value.length; i++) {
      if (value[i] === '"' || value[i] === "\\") out += "\\";
      out += value[i];
    }
    out += '"';
  });
  return out;
}

/**
 * Splits a header value at the commas that stand outside of quoted strings.
 * https://fetch.spec.whatwg.org/#header-value-get-decode-and-split
 * @param {string} value
 * @returns {string[]}
 */
function splitValue(value) {
  const values = [];
  let start = 0;
  let at = 0;
  while (at < value.length) {
    if (value[at] === '"') {
      ({ 1: at } = quotedString(value, at));
    } else if (value[at] === ",") {
      ArrayPrototypePush(values, trim(value, start, at));
      start = ++at;
    } else {
      at++;
    }
  }
  ArrayPrototypePush(values, trim(value, start, at));
  return values;
}

/**
 * https://fetch.spec.whatwg.org/#concept-header-extract-mime-type
 * @param {string | null} contentType the combined Content-Type header
 * @returns {MIMEType | null} null for failure
 */
export function extractMIMEType(contentType) {
  if (contentType === null) return null;
  const values = splitValue(contentType);
  let charset;
  let essence = null;
  let mimeType = null;
  for (let i = 0; i < values.length; i++) {
    const parsed = parseMIMEType(values[i]);
    if (parsed === null || parsed.essence === "*/*") continue;
    mimeType = parsed;
    if (parsed.essence !== essence) {
      charset = MapPrototypeGet(parsed.parameters, "charset");
      essence = parsed.essence;
    } else if (charset !== undefined && !MapPrototypeHas(parsed.parameters, "charset")) {
      MapPrototypeSet(parsed.parameters, "charset", charset);
    }
  }
  return mimeType;
}
