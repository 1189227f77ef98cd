// HTML, timers and microtasks: https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#timers
// Public: setTimeout, setInterval, clearTimeout, clearInterval, queueMicrotask. Ops: op_timer_set.
//
// One heap holds all timers of the isolate; Go is asked to wake it once, for
// the earliest. A wake-up runs one callback, so that a microtask checkpoint
// follows each, and the next one, when it is due, comes with a wake-up of its own.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { QuotaExceededError } from "edge:domexception";
import { reportException } from "edge:report";
import { native_invocation, native_now, native_on, native_set_invocation, op_timer_set } from "edge:ops";

const {
  ArrayPrototypePop,
  ArrayPrototypePush,
  FunctionPrototypeCall,
  MathMax,
  PromisePrototypeThen,
  PromiseResolve,
  ReflectApply,
  SafeMap,
  TypeError,
  globalThis: global,
} = primordials;

/** A live timer costs memory until it fires, and years may pass until then. */
const maxTimers = 10000;

/**
 * @typedef {{id: number, deadline: number, order: number, index: number, invocation: number,
 *   level: number, run: () => void, every: number}} Timer
 * index is the place in the heap, -1 outside; every is the interval in ms, -1 for one shot.
 */

/** @type {Map<number, Timer>} */
const timers = new SafeMap();
/** How many of them each invocation set. @type {Map<number, number>} */
const owned = new SafeMap();
/** @type {Timer[]} a binary heap by deadline, then by order */
const heap = [];
let lastId = 0;
let lastOrder = 0;
let nesting = 0;
// The deadline that Go was asked to wake us at.
let armed = Infinity;

const before = (a, b) => a.deadline < b.deadline || (a.deadline === b.deadline && a.order < b.order);

function place(timer, index) {
  heap[index] = timer;
  timer.index = index;
}

function siftUp(timer, index) {
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!before(timer, heap[parent])) break;
    place(heap[parent], index);
    index = parent;
  }
  place(timer, index);
}

function siftDown(timer, index) {
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child++;
    if (!before(heap[child], timer)) break;
    place(heap[child], index);
    index = child;
  }
  place(timer, index);
}

function push(timer) {
  ArrayPrototypePush(heap, timer);
  siftUp(timer, heap.length - 1);
}

function unlink(timer) {
  const { index } = timer;
  if (index < 0) return;
  const last = ArrayPrototypePop(heap);
  timer.index = -1;
  if (last === timer) return;
  if (index > 0 && before(last, heap[(index - 1) >> 1])) siftUp(last, index);
  else siftDown(last, index);
}

function add(timer) {
  timers.set(timer.id, timer);
  owned.set(timer.invocation, (owned.get(timer.invocation) ?? 0) + 1);
}

function remove(timer) {
  timers.delete(timer.id);
  const rest = owned.get(timer.invocation) - 1;
  if (rest > 0) owned.set(timer.invocation, rest);
  else owned.delete(timer.invocation);
}

/** Asks Go for a wake-up when the earliest deadline is another than it knows. */
function arm() {
  const deadline = heap.length > 0 ? heap[0].deadline : Infinity;
  if (deadline === armed) return;
  // A later deadline than asked for is left to the wake-up, which asks again.
  if (deadline > armed && deadline !== Infinity) return;
  armed = deadline;
  if (deadline === Infinity) op_timer_set(-1, 0);
  else op_timer_set(MathMax(0, deadline - native_now()), heap[0].invocation);
}

// https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#timer-initialisation-steps
function schedule(timer, timeout) {
  if (timer.level > 5 && timeout < 4) timeout = 4;
  timer.deadline = native_now() + timeout;
  timer.order = ++lastOrder;
  push(timer);
}

/**
 * Starts a timer that runs a function of the platform.
 * https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#run-steps-after-a-timeout
 * @param {number} timeout in ms
 * @param {() => void} run
 * @param {boolean} [repeat]
 * @returns {number} for stopTimer
 */
export function startTimer(timeout, run, repeat = false) {
  if (timers.size >= maxTimers) {
    throw new QuotaExceededError(`More than ${maxTimers} timers would be live: clear some first.`, { quota: maxTimers, requested: maxTimers + 1 });
  }
  if (timeout < 0) timeout = 0;
  const timer = {
    id: ++lastId,
    deadline: 0,
    order: 0,
    index: -1,
    invocation: native_invocation(),
    level: nesting + 1,
    run,
    every: repeat ? timeout : -1,
  };
  add(timer);
  schedule(timer, timeout);
  arm();
  return timer.id;
}

/**
 * Stops a timer; one that has run, or never was, is ignored.
 * @param {number} id
 */
export function stopTimer(id) {
  const timer = timers.get(id);
  if (timer === undefined) return;
  remove(timer);
  unlink(timer);
  arm();
}

/**
 * Stops every timer that an invocation set, when it has ended.
 * @param {number} invocation
 */
export function stopTimersOf(invocation) {
  if (!owned.has(invocation)) return;
  const ids = [];
  for (const timer of timers.values()) {
    if (timer.invocation === invocation) ArrayPrototypePush(ids, timer.id);
  }
  for (let i = 0; i < ids.length; i++) stopTimer(ids[i]);
}

/**
 * Counts the live timers that an invocation set.
 * @param {number} invocation
 */
export function timersOf(invocation) {
  return owned.get(invocation) ?? 0;
}

function fire(timer) {
  const outer = native_invocation();
  native_set_invocation(timer.invocation);
  nesting = timer.level;
  try {
    timer.run();
  } catch (error) {
    reportException(error);
  }
  nesting = 0;
  native_set_invocation(outer);
  // Whoever cleared it meanwhile took it off the map.
  if (timer.every >= 0 && timers.get(timer.id) === timer) {
    timer.level++;
    schedule(timer, timer.every);
  }
}

native_on("timer", () => {
  armed = Infinity;
  // Go's clock may be a little ahead of ours; then the wake-up is asked for again.
  if (heap.length > 0 && heap[0].deadline <= native_now()) {
    const timer = heap[0];
    unlink(timer);
    if (timer.every < 0) remove(timer);
    fire(timer);
  }
  arm();
});

function convertHandler(handler, name) {
  if (typeof handler === "function") return handler;
  throw new TypeError(`Failed to execute '${name}': Argument 1 is not a function; text is not accepted, since no code is made from strings here.`);
}

const toLong = webidl.converters.long;

function setTimer(name, handler, timeout, args, repeat) {
  const prefix = `Failed to execute '${name}'`;
  handler = convertHandler(handler, name);
  timeout = timeout === undefined ? 0 : toLong(timeout, prefix, "Argument 2");
  const run = args.length === 0 ? () => FunctionPrototypeCall(handler, global) : () => ReflectApply(handler, global, args);
  return startTimer(timeout, run, repeat);
}

/**
 * https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#dom-settimeout
 * @param {Function} handler
 * @param {number} [timeout]
 * @param {...any} args
 * @returns {number}
 */
export function setTimeout(handler, timeout = undefined, ...args) {
  webidl.requiredArguments(arguments.length, 1, "Failed to execute 'setTimeout'");
  return setTimer("setTimeout", handler, timeout, args, false);
}

/**
 * https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#dom-setinterval
 * @param {Function} handler
 * @param {number} [timeout]
 * @param {...any} args
 * @returns {number}
 */
export function setInterval(handler, timeout = undefined, ...args) {
  webidl.requiredArguments(arguments.length, 1, "Failed to execute 'setInterval'");
  return setTimer("setInterval", handler, timeout, args, true);
}

/**
 * https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#dom-cleartimeout
 * @param {number} [id]
 */
export function clearTimeout(id = undefined) {
  if (id !== undefined) stopTimer(toLong(id, "Failed to execute 'clearTimeout'", "Argument 1"));
}

/**
 * https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#dom-clearinterval
 * @param {number} [id]
 */
export function clearInterval(id = undefined) {
  if (id !== undefined) stopTimer(toLong(id, "Failed to execute 'clearInterval'", "Argument 1"));
}

const resolved = PromiseResolve(undefined);

/**
 * https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#microtask-queuing
 * @param {() => void} callback
 */
export function queueMicrotask(callback) {
  const prefix = "Failed to execute 'queueMicrotask'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  callback = webidl.converters.Function(callback, prefix, "Argument 1");
  PromisePrototypeThen(resolved, () => {
    try {
      FunctionPrototypeCall(callback, undefined);
    } catch (error) {
      reportException(error);
    }
  });
}
