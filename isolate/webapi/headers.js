// Fetch, the Headers class: https://fetch.spec.whatwg.org/#headers-class
// Public: Headers. Ops: none (native_proxy_target).
//
// A header list is one string of Latin-1 characters, "name\nvalue\n" for each
// entry, names in lower case, in the order they came. It crosses to Go as it is,
// and reading one header of a request searches it instead of splitting it.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { native_proxy_target } from "edge:ops";

const {
  ArrayPrototypePush,
  ArrayPrototypeSort,
  MapPrototypeGet,
  MapPrototypeSet,
  ObjectGetOwnPropertySymbols,
  ObjectKeys,
  ObjectPrototypePropertyIsEnumerable,
  ReflectOwnKeys,
  SafeMap,
  StringPrototypeCharCodeAt,
  StringPrototypeIndexOf,
  StringPrototypeSlice,
  StringPrototypeSplit,
  StringPrototypeToLowerCase,
  SymbolIterator,
  TypeError,
} = primordials;

/** Tells the constructor that it is called by headersFromBlock. */
const kInternal = {};

// https://fetch.spec.whatwg.org/#header-name
const tokenChar = (() => {
  const table = [];
  const extra = "!#$%&'*+-.^_`|~";
  for (let c = 0; c < 128; c++) {
    table[c] = (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122);
  }
  for (let i = 0; i < extra.length; i++) table[StringPrototypeCharCodeAt(extra, i)] = true;
  return table;
})();

// Names that most scripts use, as they are written, with their lower case: they
// need no check, and the block shares one string for each.
const knownNames = new SafeMap();
for (
  const name of [
    "Accept", "Accept-Encoding", "Accept-Language", "Access-Control-Allow-Credentials",
    "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin",
    "Authorization", "Cache-Control", "Connection", "Content-Disposition", "Content-Encoding",
    "Content-Length", "Content-Security-Policy", "Content-Type", "Cookie", "Date", "ETag",
    "Expires", "Host", "If-Modified-Since", "If-None-Match", "Last-Modified", "Location", "Origin",
    "Range", "Referer", "Server", "Set-Cookie", "Strict-Transport-Security", "User-Agent", "Vary",
    "X-Content-Type-Options", "X-Forwarded-For", "X-Forwarded-Proto", "X-Request-Id",
  ]
) {
  const lower = StringPrototypeToLowerCase(name);
  MapPrototypeSet(knownNames, name, lower);
  MapPrototypeSet(knownNames, lower, lower);
}

/**
 * Checks a name and gives it in lower case.
 * @param {string} name
 * @param {string} prefix
 * @returns {string}
 */
function checkName(name, prefix) {
  const known = MapPrototypeGet(knownNames, name);
  if (known !== undefined) return known;
  const n = name.length;
  let ok = n > 0;
  let upper = false;
  for (let i = 0; ok && i < n; i++) {
    const c = StringPrototypeCharCodeAt(name, i);
    ok = c < 128 && tokenChar[c];
    if (c >= 65 && c <= 90) upper = true;
  }
  if (!ok) throw new TypeError(`${prefix}: "${name}" is not a valid header name`);
  return upper ? StringPrototypeToLowerCase(name) : name;
}

/** @param {number} c */
function isHTTPWhitespace(c) {
  return c === 32 || c === 9 || c === 10 || c === 13;
}

/**
 * Normalizes a value, then checks it.
 * https://fetch.spec.whatwg.org/#concept-header-value-normalize
 * @param {string} value
 * @param {string} prefix
 * @returns {string}
 */
function checkValue(value, prefix) {
  let start = 0;
  let end = value.length;
  while (start < end && isHTTPWhitespace(StringPrototypeCharCodeAt(value, start))) start++;
  while (end > start && isHTTPWhitespace(StringPrototypeCharCodeAt(value, end - 1))) end--;
  for (let i = start; i < end; i++) {
    const c = StringPrototypeCharCodeAt(value, i);
    if (c < 14 && (c === 0 || c === 10 || c === 13)) {
      throw new TypeError(`${prefix}: a header value contains a NUL, CR or LF character`);
    }
  }
  return end - start === value.length ? value : StringPrototypeSlice(value, start, end);
}

/**
 * Finds the next entry of a name. from is where an entry begins.
 * @param {string} block
 * @param {string} name in lower case
 * @param {number} from
 * @returns {number} where its name stands, -1 when there is none
 */
function findEntry(block, name, from) {
  return findNeedle(block, name + "\n", from);
}

function findNeedle(block, needle, from) {
  let at = StringPrototypeIndexOf(block, needle, from);
  while (at !== -1) {
    // It is an entry when whole entries precede it: a value may look the same.
    let lines = 0;
    let nl = from;
    while (nl < at) {
      nl = StringPrototypeIndexOf(block, "\n", nl) + 1;
      lines++;
    }
    if (nl === at && lines % 2 === 0) return at;
    at = StringPrototypeIndexOf(block, needle, at + 1);
  }
  return -1;
}

/**
 * Reads a header of a block without a Headers object.
 * https://fetch.spec.whatwg.org/#concept-header-list-get
 * @param {string} block
 * @param {string} name in lower case
 * @returns {string | null}
 */
export function blockGet(block, name) {
  let at = findEntry(block, name, 0);
  if (at === -1) return null;
  let result = null;
  while (at !== -1) {
    const start = at + name.length + 1;
    const end = StringPrototypeIndexOf(block, "\n", start);
    const value = StringPrototypeSlice(block, start, end);
    result = result === null ? value : `${result}, ${value}`;
    at = findEntry(block, name, end + 1);
  }
  return result;
}

/**
 * Reports whether a block has a header.
 * @param {string} block
 * @param {string} name in lower case
 */
export function blockHas(block, name) {
  return findEntry(block, name, 0) !== -1;
}

/** Reports whether a block has a Content-Type. @param {string} block */
export function blockHasType(block) {
  return block !== "" && findNeedle(block, "content-type\n", 0) !== -1;
}

/**
 * Removes the entries of a name.
 * https://fetch.spec.whatwg.org/#concept-header-list-delete
 * @param {string} block
 * @param {string} name in lower case
 * @returns {string}
 */
export function blockDelete(block, name) {
  let at = findEntry(block, name, 0);
  if (at === -1) return block;
  let out = "";
  let from = 0;
  while (at !== -1) {
    out += StringPrototypeSlice(block, from, at);
    from = StringPrototypeIndexOf(block, "\n", at + name.length + 1) + 1;
    at = findEntry(block, name, from);
  }
  return out + StringPrototypeSlice(block, from);
}

/**
 * Sets the first entry of a name and removes the others.
 * https://fetch.spec.whatwg.org/#concept-header-list-set
 * @param {string} block
 * @param {string} name in lower case
 * @param {string} value normalized
 * @returns {string}
 */
export function blockSet(block, name, value) {
  const at = findEntry(block, name, 0);
  if (at === -1) return `${block}${name}\n${value}\n`;
  const rest = StringPrototypeIndexOf(block, "\n", at + name.length + 1) + 1;
  return `${StringPrototypeSlice(block, 0, at)}${name}\n${value}\n` +
    blockDelete(StringPrototypeSlice(block, rest), name);
}

/**
 * Gives the entries sorted by name, values of one name combined, but one entry
 * for each Set-Cookie.
 * https://fetch.spec.whatwg.org/#concept-header-list-sort-and-combine
 * @param {string} block
 * @returns {[string, string][]}
 */
function sortAndCombine(block) {
  const lines = StringPrototypeSplit(block, "\n");
  const values = new SafeMap();
  const names = [];
  const cookies = [];
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = lines[i];
    const before = MapPrototypeGet(values, name);
    if (before === undefined) ArrayPrototypePush(names, name);
    if (name === "set-cookie") ArrayPrototypePush(cookies, lines[i + 1]);
    MapPrototypeSet(values, name, before === undefined ? lines[i + 1] : `${before}, ${lines[i + 1]}`);
  }
  ArrayPrototypeSort(names);
  const entries = [];
  for (let i = 0; i < names.length; i++) {
    if (names[i] === "set-cookie") {
      for (let j = 0; j < cookies.length; j++) ArrayPrototypePush(entries, ["set-cookie", cookies[j]]);
    } else {
      ArrayPrototypePush(entries, [names[i], MapPrototypeGet(values, names[i])]);
    }
  }
  return entries;
}

/**
 * Converts a record<ByteString, ByteString> to its keys and values in one list.
 * https://webidl.spec.whatwg.org/#js-record
 */
function recordPairs(init, prefix, context) {
  const convert = webidl.converters.ByteString;
  // Only a proxy sees in which order it is asked; elsewhere a faster one will do.
  const plain = native_proxy_target(init) === undefined;
  const keys = plain ? ObjectKeys(init) : ReflectOwnKeys(init);
  const pairs = [];
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    // It calls the same internal method as [[GetOwnProperty]], without making a descriptor.
    if (!ObjectPrototypePropertyIsEnumerable(init, key)) continue;
    const name = convert(key, prefix, context);
    ArrayPrototypePush(pairs, name, convert(init[key], prefix, context));
  }
  if (plain) {
    const symbols = ObjectGetOwnPropertySymbols(init);
    for (let i = 0; i < symbols.length; i++) {
      if (ObjectPrototypePropertyIsEnumerable(init, symbols[i])) convert(symbols[i], prefix, context);
    }
  }
  return pairs;
}

/**
 * Converts a HeadersInit and fills an empty header list with it.
 * https://fetch.spec.whatwg.org/#concept-headers-fill
 * @param {any} init
 * @param {string} prefix
 * @param {string} context
 * @returns {string} the block
 */
export function blockFromInit(init, prefix, context) {
  if (init === null || (typeof init !== "object" && typeof init !== "function")) {
    throw new TypeError(
      `${prefix}: ${context} is not of type '(record<ByteString, ByteString> or sequence<sequence<ByteString>>)'`,
    );
  }
  const method = webidl.iteratorMethod(init);
  if (method === headersEntries && isHeaders(init)) return blockOf(init);
  if (method !== undefined) {
    const convertPair = webidl.converters["sequence<ByteString>"];
    return blockFromPairs(webidl.sequenceFromIterable(init, method, convertPair, prefix, context), prefix);
  }
  const pairs = recordPairs(init, prefix, context);
  let block = "";
  for (let i = 0; i < pairs.length; i += 2) {
    block += `${checkName(pairs[i], prefix)}\n${checkValue(pairs[i + 1], prefix)}\n`;
  }
  return block;
}

function blockFromPairs(pairs, prefix) {
  let block = "";
  for (let i = 0; i < pairs.length; i++) {
    const pair = pairs[i];
    if (pair.length !== 2) {
      throw new TypeError(`${prefix}: each header must be a pair of a name and a value, but one has ${pair.length} items`);
    }
    block += `${checkName(pair[0], prefix)}\n${checkValue(pair[1], prefix)}\n`;
  }
  return block;
}

/** @type {(h: any) => boolean} */
export let isHeaders;
/** Gives the block of a Headers object. @type {(h: Headers) => string} */
export let blockOf;
/** @type {(h: Headers) => [string, string][]} */
let pairsOf;

function illegalInvocation() {
  return new TypeError("Illegal invocation");
}

/**
 * https://fetch.spec.whatwg.org/#headers
 *
 * The forbidden request and response header names of browsers are no secret on
 * a server, so the guards "request" and "response" allow everything.
 */
export class Headers {
  #block = "";
  #immutable = false;
  /** @type {[string, string][] | null} */
  #sorted = null;

  static {
    isHeaders = (h) => #block in h;
    blockOf = (h) => h.#block;
    // https://fetch.spec.whatwg.org/#ref-for-dfn-value-pairs-to-iterate-over
    pairsOf = (h) => (h.#sorted ??= sortAndCombine(h.#block));
  }

  // https://fetch.spec.whatwg.org/#dom-headers
  constructor(init = undefined) {
    if (init === kInternal) {
      this.#block = arguments[1];
      this.#immutable = arguments[2];
    } else if (init !== undefined) {
      this.#block = blockFromInit(init, "Failed to construct 'Headers'", "Argument 1");
    }
  }

  #change(block, prefix) {
    if (this.#immutable) throw new TypeError(`${prefix}: these headers are immutable`);
    this.#block = block;
    this.#sorted = null;
  }

  // https://fetch.spec.whatwg.org/#dom-headers-append
  append(name, value) {
    if (!(#block in this)) throw illegalInvocation();
    const prefix = "Failed to execute 'append' on 'Headers'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = webidl.converters.ByteString(name, prefix, "Argument 1");
    value = webidl.converters.ByteString(value, prefix, "Argument 2");
    name = checkName(name, prefix);
    this.#change(`${this.#block}${name}\n${checkValue(value, prefix)}\n`, prefix);
  }

  // https://fetch.spec.whatwg.org/#dom-headers-delete
  delete(name) {
    if (!(#block in this)) throw illegalInvocation();
    const prefix = "Failed to execute 'delete' on 'Headers'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = checkName(webidl.converters.ByteString(name, prefix, "Argument 1"), prefix);
    this.#change(blockDelete(this.#block, name), prefix);
  }

  // https://fetch.spec.whatwg.org/#dom-headers-get
  get(name) {
    if (!(#block in this)) throw illegalInvocation();
    const prefix = "Failed to execute 'get' on 'Headers'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = checkName(webidl.converters.ByteString(name, prefix, "Argument 1"), prefix);
    return blockGet(this.#block, name);
  }

  // https://fetch.spec.whatwg.org/#dom-headers-getsetcookie
  getSetCookie() {
    if (!(#block in this)) throw illegalInvocation();
    const block = this.#block;
    const cookies = [];
    let at = findEntry(block, "set-cookie", 0);
    while (at !== -1) {
      const end = StringPrototypeIndexOf(block, "\n", at + 11);
      ArrayPrototypePush(cookies, StringPrototypeSlice(block, at + 11, end));
      at = findEntry(block, "set-cookie", end + 1);
    }
    return cookies;
  }

  // https://fetch.spec.whatwg.org/#dom-headers-has
  has(name) {
    if (!(#block in this)) throw illegalInvocation();
    const prefix = "Failed to execute 'has' on 'Headers'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = checkName(webidl.converters.ByteString(name, prefix, "Argument 1"), prefix);
    return blockHas(this.#block, name);
  }

  // https://fetch.spec.whatwg.org/#dom-headers-set
  set(name, value) {
    if (!(#block in this)) throw illegalInvocation();
    const prefix = "Failed to execute 'set' on 'Headers'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = webidl.converters.ByteString(name, prefix, "Argument 1");
    value = webidl.converters.ByteString(value, prefix, "Argument 2");
    name = checkName(name, prefix);
    this.#change(blockSet(this.#block, name, checkValue(value, prefix)), prefix);
  }
}

webidl.pairIterable("Headers", Headers, pairsOf);
webidl.configureInterface(Headers);
const headersEntries = Headers.prototype[SymbolIterator];

/**
 * Makes a Headers object over a block that is known to be valid.
 * @param {string} block
 * @param {"none" | "request" | "response" | "immutable"} guard
 * @returns {Headers}
 */
export function headersFromBlock(block, guard) {
  return new Headers(kInternal, block, guard === "immutable");
}
