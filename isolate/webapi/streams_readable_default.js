// Streams, default controller and default reader:
// https://streams.spec.whatwg.org/#rs-default-controller-class
// Public: ReadableStreamDefaultController, ReadableStreamDefaultReader. Ops: none.
//
// An underlying source, here, is an object with the methods pull(controller)
// and cancel(reason), each of which returns undefined (done at once) or a
// promise, and a field `idle` that is true when pull does nothing.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { SizedQueue, callStart, chunkSize, invoke, kInternal, react, released } from "edge:streams_queue";
import {
  ERRORED,
  CLOSED,
  PromiseRequest,
  READABLE,
  ReaderState,
  StreamState,
  cancelStream,
  closeStream,
  errorStream,
  fulfillRequest,
  readableClass,
  readerRead,
  releaseReader,
  setUpDefaultReader,
} from "edge:streams_readable_core";

const { PromiseReject, TypeError } = primordials;

/** The source made of the object that script gave to the constructor. */
export class ScriptSource {
  idle;
  #object;
  #pull;
  #cancel;
  /** The public controller. */
  #controller;
  constructor(object, pull, cancel, controller) {
    this.idle = pull === undefined;
    this.#object = object;
    this.#pull = pull;
    this.#cancel = cancel;
    this.#controller = controller;
  }
  pull() {
    return invoke(this.#pull, this.#object, [this.#controller]);
  }
  cancel(reason) {
    return this.#cancel === undefined ? undefined : invoke(this.#cancel, this.#object, [reason]);
  }
}

/** What the two kinds of controller of a readable stream have in common. */
export class PullingController {
  /** @type {StreamState} */
  stream;
  source = null; // null once the algorithms are cleared
  started = false;
  closeRequested = false;
  pulling = false;
  pullAgain = false;
  highWaterMark;
  // Made with the first pull and kept, so that a pull makes no closures.
  onPulled = null;
  #onFailed = null;

  constructor(stream, source, highWaterMark) {
    this.stream = stream;
    this.source = source;
    this.highWaterMark = highWaterMark;
    stream.controller = this;
  }

  /**
   * Waits for start, which nobody can tell when there is nothing to pull.
   * @see https://streams.spec.whatwg.org/#set-up-readable-stream-default-controller
   */
  begin(startResult) {
    if (startResult === undefined && (this.source === null || this.source.idle)) {
      this.started = true;
      return;
    }
    react(
      startResult,
      () => {
        this.started = true;
        this.callPullIfNeeded();
      },
      (e) => this.error(e),
    );
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-call-pull-if-needed
  callPullIfNeeded() {
    if (!this.shouldCallPull()) return;
    if (this.pulling) {
      this.pullAgain = true;
      return;
    }
    if (this.source.idle) return;
    this.pulling = true;
    if (this.onPulled === null) {
      this.onPulled = () => {
        this.pulling = false;
        if (this.pullAgain) {
          this.pullAgain = false;
          this.callPullIfNeeded();
        }
      };
      this.#onFailed = (e) => this.error(e);
    }
    react(this.source.pull(this), this.onPulled, this.#onFailed);
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-clear-algorithms
  clearAlgorithms() {
    this.source = null;
  }
}

/** The internal slots and algorithms of a ReadableStreamDefaultController. */
export class DefaultController extends PullingController {
  bytes = false;
  queue = new SizedQueue();
  #size;

  /**
   * @param {StreamState} stream
   * @param {object} source
   * @param {number} highWaterMark
   * @param {Function} [size] of the strategy
   */
  constructor(stream, source, highWaterMark, size) {
    super(stream, source, highWaterMark);
    this.#size = size;
  }

  clearAlgorithms() {
    this.source = null;
    this.#size = undefined;
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-should-call-pull
  shouldCallPull() {
    const { stream } = this;
    if (!this.started || stream.state !== READABLE || this.closeRequested) return false;
    if (stream.reader !== null && stream.reader.requests.length > 0) return true;
    return this.highWaterMark - this.queue.total > 0;
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-can-close-or-enqueue
  get canCloseOrEnqueue() {
    return !this.closeRequested && this.stream.state === READABLE;
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-get-desired-size
  get desiredSize() {
    if (this.stream.state === ERRORED) return null;
    if (this.stream.state === CLOSED) return 0;
    return this.highWaterMark - this.queue.total;
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-close
  close() {
    if (!this.canCloseOrEnqueue) return;
    this.closeRequested = true;
    if (this.queue.length === 0) {
      this.clearAlgorithms();
      closeStream(this.stream);
    }
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-enqueue
  enqueue(chunk) {
    if (!this.canCloseOrEnqueue) return;
    const { stream } = this;
    if (stream.reader !== null && stream.reader.requests.length > 0) {
      fulfillRequest(stream, chunk, false);
    } else {
      try {
        this.queue.enqueue(chunk, chunkSize(this.#size, chunk));
      } catch (e) {
        this.error(e);
        throw e;
      }
    }
    this.callPullIfNeeded();
  }

  // https://streams.spec.whatwg.org/#readable-stream-default-controller-error
  error(e) {
    if (this.stream.state !== READABLE) return;
    this.queue.reset();
    this.clearAlgorithms();
    errorStream(this.stream, e);
  }

  // https://streams.spec.whatwg.org/#rs-default-controller-private-cancel
  cancelSteps(reason) {
    this.queue.reset();
    const result = this.source.cancel(reason);
    this.clearAlgorithms();
    return result;
  }

  // https://streams.spec.whatwg.org/#rs-default-controller-private-pull
  pullSteps(request) {
    const { queue } = this;
    if (queue.length === 0) {
      this.stream.reader.requests.push(request);
      this.callPullIfNeeded();
      return;
    }
    const chunk = queue.dequeue();
    if (this.closeRequested && queue.length === 0) {
      this.clearAlgorithms();
      closeStream(this.stream);
    } else {
      this.callPullIfNeeded();
    }
    request.chunkSteps(chunk);
  }

  // https://streams.spec.whatwg.org/#abstract-opdef-readablestreamdefaultcontroller-releasesteps
  releaseSteps() {}
}

/**
 * Makes the state of a stream with a source of ours.
 * @see https://streams.spec.whatwg.org/#create-readable-stream
 */
export function createReadable(source, startResult, highWaterMark = 1, size = undefined) {
  const stream = new StreamState();
  new DefaultController(stream, source, highWaterMark, size).begin(startResult);
  return stream;
}

// https://streams.spec.whatwg.org/#set-up-readable-stream-default-controller-from-underlying-source
export function setUpFromScript(stream, object, { start, pull, cancel }, highWaterMark, size) {
  const state = new DefaultController(stream, null, highWaterMark, size);
  const controller = new ReadableStreamDefaultController(kInternal, state);
  state.source = new ScriptSource(object, pull, cancel, controller);
  state.begin(callStart(start, object, controller));
}

// https://streams.spec.whatwg.org/#readablestreamdefaultcontroller
export class ReadableStreamDefaultController {
  /** @type {DefaultController} */
  #state;

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  // https://streams.spec.whatwg.org/#rs-default-controller-desired-size
  get desiredSize() {
    return this.#state.desiredSize;
  }

  // https://streams.spec.whatwg.org/#rs-default-controller-close
  close() {
    const state = this.#state;
    if (!state.canCloseOrEnqueue) throw new TypeError("Failed to execute 'close' on 'ReadableStreamDefaultController': the stream is closed, errored or about to close");
    state.close();
  }

  // https://streams.spec.whatwg.org/#rs-default-controller-enqueue
  enqueue(chunk = undefined) {
    const state = this.#state;
    if (!state.canCloseOrEnqueue) throw new TypeError("Failed to execute 'enqueue' on 'ReadableStreamDefaultController': the stream is closed, errored or about to close");
    state.enqueue(chunk);
  }

  // https://streams.spec.whatwg.org/#rs-default-controller-error
  error(e = undefined) {
    this.#state.error(e);
  }
}
webidl.configureInterface(ReadableStreamDefaultController);

// https://streams.spec.whatwg.org/#readablestreamdefaultreader
export class ReadableStreamDefaultReader {
  /** @type {ReaderState} */
  #state;

  // https://streams.spec.whatwg.org/#default-reader-constructor
  constructor(stream) {
    const prefix = "Failed to construct 'ReadableStreamDefaultReader'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    if (!readableClass.is(stream)) throw webidl.makeException(TypeError, "is not of type ReadableStream", prefix, "Argument 1");
    const state = new ReaderState(false);
    setUpDefaultReader(state, readableClass.state(stream));
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
      if (stream === null) return PromiseReject(released("cancel", "ReadableStreamDefaultReader"));
      return cancelStream(stream, reason);
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#default-reader-read
  read() {
    let state;
    try {
      state = this.#state;
    } catch (e) {
      return PromiseReject(e);
    }
    if (state.stream === null) return PromiseReject(released("read", "ReadableStreamDefaultReader"));
    const request = new PromiseRequest();
    readerRead(state, request);
    return request.take();
  }

  // https://streams.spec.whatwg.org/#default-reader-release-lock
  releaseLock() {
    if (this.#state.stream !== null) releaseReader(this.#state);
  }
}
webidl.configureInterface(ReadableStreamDefaultReader);
