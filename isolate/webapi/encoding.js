// Encoding Standard, the API: https://encoding.spec.whatwg.org/#api
// Public: TextEncoder, TextDecoder. Ops: op_encoding_name, op_encoding_decode
// (native_utf8_*).
//
// UTF-8 is done by the engine, UTF-16 here, every other encoding by the op. A
// stream's incomplete character is kept here and put before the next chunk.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { native_utf8_decode, native_utf8_encode, native_utf8_encode_into, op_encoding_decode, op_encoding_name } from "edge:ops";

const {
  ArrayBufferIsView,
  DataViewPrototypeGetBuffer,
  DataViewPrototypeGetByteLength,
  DataViewPrototypeGetByteOffset,
  MathMin,
  RangeError,
  ReflectApply,
  StringFromCharCode,
  StringPrototypeCharCodeAt,
  StringPrototypeIsWellFormed,
  StringPrototypeSlice,
  StringPrototypeToWellFormed,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag,
  TypedArrayPrototypeSet,
  TypedArrayPrototypeSlice,
  TypedArrayPrototypeSubarray,
  Uint32Array,
  Uint8Array,
} = primordials;

// https://webidl.spec.whatwg.org/#AllowSharedBufferSource
const allowShared = { allowShared: true };

/**
 * Gives the bytes of an ArrayBuffer or a view, without a copy.
 * @param {BufferSource} source
 * @returns {Uint8Array}
 */
export function bytesOfBufferSource(source) {
  if (!ArrayBufferIsView(source)) return new Uint8Array(source);
  const tag = TypedArrayPrototypeGetSymbolToStringTag(source);
  if (tag === "Uint8Array") return source;
  if (tag !== undefined) {
    return new Uint8Array(
      TypedArrayPrototypeGetBuffer(source),
      TypedArrayPrototypeGetByteOffset(source),
      TypedArrayPrototypeGetByteLength(source),
    );
  }
  return new Uint8Array(DataViewPrototypeGetBuffer(source), DataViewPrototypeGetByteOffset(source), DataViewPrototypeGetByteLength(source));
}

// Where native_utf8_encode_into leaves what it read and wrote.
const progress = new Uint32Array(2);

// https://encoding.spec.whatwg.org/#interface-textencoder
export class TextEncoder {
  #brand;

  constructor() {}

  // https://encoding.spec.whatwg.org/#dom-textencoder-encoding
  get encoding() {
    this.#brand;
    return "utf-8";
  }

  // https://encoding.spec.whatwg.org/#dom-textencoder-encode
  encode(input = "") {
    this.#brand;
    if (typeof input !== "string") input = webidl.converters.DOMString(input, "Failed to execute 'encode' on 'TextEncoder'", "Argument 1");
    return native_utf8_encode(input);
  }

  // https://encoding.spec.whatwg.org/#dom-textencoder-encodeinto
  encodeInto(source, destination) {
    this.#brand;
    const prefix = "Failed to execute 'encodeInto' on 'TextEncoder'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    source = webidl.converters.DOMString(source, prefix, "Argument 1");
    destination = webidl.converters.Uint8Array(destination, prefix, "Argument 2", allowShared);
    native_utf8_encode_into(source, destination, progress);
    return { read: progress[0], written: progress[1] };
  }
}
webidl.configureInterface(TextEncoder);

// https://encoding.spec.whatwg.org/#textdecoderoptions
const convertDecoderOptions = webidl.createDictionaryConverter("TextDecoderOptions", [
  { key: "fatal", converter: webidl.converters.boolean, defaultValue: () => false },
  { key: "ignoreBOM", converter: webidl.converters.boolean, defaultValue: () => false },
]);
// https://encoding.spec.whatwg.org/#textdecodeoptions
const convertDecodeOptions = webidl.createDictionaryConverter("TextDecodeOptions", [
  { key: "stream", converter: webidl.converters.boolean, defaultValue: () => false },
]);

function invalidData(encoding) {
  return new TypeError(`The encoded data was not valid for encoding ${encoding}`);
}

/**
 * Counts the bytes at the end that may begin a character which the next chunk
 * completes.
 * @param {Uint8Array} bytes
 */
function incompleteUtf8(bytes) {
  const length = TypedArrayPrototypeGetByteLength(bytes);
  for (let back = 1; back <= 3 && back <= length; back++) {
    const lead = bytes[length - back];
    if (lead < 0x80) return 0;
    if (lead < 0xc0) continue;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    const need = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (need <= back) return 0;
    if (back === 1) return 1;
    // The second byte may already rule the sequence out.
    const second = bytes[length - back + 1];
    const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high ? back : 0;
  }
  return 0;
}

/**
 * Makes a string of code units.
 * @param {Uint8Array} bytes of even length
 * @param {boolean} bigEndian
 */
function decodeUnits(bytes, bigEndian) {
  const length = TypedArrayPrototypeGetByteLength(bytes);
  const high = bigEndian ? 0 : 1;
  let text = "";
  for (let at = 0; at < length;) {
    const end = MathMin(at + 8192, length);
    const units = [];
    for (let i = 0; at < end; at += 2) units[i++] = (bytes[at + high] << 8) | bytes[at + 1 - high];
    text += ReflectApply(StringFromCharCode, undefined, units);
  }
  return text;
}

function endsInLeadSurrogate(text) {
  if (text.length === 0) return false;
  const last = StringPrototypeCharCodeAt(text, text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

// https://encoding.spec.whatwg.org/#shared-utf-16-decoder
function decodeUtf16(bytes, bigEndian, stream) {
  const length = TypedArrayPrototypeGetByteLength(bytes);
  const odd = length % 2;
  let text = decodeUnits(odd === 0 ? bytes : TypedArrayPrototypeSubarray(bytes, 0, length - 1), bigEndian);
  let rest = odd;
  if (endsInLeadSurrogate(text) && (stream || odd === 1)) {
    text = StringPrototypeSlice(text, 0, -1);
    rest += 2;
  }
  // At the end all that is incomplete is one error.
  if (!stream && rest > 0) text += "\ud800";
  return { text, rest };
}

// https://encoding.spec.whatwg.org/#interface-textdecoder
export class TextDecoder {
  #encoding = "utf-8";
  #fatal = false;
  #ignoreBOM = false;
  // The state of a stream. https://encoding.spec.whatwg.org/#textdecodercommon
  #streaming = false;
  #bomSeen = false;
  /** @type {Uint8Array | undefined} bytes of an incomplete character */
  #pending = undefined;
  #state = 0;

  // https://encoding.spec.whatwg.org/#dom-textdecoder
  constructor(label = "utf-8", options = undefined) {
    const prefix = "Failed to construct 'TextDecoder'";
    if (label !== "utf-8") {
      label = webidl.converters.DOMString(label, prefix, "Argument 1");
      this.#encoding = getEncoding(label);
      if (this.#encoding === "" || this.#encoding === "replacement") {
        throw new RangeError(`${prefix}: The encoding label provided ('${label}') is invalid.`);
      }
    }
    if (options !== undefined) {
      const { fatal, ignoreBOM } = convertDecoderOptions(options, prefix, "Argument 2");
      this.#fatal = fatal;
      this.#ignoreBOM = ignoreBOM;
    }
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-encoding
  get encoding() {
    return this.#encoding;
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-fatal
  get fatal() {
    return this.#fatal;
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-ignorebom
  get ignoreBOM() {
    return this.#ignoreBOM;
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-decode
  decode(input = undefined, options = undefined) {
    const prefix = "Failed to execute 'decode' on 'TextDecoder'";
    const encoding = this.#encoding;
    if (input !== undefined) input = webidl.converters.BufferSource(input, prefix, "Argument 1", allowShared);
    const stream = options !== undefined && convertDecodeOptions(options, prefix, "Argument 2").stream;
    if (!stream && !this.#streaming && encoding === "utf-8") {
      return input === undefined ? "" : native_utf8_decode(input, this.#fatal, this.#ignoreBOM);
    }
    if (!this.#streaming) this.#reset();
    this.#streaming = stream;
    const bytes = this.#takePending(input);
    let text;
    if (encoding === "utf-8") text = this.#decodeUtf8(bytes, stream);
    else if (encoding === "utf-16le" || encoding === "utf-16be") text = this.#decodeUtf16(bytes, stream);
    else text = this.#decodeLegacy(bytes, stream);
    if (!stream) this.#reset();
    return text;
  }

  #reset() {
    this.#bomSeen = false;
    this.#pending = undefined;
    this.#state = 0;
  }

  // Joins what the last chunk left and the new one.
  #takePending(input) {
    const bytes = input === undefined ? new Uint8Array(0) : bytesOfBufferSource(input);
    const pending = this.#pending;
    if (pending === undefined) return bytes;
    this.#pending = undefined;
    const length = TypedArrayPrototypeGetByteLength(pending);
    const joined = new Uint8Array(length + TypedArrayPrototypeGetByteLength(bytes));
    TypedArrayPrototypeSet(joined, pending);
    TypedArrayPrototypeSet(joined, bytes, length);
    return joined;
  }

  // Keeps the last bytes for the next chunk and returns the others.
  #split(bytes, rest) {
    if (rest === 0) return bytes;
    const end = TypedArrayPrototypeGetByteLength(bytes) - rest;
    this.#pending = TypedArrayPrototypeSlice(bytes, end);
    return TypedArrayPrototypeSubarray(bytes, 0, end);
  }

  #decodeUtf8(bytes, stream) {
    if (stream) bytes = this.#split(bytes, incompleteUtf8(bytes));
    const text = native_utf8_decode(bytes, this.#fatal, this.#ignoreBOM || this.#bomSeen);
    if (TypedArrayPrototypeGetByteLength(bytes) > 0) this.#bomSeen = true;
    return text;
  }

  #decodeUtf16(bytes, stream) {
    let { text, rest } = decodeUtf16(bytes, this.#encoding === "utf-16be", stream);
    if (stream) this.#split(bytes, rest);
    if (!StringPrototypeIsWellFormed(text)) {
      if (this.#fatal) throw invalidData(this.#encoding);
      text = StringPrototypeToWellFormed(text);
    }
    if (text.length === 0 || this.#bomSeen) return text;
    // https://encoding.spec.whatwg.org/#concept-td-serialize
    this.#bomSeen = true;
    return !this.#ignoreBOM && StringPrototypeCharCodeAt(text, 0) === 0xfeff ? StringPrototypeSlice(text, 1) : text;
  }

  #decodeLegacy(bytes, stream) {
    const result = op_encoding_decode(this.#encoding, bytes, this.#fatal, stream, this.#state);
    this.#split(bytes, result[1]);
    this.#state = result[2];
    return result[0];
  }
}
webidl.configureInterface(TextDecoder);

/**
 * Gets an encoding's lower-case name from a label, "" when there is none.
 * https://encoding.spec.whatwg.org/#concept-encoding-get
 * @param {string} label
 * @returns {string}
 */
export function getEncoding(label) {
  return label === "utf-8" || label === "utf8" || label === "UTF-8" ? "utf-8" : op_encoding_name(label);
}
