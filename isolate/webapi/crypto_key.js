// Web Cryptography, keys: https://w3c.github.io/webcrypto/#cryptokey-interface
// Public: CryptoKey. Ops: none.
//
// A key's material is bytes in a private field: raw for secret keys, PKCS #8
// for private ones, SPKI for public ones. Only the files crypto_*.js read it.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";

const { ArrayPrototypeIncludes, ArrayPrototypePush, TypedArrayPrototypeSlice } = primordials;

/** Tells the constructor that it is called by createKey. */
const kInternal = {};

/** Every usage, in the order in which keys list theirs. */
export const keyUsages = ["encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"];

/** Reads the material of a key. @type {(key: CryptoKey) => Uint8Array} */
export let materialOf;
/** Reports whether an object is a CryptoKey. */
let hasBrand;
/** Sees the slots of a key, which scripts may not have replaced. */
let slotsOf;

/**
 * @typedef {{type: string, extractable: boolean, algorithm: object, usages: string[]}} KeySlots
 */

// https://w3c.github.io/webcrypto/#dfn-CryptoKey
export class CryptoKey {
  /** @type {KeySlots} */
  #slots;
  #material;
  // What scripts see; they may change these two objects, but not the slots.
  #algorithm = undefined;
  #usages = undefined;

  static {
    materialOf = (key) => key.#material;
    slotsOf = (key) => key.#slots;
    hasBrand = (o) => #material in o;
  }

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
    this.#slots = arguments[1];
    this.#material = arguments[2];
  }

  // https://w3c.github.io/webcrypto/#dfn-CryptoKey-type
  get type() {
    return this.#slots.type;
  }

  // https://w3c.github.io/webcrypto/#dfn-CryptoKey-extractable
  get extractable() {
    return this.#slots.extractable;
  }

  // https://w3c.github.io/webcrypto/#dfn-CryptoKey-algorithm
  get algorithm() {
    const { algorithm } = this.#slots;
    if (this.#algorithm === undefined) {
      this.#algorithm = { ...algorithm };
      if (algorithm.hash !== undefined) this.#algorithm.hash = { ...algorithm.hash };
      if (algorithm.publicExponent !== undefined) this.#algorithm.publicExponent = TypedArrayPrototypeSlice(algorithm.publicExponent);
    }
    return this.#algorithm;
  }

  // https://w3c.github.io/webcrypto/#dfn-CryptoKey-usages
  get usages() {
    this.#usages ??= [...this.#slots.usages];
    return this.#usages;
  }
}
webidl.configureInterface(CryptoKey);

/**
 * Reports whether V is a CryptoKey.
 * @param {any} V
 */
export function isCryptoKey(V) {
  return webidl.isObject(V) && hasBrand(V);
}

export const convertCryptoKey = webidl.createInterfaceConverter("CryptoKey", isCryptoKey);

/**
 * Gives what a key is, out of reach of scripts.
 * @param {CryptoKey} key
 * @returns {KeySlots}
 */
export function keySlots(key) {
  return slotsOf(key);
}

/**
 * Makes a key.
 * @param {string} type
 * @param {boolean} extractable
 * @param {object} algorithm
 * @param {string[]} usages in any order
 * @param {Uint8Array} material
 * @returns {CryptoKey}
 */
export function createKey(type, extractable, algorithm, usages, material) {
  const slots = { type, extractable, algorithm: { __proto__: null, ...algorithm }, usages: pickUsages(usages, keyUsages) };
  return new CryptoKey(kInternal, slots, material);
}

/**
 * The usages that are also in a list, in the order of keyUsages, each once.
 * @param {string[]} usages
 * @param {string[]} allowed
 */
export function pickUsages(usages, allowed) {
  const picked = [];
  for (let i = 0; i < keyUsages.length; i++) {
    const usage = keyUsages[i];
    if (ArrayPrototypeIncludes(usages, usage) && ArrayPrototypeIncludes(allowed, usage)) ArrayPrototypePush(picked, usage);
  }
  return picked;
}
