// XMLHttpRequest, FormData: https://xhr.spec.whatwg.org/#interface-formdata
// Returning Values from Forms, multipart/form-data: https://www.rfc-editor.org/rfc/rfc7578
// Public: FormData. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import {
  bytesOfBlob,
  concatBytes,
  fileFromBytes,
  isBlob,
  isFile,
  lastModifiedOfFile,
  nameOfFile,
  typeOfBlob,
  viewBytes,
} from "edge:blob";
import { native_latin1_decode, native_random_bytes, native_utf8_decode, native_utf8_encode } from "edge:ops";

const {
  ArrayPrototypePush,
  StringPrototypeCharCodeAt,
  StringPrototypeSlice,
  StringPrototypeToLowerCase,
  TypeError,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeIndexOf,
  Uint8Array,
} = primordials;

/** @typedef {[string, string | File]} Entry */

/** @type {(f: object) => boolean} */
export let isFormData;
/** Gives the entry list itself. @type {(f: FormData) => Entry[]} */
export let entriesOf;

function illegalInvocation() {
  return new TypeError("Illegal invocation");
}

/**
 * https://html.spec.whatwg.org/#create-an-entry
 * @param {string} name
 * @param {string | Blob} value
 * @param {string} [filename]
 * @returns {Entry}
 */
function createEntry(name, value, filename) {
  if (typeof value === "string") return [name, value];
  const file = isFile(value);
  if (!file || filename !== undefined) {
    value = fileFromBytes(
      bytesOfBlob(value),
      typeOfBlob(value),
      filename ?? "blob",
      file ? lastModifiedOfFile(value) : undefined,
    );
  }
  return [name, value];
}

/** Converts the arguments of append and set, which have two overloads. */
function convertEntry(args, method) {
  const prefix = `Failed to execute '${method}' on 'FormData'`;
  webidl.requiredArguments(args.length, 2, prefix);
  const name = webidl.converters.USVString(args[0], prefix, "Argument 1");
  const blob = typeof args[1] === "object" && args[1] !== null && isBlob(args[1]);
  if (args.length > 2 && !blob) throw new TypeError(`${prefix}: Argument 2 is not of type 'Blob'`);
  const value = blob ? args[1] : webidl.converters.USVString(args[1], prefix, "Argument 2");
  const filename = args.length > 2 && args[2] !== undefined
    ? webidl.converters.USVString(args[2], prefix, "Argument 3")
    : undefined;
  return createEntry(name, value, filename);
}

// https://xhr.spec.whatwg.org/#interface-formdata
export class FormData {
  /** @type {Entry[]} */
  #entries = [];

  static {
    isFormData = (f) => #entries in f;
    entriesOf = (f) => f.#entries;
  }

  // https://xhr.spec.whatwg.org/#dom-formdata
  constructor(form = undefined) {
    if (form !== undefined) {
      throw new TypeError("Failed to construct 'FormData': Argument 1 is not of type 'HTMLFormElement' (there are no elements here, leave it out)");
    }
  }

  #name(args, method) {
    const prefix = `Failed to execute '${method}' on 'FormData'`;
    webidl.requiredArguments(args.length, 1, prefix);
    return webidl.converters.USVString(args[0], prefix, "Argument 1");
  }

  // https://xhr.spec.whatwg.org/#dom-formdata-append
  append(name, value) {
    if (!(#entries in this)) throw illegalInvocation();
    const entry = convertEntry(arguments, "append");
    ArrayPrototypePush(this.#entries, entry);
  }

  // https://xhr.spec.whatwg.org/#dom-formdata-delete
  delete(name) {
    name = this.#name(arguments, "delete");
    const entries = this.#entries;
    let kept = 0;
    for (let i = 0; i < entries.length; i++) {
      if (entries[i][0] !== name) entries[kept++] = entries[i];
    }
    entries.length = kept;
  }

  // https://xhr.spec.whatwg.org/#dom-formdata-get
  get(name) {
    name = this.#name(arguments, "get");
    const entries = this.#entries;
    for (let i = 0; i < entries.length; i++) {
      if (entries[i][0] === name) return entries[i][1];
    }
    return null;
  }

  // https://xhr.spec.whatwg.org/#dom-formdata-getall
  getAll(name) {
    name = this.#name(arguments, "getAll");
    const entries = this.#entries;
    const values = [];
    for (let i = 0; i < entries.length; i++) {
      if (entries[i][0] === name) ArrayPrototypePush(values, entries[i][1]);
    }
    return values;
  }

  // https://xhr.spec.whatwg.org/#dom-formdata-has
  has(name) {
    name = this.#name(arguments, "has");
    const entries = this.#entries;
    for (let i = 0; i < entries.length; i++) {
      if (entries[i][0] === name) return true;
    }
    return false;
  }

  // https://xhr.spec.whatwg.org/#dom-formdata-set
  set(name, value) {
    if (!(#entries in this)) throw illegalInvocation();
    const entry = convertEntry(arguments, "set");
    const entries = this.#entries;
    let kept = 0;
    let placed = false;
    for (let i = 0; i < entries.length; i++) {
      if (entries[i][0] !== entry[0]) {
        entries[kept++] = entries[i];
      } else if (!placed) {
        entries[kept++] = entry;
        placed = true;
      }
    }
    entries.length = kept;
    if (!placed) ArrayPrototypePush(entries, entry);
  }
}
webidl.pairIterable("FormData", FormData, entriesOf);
webidl.configureInterface(FormData);

/**
 * Makes a FormData with entries that are its own.
 * @param {Entry[]} entries
 */
export function formDataFromEntries(entries) {
  const formData = new FormData();
  const own = entriesOf(formData);
  for (let i = 0; i < entries.length; i++) ArrayPrototypePush(own, entries[i]);
  return formData;
}

/**
 * Turns CR, LF and CRLF into CRLF.
 * @param {string} s
 */
function normalizeNewlines(s) {
  let out = "";
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = StringPrototypeCharCodeAt(s, i);
    if (c !== 13 && c !== 10) continue;
    out += StringPrototypeSlice(s, from, i) + "\r\n";
    if (c === 13 && StringPrototypeCharCodeAt(s, i + 1) === 10) i++;
    from = i + 1;
  }
  return from === 0 ? s : out + StringPrototypeSlice(s, from);
}

/**
 * Escapes a name or file name.
 * https://html.spec.whatwg.org/#multipart-form-data
 * @param {string} s
 */
function escapeName(s) {
  let out = "";
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = StringPrototypeCharCodeAt(s, i);
    if (c !== 13 && c !== 10 && c !== 34) continue;
    out += StringPrototypeSlice(s, from, i) + (c === 13 ? "%0D" : c === 10 ? "%0A" : "%22");
    from = i + 1;
  }
  return out + StringPrototypeSlice(s, from);
}

const boundaryAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AB";

/**
 * https://html.spec.whatwg.org/#multipart/form-data-encoding-algorithm
 * @param {FormData} formData
 * @returns {{bytes: Uint8Array, boundary: string}}
 */
export function serializeMultipart(formData) {
  const random = new Uint8Array(24);
  native_random_bytes(random);
  let boundary = "----formdata-";
  for (let i = 0; i < 24; i++) boundary += boundaryAlphabet[random[i] & 63];
  const entries = entriesOf(formData);
  const pieces = [];
  let text = "";
  for (let i = 0; i < entries.length; i++) {
    const { 0: name, 1: value } = entries[i];
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(normalizeNewlines(name))}"`;
    if (typeof value === "string") {
      text += `\r\n\r\n${normalizeNewlines(value)}\r\n`;
      continue;
    }
    text += `; filename="${escapeName(nameOfFile(value))}"\r\n` +
      `Content-Type: ${typeOfBlob(value) || "application/octet-stream"}\r\n\r\n`;
    ArrayPrototypePush(pieces, native_utf8_encode(text), bytesOfBlob(value));
    text = "\r\n";
  }
  ArrayPrototypePush(pieces, native_utf8_encode(`${text}--${boundary}--\r\n`));
  return { bytes: concatBytes(pieces), boundary };
}

const badMultipart = "the body is not valid multipart/form-data";

/** Reads multipart/form-data; a position moves over the bytes. */
class MultipartReader {
  bytes;
  size;
  at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.size = TypedArrayPrototypeGetByteLength(bytes);
  }

  fail(what) {
    return new TypeError(`${badMultipart}: ${what} at byte ${this.at}`);
  }

  /** Reports whether these bytes come next. */
  sees(wanted, at = this.at) {
    const n = TypedArrayPrototypeGetByteLength(wanted);
    if (at + n > this.size) return false;
    for (let i = 0; i < n; i++) {
      if (this.bytes[at + i] !== wanted[i]) return false;
    }
    return true;
  }

  seesNewline() {
    return this.bytes[this.at] === 13 && this.bytes[this.at + 1] === 10;
  }

  skipNewline() {
    if (!this.seesNewline()) throw this.fail("a line does not end with CRLF");
    this.at += 2;
  }

  skipBlanks() {
    while (this.bytes[this.at] === 32 || this.bytes[this.at] === 9) this.at++;
  }

  /** Takes what stands before the next of three bytes, one line at most. */
  until(a, b) {
    const from = this.at;
    while (this.at < this.size) {
      const c = this.bytes[this.at];
      if (c === 13 || c === 10 || c === a || c === b) break;
      this.at++;
    }
    return viewBytes(this.bytes, from, this.at);
  }

  /** Takes the content up to the next delimiter, a CRLF included. */
  content(delimiter) {
    const from = this.at;
    let at = from;
    for (;;) {
      at = TypedArrayPrototypeIndexOf(this.bytes, 13, at);
      if (at === -1) throw this.fail("a part has no end");
      if (this.sees(delimiter, at)) break;
      at++;
    }
    this.at = at;
    return viewBytes(this.bytes, from, at);
  }
}

function latin1Lower(bytes) {
  let s = native_latin1_decode(bytes);
  while (s.length > 0 && (s[s.length - 1] === " " || s[s.length - 1] === "\t")) s = StringPrototypeSlice(s, 0, -1);
  return StringPrototypeToLowerCase(s);
}

// https://andreubotella.github.io/multipart-form-data/#parse-a-multipart-form-data-name
function unescapeName(bytes) {
  const s = native_utf8_decode(bytes, false, true);
  let out = "";
  let from = 0;
  for (let i = 0; i + 2 < s.length; i++) {
    if (s[i] !== "%") continue;
    const code = StringPrototypeSlice(s, i + 1, i + 3);
    const char = code === "0A" ? "\n" : code === "0D" ? "\r" : code === "22" ? '"' : "";
    if (char === "") continue;
    out += StringPrototypeSlice(s, from, i) + char;
    i += 2;
    from = i + 1;
  }
  return out + StringPrototypeSlice(s, from);
}

/**
 * Reads the value of a Content-Disposition header: form-data and parameters, in
 * any order, quoted or not (RFC 7578, section 4.2, refers to RFC 2183).
 */
function readDisposition(reader, head) {
  if (latin1Lower(reader.until(59, -1)) !== "form-data") throw reader.fail("a Content-Disposition is not form-data");
  head.name = head.filename = null;
  while (reader.bytes[reader.at] === 59) {
    reader.at++;
    reader.skipBlanks();
    const key = latin1Lower(reader.until(61, 59));
    if (reader.bytes[reader.at] !== 61) continue;
    reader.at++;
    let value;
    if (reader.bytes[reader.at] === 34) {
      reader.at++;
      value = reader.until(34, -1);
      if (reader.bytes[reader.at] !== 34) throw reader.fail("a quoted name has no end");
      reader.at++;
      reader.skipBlanks();
    } else {
      value = reader.until(59, 32);
      reader.skipBlanks();
    }
    if (key === "name") head.name = unescapeName(value);
    else if (key === "filename") head.filename = unescapeName(value);
  }
}

// https://andreubotella.github.io/multipart-form-data/#parse-multipart-form-data-headers
function readPartHeaders(reader) {
  const head = { name: null, filename: null, contentType: null };
  while (!reader.seesNewline()) {
    const name = latin1Lower(reader.until(58, -1));
    if (name === "" || reader.bytes[reader.at] !== 58) throw reader.fail("a part has a bad header");
    reader.at++;
    reader.skipBlanks();
    if (name === "content-disposition") {
      readDisposition(reader, head);
    } else {
      const value = reader.until(-1, -1);
      if (name === "content-type") head.contentType = trimBlanksEnd(native_latin1_decode(value));
    }
    reader.skipNewline();
  }
  reader.at += 2;
  if (head.name === null) throw reader.fail("a part has no name");
  return head;
}

function trimBlanksEnd(s) {
  let to = s.length;
  while (to > 0 && (s[to - 1] === " " || s[to - 1] === "\t")) to--;
  return StringPrototypeSlice(s, 0, to);
}

function isASCII(s) {
  for (let i = 0; i < s.length; i++) {
    if (StringPrototypeCharCodeAt(s, i) > 0x7f) return false;
  }
  return true;
}

/**
 * Parses multipart/form-data. Line ends before the first and after the last
 * delimiter are accepted.
 * https://andreubotella.github.io/multipart-form-data/#multipart-form-data-parser
 * @param {Uint8Array} bytes
 * @param {string} boundary
 * @returns {FormData}
 */
export function parseMultipart(bytes, boundary) {
  const reader = new MultipartReader(bytes);
  const delimiter = native_utf8_encode(`\r\n--${boundary}`);
  const first = native_utf8_encode(`--${boundary}`);
  const formData = new FormData();
  while (reader.seesNewline()) reader.at += 2;
  for (;;) {
    if (!reader.sees(first)) throw reader.fail("the boundary is missing");
    reader.at += TypedArrayPrototypeGetByteLength(first);
    if (reader.bytes[reader.at] === 45 && reader.bytes[reader.at + 1] === 45) {
      reader.at += 2;
      while (reader.seesNewline()) reader.at += 2;
      if (reader.at === reader.size) return formData;
      throw reader.fail("something follows the last boundary");
    }
    reader.skipNewline();
    const head = readPartHeaders(reader);
    const content = reader.content(delimiter);
    let value;
    if (head.filename === null) {
      value = native_utf8_decode(content, false, true);
    } else {
      const type = head.contentType ?? "text/plain";
      value = fileFromBytes(content, isASCII(type) ? type : "", head.filename);
    }
    ArrayPrototypePush(entriesOf(formData), [head.name, value]);
    reader.skipNewline();
  }
}
