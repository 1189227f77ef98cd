// Streams, transform streams: https://streams.spec.whatwg.org/#ts
// Public: TransformStream, TransformStreamDefaultController. Ops: none.
//
// A transformer, here, is an object with the methods transform(chunk, state),
// flush(state) and cancel(reason), each of which returns undefined (done at
// once) or a promise. state is the TransformState: it has enqueue(chunk),
// error(e), terminate() and desiredSize.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { Deferred, extractHighWaterMark, invoke, kInternal, kManual, later, noop, react } from "edge:streams_queue";
import { convertStrategy } from "edge:streams_strategies";
import { ERRORED } from "edge:streams_readable_core";
import { createReadable } from "edge:streams_readable_default";
import { wrapReadable } from "edge:streams_readable";
import { ERRORED as WRITABLE_ERRORED, ERRORING, createWritable, wrapWritable } from "edge:streams_writable";

const { Promise, PromisePrototypeThen, PromiseReject, RangeError, ReflectApply, TypeError } = primordials;

/**
 * The internal slots and algorithms of a TransformStream and its controller,
 * and the sink of its writable side.
 */
export class TransformState {
  /** @type {WritableState} */
  writable;
  /** @type {StreamState} */
  readable;
  // The standard's promise of the next change of backpressure has at most these
  // two waiting: the readable side's pull and the write under way.
  backpressure = true;
  #pullWaits = false;
  #writeWaits = false;
  #parkedChunk = undefined;
  #transformer; // null once the algorithms are cleared
  /** Settled when the end that was begun first (close, abort, cancel) is done. */
  #finish = null;

  // https://streams.spec.whatwg.org/#initialize-transform-stream
  constructor(transformer, startResult, writableHWM = 1, writableSize = undefined, readableHWM = 0, readableSize = undefined) {
    this.#transformer = transformer;
    this.writable = createWritable(this, follow(startResult), writableHWM, writableSize);
    this.readable = createReadable(new TransformSource(this), follow(startResult), readableHWM, readableSize);
  }

  /** Sets what script gave, which needs the controller, which needs this. */
  set transformer(transformer) {
    this.#transformer = transformer;
  }

  // https://streams.spec.whatwg.org/#transform-stream-set-backpressure
  #setBackpressure(backpressure) {
    this.backpressure = backpressure;
    if (this.#pullWaits) {
      this.#pullWaits = false;
      later(this.readable.controller.onPulled);
    }
    if (this.#writeWaits) {
      this.#writeWaits = false;
      later(this.#onUnblocked);
    }
  }

  // https://streams.spec.whatwg.org/#transform-stream-unblock-write
  #unblockWrite() {
    if (this.backpressure) this.#setBackpressure(false);
  }

  // https://streams.spec.whatwg.org/#transform-stream-error-writable-and-unblock-write
  #errorWritable(e) {
    this.#transformer = null;
    this.writable.controller.errorIfNeeded(e);
    this.#unblockWrite();
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-controller-error
  error(e) {
    this.readable.controller.error(e);
    this.#errorWritable(e);
  }

  // https://streams.spec.whatwg.org/#ts-default-controller-desired-size
  get desiredSize() {
    return this.readable.controller.desiredSize;
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-controller-enqueue
  enqueue(chunk) {
    const { controller } = this.readable;
    if (!controller.canCloseOrEnqueue) throw new TypeError("The readable side is closed, errored or about to close");
    try {
      controller.enqueue(chunk);
    } catch (e) {
      this.#errorWritable(e);
      throw this.readable.storedError;
    }
    if (!controller.shouldCallPull() !== this.backpressure) this.#setBackpressure(true);
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-controller-terminate
  terminate() {
    this.readable.controller.close();
    this.#errorWritable(new TypeError("The transform was terminated"));
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-controller-perform-transform
  #perform(chunk) {
    const result = this.#transformer.transform(chunk, this);
    if (result === undefined) return undefined;
    return PromisePrototypeThen(result, noop, (e) => {
      this.error(e);
      throw e;
    });
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-sink-write-algorithm
  write(chunk) {
    if (!this.backpressure) return this.#perform(chunk);
    this.#writeWaits = true;
    this.#parkedChunk = chunk;
    return kManual;
  }

  #onUnblocked = () => {
    const { writable } = this;
    const { controller } = writable;
    const chunk = this.#parkedChunk;
    this.#parkedChunk = undefined;
    if (writable.state === ERRORING) controller.onWriteFailed(writable.storedError);
    else react(this.#perform(chunk), controller.onWritten, controller.onWriteFailed);
  };

  // https://streams.spec.whatwg.org/#transform-stream-default-sink-abort-algorithm
  abort(reason) {
    if (this.#finish !== null) return this.#finish.promise;
    const finish = (this.#finish = new Deferred());
    const { readable } = this;
    const result = this.#transformer.cancel(reason);
    this.#transformer = null;
    react(
      result,
      () => {
        if (readable.state === ERRORED) {
          finish.reject(readable.storedError);
        } else {
          readable.controller.error(reason);
          finish.resolve(undefined);
        }
      },
      (e) => {
        readable.controller.error(e);
        finish.reject(e);
      },
    );
    return finish.promise;
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-sink-close-algorithm
  close() {
    if (this.#finish !== null) return this.#finish.promise;
    const finish = (this.#finish = new Deferred());
    const { readable } = this;
    const result = this.#transformer.flush(this);
    this.#transformer = null;
    react(
      result,
      () => {
        if (readable.state === ERRORED) {
          finish.reject(readable.storedError);
        } else {
          readable.controller.close();
          finish.resolve(undefined);
        }
      },
      (e) => {
        readable.controller.error(e);
        finish.reject(e);
      },
    );
    return finish.promise;
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-source-pull-algorithm
  pull() {
    this.#setBackpressure(false);
    this.#pullWaits = true;
    return kManual;
  }

  // https://streams.spec.whatwg.org/#transform-stream-default-source-cancel
  cancel(reason) {
    if (this.#finish !== null) return this.#finish.promise;
    const finish = (this.#finish = new Deferred());
    const { writable } = this;
    const result = this.#transformer.cancel(reason);
    this.#transformer = null;
    react(
      result,
      () => {
        if (writable.state === WRITABLE_ERRORED) {
          finish.reject(writable.storedError);
        } else {
          writable.controller.errorIfNeeded(reason);
          this.#unblockWrite();
          finish.resolve(undefined);
        }
      },
      (e) => {
        writable.controller.errorIfNeeded(e);
        this.#unblockWrite();
        finish.reject(e);
      },
    );
    return finish.promise;
  }
}

/**
 * A promise resolved with a promise, as the standard makes it: what waits for
 * it runs three microtasks later, which cancel() in between can tell.
 */
function follow(promise) {
  return promise === undefined ? undefined : new Promise((resolve) => resolve(promise));
}

/** The source of the readable side. */
class TransformSource {
  idle = false;
  #state;
  constructor(state) {
    this.#state = state;
  }
  pull() {
    return this.#state.pull();
  }
  cancel(reason) {
    return this.#state.cancel(reason);
  }
}

/** The transformer made of the object that script gave to the constructor. */
class ScriptTransformer {
  #object;
  #dict;
  #controller;
  constructor(object, dict, controller) {
    this.#object = object;
    this.#dict = dict;
    this.#controller = controller;
  }
  transform(chunk, state) {
    const { transform } = this.#dict;
    if (transform !== undefined) return invoke(transform, this.#object, [chunk, this.#controller]);
    try {
      state.enqueue(chunk);
      return undefined;
    } catch (e) {
      return PromiseReject(e);
    }
  }
  flush() {
    const { flush } = this.#dict;
    return flush === undefined ? undefined : invoke(flush, this.#object, [this.#controller]);
  }
  cancel(reason) {
    const { cancel } = this.#dict;
    return cancel === undefined ? undefined : invoke(cancel, this.#object, [reason]);
  }
}

const { any, Function: callback } = webidl.converters;

// https://streams.spec.whatwg.org/#dictdef-transformer
const convertTransformer = webidl.createDictionaryConverter("Transformer", [
  { key: "cancel", converter: callback },
  { key: "flush", converter: callback },
  { key: "readableType", converter: any },
  { key: "start", converter: callback },
  { key: "transform", converter: callback },
  { key: "writableType", converter: any },
]);

/** Makes the public object of a transform of ours. */
export function createTransformStream(transformer, writableHWM = 1, readableHWM = 0) {
  return new TransformStream(kInternal, new TransformState(transformer, undefined, writableHWM, undefined, readableHWM, undefined));
}

// https://streams.spec.whatwg.org/#transformstream
export class TransformStream {
  /** @type {TransformState} */
  #state;
  // Made when script asks for them.
  #readable = null;
  #writable = null;

  // https://streams.spec.whatwg.org/#ts-constructor
  constructor(transformer = undefined, writableStrategy = undefined, readableStrategy = undefined) {
    if (transformer === kInternal) {
      this.#state = writableStrategy;
      return;
    }
    const prefix = "Failed to construct 'TransformStream'";
    if (transformer !== undefined) transformer = webidl.converters.object(transformer, prefix, "Argument 1");
    writableStrategy = convertStrategy(writableStrategy, prefix, "Argument 2");
    readableStrategy = convertStrategy(readableStrategy, prefix, "Argument 3");
    const dict = convertTransformer(transformer, prefix, "Argument 1");
    if (dict.readableType !== undefined) throw new RangeError(`${prefix}: readableType must not be given`);
    if (dict.writableType !== undefined) throw new RangeError(`${prefix}: writableType must not be given`);
    const readableHWM = extractHighWaterMark(readableStrategy, 0);
    const writableHWM = extractHighWaterMark(writableStrategy, 1);
    const started = new Deferred();
    const state = new TransformState(null, started.promise, writableHWM, writableStrategy.size, readableHWM, readableStrategy.size);
    this.#state = state;
    const controller = new TransformStreamDefaultController(kInternal, state);
    state.transformer = new ScriptTransformer(transformer, dict, controller);
    started.resolve(dict.start === undefined ? undefined : ReflectApply(dict.start, transformer, [controller]));
  }

  // https://streams.spec.whatwg.org/#ts-readable
  get readable() {
    return (this.#readable ??= wrapReadable(this.#state.readable));
  }

  // https://streams.spec.whatwg.org/#ts-writable
  get writable() {
    return (this.#writable ??= wrapWritable(this.#state.writable));
  }
}
webidl.configureInterface(TransformStream);

// https://streams.spec.whatwg.org/#transformstreamdefaultcontroller
export class TransformStreamDefaultController {
  /** @type {TransformState} */
  #state;

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  // https://streams.spec.whatwg.org/#ts-default-controller-desired-size
  get desiredSize() {
    return this.#state.desiredSize;
  }

  // https://streams.spec.whatwg.org/#ts-default-controller-enqueue
  enqueue(chunk = undefined) {
    this.#state.enqueue(chunk);
  }

  // https://streams.spec.whatwg.org/#ts-default-controller-error
  error(reason = undefined) {
    this.#state.error(reason);
  }

  // https://streams.spec.whatwg.org/#ts-default-controller-terminate
  terminate() {
    this.#state.terminate();
  }
}
webidl.configureInterface(TransformStreamDefaultController);
