// Streams, writable streams: https://streams.spec.whatwg.org/#ws
// Public: WritableStream, WritableStreamDefaultWriter,
// WritableStreamDefaultController. Ops: none.
//
// An underlying sink, here, is an object with the methods write(chunk,
// controller), close() and abort(reason), each of which returns undefined (done
// at once) or a promise. A write request is an object with a `next` field and
// the methods resolve(undefined) and reject(e): a Deferred, or the pipe itself.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { createAbortSignal, signalAbort } from "edge:abort";
import {
  Deferred,
  Fifo,
  LazyPromise,
  SizedQueue,
  callStart,
  chunkSize,
  extractHighWaterMark,
  invoke,
  kInternal,
  react,
  released,
} from "edge:streams_queue";
import { convertStrategy } from "edge:streams_strategies";

const { PromiseReject, PromiseResolve, RangeError, TypeError } = primordials;

export const WRITABLE = 0;
export const CLOSED = 1;
export const ERRORING = 2;
export const ERRORED = 3;

/** The chunk that stands for close in a queue. */
const closeSentinel = { __proto__: null };

/** A pending abort: https://streams.spec.whatwg.org/#pending-abort-request */
class AbortRequest extends Deferred {
  reason;
  wasErroring;
  constructor(reason, wasErroring) {
    super();
    this.reason = reason;
    this.wasErroring = wasErroring;
  }
}

/** The internal slots and algorithms of a WritableStream. */
export class WritableState {
  state = WRITABLE;
  backpressure = false;
  /** @type {WritableController} */
  controller = null;
  /** @type {WriterState | null} */
  writer = null;
  storedError = undefined;
  closeRequest = null;
  inFlightClose = null;
  inFlightWrite = null;
  writeRequests = new Fifo();
  /** @type {AbortRequest | null} */
  pendingAbort = null;

  /**
   * Returns a promise.
   * @see https://streams.spec.whatwg.org/#writable-stream-abort
   */
  abort(reason) {
    if (this.state === CLOSED || this.state === ERRORED) return PromiseResolve(undefined);
    this.controller.signalAbort(reason);
    // The signal's listeners may have changed everything.
    if (this.state === CLOSED || this.state === ERRORED) return PromiseResolve(undefined);
    if (this.pendingAbort !== null) return this.pendingAbort.promise;
    const wasErroring = this.state === ERRORING;
    const request = new AbortRequest(wasErroring ? undefined : reason, wasErroring);
    this.pendingAbort = request;
    if (!wasErroring) this.startErroring(reason);
    return request.promise;
  }

  /**
   * Returns a promise.
   * @see https://streams.spec.whatwg.org/#writable-stream-close
   */
  close() {
    if (this.state === CLOSED || this.state === ERRORED) {
      return PromiseReject(new TypeError("The stream is closed or errored, so it cannot be closed"));
    }
    const request = new Deferred();
    this.closeRequest = request;
    if (this.writer !== null && this.backpressure && this.state === WRITABLE) this.writer.ready.resolve();
    this.controller.close();
    return request.promise;
  }

  // https://streams.spec.whatwg.org/#writable-stream-close-queued-or-in-flight
  get closing() {
    return this.closeRequest !== null || this.inFlightClose !== null;
  }

  // https://streams.spec.whatwg.org/#writable-stream-has-operation-marked-in-flight
  get busy() {
    return this.inFlightWrite !== null || this.inFlightClose !== null;
  }

  // https://streams.spec.whatwg.org/#writable-stream-deal-with-rejection
  dealWithRejection(e) {
    if (this.state === WRITABLE) this.startErroring(e);
    else this.finishErroring();
  }

  // https://streams.spec.whatwg.org/#writable-stream-start-erroring
  startErroring(reason) {
    this.state = ERRORING;
    this.storedError = reason;
    if (this.writer !== null) this.writer.ready.rejectOrReplace(reason);
    if (!this.busy && this.controller.started) this.finishErroring();
  }

  // https://streams.spec.whatwg.org/#writable-stream-finish-erroring
  finishErroring() {
    this.state = ERRORED;
    this.controller.queue.reset();
    const e = this.storedError;
    for (let request = this.writeRequests.drain(); request !== null; ) {
      const { next } = request;
      request.reject(e);
      request = next;
    }
    const abort = this.pendingAbort;
    if (abort === null) {
      this.#rejectClose();
      return;
    }
    this.pendingAbort = null;
    if (abort.wasErroring) {
      abort.reject(e);
      this.#rejectClose();
      return;
    }
    react(
      this.controller.abortSteps(abort.reason),
      () => {
        abort.resolve(undefined);
        this.#rejectClose();
      },
      (reason) => {
        abort.reject(reason);
        this.#rejectClose();
      },
    );
  }

  // https://streams.spec.whatwg.org/#writable-stream-reject-close-and-closed-promise-if-needed
  #rejectClose() {
    if (this.closeRequest !== null) {
      this.closeRequest.reject(this.storedError);
      this.closeRequest = null;
    }
    if (this.writer !== null) this.writer.closed.reject(this.storedError);
  }

  // https://streams.spec.whatwg.org/#writable-stream-finish-in-flight-close
  finishClose() {
    this.inFlightClose.resolve(undefined);
    this.inFlightClose = null;
    if (this.state === ERRORING) {
      this.storedError = undefined;
      if (this.pendingAbort !== null) {
        this.pendingAbort.resolve(undefined);
        this.pendingAbort = null;
      }
    }
    this.state = CLOSED;
    if (this.writer !== null) this.writer.closed.resolve();
  }

  // https://streams.spec.whatwg.org/#writable-stream-finish-in-flight-close-with-error
  failClose(e) {
    this.inFlightClose.reject(e);
    this.inFlightClose = null;
    if (this.pendingAbort !== null) {
      this.pendingAbort.reject(e);
      this.pendingAbort = null;
    }
    this.dealWithRejection(e);
  }

  // https://streams.spec.whatwg.org/#writable-stream-finish-in-flight-write
  finishWrite() {
    this.inFlightWrite.resolve(undefined);
    this.inFlightWrite = null;
  }

  // https://streams.spec.whatwg.org/#writable-stream-finish-in-flight-write-with-error
  failWrite(e) {
    this.inFlightWrite.reject(e);
    this.inFlightWrite = null;
    this.dealWithRejection(e);
  }

  // https://streams.spec.whatwg.org/#writable-stream-update-backpressure
  updateBackpressure(backpressure) {
    if (backpressure === this.backpressure) return;
    this.backpressure = backpressure;
    if (this.writer === null) return;
    if (backpressure) this.writer.ready.renew();
    else this.writer.ready.resolve();
  }
}

/** The internal slots of a writer; also used without a public object. */
export class WriterState {
  /** @type {WritableState | null} */
  stream;
  closed = new LazyPromise();
  ready = new LazyPromise();

  // https://streams.spec.whatwg.org/#set-up-writable-stream-default-writer
  constructor(stream) {
    if (stream.writer !== null) throw new TypeError("The stream is already locked to a writer");
    this.stream = stream;
    stream.writer = this;
    switch (stream.state) {
      case WRITABLE:
        if (stream.closing || !stream.backpressure) this.ready.resolve();
        break;
      case ERRORING:
        this.ready.reject(stream.storedError);
        break;
      case CLOSED:
        this.ready.resolve();
        this.closed.resolve();
        break;
      default:
        this.ready.reject(stream.storedError);
        this.closed.reject(stream.storedError);
    }
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-writer-get-desired-size
  get desiredSize() {
    const { state, controller } = this.stream;
    if (state === ERRORED || state === ERRORING) return null;
    return state === CLOSED ? 0 : controller.desiredSize;
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-writer-release
  release() {
    const e = new TypeError("The writer was released");
    this.ready.rejectOrReplace(e);
    this.closed.rejectOrReplace(e);
    this.stream.writer = null;
    this.stream = null;
  }

  /**
   * Queues a chunk; the request is told how that ends.
   * @see https://streams.spec.whatwg.org/#writable-stream-default-writer-write
   */
  write(chunk, request) {
    const { stream } = this;
    const { controller } = stream;
    const size = controller.chunkSize(chunk);
    if (stream !== this.stream) request.reject(released("write", "WritableStreamDefaultWriter"));
    else if (stream.state === ERRORED) request.reject(stream.storedError);
    else if (stream.state === CLOSED || stream.closing) request.reject(new TypeError("The stream is closed or about to close, so it cannot be written to"));
    else if (stream.state === ERRORING) request.reject(stream.storedError);
    else {
      stream.writeRequests.push(request);
      controller.write(chunk, size);
    }
  }
}

/** The internal slots and algorithms of a WritableStreamDefaultController. */
export class WritableController {
  /** @type {WritableState} */
  stream;
  started = false;
  queue = new SizedQueue();
  sink; // null once the algorithms are cleared
  #highWaterMark;
  #size;
  // Made when script asks for it.
  #signal = null;
  #aborted = false;
  #abortReason = undefined;
  // Made with the first write and kept, so that a write makes no closures.
  onWritten = null;
  onWriteFailed = null;

  constructor(stream, sink, highWaterMark, size) {
    this.stream = stream;
    this.sink = sink;
    this.#highWaterMark = highWaterMark;
    this.#size = size;
    stream.controller = this;
    stream.backpressure = this.#backpressure;
  }

  /**
   * Waits for start.
   * @see https://streams.spec.whatwg.org/#set-up-writable-stream-default-controller
   */
  begin(startResult) {
    react(
      startResult,
      () => {
        this.started = true;
        this.#advance();
      },
      (e) => {
        this.started = true;
        this.stream.dealWithRejection(e);
      },
    );
  }

  get #backpressure() {
    return this.desiredSize <= 0;
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-get-desired-size
  get desiredSize() {
    return this.#highWaterMark - this.queue.total;
  }

  // https://streams.spec.whatwg.org/#ws-default-controller-signal
  get signal() {
    if (this.#signal === null) {
      this.#signal = createAbortSignal();
      if (this.#aborted) signalAbort(this.#signal, this.#abortReason);
    }
    return this.#signal;
  }

  signalAbort(reason) {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#abortReason = reason;
    if (this.#signal !== null) signalAbort(this.#signal, reason);
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-clear-algorithms
  #clearAlgorithms() {
    this.sink = null;
    this.#size = undefined;
  }

  // https://streams.spec.whatwg.org/#ws-default-controller-private-abort
  abortSteps(reason) {
    const result = this.sink.abort(reason);
    this.#clearAlgorithms();
    return result;
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-close
  close() {
    this.queue.enqueue(closeSentinel, 0);
    this.#advance();
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-get-chunk-size
  chunkSize(chunk) {
    try {
      return chunkSize(this.#size, chunk);
    } catch (e) {
      this.errorIfNeeded(e);
      return 1;
    }
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-write
  write(chunk, size) {
    const { stream } = this;
    try {
      this.queue.enqueue(chunk, size);
    } catch (e) {
      this.errorIfNeeded(e);
      return;
    }
    if (stream.state === WRITABLE && !stream.closing) stream.updateBackpressure(this.#backpressure);
    this.#advance();
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-error-if-needed
  errorIfNeeded(e) {
    if (this.stream.state === WRITABLE) this.error(e);
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-error
  error(e) {
    this.#clearAlgorithms();
    this.stream.startErroring(e);
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-advance-queue-if-needed
  #advance() {
    const { stream } = this;
    if (!this.started || stream.inFlightWrite !== null) return;
    if (stream.state === ERRORING) {
      stream.finishErroring();
      return;
    }
    if (this.queue.length === 0) return;
    const chunk = this.queue.peek();
    if (chunk === closeSentinel) this.#processClose();
    else this.#processWrite(chunk);
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-process-close
  #processClose() {
    const { stream } = this;
    stream.inFlightClose = stream.closeRequest;
    stream.closeRequest = null;
    this.queue.dequeue();
    const result = this.sink.close();
    this.#clearAlgorithms();
    react(
      result,
      () => stream.finishClose(),
      (e) => stream.failClose(e),
    );
  }

  // https://streams.spec.whatwg.org/#writable-stream-default-controller-process-write
  #processWrite(chunk) {
    const { stream } = this;
    stream.inFlightWrite = stream.writeRequests.shift();
    if (this.onWritten === null) {
      this.onWritten = () => this.#written();
      this.onWriteFailed = (e) => {
        if (stream.state === WRITABLE) this.#clearAlgorithms();
        stream.failWrite(e);
      };
    }
    react(this.sink.write(chunk, this), this.onWritten, this.onWriteFailed);
  }

  #written() {
    const { stream } = this;
    stream.finishWrite();
    this.queue.dequeue();
    if (stream.state === WRITABLE && !stream.closing) stream.updateBackpressure(this.#backpressure);
    this.#advance();
  }
}

/** The sink made of the object that script gave to the constructor. */
class ScriptSink {
  #object;
  #dict;
  #controller;
  constructor(object, dict, controller) {
    this.#object = object;
    this.#dict = dict;
    this.#controller = controller;
  }
  write(chunk) {
    const { write } = this.#dict;
    return write === undefined ? undefined : invoke(write, this.#object, [chunk, this.#controller]);
  }
  close() {
    const { close } = this.#dict;
    return close === undefined ? undefined : invoke(close, this.#object, []);
  }
  abort(reason) {
    const { abort } = this.#dict;
    return abort === undefined ? undefined : invoke(abort, this.#object, [reason]);
  }
}

/**
 * Makes the state of a stream with a sink of ours.
 * @see https://streams.spec.whatwg.org/#create-writable-stream
 */
export function createWritable(sink, startResult, highWaterMark = 1, size = undefined) {
  const stream = new WritableState();
  new WritableController(stream, sink, highWaterMark, size).begin(startResult);
  return stream;
}

const { any, Function: callback } = webidl.converters;

// https://streams.spec.whatwg.org/#dictdef-underlyingsink
const convertSink = webidl.createDictionaryConverter("UnderlyingSink", [
  { key: "abort", converter: callback },
  { key: "close", converter: callback },
  { key: "start", converter: callback },
  { key: "type", converter: any },
  { key: "write", converter: callback },
]);

// https://streams.spec.whatwg.org/#set-up-writable-stream-default-controller-from-underlying-sink
function setUpFromScript(stream, object, dict, highWaterMark, size) {
  const state = new WritableController(stream, null, highWaterMark, size);
  const controller = new WritableStreamDefaultController(kInternal, state);
  state.sink = new ScriptSink(object, dict, controller);
  state.begin(callStart(dict.start, object, controller));
}

/** Makes the public object of a stream made of states. */
export function wrapWritable(state) {
  return new WritableStream(kInternal, state);
}

/** The state of a WritableStream; throws TypeError for anything else. */
export let writableState;
/** Reports whether V is a WritableStream. */
export let isWritable;

// https://streams.spec.whatwg.org/#writablestream
export class WritableStream {
  /** @type {WritableState} */
  #state;

  static {
    writableState = (stream) => stream.#state;
    isWritable = (V) => webidl.isObject(V) && #state in V;
  }

  // https://streams.spec.whatwg.org/#ws-constructor
  constructor(underlyingSink = undefined, strategy = undefined) {
    if (underlyingSink === kInternal) {
      this.#state = strategy;
      return;
    }
    const prefix = "Failed to construct 'WritableStream'";
    if (underlyingSink !== undefined) underlyingSink = webidl.converters.object(underlyingSink, prefix, "Argument 1");
    strategy = convertStrategy(strategy, prefix, "Argument 2");
    const dict = convertSink(underlyingSink, prefix, "Argument 1");
    if (dict.type !== undefined) throw new RangeError(`${prefix}: the type of the sink must not be given`);
    const highWaterMark = extractHighWaterMark(strategy, 1);
    this.#state = new WritableState();
    setUpFromScript(this.#state, underlyingSink, dict, highWaterMark, strategy.size);
  }

  // https://streams.spec.whatwg.org/#ws-locked
  get locked() {
    return this.#state.writer !== null;
  }

  // https://streams.spec.whatwg.org/#ws-abort
  abort(reason = undefined) {
    try {
      const state = this.#state;
      if (state.writer !== null) return PromiseReject(new TypeError("Failed to execute 'abort' on 'WritableStream': the stream is locked to a writer"));
      return state.abort(reason);
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#ws-close
  close() {
    try {
      const state = this.#state;
      if (state.writer !== null) return PromiseReject(new TypeError("Failed to execute 'close' on 'WritableStream': the stream is locked to a writer"));
      if (state.closing) return PromiseReject(new TypeError("Failed to execute 'close' on 'WritableStream': the stream is about to close"));
      return state.close();
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#ws-get-writer
  getWriter() {
    this.#state; // throws for another object
    return new WritableStreamDefaultWriter(this);
  }
}
webidl.configureInterface(WritableStream);

// https://streams.spec.whatwg.org/#writablestreamdefaultcontroller
export class WritableStreamDefaultController {
  /** @type {WritableController} */
  #state;

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  // https://streams.spec.whatwg.org/#ws-default-controller-signal
  get signal() {
    return this.#state.signal;
  }

  // https://streams.spec.whatwg.org/#ws-default-controller-error
  error(e = undefined) {
    this.#state.errorIfNeeded(e);
  }
}
webidl.configureInterface(WritableStreamDefaultController);

// https://streams.spec.whatwg.org/#writablestreamdefaultwriter
export class WritableStreamDefaultWriter {
  /** @type {WriterState} */
  #state;

  // https://streams.spec.whatwg.org/#default-writer-constructor
  constructor(stream) {
    const prefix = "Failed to construct 'WritableStreamDefaultWriter'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    if (!isWritable(stream)) throw webidl.makeException(TypeError, "is not of type WritableStream", prefix, "Argument 1");
    this.#state = new WriterState(writableState(stream));
  }

  // https://streams.spec.whatwg.org/#default-writer-closed
  get closed() {
    try {
      return this.#state.closed.promise;
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#default-writer-desired-size
  get desiredSize() {
    const state = this.#state;
    if (state.stream === null) throw released("desiredSize", "WritableStreamDefaultWriter");
    return state.desiredSize;
  }

  // https://streams.spec.whatwg.org/#default-writer-ready
  get ready() {
    try {
      return this.#state.ready.promise;
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#default-writer-abort
  abort(reason = undefined) {
    try {
      const { stream } = this.#state;
      return stream === null ? PromiseReject(released("abort", "WritableStreamDefaultWriter")) : stream.abort(reason);
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#default-writer-close
  close() {
    try {
      const { stream } = this.#state;
      if (stream === null) return PromiseReject(released("close", "WritableStreamDefaultWriter"));
      if (stream.closing) return PromiseReject(new TypeError("Failed to execute 'close' on 'WritableStreamDefaultWriter': the stream is about to close"));
      return stream.close();
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#default-writer-release-lock
  releaseLock() {
    const state = this.#state;
    if (state.stream !== null) state.release();
  }

  // https://streams.spec.whatwg.org/#default-writer-write
  write(chunk = undefined) {
    try {
      const state = this.#state;
      if (state.stream === null) return PromiseReject(released("write", "WritableStreamDefaultWriter"));
      const request = new Deferred();
      state.write(chunk, request);
      return request.promise;
    } catch (e) {
      return PromiseReject(e);
    }
  }
}
webidl.configureInterface(WritableStreamDefaultWriter);
