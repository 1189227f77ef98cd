// Streams, what all readable streams and their readers do:
// https://streams.spec.whatwg.org/#rs-abstract-ops
// Public: none. Ops: none.
//
// A stream is a StreamState. Its controller is an object with the methods
//   pullSteps(readRequest), cancelSteps(reason), releaseSteps()
// A read request is an object with a `next` field and the methods
//   chunkSteps(chunk), closeSteps(chunk), errorSteps(error)
// (chunk in closeSteps only for a reader that brings its own buffer).

import { primordials } from "edge:primordials";
import { Deferred, Fifo, LazyPromise, asPromise } from "edge:streams_queue";

const { PromiseReject, PromiseResolve, TypeError } = primordials;

export const READABLE = 0;
export const CLOSED = 1;
export const ERRORED = 2;

/** How edge:streams_readable, which comes later, is reached from here. */
export const readableClass = {
  /** @type {(V: any) => boolean} */
  is: undefined,
  /** @type {(stream: object) => StreamState} its state; throws TypeError */
  state: undefined,
};

/** The internal slots of a ReadableStream. */
export class StreamState {
  state = READABLE;
  /** @type {ReaderState | null} */
  reader = null;
  storedError = undefined;
  disturbed = false;
  /** The internal state of the controller. */
  controller = null;
  /** The Go resource that an untouched stream of the host stands for, 0 for none. */
  handle = 0;
}

/** The internal slots of a reader; also used without a public object. */
export class ReaderState {
  /** @type {StreamState | null} */
  stream = null;
  closed = new LazyPromise();
  /** Read requests, or read-into requests when byob. */
  requests = new Fifo();
  byob;
  constructor(byob) {
    this.byob = byob;
  }
}

// https://streams.spec.whatwg.org/#readable-stream-reader-generic-initialize
function initialize(reader, stream) {
  reader.stream = stream;
  stream.reader = reader;
  if (stream.state === CLOSED) reader.closed.resolve();
  else if (stream.state === ERRORED) reader.closed.reject(stream.storedError);
}

// https://streams.spec.whatwg.org/#acquire-readable-stream-reader
export function acquireDefaultReader(stream) {
  const reader = new ReaderState(false);
  setUpDefaultReader(reader, stream);
  return reader;
}

// https://streams.spec.whatwg.org/#set-up-readable-stream-default-reader
export function setUpDefaultReader(reader, stream) {
  if (stream.reader !== null) throw new TypeError("The stream is already locked to a reader");
  initialize(reader, stream);
}

// https://streams.spec.whatwg.org/#set-up-readable-stream-byob-reader
export function setUpByobReader(reader, stream) {
  if (stream.reader !== null) throw new TypeError("The stream is already locked to a reader");
  if (!stream.controller.bytes) throw new TypeError("A BYOB reader needs a stream of type 'bytes'");
  initialize(reader, stream);
}

// https://streams.spec.whatwg.org/#acquire-readable-stream-byob-reader
export function acquireByobReader(stream) {
  const reader = new ReaderState(true);
  setUpByobReader(reader, stream);
  return reader;
}

// https://streams.spec.whatwg.org/#readable-stream-close
export function closeStream(stream) {
  stream.state = CLOSED;
  const { reader } = stream;
  if (reader === null) return;
  reader.closed.resolve();
  if (reader.byob) return;
  for (let request = reader.requests.drain(); request !== null; ) {
    const { next } = request;
    request.closeSteps(undefined);
    request = next;
  }
}

// https://streams.spec.whatwg.org/#readable-stream-error
export function errorStream(stream, e) {
  stream.state = ERRORED;
  stream.storedError = e;
  const { reader } = stream;
  if (reader === null) return;
  reader.closed.reject(e);
  errorRequests(reader, e);
}

// https://streams.spec.whatwg.org/#abstract-opdef-readablestreamdefaultreadererrorreadrequests
function errorRequests(reader, e) {
  for (let request = reader.requests.drain(); request !== null; ) {
    const { next } = request;
    request.errorSteps(e);
    request = next;
  }
}

/**
 * Returns a promise.
 * @see https://streams.spec.whatwg.org/#readable-stream-cancel
 */
export function cancelStream(stream, reason) {
  stream.disturbed = true;
  if (stream.state === CLOSED) return PromiseResolve(undefined);
  if (stream.state === ERRORED) return PromiseReject(stream.storedError);
  closeStream(stream);
  const { reader } = stream;
  if (reader !== null && reader.byob) {
    for (let request = reader.requests.drain(); request !== null; ) {
      const { next } = request;
      request.closeSteps(undefined);
      request = next;
    }
  }
  return asPromise(stream.controller.cancelSteps(reason));
}

// https://streams.spec.whatwg.org/#readable-stream-default-reader-read
export function readerRead(reader, request) {
  const { stream } = reader;
  stream.disturbed = true;
  if (stream.state === CLOSED) request.closeSteps(undefined);
  else if (stream.state === ERRORED) request.errorSteps(stream.storedError);
  else stream.controller.pullSteps(request);
}

// https://streams.spec.whatwg.org/#readable-stream-byob-reader-read
export function readerReadInto(reader, view, min, request) {
  const { stream } = reader;
  stream.disturbed = true;
  if (stream.state === ERRORED) request.errorSteps(stream.storedError);
  else stream.controller.pullInto(view, min, request);
}

/**
 * Releases either kind of reader.
 * @see https://streams.spec.whatwg.org/#abstract-opdef-readablestreamdefaultreaderrelease
 */
export function releaseReader(reader) {
  const { stream } = reader;
  const e = new TypeError("The reader was released");
  // https://streams.spec.whatwg.org/#readable-stream-reader-generic-release
  if (stream.state === READABLE) reader.closed.reject(e);
  else reader.closed.rejectOrReplace(e);
  stream.controller.releaseSteps();
  stream.reader = null;
  reader.stream = null;
  errorRequests(reader, e);
}

/** @see https://streams.spec.whatwg.org/#readable-stream-get-num-read-into-requests */
export function numReadIntoRequests(stream) {
  return stream.reader !== null && stream.reader.byob ? stream.reader.requests.length : 0;
}

/**
 * Answers the first request of either kind.
 * @see https://streams.spec.whatwg.org/#readable-stream-fulfill-read-request
 */
export function fulfillRequest(stream, chunk, isDone) {
  const request = stream.reader.requests.shift();
  if (isDone) request.closeSteps(chunk);
  else request.chunkSteps(chunk);
}

/**
 * A read request whose answer is a promise for script. When it was answered
 * before anybody asked for the promise, that is an already settled one.
 */
export class PromiseRequest {
  next = null;
  deferred = null;
  state = 0; // 1 has result, 2 has error
  value = undefined;

  chunkSteps(chunk) {
    this.fulfil({ value: chunk, done: false });
  }
  closeSteps(chunk) {
    this.fulfil({ value: chunk, done: true });
  }
  errorSteps(e) {
    if (this.deferred !== null) {
      this.deferred.reject(e);
      return;
    }
    this.state = 2;
    this.value = e;
  }
  fulfil(result) {
    if (this.deferred !== null) {
      this.deferred.resolve(result);
      return;
    }
    this.state = 1;
    this.value = result;
  }
  /** The promise; called once, after the request was made. */
  take() {
    if (this.state === 1) return PromiseResolve(this.value);
    if (this.state === 2) return PromiseReject(this.value);
    this.deferred = new Deferred();
    return this.deferred.promise;
  }
}
