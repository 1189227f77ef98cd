// File API, Blob and File: https://w3c.github.io/FileAPI/
// Public: Blob, File. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { ReadableStream } from "edge:streams_readable";
import { registerSerializable } from "edge:structured_clone";
import { native_utf8_decode, native_utf8_encode } from "edge:ops";

const {
  ArrayBufferIsView,
  ArrayBufferPrototypeGetDetached,
  ArrayPrototypePush,
  DataViewPrototypeGetBuffer,
  DataViewPrototypeGetByteLength,
  DataViewPrototypeGetByteOffset,
  MathMax,
  MathMin,
  PromiseReject,
  PromiseResolve,
  StringPrototypeCharCodeAt,
  StringPrototypeSlice,
  StringPrototypeToLowerCase,
  StringPrototypeToWellFormed,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag,
  TypedArrayPrototypeSet,
  Uint8Array,
  DateNow,
} = primordials;

/** Tells the constructor that it is called from inside. */
const kInternal = {};

/** A stream delivers a blob in pieces of this size. */
const streamChunk = 65536;

// https://w3c.github.io/FileAPI/#enumdef-endingtype
const convertEndings = webidl.createEnumConverter("EndingType", ["transparent", "native"]);

const blobMembers = [
  { key: "endings", converter: convertEndings, defaultValue: () => "transparent" },
  { key: "type", converter: webidl.converters.DOMString, defaultValue: () => "" },
];
// https://w3c.github.io/FileAPI/#dfn-BlobPropertyBag
const convertBlobPropertyBag = webidl.createDictionaryConverter("BlobPropertyBag", blobMembers);
// https://w3c.github.io/FileAPI/#dfn-FilePropertyBag
const convertFilePropertyBag = webidl.createDictionaryConverter("FilePropertyBag", blobMembers, [
  { key: "lastModified", converter: webidl.converters["long long"] },
]);

// https://w3c.github.io/FileAPI/#typedefdef-blobpart
function convertBlobPart(V, prefix, context, opts) {
  if (typeof V === "object" && V !== null) {
    if (isBlob(V)) return V;
    if (webidl.isBufferSource(V)) {
      return webidl.converters.BufferSource(V, prefix, context, opts);
    }
  }
  return webidl.converters.USVString(V, prefix, context, opts);
}
const convertBlobParts = webidl.createSequenceConverter(convertBlobPart);

/**
 * Makes a view of part of some bytes, which shares their memory.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 * @returns {Uint8Array}
 */
export function viewBytes(bytes, from, to) {
  return new Uint8Array(TypedArrayPrototypeGetBuffer(bytes), TypedArrayPrototypeGetByteOffset(bytes) + from, to - from);
}

/**
 * Copies a BufferSource. What is detached is empty.
 * @param {BufferSource} source
 * @returns {Uint8Array}
 */
export function copyBytes(source) {
  let view;
  if (!ArrayBufferIsView(source)) {
    if (ArrayBufferPrototypeGetDetached(source)) return new Uint8Array(0);
    view = new Uint8Array(source);
  } else if (TypedArrayPrototypeGetSymbolToStringTag(source) !== undefined) {
    const buffer = TypedArrayPrototypeGetBuffer(source);
    if (ArrayBufferPrototypeGetDetached(buffer)) return new Uint8Array(0);
    view = new Uint8Array(buffer, TypedArrayPrototypeGetByteOffset(source), TypedArrayPrototypeGetByteLength(source));
  } else {
    const buffer = DataViewPrototypeGetBuffer(source);
    if (ArrayBufferPrototypeGetDetached(buffer)) return new Uint8Array(0);
    view = new Uint8Array(buffer, DataViewPrototypeGetByteOffset(source), DataViewPrototypeGetByteLength(source));
  }
  const copy = new Uint8Array(TypedArrayPrototypeGetByteLength(view));
  TypedArrayPrototypeSet(copy, view);
  return copy;
}

/**
 * Joins pieces; one alone is returned as it is.
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array}
 */
export function concatBytes(parts) {
  if (parts.length === 1) return parts[0];
  let size = 0;
  for (let i = 0; i < parts.length; i++) size += TypedArrayPrototypeGetByteLength(parts[i]);
  const out = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < parts.length; i++) {
    TypedArrayPrototypeSet(out, parts[i], at);
    at += TypedArrayPrototypeGetByteLength(parts[i]);
  }
  return out;
}

/**
 * The native line ending is LF.
 * https://w3c.github.io/FileAPI/#convert-line-endings-to-native
 * @param {string} s
 */
function convertLineEndings(s) {
  let out = "";
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    if (StringPrototypeCharCodeAt(s, i) !== 13) continue;
    out += StringPrototypeSlice(s, from, i) + "\n";
    if (StringPrototypeCharCodeAt(s, i + 1) === 10) i++;
    from = i + 1;
  }
  return from === 0 ? s : out + StringPrototypeSlice(s, from);
}

/**
 * https://w3c.github.io/FileAPI/#process-blob-parts
 * @returns {Uint8Array}
 */
function processBlobParts(parts, endings) {
  const pieces = [];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (typeof part === "string") {
      ArrayPrototypePush(pieces, native_utf8_encode(endings === "native" ? convertLineEndings(part) : part));
    } else {
      ArrayPrototypePush(pieces, isBlob(part) ? bytesOfBlob(part) : copyBytes(part));
    }
  }
  return concatBytes(pieces);
}

// https://w3c.github.io/FileAPI/#ref-for-dfn-type-1
function normalizeType(type) {
  for (let i = 0; i < type.length; i++) {
    const c = StringPrototypeCharCodeAt(type, i);
    if (c < 0x20 || c > 0x7e) return "";
  }
  return StringPrototypeToLowerCase(type);
}

/** @type {(v: object) => boolean} */
export let isBlob;
/** Gives the bytes of a blob, which must not be changed nor handed to user code. @type {(b: Blob) => Uint8Array} */
export let bytesOfBlob;
/** @type {(b: Blob) => string} */
export let typeOfBlob;

function illegalInvocation() {
  return new TypeError("Illegal invocation");
}

// https://w3c.github.io/FileAPI/#blob-section
export class Blob {
  /** @type {Uint8Array} */
  #bytes;
  #type;

  static {
    isBlob = (v) => #bytes in v;
    bytesOfBlob = (b) => b.#bytes;
    typeOfBlob = (b) => b.#type;
  }

  // https://w3c.github.io/FileAPI/#constructorBlob
  constructor(blobParts = undefined, options = undefined) {
    if (blobParts === kInternal) {
      this.#bytes = arguments[1];
      this.#type = arguments[2];
      return;
    }
    const prefix = "Failed to construct 'Blob'";
    const parts = blobParts === undefined ? [] : convertBlobParts(blobParts, prefix, "Argument 1");
    const bag = convertBlobPropertyBag(options, prefix, "Argument 2");
    this.#bytes = processBlobParts(parts, bag.endings);
    this.#type = normalizeType(bag.type);
  }

  // https://w3c.github.io/FileAPI/#dfn-size
  get size() {
    return TypedArrayPrototypeGetByteLength(this.#bytes);
  }

  // https://w3c.github.io/FileAPI/#dfn-type
  get type() {
    return this.#type;
  }

  // https://w3c.github.io/FileAPI/#dfn-slice
  slice(start = undefined, end = undefined, contentType = undefined) {
    if (!(#bytes in this)) throw illegalInvocation();
    const prefix = "Failed to execute 'slice' on 'Blob'";
    const size = TypedArrayPrototypeGetByteLength(this.#bytes);
    const clamp = { clamp: true };
    start = start === undefined ? 0 : webidl.converters["long long"](start, prefix, "Argument 1", clamp);
    end = end === undefined ? size : webidl.converters["long long"](end, prefix, "Argument 2", clamp);
    const type = contentType === undefined ? "" : webidl.converters.DOMString(contentType, prefix, "Argument 3");
    const from = start < 0 ? MathMax(size + start, 0) : MathMin(start, size);
    const to = end < 0 ? MathMax(size + end, 0) : MathMin(end, size);
    const bytes = viewBytes(this.#bytes, from, MathMax(from, to));
    return new Blob(kInternal, bytes, normalizeType(type));
  }

  // https://w3c.github.io/FileAPI/#dfn-stream
  stream() {
    if (!(#bytes in this)) throw illegalInvocation();
    return streamOfBytes(this.#bytes);
  }

  // https://w3c.github.io/FileAPI/#dom-blob-text
  text() {
    if (!(#bytes in this)) return PromiseReject(illegalInvocation());
    return PromiseResolve(native_utf8_decode(this.#bytes, false, false));
  }

  // https://w3c.github.io/FileAPI/#dom-blob-arraybuffer
  arrayBuffer() {
    if (!(#bytes in this)) return PromiseReject(illegalInvocation());
    return PromiseResolve(TypedArrayPrototypeGetBuffer(copyBytes(this.#bytes)));
  }

  // https://w3c.github.io/FileAPI/#dom-blob-bytes
  bytes() {
    if (!(#bytes in this)) return PromiseReject(illegalInvocation());
    return PromiseResolve(copyBytes(this.#bytes));
  }
}
webidl.configureInterface(Blob);

/** @type {(v: object) => boolean} */
export let isFile;
/** @type {(f: File) => string} */
export let nameOfFile;
/** @type {(f: File) => number} */
export let lastModifiedOfFile;

// https://w3c.github.io/FileAPI/#file-section
export class File extends Blob {
  #name;
  #lastModified;

  static {
    isFile = (v) => #name in v;
    nameOfFile = (f) => f.#name;
    lastModifiedOfFile = (f) => f.#lastModified;
  }

  // https://w3c.github.io/FileAPI/#file-constructor
  constructor(fileBits, fileName, options = undefined) {
    if (fileBits === kInternal) {
      super(kInternal, arguments[1], arguments[2]);
      this.#name = arguments[3];
      this.#lastModified = arguments[4];
      return;
    }
    const prefix = "Failed to construct 'File'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    const parts = convertBlobParts(fileBits, prefix, "Argument 1");
    const name = webidl.converters.USVString(fileName, prefix, "Argument 2");
    const bag = convertFilePropertyBag(options, prefix, "Argument 3");
    super(kInternal, processBlobParts(parts, bag.endings), normalizeType(bag.type));
    this.#name = name;
    this.#lastModified = bag.lastModified === undefined ? DateNow() : bag.lastModified;
  }

  // https://w3c.github.io/FileAPI/#dfn-name
  get name() {
    return this.#name;
  }

  // https://w3c.github.io/FileAPI/#dfn-lastModified
  get lastModified() {
    return this.#lastModified;
  }
}
webidl.configureInterface(File);

/**
 * Makes a Blob over bytes that nobody changes any more.
 * @param {Uint8Array} bytes
 * @param {string} type kept as it is
 */
export function blobFromBytes(bytes, type) {
  return new Blob(kInternal, bytes, type);
}

/**
 * Makes a File over bytes that nobody changes any more.
 * @param {Uint8Array} bytes
 * @param {string} type kept as it is
 * @param {string} name
 * @param {number} lastModified ms since the epoch; now when left out
 */
export function fileFromBytes(bytes, type, name, lastModified = DateNow()) {
  return new File(kInternal, bytes, type, StringPrototypeToWellFormed(name), lastModified);
}

// https://w3c.github.io/FileAPI/#file-section, its serialization steps; before
// those of Blob, which a File is too.
registerSerializable(
  isFile,
  "File",
  (f) => ({ bytes: bytesOfBlob(f), type: typeOfBlob(f), name: nameOfFile(f), lastModified: lastModifiedOfFile(f) }),
  ({ bytes, type, name, lastModified }) => fileFromBytes(bytes, type, name, lastModified),
);

// https://w3c.github.io/FileAPI/#blob-section, its serialization steps
registerSerializable(
  isBlob,
  "Blob",
  (b) => ({ bytes: bytesOfBlob(b), type: typeOfBlob(b) }),
  ({ bytes, type }) => blobFromBytes(bytes, type),
);

/**
 * Makes a readable byte stream that delivers copies of the bytes.
 * @param {Uint8Array} bytes
 * @returns {ReadableStream}
 */
export function streamOfBytes(bytes) {
  let at = 0;
  const size = TypedArrayPrototypeGetByteLength(bytes);
  return new ReadableStream({
    __proto__: null,
    type: "bytes",
    start(controller) {
      if (size === 0) controller.close();
    },
    pull(controller) {
      const to = MathMin(at + streamChunk, size);
      controller.enqueue(copyBytes(viewBytes(bytes, at, to)));
      at = to;
      if (at === size) controller.close();
    },
  });
}
