// The language's own functions, captured before any tenant's code can replace
// them: https://tc39.es/ecma262/
// Public: nothing. Ops: none.
//
// A name is made of the path to the function: ArrayPrototypePush(array, x),
// ObjectDefineProperty(o, k, d), MapPrototypeGetSize(map) for a getter,
// ArrayPrototypeSymbolIterator(array) for a symbol key. Methods of prototypes
// take their receiver first. Constructors and global functions keep their own
// names, and symbols are SymbolIterator and the like.
//
// A primordial is made when a module first names it, so that the start-up
// snapshot carries only those in use. Modules therefore name what they need at
// their top level, which runs while the snapshot is made; an unknown name
// throws there.

const { apply, getOwnPropertyDescriptor, ownKeys, getPrototypeOf, setPrototypeOf, defineProperty } = Reflect;
const { bind, call } = Function.prototype;

/** Makes f(receiver, ...args) from a method. */
const uncurryThis = bind.bind(call);

/** Makes f(receiver, argsArray) from a method. */
const applyBind = bind.bind(apply);

const TypedArray = getPrototypeOf(Uint8Array);
const ArrayIteratorPrototype = getPrototypeOf([][Symbol.iterator]());
const StringIteratorPrototype = getPrototypeOf(""[Symbol.iterator]());
const MapIteratorPrototype = getPrototypeOf(new Map().entries());
const SetIteratorPrototype = getPrototypeOf(new Set().values());
const IteratorPrototype = getPrototypeOf(ArrayIteratorPrototype);
const GeneratorFunction = getPrototypeOf(function* () {}).constructor;
const AsyncFunction = getPrototypeOf(async function () {}).constructor;
const AsyncGeneratorFunction = getPrototypeOf(async function* () {}).constructor;
const AsyncGeneratorPrototype = AsyncGeneratorFunction.prototype.prototype;
const AsyncIteratorPrototype = getPrototypeOf(AsyncGeneratorPrototype);

/**
 * What a name may start with: the object, and how its own functions are called
 * ("uncurry": receiver first, "bind": with the object as receiver, "copy").
 * @type {Map<string, {object: object, how: string}>}
 */
const roots = new Map();
const collectRoots = () => {
  for (const key of ownKeys(globalThis)) {
    if (typeof key !== "string" || !/^[A-Z]/.test(key)) continue;
    const { value } = getOwnPropertyDescriptor(globalThis, key);
    if (typeof value !== "function" && (typeof value !== "object" || value === null)) continue;
    roots.set(key, { object: value, how: key === "Promise" ? "bind" : "copy" });
    if (typeof value === "function" && value.prototype) roots.set(key + "Prototype", { object: value.prototype, how: "uncurry" });
  }
  for (const key of ownKeys(globalThis.WebAssembly ?? {})) {
    const value = typeof key === "string" ? globalThis.WebAssembly[key] : undefined;
    if (typeof value === "function" && value.prototype) roots.set(`WebAssembly${key}Prototype`, { object: value.prototype, how: "uncurry" });
  }
  roots.set("TypedArray", { object: TypedArray, how: "uncurry" });
  const prototypes = {
    TypedArrayPrototype: TypedArray.prototype,
    ArrayIteratorPrototype,
    StringIteratorPrototype,
    MapIteratorPrototype,
    SetIteratorPrototype,
    IteratorPrototype,
    GeneratorPrototype: GeneratorFunction.prototype.prototype,
    AsyncGeneratorPrototype,
    AsyncIteratorPrototype,
  };
  for (const key of ownKeys(prototypes)) roots.set(key, { object: prototypes[key], how: "uncurry" });
};
collectRoots();

/** The part of a name that a property key gives: push -> Push, @@iterator -> SymbolIterator. */
const keyName = (key) => {
  if (typeof key === "symbol") {
    const text = key.description ?? "";
    return text.startsWith("Symbol.") ? `Symbol${text[7].toUpperCase()}${text.slice(8)}` : "";
  }
  return key === "" ? "" : key[0].toUpperCase() + key.slice(1);
};

const callable = (fn, root) => {
  if (typeof fn !== "function" || root.how === "copy") return fn;
  return root.how === "bind" ? apply(bind, fn, [root.object]) : uncurryThis(fn);
};

/** Finds the property of a root that the rest of a name stands for. */
const member = (root, rest) => {
  for (const key of ownKeys(root.object)) {
    const part = keyName(key);
    if (part === "" || !rest.endsWith(part)) continue;
    const desc = getOwnPropertyDescriptor(root.object, key);
    if (rest === part && "value" in desc) {
      return { value: key === "constructor" ? desc.value : callable(desc.value, root) };
    }
    if (rest === `Get${part}` && desc.get) return { value: callable(desc.get, root.how === "copy" ? { how: "uncurry" } : root) };
    if (rest === `Set${part}` && desc.set) return { value: callable(desc.set, root.how === "copy" ? { how: "uncurry" } : root) };
  }
  return undefined;
};

/** An iterator over a private one, out of reach of replaced prototypes. */
const safeIteratorClass = (create, next) => {
  class SafeIterator {
    #iterator;
    constructor(iterable) {
      this.#iterator = create(iterable);
    }
    next() {
      return next(this.#iterator);
    }
    [Symbol.iterator]() {
      return this;
    }
  }
  setPrototypeOf(SafeIterator.prototype, null);
  return SafeIterator;
};

/**
 * A copy of a collection class whose methods cannot be replaced: instances see
 * no prototype but ours.
 */
const makeSafe = (Unsafe, Safe) => {
  const example = Unsafe === Map || Unsafe === Set ? new Unsafe() : undefined;
  for (const key of ownKeys(Unsafe.prototype)) {
    if (key === "constructor") continue;
    const desc = getOwnPropertyDescriptor(Unsafe.prototype, key);
    const iterates = example !== undefined && (key === "entries" || key === "keys" || key === "values" || key === Symbol.iterator);
    if (iterates) {
      const create = uncurryThis(desc.value);
      const Iterator = safeIteratorClass(create, uncurryThis(create(example).next));
      desc.value = function () {
        return new Iterator(this);
      };
    }
    defineProperty(Safe.prototype, key, { __proto__: null, ...desc });
  }
  setPrototypeOf(Safe.prototype, null);
  return Object.freeze(Safe);
};

/** What is made by hand. Each entry is called when its name is first used. */
const special = {
  __proto__: null,
  uncurryThis: () => uncurryThis,
  applyBind: () => applyBind,
  globalThis: () => globalThis,
  FunctionPrototypeCall: () => uncurryThis(call),
  TypedArray: () => TypedArray,
  GeneratorFunction: () => GeneratorFunction,
  AsyncFunction: () => AsyncFunction,
  AsyncGeneratorFunction: () => AsyncGeneratorFunction,
  SafeMap: () => makeSafe(Map, class SafeMap extends Map {}),
  SafeSet: () => makeSafe(Set, class SafeSet extends Set {}),
  SafeWeakMap: () => makeSafe(WeakMap, class SafeWeakMap extends WeakMap {}),
  SafeWeakSet: () => makeSafe(WeakSet, class SafeWeakSet extends WeakSet {}),
  SafeWeakRef: () => makeSafe(WeakRef, class SafeWeakRef extends WeakRef {}),
  SafeFinalizationRegistry: () => makeSafe(FinalizationRegistry, class SafeFinalizationRegistry extends FinalizationRegistry {}),
  SafeArrayIterator: () => safeIteratorClass(uncurryThis(Array.prototype[Symbol.iterator]), uncurryThis(ArrayIteratorPrototype.next)),
  SafeStringIterator: () => safeIteratorClass(uncurryThis(String.prototype[Symbol.iterator]), uncurryThis(StringIteratorPrototype.next)),
};

const resolve = (name) => {
  if (special[name] !== undefined) return { value: special[name]() };
  const root = roots.get(name);
  if (root !== undefined) return { value: root.object };
  // The longest root that has such a member, so that ArrayPrototypePush is
  // looked up in ArrayPrototype and not in Array.
  for (let i = name.length - 1; i > 0; i--) {
    const candidate = roots.get(name.slice(0, i));
    const found = candidate && member(candidate, name.slice(i));
    if (found) return found;
  }
  const desc = getOwnPropertyDescriptor(globalThis, name);
  return desc && "value" in desc ? desc : undefined;
};

const made = new Map();

/** @type {Record<string, any>} */
export const primordials = new Proxy(Object.freeze({ __proto__: null }), {
  __proto__: null,
  get(_, name) {
    if (made.has(name)) return made.get(name);
    const found = typeof name === "string" ? resolve(name) : undefined;
    if (found === undefined) throw new TypeError(`no primordial is named ${String(name)}`);
    made.set(name, found.value);
    return found.value;
  },
  has(_, name) {
    return made.has(name) || (typeof name === "string" && resolve(name) !== undefined);
  },
});
