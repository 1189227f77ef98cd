// Streams, to and from iterables: https://streams.spec.whatwg.org/#rs-asynciterator
// Public: none (the objects that values() returns). Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { Deferred } from "edge:streams_queue";
import { acquireDefaultReader, cancelStream, readerRead, releaseReader } from "edge:streams_readable_core";
import { createReadable } from "edge:streams_readable_default";

const {
  AsyncIteratorPrototype,
  ObjectDefineProperty,
  ObjectSetPrototypeOf,
  PromisePrototypeThen,
  PromiseReject,
  PromiseResolve,
  ReflectApply,
  ReflectDeleteProperty,
  SymbolAsyncIterator,
  SymbolIterator,
  SymbolToStringTag,
  TypeError,
} = primordials;

/** What a step is fulfilled with at the end of the stream. */
const kEnd = { __proto__: null };

// https://streams.spec.whatwg.org/#ref-for-dfn-get-the-next-iteration-result
class Step {
  next = null;
  #iteration;
  #deferred = null;
  #settled = null; // a promise, when the answer came at once
  constructor(iteration) {
    this.#iteration = iteration;
  }

  // The promise is resolved with the chunk itself, so a thenable is followed.
  chunkSteps(chunk) {
    if (this.#deferred === null) this.#settled = PromiseResolve(chunk);
    else this.#deferred.resolve(chunk);
  }

  closeSteps() {
    this.#iteration.release();
    this.chunkSteps(kEnd);
  }

  errorSteps(e) {
    this.#iteration.release();
    if (this.#deferred === null) this.#settled = PromiseReject(e);
    else this.#deferred.reject(e);
  }

  /** The promise; called once, after the request was made. */
  take() {
    if (this.#settled !== null) return this.#settled;
    this.#deferred = new Deferred();
    return this.#deferred.promise;
  }
}

/** The internal slots of an iterator over a stream. */
class Iteration {
  #reader;
  #preventCancel;
  /** The promise of the last step or return that was begun or queued. */
  #ongoing = null;
  /** How many of those have not ended. */
  #unfinished = 0;
  #isFinished = false;

  constructor(stream, preventCancel) {
    this.#reader = acquireDefaultReader(stream);
    this.#preventCancel = preventCancel;
  }

  // https://webidl.spec.whatwg.org/#js-asynchronous-iterator-prototype-object
  next() {
    this.#unfinished++;
    this.#ongoing = this.#ongoing === null ? this.#step() : PromisePrototypeThen(this.#ongoing, this.#step, this.#step);
    return this.#ongoing;
  }

  // https://webidl.spec.whatwg.org/#js-asynchronous-iterator-prototype-object
  return(value) {
    const steps = () => this.#return(value);
    this.#ongoing = this.#ongoing === null ? steps() : PromisePrototypeThen(this.#ongoing, steps, steps);
    return PromisePrototypeThen(this.#ongoing, () => ({ value, done: true }));
  }

  #step = () => {
    if (this.#isFinished) {
      this.#stepEnded();
      return PromiseResolve({ value: undefined, done: true });
    }
    const step = new Step(this);
    readerRead(this.#reader, step);
    return PromisePrototypeThen(step.take(), this.#onResult, this.#onError);
  };

  #stepEnded() {
    this.#unfinished--;
    if (this.#unfinished === 0 && !this.#isFinished) this.#ongoing = null;
  }

  #onResult = (value) => {
    if (value === kEnd) this.#isFinished = true;
    this.#stepEnded();
    return value === kEnd ? { value: undefined, done: true } : { value, done: false };
  };

  #onError = (e) => {
    this.#isFinished = true;
    this.#stepEnded();
    throw e;
  };

  // https://streams.spec.whatwg.org/#ref-for-asynchronous-iterator-return
  #return(value) {
    if (this.#isFinished) return PromiseResolve(undefined);
    this.#isFinished = true;
    const reader = this.#reader;
    const result = this.#preventCancel ? PromiseResolve(undefined) : cancelStream(reader.stream, value);
    releaseReader(reader);
    return result;
  }

  /** The stream closed or failed. */
  release() {
    releaseReader(this.#reader);
  }
}

// https://webidl.spec.whatwg.org/#js-default-asynchronous-iterator-object
class StreamIterator {
  /** @type {Iteration} */
  #state;
  constructor(state) {
    this.#state = state;
  }
  next() {
    try {
      return this.#state.next();
    } catch (e) {
      return PromiseReject(e);
    }
  }
  return(value) {
    try {
      return this.#state.return(value);
    } catch (e) {
      return PromiseReject(e);
    }
  }
}
webidl.configureInterface(StreamIterator);
ReflectDeleteProperty(StreamIterator.prototype, "constructor");
ObjectSetPrototypeOf(StreamIterator.prototype, AsyncIteratorPrototype);
ObjectDefineProperty(StreamIterator.prototype, SymbolToStringTag, {
  __proto__: null,
  value: "ReadableStream AsyncIterator",
  writable: false,
  enumerable: false,
  configurable: true,
});

/** Locks a stream and makes an iterator over it. */
export function iterateStream(stream, preventCancel) {
  return new StreamIterator(new Iteration(stream, preventCancel));
}

/** A property that is a function, undefined for undefined and null. */
function getMethod(object, key) {
  const method = object[key];
  if (method === undefined || method === null) return undefined;
  if (typeof method !== "function") throw new TypeError("The iterable's method is not a function");
  return method;
}

/** Throws for the result of an iterator's method that is no object. */
function checkResult(result, method) {
  if (!webidl.isObject(result)) throw new TypeError(`The result of the iterator's ${method}() is not an object`);
  return result;
}

/** The source over an async iterator. */
class AsyncSource {
  idle = false;
  iterator;
  nextMethod;
  constructor(iterator) {
    this.iterator = checkResult(iterator, "@@iterator");
    this.nextMethod = iterator.next;
  }

  /** A promise of the next result, of what is not a promise too. */
  step() {
    return PromiseResolve(ReflectApply(this.nextMethod, this.iterator, []));
  }

  pull(controller) {
    try {
      return PromisePrototypeThen(this.step(), (result) => {
        if (checkResult(result, "next").done) controller.close();
        else controller.enqueue(result.value);
      });
    } catch (e) {
      return PromiseReject(e);
    }
  }

  cancel(reason) {
    try {
      const method = getMethod(this.iterator, "return");
      if (method === undefined) return undefined;
      return PromisePrototypeThen(this.returned(ReflectApply(method, this.iterator, [reason])), (result) => {
        checkResult(result, "return");
      });
    } catch (e) {
      return PromiseReject(e);
    }
  }

  returned(result) {
    return PromiseResolve(result);
  }
}

/**
 * The source over an iterator, whose values may be promises.
 * @see https://tc39.es/ecma262/#sec-%asyncfromsynciteratorprototype%-object
 */
class SyncSource extends AsyncSource {
  step() {
    const result = checkResult(ReflectApply(this.nextMethod, this.iterator, []), "next");
    return this.#unwrap(result, true);
  }

  returned(result) {
    return this.#unwrap(checkResult(result, "return"), false);
  }

  // https://tc39.es/ecma262/#sec-asyncfromsynciteratorcontinuation
  #unwrap(result, closeOnRejection) {
    const done = !!result.done;
    const { value } = result;
    const close = closeOnRejection && !done;
    let promise;
    try {
      promise = PromiseResolve(value);
    } catch (e) {
      if (close) this.#close();
      throw e;
    }
    return PromisePrototypeThen(
      promise,
      (v) => ({ __proto__: null, value: v, done }),
      (e) => {
        if (close) this.#close();
        throw e;
      },
    );
  }

  /** Closes the iterator because of an error, which outweighs its own. */
  #close() {
    try {
      const method = getMethod(this.iterator, "return");
      if (method !== undefined) ReflectApply(method, this.iterator, []);
    } catch {
      // The first error is thrown.
    }
  }
}

/**
 * Returns the state of a stream.
 * @see https://streams.spec.whatwg.org/#abstract-opdef-readablestreamfromiterable
 */
export function streamFromIterable(iterable) {
  if (iterable === undefined || iterable === null) throw new TypeError("Failed to execute 'from' on 'ReadableStream': Argument 1 is not iterable");
  let source;
  const method = getMethod(iterable, SymbolAsyncIterator);
  if (method !== undefined) {
    source = new AsyncSource(ReflectApply(method, iterable, []));
  } else {
    const syncMethod = getMethod(iterable, SymbolIterator);
    if (syncMethod === undefined) throw new TypeError("Failed to execute 'from' on 'ReadableStream': Argument 1 is not iterable");
    source = new SyncSource(ReflectApply(syncMethod, iterable, []));
  }
  return createReadable(source, undefined, 0);
}
