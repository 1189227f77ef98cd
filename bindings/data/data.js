// The binding kind data.
// Public: nothing. Ops: none.

import { registerFacade } from "edge:facades";
import { primordials } from "edge:primordials";

const { TypedArrayPrototypeGetBuffer } = primordials;

/**
 * Bytes cross into an isolate as a Uint8Array over a buffer of its own; env
 * shows the buffer, as workerd does.
 * @param {Uint8Array} value
 * @returns {ArrayBuffer}
 */
export function create(value) {
  return TypedArrayPrototypeGetBuffer(value);
}

registerFacade("data", create);
