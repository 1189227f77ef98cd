// Web IDL, interfaces and the global object: https://webidl.spec.whatwg.org/#js-interfaces
// Public: nothing; edge:webidl exports it again. Ops: none.

import { primordials } from "edge:primordials";

const { ObjectDefineProperty, ReflectGetOwnPropertyDescriptor, ReflectOwnKeys, SymbolToStringTag, TypeError, globalThis: global } = primordials;

/** Throws what the constructor of an interface without one throws. */
export function illegalConstructor() {
  throw new TypeError("Illegal constructor");
}

/**
 * Makes the named properties of an interface or a prototype enumerable.
 * @param {object} object
 * @param {boolean} isStatic
 */
export function makeEnumerable(object, isStatic) {
  const keys = ReflectOwnKeys(object);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key === "symbol" || key === "constructor") continue;
    if (isStatic && (key === "length" || key === "name" || key === "prototype")) continue;
    const desc = ReflectGetOwnPropertyDescriptor(object, key);
    if (!desc.configurable || desc.enumerable) continue;
    ObjectDefineProperty(object, key, { __proto__: null, ...desc, enumerable: true });
  }
}

/**
 * Sets what Object.prototype.toString calls an object.
 * @param {object} object
 * @param {string} tag
 */
export function defineTag(object, tag) {
  ObjectDefineProperty(object, SymbolToStringTag, { __proto__: null, value: tag, writable: false, enumerable: false, configurable: true });
}

/**
 * Gives a class the property attributes that Web IDL asks of an interface.
 * https://webidl.spec.whatwg.org/#js-interfaces
 * @param {Function} Class its name is the interface's
 */
export function configureInterface(Class) {
  makeEnumerable(Class, true);
  makeEnumerable(Class.prototype, false);
  defineTag(Class.prototype, Class.name);
}

/**
 * Defines the constants of an interface, on the class and on its prototype.
 * https://webidl.spec.whatwg.org/#js-constants
 * @param {Function} Class
 * @param {Record<string, number>} constants
 */
export function defineConstants(Class, constants) {
  const keys = ReflectOwnKeys(constants);
  for (let i = 0; i < keys.length; i++) {
    const desc = { __proto__: null, value: constants[keys[i]], writable: false, enumerable: true, configurable: false };
    ObjectDefineProperty(Class, keys[i], desc);
    ObjectDefineProperty(Class.prototype, keys[i], desc);
  }
}

/**
 * Makes an interface global. https://webidl.spec.whatwg.org/#define-the-global-property-references
 * @param {string} name
 * @param {Function} Class
 */
export function exposeInterface(name, Class) {
  ObjectDefineProperty(global, name, { __proto__: null, value: Class, writable: true, enumerable: false, configurable: true });
}

/**
 * Makes a function an operation of the global object.
 * @param {string} name
 * @param {Function} fn
 */
export function exposeOperation(name, fn) {
  ObjectDefineProperty(global, name, { __proto__: null, value: fn, writable: true, enumerable: true, configurable: true });
}

/**
 * Makes a value a read-only attribute of the global object.
 * @param {string} name
 * @param {any} value
 * @param {boolean} [replaceable] assignment then puts a property in its place
 */
export function exposeAttribute(name, value, replaceable = false) {
  const accessors = {
    get [name]() {
      return value;
    },
    set [name](replacement) {
      ObjectDefineProperty(global, name, { __proto__: null, value: replacement, writable: true, enumerable: true, configurable: true });
    },
  };
  const { get, set } = ReflectGetOwnPropertyDescriptor(accessors, name);
  ObjectDefineProperty(global, name, { __proto__: null, get, set: replaceable ? set : undefined, enumerable: true, configurable: true });
}

/**
 * Makes a namespace object global. https://webidl.spec.whatwg.org/#js-namespaces
 * @param {string} name
 * @param {object} namespace
 */
export function exposeNamespace(name, namespace) {
  defineTag(namespace, name);
  ObjectDefineProperty(global, name, { __proto__: null, value: namespace, writable: true, enumerable: false, configurable: true });
}
