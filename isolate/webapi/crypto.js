// Web Cryptography, the Crypto interface: https://w3c.github.io/webcrypto/#crypto-interface
// Public: Crypto, SubtleCrypto, CryptoKey, crypto. Ops: none (native_random_bytes).

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException, QuotaExceededError } from "edge:domexception";
import { bytesOfBufferSource } from "edge:encoding";
import { subtle } from "edge:crypto_subtle";
import { native_random_bytes } from "edge:ops";

export { CryptoKey } from "edge:crypto_key";
export { SubtleCrypto } from "edge:crypto_subtle";

const {
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetSymbolToStringTag,
  Uint8Array,
} = primordials;

/** Tells the constructor that it is called here. */
const kInternal = {};

/** What one call of getRandomValues may ask for, in bytes. */
const quota = 65536;

/** The typed arrays of integers. */
const integers = { __proto__: null };
for (const name of ["Int8Array", "Int16Array", "Int32Array", "Uint8Array", "Uint16Array", "Uint32Array", "Uint8ClampedArray", "BigInt64Array", "BigUint64Array"]) {
  integers[name] = true;
}

const hex = [];
for (let i = 0; i < 256; i++) hex[i] = (i < 16 ? "0" : "") + i.toString(16);

// https://w3c.github.io/webcrypto/#dfn-Crypto
export class Crypto {
  #subtle = subtle;

  constructor() {
    if (arguments[0] !== kInternal) webidl.illegalConstructor();
  }

  // https://w3c.github.io/webcrypto/#dfn-Crypto-attribute-subtle
  get subtle() {
    return this.#subtle;
  }

  // https://w3c.github.io/webcrypto/#Crypto-method-getRandomValues
  getRandomValues(array) {
    this.#subtle; // the brand
    const prefix = "Failed to execute 'getRandomValues' on 'Crypto'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    array = webidl.converters.ArrayBufferView(array, prefix, "Argument 1");
    const kind = TypedArrayPrototypeGetSymbolToStringTag(array);
    if (kind === undefined || !integers[kind]) {
      throw new DOMException(`${prefix}: The array is not a typed array of integers.`, "TypeMismatchError");
    }
    const bytes = bytesOfBufferSource(array);
    const requested = TypedArrayPrototypeGetByteLength(bytes);
    if (requested > quota) {
      throw new QuotaExceededError(`${prefix}: The array has ${requested} bytes, of ${quota} at most.`, { quota, requested });
    }
    if (requested > 0) native_random_bytes(bytes);
    return array;
  }

  // https://w3c.github.io/webcrypto/#Crypto-method-randomUUID
  randomUUID() {
    this.#subtle; // the brand
    const b = new Uint8Array(16);
    native_random_bytes(b);
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    let text = "";
    for (let i = 0; i < 16; i++) text += i === 4 || i === 6 || i === 8 || i === 10 ? `-${hex[b[i]]}` : hex[b[i]];
    return text;
  }
}
webidl.configureInterface(Crypto);

/** The only instance. https://w3c.github.io/webcrypto/#dfn-GlobalCrypto */
export const crypto = new Crypto(kInternal);
