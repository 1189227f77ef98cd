// What a worker imports from "edge:workers" or "cloudflare:workers".
// Public: none (workers_module.js, which is part of each program, exports it).
// Ops: none.

import { primordials } from "edge:primordials";
import { native_invocation } from "edge:ops";

const { Error, ObjectDefineProperty, SafeMap, SymbolFor, globalThis: global } = primordials;

/** env: empty until the worker is loaded. */
export const env = {};

/** The events that are being handled, by number. @type {Map<number, {waitUntil: (p: any) => void}>} */
export const invocations = new SafeMap();

/** The base class of entrypoints that are classes. */
export class WorkerEntrypoint {
  /**
   * @param {object} ctx
   * @param {object} env
   */
  constructor(ctx, env) {
    this.ctx = ctx;
    this.env = env;
  }
}

/**
 * Extends the life of the event that the caller handles.
 * @param {any} promise
 */
export function waitUntil(promise) {
  const invocation = invocations.get(native_invocation());
  if (invocation === undefined) throw new Error("waitUntil was called outside of a request");
  invocation.waitUntil(promise);
}

// A module of the program cannot import one of the snapshot, so they meet here.
ObjectDefineProperty(global, SymbolFor("edge.workers"), {
  __proto__: null,
  value: { __proto__: null, WorkerEntrypoint, env, waitUntil },
});
