// DOM, aborting ongoing activities: https://dom.spec.whatwg.org/#aborting-ongoing-activities
// Public: AbortController, AbortSignal. Ops: none of its own (timeout uses edge:timers).

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException } from "edge:domexception";
import { Event, EventTarget, defineEventHandler, dispatchTrusted, hasListeners, setAbortHooks } from "edge:event";
import { startTimer } from "edge:timers";

const { ArrayPrototypePush, SafeSet, SafeWeakRef } = primordials;

const token = {};
let internals;

// https://dom.spec.whatwg.org/#interface-AbortSignal
export class AbortSignal extends EventTarget {
  /** undefined while the signal is not aborted */
  #reason;
  /** @type {Set<() => void> | null} */
  #algorithms = null;
  // The signals that a composite one follows; never composite themselves.
  /** @type {AbortSignal[] | null} */
  #sources = null;
  // Composite signals that follow this one. Held weakly, else a signal that
  // lives long would keep all that were ever made from it.
  /** @type {WeakRef<AbortSignal>[] | null} */
  #dependents = null;
  #pruneAt = 16;
  // Those among them that somebody listens to, which have to live on.
  /** @type {Set<AbortSignal> | null} */
  #observed = null;

  constructor(key = undefined) {
    if (key !== token) webidl.illegalConstructor();
    super();
  }

  // https://dom.spec.whatwg.org/#dom-abortsignal-abort
  static abort(reason = undefined) {
    const signal = new AbortSignal(token);
    signal.#reason = reason === undefined ? abortError() : reason;
    return signal;
  }

  // https://dom.spec.whatwg.org/#dom-abortsignal-timeout
  static timeout(milliseconds) {
    const prefix = "Failed to execute 'timeout' on 'AbortSignal'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    milliseconds = webidl.converters["unsigned long long"](milliseconds, prefix, "Argument 1", { enforceRange: true });
    const signal = new AbortSignal(token);
    startTimer(milliseconds, () => signalAbort(signal, new DOMException("The operation timed out.", "TimeoutError")));
    return signal;
  }

  // https://dom.spec.whatwg.org/#dom-abortsignal-any
  static any(signals) {
    const prefix = "Failed to execute 'any' on 'AbortSignal'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    return createDependentAbortSignal(convertSignals(signals, prefix, "Argument 1"));
  }

  get aborted() {
    return this.#reason !== undefined;
  }

  get reason() {
    return this.#reason;
  }

  // https://dom.spec.whatwg.org/#dom-abortsignal-throwifaborted
  throwIfAborted() {
    if (this.#reason !== undefined) throw this.#reason;
  }

  static {
    internals = {
      is: (V) => webidl.isObject(V) && #pruneAt in V,
      isAborted: (signal) => signal.#reason !== undefined,
      reason: (signal) => signal.#reason,
      algorithms: (signal) => (signal.#algorithms ??= new SafeSet()),
      // https://dom.spec.whatwg.org/#abortsignal-signal-abort
      abort: (signal, reason) => {
        if (signal.#reason !== undefined) return;
        signal.#reason = reason === undefined ? abortError() : reason;
        const toAbort = [];
        for (let i = 0; i < (signal.#dependents?.length ?? 0); i++) {
          const dependent = signal.#dependents[i].deref();
          if (dependent === undefined || dependent.#reason !== undefined) continue;
          dependent.#reason = signal.#reason;
          ArrayPrototypePush(toAbort, dependent);
        }
        signal.#dependents = null;
        signal.#observed = null;
        internals.run(signal);
        for (let i = 0; i < toAbort.length; i++) internals.run(toAbort[i]);
      },
      // https://dom.spec.whatwg.org/#run-the-abort-steps
      run: (signal) => {
        internals.release(signal);
        const algorithms = signal.#algorithms;
        if (algorithms !== null) {
          for (const algorithm of algorithms) algorithm();
          signal.#algorithms = null;
        }
        if (hasListeners(signal, "abort")) dispatchTrusted(signal, new Event("abort"));
      },
      // https://dom.spec.whatwg.org/#create-a-dependent-abort-signal
      depend: (signals) => {
        const result = new AbortSignal(token);
        for (let i = 0; i < signals.length; i++) {
          if (signals[i].#reason !== undefined) {
            result.#reason = signals[i].#reason;
            return result;
          }
        }
        const sources = new SafeSet();
        for (let i = 0; i < signals.length; i++) {
          const own = signals[i].#sources;
          if (own === null) sources.add(signals[i]);
          else for (let j = 0; j < own.length; j++) sources.add(own[j]);
        }
        result.#sources = [];
        const ref = new SafeWeakRef(result);
        for (const source of sources) {
          ArrayPrototypePush(result.#sources, source);
          internals.addDependent(source, ref);
        }
        return result;
      },
      addDependent: (source, ref) => {
        source.#dependents ??= [];
        if (source.#dependents.length >= source.#pruneAt) {
          const live = [];
          for (let i = 0; i < source.#dependents.length; i++) {
            if (source.#dependents[i].deref() !== undefined) ArrayPrototypePush(live, source.#dependents[i]);
          }
          source.#dependents = live;
          source.#pruneAt = 16 + 2 * live.length;
        }
        ArrayPrototypePush(source.#dependents, ref);
      },
      // https://dom.spec.whatwg.org/#abort-signal-garbage-collection
      observe: (signal) => {
        if (signal.#sources === null || signal.#reason !== undefined) return;
        for (let i = 0; i < signal.#sources.length; i++) (signal.#sources[i].#observed ??= new SafeSet()).add(signal);
      },
      release: (signal) => {
        for (let i = 0; i < (signal.#sources?.length ?? 0); i++) signal.#sources[i].#observed?.delete(signal);
      },
      idle: (signal) => !signal.#algorithms?.size && !hasListeners(signal, "abort"),
    };
  }
}
webidl.configureInterface(AbortSignal);
defineEventHandler(AbortSignal.prototype, "abort");
webidl.converters.AbortSignal = webidl.createInterfaceConverter("AbortSignal", internals.is);
const convertSignals = webidl.createSequenceConverter(webidl.converters.AbortSignal);

function abortError() {
  return new DOMException("This operation was aborted", "AbortError");
}

// https://dom.spec.whatwg.org/#interface-abortcontroller
export class AbortController {
  #signal = new AbortSignal(token);

  get signal() {
    return this.#signal;
  }

  // https://dom.spec.whatwg.org/#dom-abortcontroller-abort
  abort(reason = undefined) {
    internals.abort(this.#signal, reason);
  }
}
webidl.configureInterface(AbortController);

/**
 * Reports whether V is an AbortSignal.
 * @type {(V: any) => boolean}
 */
export const isAbortSignal = internals.is;

/**
 * Makes a signal that no script controls.
 * @returns {AbortSignal}
 */
export function createAbortSignal() {
  return new AbortSignal(token);
}

/**
 * Aborts a signal, with an AbortError when reason is undefined.
 * @param {AbortSignal} signal
 * @param {any} [reason]
 */
export function signalAbort(signal, reason) {
  internals.abort(signal, reason);
}

/**
 * Makes a signal that is aborted when one of the given ones is.
 * @param {AbortSignal[]} signals
 * @returns {AbortSignal}
 */
export function createDependentAbortSignal(signals) {
  return internals.depend(signals);
}

/**
 * Reports whether a signal is aborted, whatever scripts did to its prototype.
 * @param {AbortSignal} signal
 */
export function isAborted(signal) {
  return internals.isAborted(signal);
}

/**
 * Returns why a signal was aborted, undefined when it was not.
 * @param {AbortSignal} signal
 */
export function abortReason(signal) {
  return internals.reason(signal);
}

/**
 * Adds what to do, once, when a signal is aborted; nothing when it is already.
 * https://dom.spec.whatwg.org/#abortsignal-add
 * @param {AbortSignal} signal
 * @param {() => void} algorithm
 */
export function addAbortAlgorithm(signal, algorithm) {
  if (internals.isAborted(signal)) return;
  internals.algorithms(signal).add(algorithm);
  internals.observe(signal);
}

/**
 * Removes what addAbortAlgorithm added.
 * https://dom.spec.whatwg.org/#abortsignal-remove
 * @param {AbortSignal} signal
 * @param {() => void} algorithm
 */
export function removeAbortAlgorithm(signal, algorithm) {
  internals.algorithms(signal).delete(algorithm);
  if (internals.idle(signal)) internals.release(signal);
}

setAbortHooks({
  isAborted,
  addAbortAlgorithm,
  abortListenersChanged(target, some) {
    if (!internals.is(target)) return;
    if (some) internals.observe(target);
    else if (internals.idle(target)) internals.release(target);
  },
});
