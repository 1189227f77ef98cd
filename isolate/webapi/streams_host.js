// Streams of the host: bodies that Go reads or writes.
// https://fetch.spec.whatwg.org/#concept-body
// Public: none. Ops: op_body_read, op_body_read_all, op_body_cancel,
// op_body_open, op_body_push, op_body_write, op_body_closed, op_body_end,
// op_body_error.
//
// A handle is the number of a Go resource. A stream over one is made when
// script asks for it and asks Go for nothing until it is read, so that a body
// which is only passed on goes from one end to the other in Go.

import { primordials } from "edge:primordials";
import { Deferred, Fifo, markHandled, noop } from "edge:streams_queue";
import { READABLE, StreamState, acquireDefaultReader, cancelStream, readerRead } from "edge:streams_readable_core";
import { ByteController } from "edge:streams_byte";
import { streamState, wrapReadable } from "edge:streams_readable";
import {
  op_body_cancel,
  op_body_closed,
  op_body_end,
  op_body_error,
  op_body_open,
  op_body_push,
  op_body_read,
  op_body_read_all,
  op_body_write,
} from "edge:ops";

const {
  ArrayIsArray,
  MathMin,
  PromisePrototypeThen,
  String,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag,
  TypedArrayPrototypeSet,
  Uint8Array,
} = primordials;

/** The most that is asked of Go at once. */
const readSize = 65536;

/** What may be sent without waiting for Go to have room. */
const sendWindow = 32768;

/** The source of a stream over a handle. */
class HostSource {
  idle = false;
  handle;
  #onRead = null;
  constructor(handle) {
    this.handle = handle;
  }

  static is(source) {
    return source !== null && #onRead in source;
  }

  pull(controller) {
    // From now on one chunk is read ahead.
    controller.highWaterMark = 1;
    this.#onRead ??= (chunk) => this.#deliver(controller, chunk);
    const first = controller.pending.head;
    const size = first === null ? readSize : MathMin(readSize, first.byteLength - first.bytesFilled);
    return PromisePrototypeThen(op_body_read(this.handle, size), this.#onRead);
  }

  #deliver(controller, chunk) {
    if (chunk !== null) {
      controller.enqueueOwned(TypedArrayPrototypeGetBuffer(chunk), TypedArrayPrototypeGetByteOffset(chunk), TypedArrayPrototypeGetByteLength(chunk));
      return;
    }
    if (controller.stream.state !== READABLE) return;
    controller.close();
    if (controller.pending.length > 0) controller.respond(0);
  }

  cancel() {
    op_body_cancel(this.handle);
  }
}

/**
 * Makes a stream of bytes that are read from a handle.
 * @param {number} handle
 * @returns {ReadableStream}
 */
export function hostStream(handle) {
  const state = new StreamState();
  state.handle = handle;
  const controller = new ByteController(state, new HostSource(handle), 0);
  controller.started = true; // there is nothing to wait for
  return wrapReadable(state);
}

/**
 * Takes the handle out of an untouched stream, which is then locked and
 * disturbed; 0 for a stream that was touched or is not the host's.
 * @param {ReadableStream} stream
 * @returns {number}
 */
export function takeStreamHandle(stream) {
  const state = streamState(stream);
  const { handle } = state;
  if (handle === 0 || state.disturbed || state.reader !== null) return 0;
  state.handle = 0;
  state.disturbed = true;
  acquireDefaultReader(state);
  return handle;
}

/**
 * Makes a stream fail, whoever reads it, and releases its handle if it has one.
 * @param {ReadableStream} stream
 * @param {any} reason
 */
export function errorHostStream(stream, reason) {
  const { state, controller } = streamState(stream);
  if (state !== READABLE) return;
  if (HostSource.is(controller.source)) controller.source.cancel();
  controller.error(reason);
}

/**
 * Releases a handle that was never read.
 * @param {number} handle
 */
export function cancelHostBody(handle) {
  op_body_cancel(handle);
}

/**
 * Reads all bytes of a handle.
 * @param {number} handle
 * @returns {Promise<Uint8Array>}
 */
export function readHostBody(handle) {
  return PromisePrototypeThen(op_body_read_all(handle), (whole) => (ArrayIsArray(whole) ? new ReadParts(handle, whole).promise : whole));
}

/**
 * Reads all bytes of a stream that is neither locked nor disturbed. A chunk that
 * is no Uint8Array is a TypeError.
 * @param {ReadableStream} stream
 * @returns {Promise<Uint8Array>} bytes that belong to the caller
 */
export function readAllBytes(stream) {
  const handle = takeStreamHandle(stream);
  return handle !== 0 ? readHostBody(handle) : new ReadAll(streamState(stream)).promise;
}

/** The TypeError of a chunk of a body that is no Uint8Array. */
function notBytes() {
  return new TypeError("A chunk of the body's stream is not a Uint8Array");
}

/** Reads every chunk that is there in a loop, as a read request does. */
class Drain {
  next = null;
  state;
  #reader;
  #reading = false;
  #goOn = false;
  constructor(state) {
    this.state = state;
    this.#reader = acquireDefaultReader(state);
  }

  /** Reads until there is nothing to read, or hold() was called. */
  read() {
    this.#goOn = true;
    if (this.#reading) return;
    this.#reading = true;
    while (this.#goOn) {
      this.#goOn = false;
      readerRead(this.#reader, this);
    }
    this.#reading = false;
  }

  chunkSteps(chunk) {
    if (TypedArrayPrototypeGetSymbolToStringTag(chunk) !== "Uint8Array") {
      const e = notBytes();
      this.errorSteps(e);
      markHandled(cancelStream(this.state, e));
      return;
    }
    if (this.chunk(chunk, TypedArrayPrototypeGetByteLength(chunk))) this.read();
  }
}

/** Bytes that come in pieces, none of which anybody else can change. */
class Parts {
  #list = new Fifo();
  #total = 0;

  add(bytes) {
    this.#list.push({ __proto__: null, next: null, bytes });
    this.#total += TypedArrayPrototypeGetByteLength(bytes);
  }

  join() {
    const list = this.#list;
    if (list.length === 1) return list.head.bytes;
    const all = new Uint8Array(this.#total);
    let at = 0;
    for (let part = list.head; part !== null; part = part.next) {
      TypedArrayPrototypeSet(all, part.bytes, at);
      at += TypedArrayPrototypeGetByteLength(part.bytes);
    }
    return all;
  }
}

/** The rest of a long body, a part at a time, so that its memory is counted. */
class ReadParts {
  #parts = new Parts();
  #handle;
  #result = new Deferred();
  constructor(handle, first) {
    this.#handle = handle;
    this.#onPart(first);
  }

  get promise() {
    return this.#result.promise;
  }

  #onPart = (answer) => {
    try {
      const goesOn = ArrayIsArray(answer);
      this.#parts.add(goesOn ? answer[0] : answer);
      if (goesOn) PromisePrototypeThen(op_body_read_all(this.#handle), this.#onPart, this.#result.reject);
      else this.#result.resolve(this.#parts.join());
    } catch (e) {
      this.#result.reject(e); // no memory for the whole
    }
  };
}

// https://streams.spec.whatwg.org/#readablestreamdefaultreader-read-all-bytes
class ReadAll extends Drain {
  #parts = new Parts();
  #result = new Deferred();

  get promise() {
    this.read();
    return this.#result.promise;
  }

  chunk(bytes, length) {
    // Copied: script may still change what it gave.
    if (length > 0) this.#parts.add(new Uint8Array(bytes));
    return true;
  }

  closeSteps() {
    try {
      this.#result.resolve(this.#parts.join());
    } catch (e) {
      this.#result.reject(e); // no memory for the whole
    }
  }

  errorSteps(e) {
    this.#result.reject(e);
  }
}

/**
 * Sends what a stream delivers to a new handle.
 * @param {ReadableStream} stream neither locked nor disturbed
 * @returns {{handle: number, done: Promise<boolean>}} done is fulfilled with true
 *   when the other side read all, with false when it went away, after which the
 *   stream was canceled; rejected with the error of the stream
 */
export function pumpToHost(stream) {
  const pump = new Pump(streamState(stream), op_body_open());
  return { __proto__: null, handle: pump.handle, done: pump.done };
}

class Pump extends Drain {
  handle;
  /** Bytes sent since Go last said that it has room. */
  #sent = 0;
  #ended = false;
  #done = new Deferred();

  constructor(state, handle) {
    super(state);
    this.handle = handle;
    PromisePrototypeThen(
      op_body_closed(handle),
      () => this.#done.resolve(true),
      (e) => this.#left(e),
    );
    this.read();
  }

  get done() {
    return this.#done.promise;
  }

  chunk(bytes, length) {
    if (length === 0) return true;
    this.#sent += length;
    if (this.#sent < sendWindow) {
      op_body_push(this.handle, bytes);
      return true;
    }
    this.#sent = 0;
    PromisePrototypeThen(op_body_write(this.handle, bytes), this.#onRoom, noop);
    return false;
  }

  #onRoom = () => {
    if (!this.#ended) this.read();
  };

  closeSteps() {
    this.#ended = true;
    op_body_end(this.handle);
  }

  errorSteps(e) {
    if (this.#ended) return;
    this.#ended = true;
    op_body_error(this.handle, textOf(e));
    this.#done.reject(e);
  }

  /** The other side went away. */
  #left(e) {
    if (!this.#ended) {
      this.#ended = true;
      markHandled(cancelStream(this.state, e));
    }
    this.#done.resolve(false);
  }
}

/** A short text for what a stream failed with, for the log. */
function textOf(e) {
  try {
    return String(e);
  } catch {
    return "unknown error";
  }
}
