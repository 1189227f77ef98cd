// Fetch, bodies: https://fetch.spec.whatwg.org/#bodies and #body-mixin
// Public: none (the members of Body, for Request and Response). Ops: none.
//
// A body is one of: a string, bytes, a resource of the host (handle), or a
// stream. The stream object is made when script asks for it, so that a body
// which is read whole, or passed on, never becomes one.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { blobFromBytes, bytesOfBlob, copyBytes, isBlob, streamOfBytes, typeOfBlob } from "edge:blob";
import { formDataFromEntries, isFormData, parseMultipart, serializeMultipart } from "edge:formdata";
import { extractMIMEType, serializeMIMEType } from "edge:mimetype";
import { acquireDefaultReader, cancelStream } from "edge:streams_readable_core";
import { markHandled } from "edge:streams_queue";
import { isReadableStream, streamState, teeStreamForBody } from "edge:streams_readable";
import {
  cancelHostBody,
  errorHostStream,
  hostStream,
  pumpToHost,
  readAllBytes,
  readHostBody,
  takeStreamHandle,
} from "edge:streams_host";
import { entriesOfURLSearchParams, isURLSearchParams, parseUrlencoded, serializeUrlencoded } from "edge:url";
import { native_utf8_decode, native_utf8_encode } from "edge:ops";

const {
  ArrayBufferPrototypeGetByteLength,
  JSONParse,
  ObjectDefineProperties,
  ObjectGetOwnPropertyDescriptors,
  PromisePrototypeThen,
  PromiseReject,
  PromiseResolve,
  StringPrototypeCharCodeAt,
  StringPrototypeSlice,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  Uint8Array,
} = primordials;

/** A body on its way to the host: what the ops take. */
export const kindNone = 0;
export const kindText = 1;
export const kindBytes = 2;
export const kindHandle = 3;
export const kindStream = 4;

// https://fetch.spec.whatwg.org/#concept-body
export class Body {
  /** The whole content, null when it is elsewhere. @type {string | Uint8Array | null} */
  source;
  /** The resource that has the content, 0 for none. */
  handle;
  /** Bytes, -1 when unknown. */
  size;
  /** @type {ReadableStream | null} */
  stream;
  /** The Content-Type that goes with it, null for none. @type {string | null} */
  type = null;
  /** It was read, sent or moved without a stream. */
  used = false;
  /** Another body has the same source, so its bytes go to nobody. */
  shared = false;
  /** It was aborted; reason says why. */
  aborted = false;
  reason = undefined;

  /** Called when the body was used whole, and nothing can abort it any more. @type {(() => void) | null} */
  onSpent = null;

  constructor(source, handle, size, stream) {
    this.source = source;
    this.handle = handle;
    this.size = size;
    this.stream = stream;
  }

  spend() {
    this.used = true;
    this.onSpent?.();
  }
}

/**
 * Makes a body of its whole content, which belongs to it.
 * @param {string | Uint8Array} source
 */
export function bodyFromSource(source) {
  return new Body(source, 0, typeof source === "string" ? -1 : TypedArrayPrototypeGetByteLength(source), null);
}

/**
 * Makes a body of a resource of the host.
 * @param {number} handle
 * @param {number} size bytes, -1 when unknown
 */
export function bodyFromHandle(handle, size) {
  return new Body(null, handle, size, null);
}

/**
 * Converts a BodyInit that is neither null nor undefined.
 * https://fetch.spec.whatwg.org/#bodyinit
 */
export function convertBodyInit(V, prefix, context) {
  if (typeof V === "string") return webidl.converters.USVString(V, prefix, context);
  if (typeof V === "object") {
    if (isReadableStream(V) || isBlob(V) || isFormData(V) || isURLSearchParams(V)) return V;
    if (webidl.isBufferSource(V)) return webidl.converters.BufferSource(V, prefix, context);
  }
  return webidl.converters.USVString(V, prefix, context);
}

/**
 * Extracts the body of a converted BodyInit, its type included.
 * https://fetch.spec.whatwg.org/#concept-bodyinit-extract
 * @param {string | object} object
 * @param {boolean} [keepalive]
 * @returns {Body}
 */
export function extractBody(object, keepalive = false) {
  let body;
  if (typeof object === "string") {
    body = bodyFromSource(object);
    body.type = "text/plain;charset=UTF-8";
  } else if (isReadableStream(object)) {
    if (keepalive) throw new TypeError("A request with keepalive cannot have a ReadableStream as its body");
    const state = streamState(object);
    if (state.disturbed || state.reader !== null) {
      throw new TypeError("The body is a ReadableStream that is locked or was read");
    }
    body = new Body(null, 0, -1, object);
  } else if (isBlob(object)) {
    body = bodyFromSource(bytesOfBlob(object));
    body.shared = true;
    if (typeOfBlob(object) !== "") body.type = typeOfBlob(object);
  } else if (isFormData(object)) {
    const { bytes, boundary } = serializeMultipart(object);
    body = bodyFromSource(bytes);
    body.type = `multipart/form-data; boundary=${boundary}`;
  } else if (isURLSearchParams(object)) {
    body = bodyFromSource(serializeUrlencoded(entriesOfURLSearchParams(object)));
    body.type = "application/x-www-form-urlencoded;charset=UTF-8";
  } else {
    body = bodyFromSource(copyBytes(object));
  }
  return body;
}

/** A stream that was read to its end and stays locked. */
function spentStream() {
  const stream = streamOfBytes(new Uint8Array(0));
  const state = streamState(stream);
  state.disturbed = true;
  acquireDefaultReader(state);
  return stream;
}

/**
 * Gives a body's stream, made when there is none yet.
 * https://fetch.spec.whatwg.org/#concept-body-stream
 * @param {Body} body
 * @returns {ReadableStream}
 */
export function streamOf(body) {
  if (body.stream !== null) return body.stream;
  if (body.used) {
    body.stream = spentStream();
  } else if (body.handle !== 0) {
    body.stream = hostStream(body.handle);
    body.handle = 0;
  } else {
    body.stream = streamOfBytes(typeof body.source === "string" ? native_utf8_encode(body.source) : body.source);
  }
  if (body.aborted && !body.used) errorHostStream(body.stream, body.reason);
  return body.stream;
}

/**
 * https://fetch.spec.whatwg.org/#dom-body-bodyused
 * @param {Body | null} body
 */
export function isDisturbed(body) {
  return body !== null && (body.used || (body.stream !== null && streamState(body.stream).disturbed));
}

/**
 * https://fetch.spec.whatwg.org/#body-unusable
 * @param {Body | null} body
 */
export function isUnusable(body) {
  if (body === null) return false;
  if (body.used) return true;
  if (body.stream === null) return false;
  const state = streamState(body.stream);
  return state.disturbed || state.reader !== null;
}

/**
 * Clones a body that is not unusable.
 * https://fetch.spec.whatwg.org/#concept-body-clone
 * @param {Body | null} body
 * @returns {Body | null}
 */
export function cloneBody(body) {
  if (body === null) return null;
  if (body.stream === null && body.source !== null) {
    body.shared = true;
    const copy = bodyFromSource(body.source);
    copy.shared = true;
    copy.size = body.size;
    return copy;
  }
  const { 0: first, 1: second } = teeStreamForBody(streamOf(body));
  body.stream = first;
  const copy = new Body(body.source, 0, body.size, second);
  copy.shared = body.shared = true;
  return copy;
}

/**
 * Moves what a body holds to a new body and leaves it used, as when a Request is
 * made from another.
 * https://streams.spec.whatwg.org/#readablestream-create-a-proxy
 * @param {Body} body not unusable
 * @returns {Body}
 */
export function moveBody(body) {
  const { stream } = body;
  if (stream === null) {
    const moved = new Body(body.source, body.handle, body.size, null);
    moved.shared = body.shared;
    moved.aborted = body.aborted;
    moved.reason = body.reason;
    body.used = true;
    body.source = null;
    body.handle = 0;
    return moved;
  }
  const handle = takeStreamHandle(stream);
  if (handle !== 0) return new Body(null, handle, body.size, null);
  const { 0: proxy, 1: rest } = teeStreamForBody(stream);
  streamState(stream).disturbed = true;
  markHandled(cancelStream(streamState(rest), undefined));
  return new Body(body.source, 0, body.size, proxy);
}

/**
 * Reads a body that is not unusable to its end.
 * https://fetch.spec.whatwg.org/#body-fully-read
 * @param {Body} body
 * @returns {Promise<Uint8Array>} bytes that belong to the caller
 */
function readAll(body) {
  if (body.stream !== null) return readAllBytes(body.stream);
  body.used = true;
  if (body.aborted) return PromiseReject(body.reason);
  return PromisePrototypeThen(readHostBody(body.handle), (bytes) => {
    body.onSpent?.();
    return bytes;
  }, (error) => {
    throw body.aborted ? body.reason : error;
  });
}

/**
 * Ends a body whose fetch or request was aborted.
 * https://fetch.spec.whatwg.org/#abort-fetch
 * @param {Body | null} body
 * @param {any} reason
 */
export function abortBody(body, reason) {
  if (body === null || body.aborted) return;
  body.aborted = true;
  body.reason = reason;
  if (body.stream !== null) errorHostStream(body.stream, reason);
  else if (body.handle !== 0) cancelHostBody(body.handle);
}

/**
 * Cancels the body of a request that is not sent, or not any further.
 * https://fetch.spec.whatwg.org/#abort-fetch
 * @param {Body | null} body
 * @param {any} reason
 */
export function cancelBody(body, reason) {
  if (body === null) return;
  if (body.stream !== null) markHandled(cancelStream(streamState(body.stream), reason));
  else if (body.handle !== 0) cancelHostBody(body.handle);
}

/**
 * Hands a body that is not unusable to the host.
 * @param {Body | null} body
 * @returns {{kind: number, value: string | Uint8Array | number | undefined, size: number, done: Promise<void> | null}}
 *   done is settled when a stream was sent, for kindStream only
 */
export function sendBody(body) {
  if (body === null) return nothing;
  const { stream } = body;
  if (stream === null) {
    body.used = true;
    if (body.handle !== 0) return { kind: kindHandle, value: body.handle, size: body.size, done: null };
    return { kind: typeof body.source === "string" ? kindText : kindBytes, value: body.source, size: body.size, done: null };
  }
  const handle = takeStreamHandle(stream);
  if (handle !== 0) return { kind: kindHandle, value: handle, size: body.size, done: null };
  const { handle: pumped, done } = pumpToHost(stream);
  return { kind: kindStream, value: pumped, size: body.size, done };
}
const nothing = { __proto__: null, kind: kindNone, value: undefined, size: 0, done: null };

// What a whole body becomes. source is a string or bytes; owned says that the
// bytes may be handed out.

function toBytes(source, owned) {
  if (typeof source === "string") return native_utf8_encode(source);
  const whole = ArrayBufferPrototypeGetByteLength(TypedArrayPrototypeGetBuffer(source)) === TypedArrayPrototypeGetByteLength(source);
  return owned && whole ? source : copyBytes(source);
}

function toArrayBuffer(source, owned) {
  return TypedArrayPrototypeGetBuffer(toBytes(source, owned));
}

// https://encoding.spec.whatwg.org/#utf-8-decode
function toText(source) {
  if (typeof source !== "string") return native_utf8_decode(source, false, false);
  return StringPrototypeCharCodeAt(source, 0) === 0xfeff ? StringPrototypeSlice(source, 1) : source;
}

// https://infra.spec.whatwg.org/#parse-json-bytes-to-a-javascript-value
function toJSON(source) {
  return JSONParse(toText(source));
}

function toBlob(source, owned, contentType) {
  const mimeType = extractMIMEType(contentType);
  return blobFromBytes(toBytes(source, owned), mimeType === null ? "" : serializeMIMEType(mimeType));
}

// https://fetch.spec.whatwg.org/#dom-body-formdata
function toFormData(source, owned, contentType) {
  const mimeType = extractMIMEType(contentType);
  switch (mimeType?.essence) {
    case "multipart/form-data": {
      const boundary = mimeType.parameters.get("boundary");
      if (boundary === undefined) throw new TypeError("The Content-Type multipart/form-data has no boundary");
      return parseMultipart(toBytes(source, owned), boundary);
    }
    case "application/x-www-form-urlencoded":
      return formDataFromEntries(parseUrlencoded(source));
  }
  throw new TypeError(
    `The body is no form: its Content-Type is ${contentType === null ? "missing" : `'${contentType}'`}, ` +
      "and multipart/form-data and application/x-www-form-urlencoded can be read",
  );
}

/**
 * https://fetch.spec.whatwg.org/#concept-body-consume-body
 */
function consume(object, slots, convert) {
  try {
    const body = slots.body(object);
    if (body === null) return PromiseResolve(convert("", true, slots.contentType(object)));
    if (isUnusable(body)) return PromiseReject(new TypeError("The body was already read, or it is locked"));
    const { source } = body;
    if (body.stream === null && source !== null) {
      if (body.aborted) return PromiseReject(body.reason);
      body.spend();
      body.source = null;
      return PromiseResolve(convert(source, !body.shared, slots.contentType(object)));
    }
    return PromisePrototypeThen(readAll(body), (bytes) => convert(bytes, true, slots.contentType(object)));
  } catch (error) {
    return PromiseReject(error);
  }
}

/**
 * Puts the members of Body on a prototype.
 * @param {object} prototype
 * @param {{body: (o: object) => Body | null, contentType: (o: object) => string | null}} slots
 *   body throws a TypeError for an object of another class
 */
export function mixinBody(prototype, slots) {
  const members = {
    // https://fetch.spec.whatwg.org/#dom-body-body
    get body() {
      const body = slots.body(this);
      return body === null ? null : streamOf(body);
    },
    // https://fetch.spec.whatwg.org/#dom-body-bodyused
    get bodyUsed() {
      return isDisturbed(slots.body(this));
    },
    // https://fetch.spec.whatwg.org/#dom-body-arraybuffer
    arrayBuffer() {
      return consume(this, slots, toArrayBuffer);
    },
    // https://fetch.spec.whatwg.org/#dom-body-blob
    blob() {
      return consume(this, slots, toBlob);
    },
    // https://fetch.spec.whatwg.org/#dom-body-bytes
    bytes() {
      return consume(this, slots, toBytes);
    },
    // https://fetch.spec.whatwg.org/#dom-body-formdata
    formData() {
      return consume(this, slots, toFormData);
    },
    // https://fetch.spec.whatwg.org/#dom-body-json
    json() {
      return consume(this, slots, toJSON);
    },
    // https://fetch.spec.whatwg.org/#dom-body-text
    text() {
      return consume(this, slots, toText);
    },
  };
  ObjectDefineProperties(prototype, ObjectGetOwnPropertyDescriptors(members));
}
