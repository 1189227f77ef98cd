// HTML Standard, structured cloning:
// https://html.spec.whatwg.org/multipage/structured-data.html
// Public: structuredClone. Ops: none (native_structured_clone).
//
// The engine clones what the language knows. Objects of the platform's classes
// come to write(); those of a registered class are cloned by their own steps,
// the others cannot be cloned.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException, isDOMException } from "edge:domexception";
import { native_structured_clone } from "edge:ops";

const {
  ArrayPrototypeIncludes,
  ArrayPrototypePush,
  ObjectDefineProperty,
  ReflectGetOwnPropertyDescriptor,
  ReflectGetPrototypeOf,
  SafeWeakSet,
} = primordials;

/**
 * @typedef {object} Serializable
 * @property {(o: object) => boolean} brandCheck
 * @property {string} tag
 * @property {(o: object) => any} write
 * @property {(data: any) => object} read
 */

/** @type {Serializable[]} */
const serializables = [];

/** Prototypes of the platform's interfaces. */
const platformPrototypes = new SafeWeakSet();

/**
 * Registers a serializable class. https://html.spec.whatwg.org/multipage/structured-data.html#serializable-objects
 * @param {(o: object) => boolean} brandCheck
 * @param {string} tag names the class
 * @param {(o: object) => any} write gives what the object is made of: strings,
 *   numbers, buffers that never change, plain objects of them
 * @param {(data: any) => object} read makes an object of that again
 */
export function registerSerializable(brandCheck, tag, write, read) {
  ArrayPrototypePush(serializables, { brandCheck, tag, write, read });
}

/**
 * Tells that objects of an interface are platform objects, so that those of a
 * class that is not serializable are refused, instead of being cloned as if
 * they were plain.
 * @param {Function} Class
 */
export function registerInterface(Class) {
  platformPrototypes.add(Class.prototype);
}

function cloneError(message) {
  return new DOMException(`Failed to execute 'structuredClone': ${message}`, "DataCloneError");
}

// Both run while the engine writes; it takes read's result for the clone.
const hooks = {
  __proto__: null,
  write(object) {
    for (let i = 0; i < serializables.length; i++) {
      const { brandCheck, tag, write } = serializables[i];
      if (brandCheck(object)) return { tag, data: write(object) };
    }
    for (let proto = ReflectGetPrototypeOf(object); proto !== null; proto = ReflectGetPrototypeOf(proto)) {
      if (platformPrototypes.has(proto)) throw cloneError(`a ${proto.constructor.name} could not be cloned.`);
    }
    return undefined;
  },
  read({ tag, data }) {
    for (let i = 0; i < serializables.length; i++) {
      if (serializables[i].tag === tag) return serializables[i].read(data);
    }
    throw cloneError(`a ${tag} could not be cloned.`);
  },
};

// https://webidl.spec.whatwg.org/#idl-DOMException, its serialization steps
function writeDOMException(error) {
  return { name: error.name, message: error.message, stack: ReflectGetOwnPropertyDescriptor(error, "stack")?.value };
}

function readDOMException({ name, message, stack }) {
  const error = new DOMException(message, name);
  if (typeof stack === "string") {
    ObjectDefineProperty(error, "stack", { __proto__: null, value: stack, writable: true, enumerable: false, configurable: true });
  }
  return error;
}

registerSerializable(isDOMException, "DOMException", writeDOMException, readDOMException);

const convertOptions = webidl.createDictionaryConverter("StructuredSerializeOptions", [
  { key: "transfer", converter: webidl.converters["sequence<object>"], defaultValue: () => [] },
]);

/**
 * Checks a transfer list. Only ArrayBuffers can be transferred.
 * https://html.spec.whatwg.org/multipage/structured-data.html#structuredserializewithtransfer
 */
function checkTransfer(transfer) {
  for (let i = 0; i < transfer.length; i++) {
    if (!webidl.isArrayBuffer(transfer[i])) throw cloneError("a value in the transfer list cannot be transferred.");
    if (ArrayPrototypeIncludes(transfer, transfer[i], i + 1)) throw cloneError("an ArrayBuffer is in the transfer list twice.");
  }
}

// https://html.spec.whatwg.org/multipage/structured-data.html#dom-structuredclone
export function structuredClone(value, options = undefined) {
  const prefix = "Failed to execute 'structuredClone'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  const { transfer } = convertOptions(options, prefix, "Argument 2");
  checkTransfer(transfer);
  if (transfer.length === 0) {
    if (!webidl.isObject(value) && typeof value !== "symbol") return value;
    // The engine takes a DOMException for any other Error.
    if (isDOMException(value)) return readDOMException(writeDOMException(value));
  }
  return native_structured_clone(value, transfer, hooks);
}
