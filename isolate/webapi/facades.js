// Bindings, what a worker sees of them: env.NAME.
// Public: none. Ops: none.

import { primordials } from "edge:primordials";

const { Error, SafeMap } = primordials;

/** @type {Map<string, (value: any, handle: number) => any>} */
const facades = new SafeMap();

/**
 * Registers what makes env.NAME of a binding kind. The kind's module calls it
 * while the start-up snapshot is made.
 * @param {string} name of the kind's module
 * @param {(value: any, handle: number) => any} create gets the binding's value
 *   and the number of its resource
 */
export function registerFacade(name, create) {
  if (facades.has(name)) throw new Error(`register facade: there are two named '${name}'`);
  facades.set(name, create);
}

/**
 * Makes env.NAME.
 * @param {string} name
 * @param {any} value
 * @param {number} handle
 */
export function createFacade(name, value, handle) {
  const create = facades.get(name);
  if (create === undefined) throw new Error(`create binding: no facade is named '${name}'`);
  return create(value, handle);
}
