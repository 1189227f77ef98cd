// Streams, byte streams: https://streams.spec.whatwg.org/#rbs-controller-class
// Public: ReadableByteStreamController, ReadableStreamBYOBRequest,
// ReadableStreamBYOBReader. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import {
  Fifo,
  bufferByteLength,
  callStart,
  cloneBytes,
  copyBytes,
  isDetached,
  kInternal,
  released,
  transferBuffer,
  viewBuffer,
  viewByteLength,
  viewByteOffset,
} from "edge:streams_queue";
import {
  CLOSED,
  ERRORED,
  PromiseRequest,
  READABLE,
  ReaderState,
  StreamState,
  cancelStream,
  closeStream,
  errorStream,
  fulfillRequest,
  numReadIntoRequests,
  readableClass,
  readerReadInto,
  releaseReader,
  setUpByobReader,
} from "edge:streams_readable_core";
import { PullingController, ScriptSource } from "edge:streams_readable_default";

const {
  ArrayBuffer,
  BigInt64Array,
  BigUint64Array,
  DataView,
  Float32Array,
  Float64Array,
  Int16Array,
  Int32Array,
  Int8Array,
  MathMin,
  PromiseReject,
  RangeError,
  TypeError,
  TypedArrayPrototypeGetLength,
  TypedArrayPrototypeGetSymbolToStringTag,
  Uint16Array,
  Uint32Array,
  Uint8Array,
  Uint8ClampedArray,
  globalThis: global,
} = primordials;

/** The constructor of each kind of view and the size of its elements. */
const viewKinds = {
  __proto__: null,
  Int8Array: { Class: Int8Array, size: 1 },
  Uint8Array: { Class: Uint8Array, size: 1 },
  Uint8ClampedArray: { Class: Uint8ClampedArray, size: 1 },
  Int16Array: { Class: Int16Array, size: 2 },
  Uint16Array: { Class: Uint16Array, size: 2 },
  Int32Array: { Class: Int32Array, size: 4 },
  Uint32Array: { Class: Uint32Array, size: 4 },
  Float32Array: { Class: Float32Array, size: 4 },
  Float64Array: { Class: Float64Array, size: 8 },
  BigInt64Array: { Class: BigInt64Array, size: 8 },
  BigUint64Array: { Class: BigUint64Array, size: 8 },
};
if (global.Float16Array !== undefined) viewKinds.Float16Array = { Class: global.Float16Array, size: 2 };
const dataViewKind = { Class: DataView, size: 1 };

// https://streams.spec.whatwg.org/#readable-byte-stream-queue-entry
class ByteEntry {
  buffer;
  byteOffset;
  byteLength;
  next = null;
  constructor(buffer, byteOffset, byteLength) {
    this.buffer = buffer;
    this.byteOffset = byteOffset;
    this.byteLength = byteLength;
  }
}

const FOR_NONE = 0; // its reader is gone
const FOR_DEFAULT = 1;
const FOR_BYOB = 2;

// https://streams.spec.whatwg.org/#pull-into-descriptor
class PullInto {
  buffer;
  bufferByteLength;
  byteOffset;
  byteLength;
  bytesFilled = 0;
  minimumFill;
  elementSize;
  Class;
  readerType;
  next = null;
  constructor(buffer, byteOffset, byteLength, minimumFill, kind, readerType) {
    this.buffer = buffer;
    this.bufferByteLength = bufferByteLength(buffer);
    this.byteOffset = byteOffset;
    this.byteLength = byteLength;
    this.minimumFill = minimumFill;
    this.Class = kind.Class;
    this.elementSize = kind.size;
    this.readerType = readerType;
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-convert-pull-into-descriptor
  toView() {
    return new this.Class(transferBuffer(this.buffer), this.byteOffset, this.bytesFilled / this.elementSize);
  }
}

/** The internal slots and algorithms of a ReadableByteStreamController. */
export class ByteController extends PullingController {
  bytes = true;
  autoAllocateChunkSize;
  queue = new Fifo();
  /** Bytes in the queue. */
  total = 0;
  /** @type {Fifo} of PullInto */
  pending = new Fifo();
  /** @type {ReadableStreamBYOBRequest | null} */
  #byobRequest = null;

  /**
   * @param {StreamState} stream
   * @param {object} source
   * @param {number} highWaterMark
   * @param {number} [autoAllocateChunkSize]
   */
  constructor(stream, source, highWaterMark, autoAllocateChunkSize = undefined) {
    super(stream, source, highWaterMark);
    this.autoAllocateChunkSize = autoAllocateChunkSize;
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-should-call-pull
  shouldCallPull() {
    const { stream } = this;
    if (!this.started || stream.state !== READABLE || this.closeRequested) return false;
    if (stream.reader !== null && stream.reader.requests.length > 0) return true;
    return this.highWaterMark - this.total > 0;
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-get-desired-size
  get desiredSize() {
    if (this.stream.state === ERRORED) return null;
    if (this.stream.state === CLOSED) return 0;
    return this.highWaterMark - this.total;
  }

  // https://streams.spec.whatwg.org/#readablebytestreamcontroller-getbyobrequest
  get byobRequest() {
    if (this.#byobRequest === null && this.pending.length > 0) {
      const { buffer, byteOffset, byteLength, bytesFilled } = this.pending.head;
      const view = new Uint8Array(buffer, byteOffset + bytesFilled, byteLength - bytesFilled);
      this.#byobRequest = new ReadableStreamBYOBRequest(kInternal, this, view);
    }
    return this.#byobRequest;
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-invalidate-byob-request
  #invalidateByobRequest() {
    if (this.#byobRequest === null) return;
    invalidate(this.#byobRequest);
    this.#byobRequest = null;
  }

  // https://streams.spec.whatwg.org/#reset-queue
  #resetQueue() {
    this.queue.drain();
    this.total = 0;
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-clear-pending-pull-intos
  #clearPending() {
    this.#invalidateByobRequest();
    this.pending.drain();
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-close
  close() {
    const { stream, pending } = this;
    if (this.closeRequested || stream.state !== READABLE) return;
    if (this.total > 0) {
      this.closeRequested = true;
      return;
    }
    if (pending.length > 0 && pending.head.bytesFilled % pending.head.elementSize !== 0) {
      const e = new TypeError("Insufficient bytes to fill elements in the given buffer");
      this.error(e);
      throw e;
    }
    this.clearAlgorithms();
    closeStream(stream);
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-error
  error(e) {
    if (this.stream.state !== READABLE) return;
    this.#clearPending();
    this.#resetQueue();
    this.clearAlgorithms();
    errorStream(this.stream, e);
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-enqueue
  enqueue(chunk) {
    if (this.closeRequested || this.stream.state !== READABLE) return;
    const buffer = viewBuffer(chunk);
    const byteOffset = viewByteOffset(chunk);
    const byteLength = viewByteLength(chunk);
    if (isDetached(buffer)) throw new TypeError("The chunk's buffer is detached");
    this.enqueueOwned(transferBuffer(buffer), byteOffset, byteLength);
  }

  /** enqueue of bytes that nobody else holds, so that they need no transfer. */
  enqueueOwned(buffer, byteOffset, byteLength) {
    const { stream, pending } = this;
    if (this.closeRequested || stream.state !== READABLE) return;
    if (pending.length > 0) {
      const first = pending.head;
      if (isDetached(first.buffer)) throw new TypeError("The BYOB request's buffer is detached, so it cannot be filled");
      this.#invalidateByobRequest();
      first.buffer = transferBuffer(first.buffer);
      if (first.readerType === FOR_NONE) this.#enqueueDetachedPullInto(first);
    }
    const { reader } = stream;
    if (reader !== null && !reader.byob) {
      this.#processReadRequests(reader);
      if (reader.requests.length === 0) {
        this.#push(buffer, byteOffset, byteLength);
      } else {
        if (pending.length > 0) this.#shiftPending();
        fulfillRequest(stream, new Uint8Array(buffer, byteOffset, byteLength), false);
      }
    } else if (reader !== null) {
      this.#push(buffer, byteOffset, byteLength);
      this.#commitAll(this.#fillFromQueue());
    } else {
      this.#push(buffer, byteOffset, byteLength);
    }
    this.callPullIfNeeded();
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-enqueue-chunk-to-queue
  #push(buffer, byteOffset, byteLength) {
    this.queue.push(new ByteEntry(buffer, byteOffset, byteLength));
    this.total += byteLength;
  }

  // https://streams.spec.whatwg.org/#abstract-opdef-readablebytestreamcontrollerenqueueclonedchunktoqueue
  #pushClone(buffer, byteOffset, byteLength) {
    let clone;
    try {
      clone = cloneBytes(buffer, byteOffset, byteLength);
    } catch (e) {
      this.error(e);
      throw e;
    }
    this.#push(viewBuffer(clone), 0, byteLength);
  }

  // https://streams.spec.whatwg.org/#abstract-opdef-readablebytestreamcontrollerenqueuedetachedpullintotoqueue
  #enqueueDetachedPullInto(pullInto) {
    if (pullInto.bytesFilled > 0) this.#pushClone(pullInto.buffer, pullInto.byteOffset, pullInto.bytesFilled);
    this.#shiftPending();
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-shift-pending-pull-into
  #shiftPending() {
    return this.pending.shift();
  }

  // https://streams.spec.whatwg.org/#abstract-opdef-readablebytestreamcontrollerprocessreadrequestsusingqueue
  #processReadRequests(reader) {
    while (reader.requests.length > 0 && this.total > 0) this.#fillReadRequest(reader.requests.shift());
  }

  // https://streams.spec.whatwg.org/#abstract-opdef-readablebytestreamcontrollerfillreadrequestfromqueue
  #fillReadRequest(request) {
    const { buffer, byteOffset, byteLength } = this.queue.shift();
    this.total -= byteLength;
    this.#handleDrain();
    request.chunkSteps(new Uint8Array(buffer, byteOffset, byteLength));
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-handle-queue-drain
  #handleDrain() {
    if (this.total === 0 && this.closeRequested) {
      this.clearAlgorithms();
      closeStream(this.stream);
    } else {
      this.callPullIfNeeded();
    }
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-fill-pull-into-descriptor-from-queue
  #fill(pullInto) {
    const maxToCopy = MathMin(this.total, pullInto.byteLength - pullInto.bytesFilled);
    const maxFilled = pullInto.bytesFilled + maxToCopy;
    const maxAligned = maxFilled - (maxFilled % pullInto.elementSize);
    let remaining = maxToCopy;
    let ready = false;
    if (maxAligned >= pullInto.minimumFill) {
      remaining = maxAligned - pullInto.bytesFilled;
      ready = true;
    }
    while (remaining > 0) {
      const entry = this.queue.head;
      const count = MathMin(remaining, entry.byteLength);
      copyBytes(pullInto.buffer, pullInto.byteOffset + pullInto.bytesFilled, entry.buffer, entry.byteOffset, count);
      if (entry.byteLength === count) {
        this.queue.shift();
      } else {
        entry.byteOffset += count;
        entry.byteLength -= count;
      }
      this.total -= count;
      pullInto.bytesFilled += count;
      remaining -= count;
    }
    return ready;
  }

  /**
   * Fills as many descriptors as the queue can and returns them, linked, without
   * having told their readers.
   * @see https://streams.spec.whatwg.org/#readable-byte-stream-controller-process-pull-into-descriptors-using-queue
   */
  #fillFromQueue() {
    const filled = new Fifo();
    while (this.pending.length > 0 && this.total > 0) {
      if (this.#fill(this.pending.head)) filled.push(this.#shiftPending());
    }
    return filled.head;
  }

  #commitAll(pullInto) {
    while (pullInto !== null) {
      const { next } = pullInto;
      this.#commit(pullInto);
      pullInto = next;
    }
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-commit-pull-into-descriptor
  #commit(pullInto) {
    const { stream } = this;
    fulfillRequest(stream, pullInto.toView(), stream.state === CLOSED);
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-pull-into
  pullInto(view, min, request) {
    const { stream, pending } = this;
    const tag = TypedArrayPrototypeGetSymbolToStringTag(view);
    const kind = tag === undefined ? dataViewKind : viewKinds[tag];
    const byteOffset = viewByteOffset(view);
    const byteLength = viewByteLength(view);
    let buffer;
    try {
      buffer = transferBuffer(viewBuffer(view));
    } catch (e) {
      request.errorSteps(e);
      return;
    }
    const pullInto = new PullInto(buffer, byteOffset, byteLength, min * kind.size, kind, FOR_BYOB);
    if (pending.length > 0) {
      pending.push(pullInto);
      stream.reader.requests.push(request);
      return;
    }
    if (stream.state === CLOSED) {
      request.closeSteps(new kind.Class(buffer, byteOffset, 0));
      return;
    }
    if (this.total > 0) {
      if (this.#fill(pullInto)) {
        const filled = pullInto.toView();
        this.#handleDrain();
        request.chunkSteps(filled);
        return;
      }
      if (this.closeRequested) {
        const e = new TypeError("Insufficient bytes to fill elements in the given buffer");
        this.error(e);
        request.errorSteps(e);
        return;
      }
    }
    pending.push(pullInto);
    stream.reader.requests.push(request);
    this.callPullIfNeeded();
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-respond
  respond(bytesWritten) {
    const first = this.pending.head;
    if (this.stream.state === CLOSED) {
      if (bytesWritten !== 0) throw new TypeError("bytesWritten must be 0 for a closed stream");
    } else {
      if (bytesWritten === 0) throw new TypeError("bytesWritten must be above 0 for a stream that is not closed");
      if (first.bytesFilled + bytesWritten > first.byteLength) throw new RangeError("bytesWritten is larger than the view of the BYOB request");
    }
    first.buffer = transferBuffer(first.buffer);
    this.#respond(bytesWritten);
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-respond-with-new-view
  respondWithNewView(view) {
    const first = this.pending.head;
    const byteLength = viewByteLength(view);
    if (this.stream.state === CLOSED) {
      if (byteLength !== 0) throw new TypeError("The view's length must be 0 for a closed stream");
    } else if (byteLength === 0) {
      throw new TypeError("The view's length must be above 0 for a stream that is not closed");
    }
    if (first.byteOffset + first.bytesFilled !== viewByteOffset(view)) throw new RangeError("The view does not begin where the BYOB request's view does");
    const buffer = viewBuffer(view);
    if (first.bufferByteLength !== bufferByteLength(buffer)) throw new RangeError("The view's buffer has another length than that of the BYOB request");
    if (first.bytesFilled + byteLength > first.byteLength) throw new RangeError("The view is longer than that of the BYOB request");
    first.buffer = transferBuffer(buffer);
    this.#respond(byteLength);
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-respond-internal
  #respond(bytesWritten) {
    const first = this.pending.head;
    this.#invalidateByobRequest();
    if (this.stream.state === CLOSED) this.#respondInClosedState(first);
    else this.#respondInReadableState(bytesWritten, first);
    this.callPullIfNeeded();
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-respond-in-closed-state
  #respondInClosedState(first) {
    if (first.readerType === FOR_NONE) this.#shiftPending();
    const filled = new Fifo();
    for (let n = numReadIntoRequests(this.stream); n > 0; n--) filled.push(this.#shiftPending());
    this.#commitAll(filled.head);
  }

  // https://streams.spec.whatwg.org/#readable-byte-stream-controller-respond-in-readable-state
  #respondInReadableState(bytesWritten, pullInto) {
    pullInto.bytesFilled += bytesWritten;
    if (pullInto.readerType === FOR_NONE) {
      this.#enqueueDetachedPullInto(pullInto);
      this.#commitAll(this.#fillFromQueue());
      return;
    }
    if (pullInto.bytesFilled < pullInto.minimumFill) return;
    this.#shiftPending();
    const remainder = pullInto.bytesFilled % pullInto.elementSize;
    if (remainder > 0) {
      this.#pushClone(pullInto.buffer, pullInto.byteOffset + pullInto.bytesFilled - remainder, remainder);
      pullInto.bytesFilled -= remainder;
    }
    const filled = this.#fillFromQueue();
    this.#commit(pullInto);
    this.#commitAll(filled);
  }

  // https://streams.spec.whatwg.org/#rbs-controller-private-cancel
  cancelSteps(reason) {
    this.#clearPending();
    this.#resetQueue();
    const result = this.source.cancel(reason);
    this.clearAlgorithms();
    return result;
  }

  // https://streams.spec.whatwg.org/#rbs-controller-private-pull
  pullSteps(request) {
    if (this.total > 0) {
      this.#fillReadRequest(request);
      return;
    }
    const size = this.autoAllocateChunkSize;
    if (size !== undefined) {
      let buffer;
      try {
        buffer = new ArrayBuffer(size);
      } catch (e) {
        request.errorSteps(e);
        return;
      }
      this.pending.push(new PullInto(buffer, 0, size, 1, viewKinds.Uint8Array, FOR_DEFAULT));
    }
    this.stream.reader.requests.push(request);
    this.callPullIfNeeded();
  }

  // https://streams.spec.whatwg.org/#abstract-opdef-readablebytestreamcontroller-releasesteps
  releaseSteps() {
    if (this.pending.length === 0) return;
    const first = this.pending.head;
    first.readerType = FOR_NONE;
    this.pending.drain();
    this.pending.push(first);
  }
}

/**
 * Makes the state of a byte stream with a source of ours.
 * @see https://streams.spec.whatwg.org/#abstract-opdef-createreadablebytestream
 */
export function createReadableByte(source, startResult) {
  const stream = new StreamState();
  new ByteController(stream, source, 0).begin(startResult);
  return stream;
}

// https://streams.spec.whatwg.org/#set-up-readable-byte-stream-controller-from-underlying-source
export function setUpByteFromScript(stream, object, { start, pull, cancel, autoAllocateChunkSize }, highWaterMark) {
  if (autoAllocateChunkSize === 0) throw new TypeError("autoAllocateChunkSize must be above 0");
  const state = new ByteController(stream, null, highWaterMark, autoAllocateChunkSize);
  const controller = new ReadableByteStreamController(kInternal, state);
  state.source = new ScriptSource(object, pull, cancel, controller);
  state.begin(callStart(start, object, controller));
}

// https://streams.spec.whatwg.org/#readablebytestreamcontroller
export class ReadableByteStreamController {
  /** @type {ByteController} */
  #state;

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  // https://streams.spec.whatwg.org/#rbs-controller-byob-request
  get byobRequest() {
    return this.#state.byobRequest;
  }

  // https://streams.spec.whatwg.org/#rbs-controller-desired-size
  get desiredSize() {
    return this.#state.desiredSize;
  }

  // https://streams.spec.whatwg.org/#rbs-controller-close
  close() {
    const state = this.#state;
    if (state.closeRequested || state.stream.state !== READABLE) {
      throw new TypeError("Failed to execute 'close' on 'ReadableByteStreamController': the stream is closed, errored or about to close");
    }
    state.close();
  }

  // https://streams.spec.whatwg.org/#rbs-controller-enqueue
  enqueue(chunk) {
    const state = this.#state;
    const prefix = "Failed to execute 'enqueue' on 'ReadableByteStreamController'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    chunk = webidl.converters.ArrayBufferView(chunk, prefix, "Argument 1");
    if (viewByteLength(chunk) === 0) throw new TypeError(`${prefix}: the chunk's length is 0`);
    if (bufferByteLength(viewBuffer(chunk)) === 0) throw new TypeError(`${prefix}: the length of the chunk's buffer is 0`);
    if (state.closeRequested || state.stream.state !== READABLE) {
      throw new TypeError(`${prefix}: the stream is closed, errored or about to close`);
    }
    state.enqueue(chunk);
  }

  // https://streams.spec.whatwg.org/#rbs-controller-error
  error(e = undefined) {
    this.#state.error(e);
  }
}
webidl.configureInterface(ReadableByteStreamController);

let invalidate;

// https://streams.spec.whatwg.org/#readablestreambyobrequest
export class ReadableStreamBYOBRequest {
  /** @type {ByteController | null} null once it was answered */
  #controller;
  #view;

  static {
    invalidate = (request) => {
      request.#controller = null;
      request.#view = null;
    };
  }

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
    this.#controller = arguments[1];
    this.#view = arguments[2];
  }

  // https://streams.spec.whatwg.org/#rs-byob-request-view
  get view() {
    return this.#view;
  }

  // https://streams.spec.whatwg.org/#rs-byob-request-respond
  respond(bytesWritten) {
    this.#controller; // throws for another object
    const prefix = "Failed to execute 'respond' on 'ReadableStreamBYOBRequest'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    bytesWritten = webidl.converters["unsigned long long"](bytesWritten, prefix, "Argument 1", { enforceRange: true });
    const controller = this.#controller;
    if (controller === null) throw new TypeError(`${prefix}: the request was already answered`);
    if (isDetached(viewBuffer(this.#view))) throw new TypeError(`${prefix}: its buffer is detached`);
    controller.respond(bytesWritten);
  }

  // https://streams.spec.whatwg.org/#rs-byob-request-respond-with-new-view
  respondWithNewView(view) {
    const controller = this.#controller;
    const prefix = "Failed to execute 'respondWithNewView' on 'ReadableStreamBYOBRequest'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    view = webidl.converters.ArrayBufferView(view, prefix, "Argument 1");
    if (controller === null) throw new TypeError(`${prefix}: the request was already answered`);
    if (isDetached(viewBuffer(view))) throw new TypeError(`${prefix}: the view's buffer is detached`);
    controller.respondWithNewView(view);
  }
}
webidl.configureInterface(ReadableStreamBYOBRequest);

// https://streams.spec.whatwg.org/#dictdef-readablestreambyobreaderreadoptions
const convertReadOptions = webidl.createDictionaryConverter("ReadableStreamBYOBReaderReadOptions", [
  {
    key: "min",
    converter: (V, prefix, context) => webidl.converters["unsigned long long"](V, prefix, context, { enforceRange: true }),
    defaultValue: () => 1,
  },
]);

// https://streams.spec.whatwg.org/#readablestreambyobreader
export class ReadableStreamBYOBReader {
  /** @type {ReaderState} */
  #state;

  // https://streams.spec.whatwg.org/#byob-reader-constructor
  constructor(stream) {
    const prefix = "Failed to construct 'ReadableStreamBYOBReader'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    if (!readableClass.is(stream)) throw webidl.makeException(TypeError, "is not of type ReadableStream", prefix, "Argument 1");
    const state = new ReaderState(true);
    setUpByobReader(state, readableClass.state(stream));
    this.#state = state;
  }

  // https://streams.spec.whatwg.org/#generic-reader-closed
  get closed() {
    try {
      return this.#state.closed.promise;
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#generic-reader-cancel
  cancel(reason = undefined) {
    try {
      const { stream } = this.#state;
      if (stream === null) return PromiseReject(released("cancel", "ReadableStreamBYOBReader"));
      return cancelStream(stream, reason);
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#byob-reader-read
  read(view, options = undefined) {
    try {
      const state = this.#state;
      const prefix = "Failed to execute 'read' on 'ReadableStreamBYOBReader'";
      webidl.requiredArguments(arguments.length, 1, prefix);
      view = webidl.converters.ArrayBufferView(view, prefix, "Argument 1");
      const { min } = convertReadOptions(options, prefix, "Argument 2");
      if (viewByteLength(view) === 0) throw new TypeError(`${prefix}: the view's length is 0`);
      if (bufferByteLength(viewBuffer(view)) === 0) throw new TypeError(`${prefix}: the length of the view's buffer is 0`);
      if (min === 0) throw new TypeError(`${prefix}: min must be above 0`);
      const isData = TypedArrayPrototypeGetSymbolToStringTag(view) === undefined;
      if (min > (isData ? viewByteLength(view) : TypedArrayPrototypeGetLength(view))) throw new RangeError(`${prefix}: min is larger than the view`);
      if (state.stream === null) throw released("read", "ReadableStreamBYOBReader");
      const request = new PromiseRequest();
      readerReadInto(state, view, min, request);
      return request.take();
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#byob-reader-release-lock
  releaseLock() {
    if (this.#state.stream !== null) releaseReader(this.#state);
  }
}
webidl.configureInterface(ReadableStreamBYOBReader);
