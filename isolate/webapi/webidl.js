// Web IDL: https://webidl.spec.whatwg.org/
// Public: nothing; every other standard converts its arguments with it. Ops: none.
//
// A converter is (V, prefix, context, opts) => value. prefix begins an error's
// text ("Failed to execute 'append' on 'Headers'"), context names the value in
// it ("Argument 1"). opts holds what Web IDL writes as extended attributes:
// enforceRange, clamp, treatNullAsEmptyString, allowShared, allowResizable.
//
// A converted dictionary has every member as an own property; one that is
// absent holds undefined. So a member is present when it is not undefined, and
// nothing is ever read from a prototype.

import { primordials } from "edge:primordials";
import { defineTag, makeEnumerable } from "edge:webidl_interface";

export {
  configureInterface,
  defineConstants,
  exposeAttribute,
  exposeInterface,
  exposeNamespace,
  exposeOperation,
  illegalConstructor,
} from "edge:webidl_interface";

const {
  ArrayBufferIsView,
  ArrayBufferPrototypeGetByteLength,
  ArrayBufferPrototypeGetResizable,
  ArrayIsArray,
  ArrayIteratorPrototype,
  ArrayPrototypePush,
  ArrayPrototypeSort,
  BigInt,
  BigIntAsIntN,
  BigIntAsUintN,
  DataViewPrototypeGetBuffer,
  FunctionPrototypeCall,
  IteratorPrototype,
  MathFloor,
  MathFround,
  MathMax,
  MathMin,
  MathTrunc,
  Number,
  NumberIsFinite,
  ObjectDefineProperty,
  ObjectSetPrototypeOf,
  PromisePrototypeThen,
  PromiseResolve,
  ReflectApply,
  ReflectGetOwnPropertyDescriptor,
  ReflectOwnKeys,
  RegExpPrototypeExec,
  SafeSet,
  String,
  StringPrototypeToWellFormed,
  SymbolIterator,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetSymbolToStringTag,
  globalThis: global,
  uncurryThis,
} = primordials;

const arrayIterator = ArrayIteratorPrototype.next;
const arrayValues = primordials.ArrayPrototype[SymbolIterator];

/**
 * The error of a conversion.
 * @param {new (message: string) => Error} Class
 * @param {string} message continues the value's name: "is not an object"
 * @param {string} [prefix]
 * @param {string} [context]
 * @returns {Error}
 */
export function makeException(Class, message, prefix, context) {
  return new Class(`${prefix ? `${prefix}: ` : ""}${context ? context : "Value"} ${message}.`);
}

/** A context whose text is only made for an error: most conversions succeed. */
class Place {
  start;
  outer;
  middle;
  name;
  end;
  constructor(start, outer, middle, name, end) {
    this.start = start;
    this.outer = outer;
    this.middle = middle;
    this.name = name;
    this.end = end;
  }
  toString() {
    return `${this.start}${this.outer}${this.middle}${this.name}${this.end}`;
  }
}

/**
 * Throws unless enough arguments were given.
 * @param {number} count of the call
 * @param {number} required
 * @param {string} prefix
 */
export function requiredArguments(count, required, prefix) {
  if (count < required) {
    throw new TypeError(`${prefix}: ${required} argument${required === 1 ? "" : "s"} required, but only ${count} present.`);
  }
}

/**
 * Reports whether V is an object or a function.
 * @param {any} V
 */
export function isObject(V) {
  return (typeof V === "object" && V !== null) || typeof V === "function";
}

// https://webidl.spec.whatwg.org/#abstract-opdef-converttoint, step 4 and on
function integer(x, low, high, wrap, prefix, context, opts) {
  if (opts?.enforceRange) {
    if (!NumberIsFinite(x)) throw makeException(TypeError, "is not a finite number", prefix, context);
    x = MathTrunc(x) + 0;
    if (x < low || x > high) {
      throw makeException(TypeError, `is outside the accepted range of ${low} to ${high}, inclusive`, prefix, context);
    }
    return x;
  }
  if (opts?.clamp) {
    if (x !== x) return 0;
    return roundTiesToEven(MathMin(MathMax(x, low), high)) + 0;
  }
  if (!NumberIsFinite(x)) return 0;
  return wrap(MathTrunc(x)) + 0;
}

function roundTiesToEven(x) {
  const floor = MathFloor(x);
  const rest = x - floor;
  if (rest < 0.5) return floor;
  if (rest > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Number(V), except that a BigInt is refused, as ToNumber does. */
function toNumber(V, prefix, context) {
  if (typeof V === "number") return V;
  if (typeof V === "bigint") throw makeException(TypeError, "is a BigInt, which cannot be converted to a number", prefix, context);
  if (typeof V === "symbol") throw makeException(TypeError, "is a symbol, which cannot be converted to a number", prefix, context);
  return +V;
}

// https://webidl.spec.whatwg.org/#js-integer-types
function integerConverter(bits, signed) {
  let low = signed ? -(2 ** (bits - 1)) : 0;
  let high = signed ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
  let wrap;
  if (bits === 64) {
    low = signed ? -(2 ** 53) + 1 : 0;
    high = 2 ** 53 - 1;
    const as = signed ? BigIntAsIntN : BigIntAsUintN;
    wrap = (x) => (x >= low && x <= high ? x : Number(as(64, BigInt(x))));
  } else {
    const modulus = 2 ** bits;
    wrap = (x) => {
      x %= modulus;
      if (x < 0) x += modulus;
      return signed && x > high ? x - modulus : x;
    };
  }
  return (V, prefix, context, opts) => {
    if (typeof V === "number" && V >= low && V <= high && MathFloor(V) === V) return V + 0;
    return integer(toNumber(V, prefix, context), low, high, wrap, prefix, context, opts);
  };
}

// https://webidl.spec.whatwg.org/#js-double and #js-float
function floatConverter(round, restricted) {
  return (V, prefix, context) => {
    const x = round(toNumber(V, prefix, context));
    if (restricted && !NumberIsFinite(x)) throw makeException(TypeError, "is not a finite floating-point value", prefix, context);
    return x;
  };
}

/** @type {Record<string, (V: any, prefix?: string, context?: string, opts?: object) => any>} */
export const converters = { __proto__: null };

converters.any = (V) => V;
converters.undefined = () => undefined;
converters.boolean = (V) => !!V;
converters.byte = integerConverter(8, true);
converters.octet = integerConverter(8, false);
converters.short = integerConverter(16, true);
converters["unsigned short"] = integerConverter(16, false);
converters.long = integerConverter(32, true);
converters["unsigned long"] = integerConverter(32, false);
converters["long long"] = integerConverter(64, true);
converters["unsigned long long"] = integerConverter(64, false);
converters.float = floatConverter(MathFround, true);
converters["unrestricted float"] = floatConverter(MathFround, false);
converters.double = floatConverter((x) => x, true);
converters["unrestricted double"] = floatConverter((x) => x, false);

// https://webidl.spec.whatwg.org/#js-bigint
converters.bigint = (V) => (typeof V === "bigint" ? V : BigInt(V));

// https://webidl.spec.whatwg.org/#js-DOMString
converters.DOMString = (V, prefix, context, opts) => {
  if (typeof V === "string") return V;
  if (V === null && opts?.treatNullAsEmptyString) return "";
  if (typeof V === "symbol") throw makeException(TypeError, "is a symbol, which cannot be converted to a string", prefix, context);
  return String(V);
};

const aboveByte = /[^\x00-\xff]/;

// https://webidl.spec.whatwg.org/#js-ByteString
converters.ByteString = (V, prefix, context, opts) => {
  const s = typeof V === "string" ? V : converters.DOMString(V, prefix, context, opts);
  if (RegExpPrototypeExec(aboveByte, s) !== null) throw makeException(TypeError, "is not a valid ByteString: it has a character above U+00FF", prefix, context);
  return s;
};

// https://webidl.spec.whatwg.org/#js-USVString
converters.USVString = (V, prefix, context, opts) =>
  StringPrototypeToWellFormed(typeof V === "string" ? V : converters.DOMString(V, prefix, context, opts));

// https://webidl.spec.whatwg.org/#js-object
converters.object = (V, prefix, context) => {
  if (!isObject(V)) throw makeException(TypeError, "is not an object", prefix, context);
  return V;
};

// https://webidl.spec.whatwg.org/#js-symbol
converters.symbol = (V, prefix, context) => {
  if (typeof V !== "symbol") throw makeException(TypeError, "is not a symbol", prefix, context);
  return V;
};

// https://webidl.spec.whatwg.org/#js-callback-function
converters.Function = (V, prefix, context) => {
  if (typeof V !== "function") throw makeException(TypeError, "is not a function", prefix, context);
  return V;
};

const sharedByteLength = (() => {
  const get = global.SharedArrayBuffer && ReflectGetOwnPropertyDescriptor(global.SharedArrayBuffer.prototype, "byteLength").get;
  return get && uncurryThis(get);
})();

/**
 * Reports whether V is an ArrayBuffer (of any realm).
 * @param {any} V
 */
export function isArrayBuffer(V) {
  if (typeof V !== "object" || V === null) return false;
  try {
    ArrayBufferPrototypeGetByteLength(V);
    return true;
  } catch {
    return false;
  }
}

/**
 * Reports whether V is a SharedArrayBuffer.
 * @param {any} V
 */
export function isSharedArrayBuffer(V) {
  if (typeof V !== "object" || V === null || sharedByteLength === undefined) return false;
  try {
    sharedByteLength(V);
    return true;
  } catch {
    return false;
  }
}

/**
 * Reports whether V is a typed array or a DataView.
 * @type {(V: any) => boolean}
 */
export const isArrayBufferView = ArrayBufferIsView;

/**
 * Reports whether V is an ArrayBuffer or a view.
 * @param {any} V
 */
export function isBufferSource(V) {
  return ArrayBufferIsView(V) || isArrayBuffer(V);
}

function checkBuffer(buffer, prefix, context, opts) {
  if (!isArrayBuffer(buffer)) {
    if (opts?.allowShared) return;
    throw makeException(TypeError, "is backed by a SharedArrayBuffer, which is not allowed", prefix, context);
  }
  if (!opts?.allowResizable && ArrayBufferPrototypeGetResizable(buffer)) {
    throw makeException(TypeError, "is backed by a resizable ArrayBuffer, which is not allowed", prefix, context);
  }
}

function checkView(V, prefix, context, opts) {
  const isData = TypedArrayPrototypeGetSymbolToStringTag(V) === undefined;
  checkBuffer(isData ? DataViewPrototypeGetBuffer(V) : TypedArrayPrototypeGetBuffer(V), prefix, context, opts);
  return V;
}

// https://webidl.spec.whatwg.org/#js-buffer-source-types
converters.ArrayBuffer = (V, prefix, context, opts) => {
  if (!isArrayBuffer(V)) throw makeException(TypeError, "is not an ArrayBuffer", prefix, context);
  checkBuffer(V, prefix, context, opts);
  return V;
};

converters.DataView = (V, prefix, context, opts) => {
  if (!ArrayBufferIsView(V) || TypedArrayPrototypeGetSymbolToStringTag(V) !== undefined) {
    throw makeException(TypeError, "is not a DataView", prefix, context);
  }
  return checkView(V, prefix, context, opts);
};

const typedArrays = ["Int8Array", "Int16Array", "Int32Array", "Uint8Array", "Uint16Array", "Uint32Array", "Uint8ClampedArray", "BigInt64Array", "BigUint64Array", "Float16Array", "Float32Array", "Float64Array"];
for (let i = 0; i < typedArrays.length; i++) {
  const name = typedArrays[i];
  converters[name] = (V, prefix, context, opts) => {
    if (TypedArrayPrototypeGetSymbolToStringTag(V) !== name) throw makeException(TypeError, `is not a ${name}`, prefix, context);
    return checkView(V, prefix, context, opts);
  };
}

converters.ArrayBufferView = (V, prefix, context, opts) => {
  if (!ArrayBufferIsView(V)) throw makeException(TypeError, "is not a typed array or DataView", prefix, context);
  return checkView(V, prefix, context, opts);
};

converters.BufferSource = (V, prefix, context, opts) => {
  if (ArrayBufferIsView(V)) return checkView(V, prefix, context, opts);
  if (!isArrayBuffer(V) && !(opts?.allowShared && isSharedArrayBuffer(V))) {
    throw makeException(TypeError, "is not an ArrayBuffer or a view of one", prefix, context);
  }
  checkBuffer(V, prefix, context, opts);
  return V;
};

/**
 * V's @@iterator method, undefined when it has none (what a union of a sequence
 * and something else asks first).
 * @param {any} V
 */
export function iteratorMethod(V) {
  if (!isObject(V)) return undefined;
  const method = V[SymbolIterator];
  if (method === undefined || method === null) return undefined;
  if (typeof method !== "function") throw new TypeError("The @@iterator property is not a function");
  return method;
}

// https://webidl.spec.whatwg.org/#create-sequence-from-iterable
/**
 * @param {object} V
 * @param {Function} method what iteratorMethod gave
 * @param {Function} converter of an element
 * @param {string} [prefix]
 * @param {string} [context]
 * @param {object} [opts]
 * @returns {any[]}
 */
export function sequenceFromIterable(V, method, converter, prefix, context, opts) {
  const result = [];
  // An array whose iteration nobody replaced is read by index: the same steps,
  // its length being read anew each time.
  if (method === arrayValues && ArrayIsArray(V) && ArrayIteratorPrototype.next === arrayIterator) {
    for (let i = 0; i < V.length; i++) {
      ArrayPrototypePush(result, converter(V[i], prefix, new Place("", context, ", index ", i, ""), opts));
    }
    return result;
  }
  const iterator = ReflectApply(method, V, []);
  if (!isObject(iterator)) throw makeException(TypeError, "is not iterable: its iterator is not an object", prefix, context);
  const next = iterator.next;
  for (;;) {
    const step = FunctionPrototypeCall(next, iterator);
    if (!isObject(step)) throw makeException(TypeError, "is not iterable: a result of its iterator is not an object", prefix, context);
    if (step.done) return result;
    ArrayPrototypePush(result, converter(step.value, prefix, new Place("", context, ", index ", result.length, ""), opts));
  }
}

/**
 * sequence<T>: https://webidl.spec.whatwg.org/#js-sequence
 * @param {Function} converter of T
 */
export function createSequenceConverter(converter) {
  return (V, prefix, context, opts) => {
    if (!isObject(V)) throw makeException(TypeError, "is not a sequence", prefix, context);
    const method = iteratorMethod(V);
    if (method === undefined) throw makeException(TypeError, "is not iterable", prefix, context);
    return sequenceFromIterable(V, method, converter, prefix, context, opts);
  };
}

converters["sequence<any>"] = createSequenceConverter(converters.any);
converters["sequence<object>"] = createSequenceConverter(converters.object);
converters["sequence<DOMString>"] = createSequenceConverter(converters.DOMString);
converters["sequence<ByteString>"] = createSequenceConverter(converters.ByteString);
converters["sequence<USVString>"] = createSequenceConverter(converters.USVString);
converters["sequence<sequence<ByteString>>"] = createSequenceConverter(converters["sequence<ByteString>"]);
converters["sequence<sequence<USVString>>"] = createSequenceConverter(converters["sequence<USVString>"]);

/**
 * record<K, V>: https://webidl.spec.whatwg.org/#js-record
 * The result is an object without a prototype, its keys in the order of the
 * record.
 * @param {Function} keyConverter
 * @param {Function} valueConverter
 */
export function createRecordConverter(keyConverter, valueConverter) {
  return (V, prefix, context, opts) => {
    if (!isObject(V)) throw makeException(TypeError, "is not an object", prefix, context);
    const result = { __proto__: null };
    const keys = ReflectOwnKeys(V);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (!ReflectGetOwnPropertyDescriptor(V, key)?.enumerable) continue;
      const name = keyConverter(key, prefix, new Place("", context, ", a key", "", ""), opts);
      result[name] = valueConverter(V[key], prefix, new Place("", context, ", the value of '", name, "'"), opts);
    }
    return result;
  };
}

/**
 * @typedef {{key: string, converter: Function, required?: boolean, defaultValue?: () => any}} Member
 */

/**
 * A dictionary: https://webidl.spec.whatwg.org/#js-dictionary
 * @param {string} name
 * @param {...Member[]} dictionaries the members, those of the least derived
 *   dictionary first
 */
export function createDictionaryConverter(name, ...dictionaries) {
  const members = [];
  const places = [];
  const blank = {};
  for (let d = 0; d < dictionaries.length; d++) {
    // Members are read in the lexicographical order of their names.
    const sorted = ArrayPrototypeSort(dictionaries[d], (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    for (let i = 0; i < sorted.length; i++) {
      ArrayPrototypePush(members, sorted[i]);
      ArrayPrototypePush(places, `'${sorted[i].key}' of '${name}'`);
      blank[sorted[i].key] = undefined;
    }
  }
  return (V, prefix, context, opts) => {
    const nullish = V === undefined || V === null;
    if (!nullish && !isObject(V)) throw makeException(TypeError, `is not of type ${name}, an object`, prefix, context);
    const dict = { ...blank };
    for (let i = 0; i < members.length; i++) {
      const { key, converter, required, defaultValue } = members[i];
      const value = nullish ? undefined : V[key];
      if (value !== undefined) {
        dict[key] = converter(value, prefix, context ? new Place(places[i], " (", context, ")", "") : places[i], opts);
      } else if (defaultValue !== undefined) {
        dict[key] = defaultValue();
      } else if (required) {
        throw makeException(TypeError, `is not of type ${name}: its member '${key}' is required and undefined`, prefix, context);
      }
    }
    return dict;
  };
}

/**
 * An enumeration: https://webidl.spec.whatwg.org/#js-enumeration
 * @param {string} name
 * @param {string[]} values
 */
export function createEnumConverter(name, values) {
  const set = new SafeSet(values);
  return (V, prefix, context) => {
    const S = converters.DOMString(V, prefix, context);
    if (!set.has(S)) {
      throw new TypeError(`${prefix ? `${prefix}: ` : ""}The provided value '${S}' is not a valid enum value of type ${name}.`);
    }
    return S;
  };
}

/**
 * T?: https://webidl.spec.whatwg.org/#js-nullable-type
 * @param {Function} converter of T
 */
export function createNullableConverter(converter) {
  return (V, prefix, context, opts) => (V === null || V === undefined ? null : converter(V, prefix, context, opts));
}

/**
 * Promise<T>: https://webidl.spec.whatwg.org/#js-promise
 * The result is a promise of this realm whose value is converted to T.
 * @param {Function} converter of T
 */
export function createPromiseConverter(converter) {
  if (converter === converters.any) return (V) => PromiseResolve(V);
  return (V, prefix, context, opts) => PromisePrototypeThen(PromiseResolve(V), (value) => converter(value, prefix, context, opts));
}

/**
 * An interface type: https://webidl.spec.whatwg.org/#js-interface
 * @param {string} name
 * @param {(V: object) => boolean} isInstance reports the brand of an object
 */
export function createInterfaceConverter(name, isInstance) {
  return (V, prefix, context) => {
    if (!isObject(V) || !isInstance(V)) throw makeException(TypeError, `is not of type ${name}`, prefix, context);
    return V;
  };
}

/**
 * A union: the first case whose test accepts V converts it.
 * https://webidl.spec.whatwg.org/#js-union
 * @param {[(V: any) => boolean, Function][]} cases in the order of the standard
 * @param {Function} [fallback] converts what no case accepts
 */
export function createUnionConverter(cases, fallback) {
  return (V, prefix, context, opts) => {
    for (let i = 0; i < cases.length; i++) {
      if (cases[i][0](V)) return cases[i][1](V, prefix, context, opts);
    }
    if (fallback === undefined) throw makeException(TypeError, "is of none of the accepted types", prefix, context);
    return fallback(V, prefix, context, opts);
  };
}

/**
 * Gives an interface keys, values, entries, forEach and @@iterator.
 * https://webidl.spec.whatwg.org/#js-iterable
 * @param {string} name of the interface
 * @param {Function} Class
 * @param {(target: object) => [any, any][]} getEntries returns the current
 *   pairs, and throws a TypeError for a target of another class. It is called
 *   at each step, so it returns the same array while nothing changed.
 */
export function pairIterable(name, Class, getEntries) {
  // https://webidl.spec.whatwg.org/#js-default-iterator-object
  class PairIterator {
    #target;
    #kind;
    #index = 0;
    constructor(target, kind) {
      this.#target = target;
      this.#kind = kind;
    }
    // https://webidl.spec.whatwg.org/#js-iterator-prototype-object
    next() {
      if (!isObject(this) || !(#target in this)) throw new TypeError(`Failed to execute 'next' on '${name} Iterator': Illegal invocation`);
      const pairs = getEntries(this.#target);
      const index = this.#index;
      if (index >= pairs.length) return { value: undefined, done: true };
      this.#index = index + 1;
      const pair = pairs[index];
      const kind = this.#kind;
      return { value: kind === 0 ? pair[0] : kind === 1 ? pair[1] : [pair[0], pair[1]], done: false };
    }
  }
  delete PairIterator.prototype.constructor;
  ObjectSetPrototypeOf(PairIterator.prototype, IteratorPrototype);
  makeEnumerable(PairIterator.prototype, false);
  defineTag(PairIterator.prototype, `${name} Iterator`);

  const methods = {
    entries() {
      getEntries(this);
      return new PairIterator(this, 2);
    },
    keys() {
      getEntries(this);
      return new PairIterator(this, 0);
    },
    values() {
      getEntries(this);
      return new PairIterator(this, 1);
    },
    // https://webidl.spec.whatwg.org/#js-forEach, for an iterable declaration
    forEach(callback, thisArg = undefined) {
      getEntries(this);
      const prefix = `Failed to execute 'forEach' on '${name}'`;
      requiredArguments(arguments.length, 1, prefix);
      callback = converters.Function(callback, prefix, "Argument 1");
      for (let i = 0, pairs = getEntries(this); i < pairs.length; i++, pairs = getEntries(this)) {
        FunctionPrototypeCall(callback, thisArg, pairs[i][1], pairs[i][0], this);
      }
    },
  };
  const names = ["entries", "keys", "values", "forEach"];
  for (let i = 0; i < names.length; i++) {
    ObjectDefineProperty(Class.prototype, names[i], { __proto__: null, value: methods[names[i]], writable: true, enumerable: true, configurable: true });
  }
  ObjectDefineProperty(Class.prototype, SymbolIterator, { __proto__: null, value: methods.entries, writable: true, enumerable: false, configurable: true });
}
