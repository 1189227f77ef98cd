// What a worker imports from "edge:workers" or "cloudflare:workers".
// Public: the module edge:workers. Ops: none.

import { primordials } from "edge:primordials";
import { native_builtin, native_invocation } from "edge:ops";

const { Error, SafeMap } = primordials;

/** env: empty until the worker is loaded. */
export const env = {};

/** The event that began last, unless it has ended. */
let latest = null;
/** The others that are being handled, by number: most end before the next begins. */
const earlier = new SafeMap();

/**
 * Notes that an event is being handled.
 * @param {{id: number, waitUntil: (p: any) => void}} invocation
 */
export function enter(invocation) {
  if (latest !== null) earlier.set(latest.id, latest);
  latest = invocation;
}

/** Notes that an event has ended. @param {{id: number}} invocation */
export function leave(invocation) {
  if (latest === invocation) latest = null;
  else earlier.delete(invocation.id);
}

/** Gives the event of a number, undefined when it has ended. @param {number} id */
export function invocationOf(id) {
  return latest !== null && latest.id === id ? latest : earlier.get(id);
}

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
  const invocation = invocationOf(native_invocation());
  if (invocation === undefined) throw new Error("waitUntil was called outside of a request");
  invocation.waitUntil(promise);
}

native_builtin("edge:workers", { WorkerEntrypoint, env, waitUntil });
