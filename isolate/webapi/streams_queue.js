// Streams, what the parts share: https://streams.spec.whatwg.org/
// Public: none. Ops: none.
//
// The algorithms work on state objects of our own; the public objects are thin
// shells around them, made when script can see them, and so are the promises
// that script may never ask for. State objects declare all their fields, so
// that nothing put on Object.prototype is ever reached.

import { primordials } from "edge:primordials";
import { isObject } from "edge:webidl";

const {
  ArrayBufferPrototypeGetByteLength,
  ArrayBufferPrototypeGetDetached,
  ArrayBufferPrototypeTransfer,
  DataViewPrototypeGetBuffer,
  DataViewPrototypeGetByteLength,
  DataViewPrototypeGetByteOffset,
  NumberIsNaN,
  NumberMAX_VALUE,
  Promise,
  PromisePrototypeThen,
  PromiseReject,
  PromiseResolve,
  RangeError,
  ReflectApply,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag,
  TypedArrayPrototypeSet,
  Uint8Array,
} = primordials;

/** Tells a public constructor that it is called from inside. */
export const kInternal = { __proto__: null };

/** A first in, first out list of objects that carry their own `next` link. */
export class Fifo {
  head = null;
  tail = null;
  length = 0;

  /** Appends an entry that is in no list. */
  push(entry) {
    entry.next = null;
    if (this.tail === null) this.head = entry;
    else this.tail.next = entry;
    this.tail = entry;
    this.length++;
  }

  /** Takes the first entry; there must be one. */
  shift() {
    const entry = this.head;
    this.head = entry.next;
    if (this.head === null) this.tail = null;
    entry.next = null;
    this.length--;
    return entry;
  }

  /** Empties the list and returns what was its first entry, linked to the rest. */
  drain() {
    const first = this.head;
    this.head = this.tail = null;
    this.length = 0;
    return first;
  }
}

/** One chunk in a queue. */
class Sized {
  value;
  size;
  next = null;
  constructor(value, size) {
    this.value = value;
    this.size = size;
  }
}

// https://streams.spec.whatwg.org/#queue-with-sizes
export class SizedQueue {
  list = new Fifo();
  /** The total size; rounding never takes it below 0. */
  total = 0;

  get length() {
    return this.list.length;
  }

  // https://streams.spec.whatwg.org/#enqueue-value-with-size
  enqueue(value, size) {
    // Neither NaN nor Infinity.
    if (!(size >= 0 && size <= NumberMAX_VALUE)) throw new RangeError(sizeText);
    this.list.push(new Sized(value, size));
    this.total += size;
  }

  // https://streams.spec.whatwg.org/#dequeue-value
  dequeue() {
    const { value, size } = this.list.shift();
    this.total -= size;
    if (this.total < 0) this.total = 0;
    return value;
  }

  // https://streams.spec.whatwg.org/#peek-queue-value
  peek() {
    return this.list.head.value;
  }

  // https://streams.spec.whatwg.org/#reset-queue
  reset() {
    this.list.drain();
    this.total = 0;
  }
}

const sizeText = "The size of a chunk must be a finite, non-negative number";

// https://streams.spec.whatwg.org/#validate-and-normalize-high-water-mark
export function extractHighWaterMark(strategy, defaultHWM) {
  const hwm = strategy.highWaterMark;
  if (hwm === undefined) return defaultHWM;
  if (NumberIsNaN(hwm) || hwm < 0) throw new RangeError("highWaterMark must be a non-negative number");
  return hwm;
}

/**
 * Calls a strategy's size function, without a receiver.
 * @see https://streams.spec.whatwg.org/#make-size-algorithm-from-size-function
 */
export function chunkSize(sizeFunction, chunk) {
  return sizeFunction === undefined ? 1 : toNumber(ReflectApply(sizeFunction, undefined, [chunk]));
}

// The callback returns an unrestricted double.
function toNumber(v) {
  return typeof v === "number" ? v : +v;
}

/** The one promise behind everything that is done at once. */
const done = PromiseResolve(undefined);

/** Does nothing. */
export function noop() {}

/** A promise with its two functions. */
export class Deferred {
  promise;
  resolve;
  reject;
  next = null;
  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** Sets [[PromiseIsHandled]], so that a rejection is not reported. */
export function markHandled(promise) {
  PromisePrototypeThen(promise, undefined, noop);
}

/** Queues a microtask. */
export function later(fn) {
  PromisePrototypeThen(done, fn);
}

/**
 * Returned by an internal algorithm that calls the reaction itself, in a
 * microtask, when it is done.
 */
export const kManual = { __proto__: null };

/**
 * Reacts to what an internal algorithm returned: undefined stands for a promise
 * that is already fulfilled; anything else but kManual is a promise.
 */
export function react(result, onFulfilled, onRejected) {
  if (result === undefined) PromisePrototypeThen(done, onFulfilled);
  else if (result !== kManual) PromisePrototypeThen(result, onFulfilled, onRejected);
}

/** Makes a promise of what an internal algorithm returned, fulfilled with undefined. */
export function asPromise(result) {
  return result === undefined ? PromiseResolve(undefined) : PromisePrototypeThen(result, noop);
}

/**
 * Calls a function of an underlying object that returns a promise. The result is
 * undefined when that promise would be fulfilled with a primitive at once.
 */
export function invoke(fn, receiver, args) {
  try {
    const result = ReflectApply(fn, receiver, args);
    return isObject(result) ? new Promise((resolve) => resolve(result)) : undefined;
  } catch (e) {
    return PromiseReject(e);
  }
}

/**
 * Calls start of an underlying object and makes of its result what react()
 * takes. What it throws is thrown.
 */
export function callStart(start, object, controller) {
  if (start === undefined) return undefined;
  const result = ReflectApply(start, object, [controller]);
  return isObject(result) ? new Promise((resolve) => resolve(result)) : undefined;
}

/** The TypeError of a method of a reader or writer that was released. */
export function released(method, name) {
  return new TypeError(`Failed to execute '${method}' on '${name}': the lock was released`);
}

const PENDING = 0;
const FULFILLED = 1;
const REJECTED = 2;

/**
 * A promise that is made when it is first looked at. It is fulfilled with
 * undefined, and a rejection of it counts as handled.
 */
export class LazyPromise {
  state = PENDING;
  reason = undefined;
  made = null; // a Deferred while pending, then a promise
  #watcher = null;

  get pending() {
    return this.state === PENDING;
  }

  get rejected() {
    return this.state === REJECTED;
  }

  /** Calls fn in a microtask when this pending promise is fulfilled: then() without a promise. */
  whenResolved(fn) {
    this.#watcher = fn;
  }

  get promise() {
    if (this.state === PENDING) return (this.made ??= new Deferred()).promise;
    if (this.made === null) {
      if (this.state === FULFILLED) {
        this.made = PromiseResolve(undefined);
      } else {
        this.made = PromiseReject(this.reason);
        markHandled(this.made);
      }
    }
    return this.made;
  }

  resolve() {
    if (this.state !== PENDING) return;
    this.state = FULFILLED;
    if (this.#watcher !== null) {
      later(this.#watcher);
      this.#watcher = null;
    }
    if (this.made === null) return;
    this.made.resolve(undefined);
    this.made = this.made.promise;
  }

  reject(reason) {
    if (this.state !== PENDING) return;
    this.state = REJECTED;
    this.reason = reason;
    this.#watcher = null;
    if (this.made === null) return;
    markHandled(this.made.promise);
    this.made.reject(reason);
    this.made = this.made.promise;
  }

  /** Makes it a new promise, rejected if the old one was settled. */
  rejectOrReplace(reason) {
    if (this.state !== PENDING) this.renew();
    this.reject(reason);
  }

  /** Makes it a new, pending promise. */
  renew() {
    this.state = PENDING;
    this.reason = undefined;
    this.made = null;
  }
}

/** The parts of a typed array or DataView, read without its own properties. */
export function viewBuffer(view) {
  return TypedArrayPrototypeGetSymbolToStringTag(view) === undefined ? DataViewPrototypeGetBuffer(view) : TypedArrayPrototypeGetBuffer(view);
}

/** 0 when the buffer is detached or the view out of its bounds. */
export function viewByteLength(view) {
  if (TypedArrayPrototypeGetSymbolToStringTag(view) !== undefined) return TypedArrayPrototypeGetByteLength(view);
  return isDetached(DataViewPrototypeGetBuffer(view)) ? 0 : DataViewPrototypeGetByteLength(view);
}

/** 0 when the buffer is detached or the view out of its bounds. */
export function viewByteOffset(view) {
  if (TypedArrayPrototypeGetSymbolToStringTag(view) !== undefined) return TypedArrayPrototypeGetByteOffset(view);
  return isDetached(DataViewPrototypeGetBuffer(view)) ? 0 : DataViewPrototypeGetByteOffset(view);
}

// https://tc39.es/ecma262/#sec-isdetachedbuffer
export const isDetached = ArrayBufferPrototypeGetDetached;

export const bufferByteLength = ArrayBufferPrototypeGetByteLength;

/**
 * Moves the bytes to a new ArrayBuffer. Memory of WebAssembly throws TypeError.
 * @see https://streams.spec.whatwg.org/#transfer-array-buffer
 */
export const transferBuffer = ArrayBufferPrototypeTransfer;

/** Copies bytes between buffers. */
export function copyBytes(to, toOffset, from, fromOffset, count) {
  TypedArrayPrototypeSet(new Uint8Array(to, toOffset, count), new Uint8Array(from, fromOffset, count));
}

/** Copies part of a buffer into a Uint8Array over a new one, whatever the buffer's species. */
export function cloneBytes(buffer, byteOffset, byteLength) {
  const view = new Uint8Array(byteLength);
  TypedArrayPrototypeSet(view, new Uint8Array(buffer, byteOffset, byteLength));
  return view;
}

// https://streams.spec.whatwg.org/#abstract-opdef-cloneasuint8array
export function cloneAsUint8Array(view) {
  return cloneBytes(viewBuffer(view), viewByteOffset(view), viewByteLength(view));
}
