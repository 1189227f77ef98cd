// How console shows values ("optimally useful formatting" of
// https://console.spec.whatwg.org/#printer). No code of the worker runs on the
// way: getters are named and not called, proxies are looked through.
// Public: nothing. Ops: none.

import { primordials } from "edge:primordials";
import { native_preview_entries, native_promise_state, native_proxy_target } from "edge:ops";

const {
  ArrayBufferIsView,
  ArrayBufferPrototypeGetByteLength,
  ArrayIsArray,
  ArrayPrototypeIndexOf,
  ArrayPrototypeJoin,
  ArrayPrototypePop,
  ArrayPrototypePush,
  BigIntPrototypeToString,
  BigIntPrototypeValueOf,
  BooleanPrototypeValueOf,
  DataViewPrototypeGetByteLength,
  DatePrototypeGetTime,
  DatePrototypeToISOString,
  Error,
  ErrorPrototype,
  FunctionPrototypeCall,
  FunctionPrototypeToString,
  JSONStringify,
  MathMax,
  MathMin,
  NumberPrototypeToString,
  NumberPrototypeValueOf,
  ObjectIs,
  ObjectPrototype,
  ReflectGetOwnPropertyDescriptor,
  ReflectGetPrototypeOf,
  ReflectOwnKeys,
  RegExpPrototypeExec,
  RegExpPrototypeGetSource,
  SafeMap,
  String,
  StringPrototypeIncludes,
  StringPrototypeReplaceAll,
  StringPrototypeSlice,
  StringPrototypeStartsWith,
  StringPrototypeValueOf,
  SymbolIterator,
  SymbolPrototypeToString,
  SymbolPrototypeValueOf,
  SymbolToStringTag,
  TypedArrayPrototypeGetLength,
  TypedArrayPrototypeGetSymbolToStringTag,
  Uint8Array,
} = primordials;

const maxDepth = 4;
const maxItems = 100;
const maxCharacters = 10000;
// Indexes looked at in an array, holes included.
const maxScanned = 10000;
const lineWidth = 76;

/**
 * @typedef {{stack: object[], circular: object[], used: number}} State
 * stack holds the objects on the way to the current one, circular those that
 * were met again, used the characters written.
 */

// Since V8 made it an accessor, a stack is told from a user's getter by its function.
const stackGetter = ReflectGetOwnPropertyDescriptor(new Error(), "stack")?.get;

/** Interfaces of the platform: prototype -> what to read, captured before any worker ran. */
const interfaces = new SafeMap();

/**
 * Makes instances of an interface show their attributes, or, when the interface
 * is a pair iterable, their pairs. Call it while the snapshot is made.
 * @param {Function} Class
 */
export function describeInterface(Class) {
  const { prototype } = Class;
  if (prototype === undefined || interfaces.has(prototype)) return;
  const getters = [];
  const keys = ReflectOwnKeys(prototype);
  for (let i = 0; i < keys.length; i++) {
    // Reading body would make a stream of what may be passed on unread.
    if (keys[i] === "body") continue;
    const { get } = ReflectGetOwnPropertyDescriptor(prototype, keys[i]);
    if (get !== undefined && typeof keys[i] === "string") ArrayPrototypePush(getters, [keys[i], get]);
  }
  const entries = ReflectGetOwnPropertyDescriptor(prototype, "entries")?.value;
  const iterable = entries !== undefined && entries === ReflectGetOwnPropertyDescriptor(prototype, SymbolIterator)?.value;
  interfaces.set(prototype, { getters, entries: iterable ? entries : undefined });
}

/** The value of a data property of an object or its prototypes; undefined for an accessor. */
function dataProperty(object, key) {
  for (let o = object; o !== null; o = ReflectGetPrototypeOf(o)) {
    if (native_proxy_target(o) !== undefined) return undefined;
    const desc = ReflectGetOwnPropertyDescriptor(o, key);
    if (desc !== undefined) return desc.value;
  }
  return undefined;
}

function className(object) {
  for (let o = object; o !== null; o = ReflectGetPrototypeOf(o)) {
    if (native_proxy_target(o) !== undefined) return "Object";
    const constructor = ReflectGetOwnPropertyDescriptor(o, "constructor")?.value;
    if (typeof constructor !== "function" || native_proxy_target(constructor) !== undefined) continue;
    const name = ReflectGetOwnPropertyDescriptor(constructor, "name")?.value;
    if (typeof name === "string" && name !== "") return name;
  }
  return null;
}

/** "Foo", "Foo [tag]", "[Object: null prototype]", or "" for a plain object. */
function prefixOf(object, fallback, plain) {
  const tag = dataProperty(object, SymbolToStringTag);
  let name = className(object);
  if (name === null) name = `[${fallback}: null prototype]`;
  if (typeof tag === "string" && tag !== "" && tag !== name) return `${name} [${tag}]`;
  return name === plain ? "" : name;
}

const escapeRE = /[\x00-\x1f\x7f-\x9f'\\\ud800-\udfff]/;

/**
 * A string as a literal, in the quotes that need no escaping.
 * @param {string} text
 */
export function quote(text) {
  let more = "";
  if (text.length > maxCharacters) {
    more = `... ${text.length - maxCharacters} more characters`;
    text = StringPrototypeSlice(text, 0, maxCharacters);
  }
  if (RegExpPrototypeExec(escapeRE, text) === null) return `'${text}'${more}`;
  const json = JSONStringify(text);
  if (StringPrototypeIncludes(text, "'") && !StringPrototypeIncludes(text, '"')) return json + more;
  const body = StringPrototypeReplaceAll(StringPrototypeSlice(json, 1, -1), '\\"', '"');
  return `'${StringPrototypeReplaceAll(body, "'", "\\'")}'${more}`;
}

function primitive(value) {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return ObjectIs(value, -0) ? "-0" : NumberPrototypeToString(value, 10);
    case "bigint":
      return `${BigIntPrototypeToString(value, 10)}n`;
    case "symbol":
      return SymbolPrototypeToString(value);
    default:
      return String(value);
  }
}

const identifierRE = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

function keyText(key, enumerable) {
  const text = typeof key === "symbol" ? `[${SymbolPrototypeToString(key)}]` : RegExpPrototypeExec(identifierRE, key) ? key : quote(key);
  return enumerable || typeof key === "symbol" ? text : `[${text}]`;
}

function property(object, key, state) {
  let desc;
  try {
    desc = ReflectGetOwnPropertyDescriptor(object, key);
  } catch {
    return `${keyText(key, true)}: <uninitialized>`; // a binding of a module that has not run
  }
  let text;
  if ("value" in desc) text = format(desc.value, state);
  else if (desc.get !== undefined) text = desc.set !== undefined ? "[Getter/Setter]" : "[Getter]";
  else text = desc.set !== undefined ? "[Setter]" : "undefined";
  return `${keyText(key, desc.enumerable)}: ${text}`;
}

/** Adds the enumerable properties that skip does not name. */
function addProperties(items, object, state, skip) {
  const keys = ReflectOwnKeys(object);
  let shown = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (skip !== undefined && skip(key)) continue;
    let enumerable = true;
    try {
      enumerable = ReflectGetOwnPropertyDescriptor(object, key)?.enumerable;
    } catch {
      // A binding of a module that has not run; property() says so.
    }
    if (!enumerable) continue;
    if (shown++ >= maxItems || state.used > maxCharacters) {
      const rest = keys.length - i;
      ArrayPrototypePush(items, `... ${rest} more propert${rest === 1 ? "y" : "ies"}`);
      return;
    }
    ArrayPrototypePush(items, property(object, key, state));
  }
}

function moreItems(items, rest) {
  if (rest > 0) ArrayPrototypePush(items, `... ${rest} more item${rest === 1 ? "" : "s"}`);
}

const isIndex = (key) => typeof key === "string" && RegExpPrototypeExec(/^(?:0|[1-9][0-9]*)$/, key) !== null;

function arrayItems(array, state) {
  const items = [];
  const { length } = array;
  let i = 0;
  let holes = 0;
  const flush = () => {
    if (holes > 0) ArrayPrototypePush(items, `<${holes} empty item${holes === 1 ? "" : "s"}>`);
    holes = 0;
  };
  for (; i < length && i < maxScanned && items.length < maxItems && state.used <= maxCharacters; i++) {
    const desc = ReflectGetOwnPropertyDescriptor(array, String(i));
    if (desc === undefined) {
      holes++;
      continue;
    }
    flush();
    ArrayPrototypePush(items, "value" in desc ? format(desc.value, state) : "[Getter]");
  }
  flush();
  moreItems(items, length - i);
  if (length <= maxScanned) addProperties(items, array, state, (key) => isIndex(key) || key === "length");
  return items;
}

function typedArrayItems(array, state) {
  const items = [];
  const length = TypedArrayPrototypeGetLength(array);
  const shown = MathMin(length, maxItems);
  for (let i = 0; i < shown; i++) ArrayPrototypePush(items, primitive(array[i]));
  moreItems(items, length - shown);
  if (length <= maxScanned) addProperties(items, array, state, isIndex);
  return items;
}

function collectionItems(entries, isKeyValue, state) {
  const items = [];
  const step = isKeyValue ? 2 : 1;
  let i = 0;
  for (; i < entries.length && items.length < maxItems && state.used <= maxCharacters; i += step) {
    const first = format(entries[i], state);
    ArrayPrototypePush(items, isKeyValue ? `${first} => ${format(entries[i + 1], state)}` : first);
  }
  moreItems(items, (entries.length - i) / step);
  return items;
}

function bufferItems(buffer) {
  const length = ArrayBufferPrototypeGetByteLength(buffer);
  const shown = MathMin(length, 50);
  const bytes = new Uint8Array(buffer, 0, shown);
  const hex = [];
  for (let i = 0; i < shown; i++) ArrayPrototypePush(hex, (bytes[i] < 16 ? "0" : "") + NumberPrototypeToString(bytes[i], 16));
  const more = length > shown ? ` ... ${length - shown} more bytes` : "";
  return [`[Uint8Contents]: <${ArrayPrototypeJoin(hex, " ")}${more}>`, `byteLength: ${length}`];
}

const flagNames = [
  ["d", primordials.RegExpPrototypeGetHasIndices],
  ["g", primordials.RegExpPrototypeGetGlobal],
  ["i", primordials.RegExpPrototypeGetIgnoreCase],
  ["m", primordials.RegExpPrototypeGetMultiline],
  ["s", primordials.RegExpPrototypeGetDotAll],
  ["u", primordials.RegExpPrototypeGetUnicode],
  ["v", primordials.RegExpPrototypeGetUnicodeSets],
  ["y", primordials.RegExpPrototypeGetSticky],
];

function regExpText(re) {
  let flags = "";
  for (let i = 0; i < flagNames.length; i++) if (flagNames[i][1](re)) flags += flagNames[i][0];
  return `/${RegExpPrototypeGetSource(re)}/${flags}`;
}

function functionText(fn) {
  const name = ReflectGetOwnPropertyDescriptor(fn, "name")?.value;
  const shown = typeof name === "string" && name !== "" ? name : "";
  if (StringPrototypeStartsWith(FunctionPrototypeToString(fn), "class")) {
    const parent = ReflectGetPrototypeOf(fn);
    const base = parent !== null && native_proxy_target(parent) === undefined ? ReflectGetOwnPropertyDescriptor(parent, "name")?.value : "";
    return `[class ${shown || "(anonymous)"}${typeof base === "string" && base !== "" ? ` extends ${base}` : ""}]`;
  }
  const kind = className(fn) ?? "Function";
  return `[${kind}${shown ? `: ${shown}` : " (anonymous)"}]`;
}

function errorStack(error) {
  const desc = ReflectGetOwnPropertyDescriptor(error, "stack");
  let stack = desc?.value;
  if (stackGetter !== undefined && desc?.get === stackGetter) {
    try {
      stack = FunctionPrototypeCall(stackGetter, error);
    } catch {
      stack = undefined; // the worker's Error.prepareStackTrace threw
    }
  }
  if (typeof stack === "string" && stack !== "") return stack;
  const name = dataProperty(error, "name");
  const message = dataProperty(error, "message");
  const text = typeof message === "string" && message !== "" ? `: ${message}` : "";
  return `[${typeof name === "string" ? name : (className(error) ?? "Error")}${text}]`;
}

function formatError(error, state) {
  const items = [];
  const hidden = ["cause", "errors"];
  addProperties(items, error, state, (key) => key === "stack" || key === "message" || key === "cause" || key === "errors");
  for (let i = 0; i < hidden.length; i++) {
    const desc = ReflectGetOwnPropertyDescriptor(error, hidden[i]);
    if (desc !== undefined && "value" in desc) ArrayPrototypePush(items, `[${hidden[i]}]: ${format(desc.value, state)}`);
  }
  const stack = errorStack(error);
  state.used += stack.length;
  return items.length === 0 ? stack : `${stack} {\n${indent(ArrayPrototypeJoin(items, ",\n"))}\n}`;
}

function formatInterface(object, prototype, state) {
  const items = [];
  const seen = new SafeMap();
  for (let p = prototype; p !== null; p = ReflectGetPrototypeOf(p)) {
    const known = interfaces.get(p);
    if (known === undefined) continue;
    try {
      if (known.entries !== undefined) {
        const iterator = FunctionPrototypeCall(known.entries, object);
        const { next } = known.next ??= ReflectGetPrototypeOf(iterator);
        for (let step = FunctionPrototypeCall(next, iterator); !step.done; step = FunctionPrototypeCall(next, iterator)) {
          if (items.length >= maxItems) {
            ArrayPrototypePush(items, "...");
            break;
          }
          ArrayPrototypePush(items, `${format(step.value[0], state)} => ${format(step.value[1], state)}`);
        }
        continue;
      }
    } catch {
      break; // not a true instance
    }
    for (let i = 0; i < known.getters.length; i++) {
      const { 0: key, 1: get } = known.getters[i];
      if (seen.has(key)) continue;
      seen.set(key, true);
      try {
        ArrayPrototypePush(items, `${key}: ${format(FunctionPrototypeCall(get, object), state)}`);
      } catch {
        // An attribute that this object does not have.
      }
    }
  }
  addProperties(items, object, state, undefined);
  return wrap(prefixOf(object, "Object", ""), "{", items, "}", false);
}

function indent(text) {
  return `  ${StringPrototypeReplaceAll(text, "\n", "\n  ")}`;
}

/** Puts items on one line when they fit, else one to a line; short ones of a list fill lines. */
function wrap(prefix, open, items, close, fill) {
  const head = prefix === "" ? open : `${prefix} ${open}`;
  if (items.length === 0) return head + close;
  let length = head.length;
  let longest = 0;
  let broken = false;
  for (let i = 0; i < items.length; i++) {
    length += items[i].length + 2;
    longest = MathMax(longest, items[i].length);
    if (StringPrototypeIncludes(items[i], "\n")) broken = true;
  }
  if (!broken && length <= lineWidth) return `${head} ${ArrayPrototypeJoin(items, ", ")} ${close}`;
  if (!fill || broken || longest > 16) return `${head}\n${indent(ArrayPrototypeJoin(items, ",\n"))}\n${close}`;
  const lines = [];
  let line = "";
  for (let i = 0; i < items.length; i++) {
    if (line !== "" && line.length + items[i].length + 4 > lineWidth) {
      ArrayPrototypePush(lines, line);
      line = "";
    }
    line += `${line === "" ? "" : " "}${items[i]}${i + 1 < items.length ? "," : ""}`;
  }
  ArrayPrototypePush(lines, line);
  return `${head}\n${indent(ArrayPrototypeJoin(lines, "\n"))}\n${close}`;
}

function boxed(kind, valueOf) {
  return (object, state) => {
    const items = [];
    addProperties(items, object, state, kind === "String" ? (key) => isIndex(key) || key === "length" : undefined);
    const text = `[${kind}: ${primitive(valueOf(object))}]`;
    return items.length === 0 ? text : wrap(text, "{", items, "}", false);
  };
}

const opaque = (text) => (object) => `${className(object) ?? "Object"} { ${text} }`;

function formatEntries(sized) {
  return (object, state) => {
    const { 0: entries, 1: isKeyValue } = native_preview_entries(object);
    const size = entries.length / (isKeyValue ? 2 : 1);
    const items = collectionItems(entries, isKeyValue, state);
    addProperties(items, object, state, undefined);
    const prefix = prefixOf(object, "Object", "");
    return wrap(sized ? `${className(object) ?? "Object"}(${size})` : prefix, "{", items, "}", false);
  };
}

/** Built-in classes whose instances have contents of their own, by prototype. */
const builtins = new SafeMap([
  [primordials.MapPrototype, [(o) => primordials.MapPrototypeGetSize(o), formatEntries(true)]],
  [primordials.SetPrototype, [(o) => primordials.SetPrototypeGetSize(o), formatEntries(true)]],
  [primordials.MapIteratorPrototype, [() => 0, formatEntries(false)]],
  [primordials.SetIteratorPrototype, [() => 0, formatEntries(false)]],
  [primordials.WeakMapPrototype, [(o) => primordials.WeakMapPrototypeHas(o, o), opaque("<items unknown>")]],
  [primordials.WeakSetPrototype, [(o) => primordials.WeakSetPrototypeHas(o, o), opaque("<items unknown>")]],
  [primordials.WeakRefPrototype, [(o) => primordials.WeakRefPrototypeDeref(o), opaque("<target unknown>")]],
  [primordials.DatePrototype, [DatePrototypeGetTime, (o) => (DatePrototypeGetTime(o) === DatePrototypeGetTime(o) ? DatePrototypeToISOString(o) : "Invalid Date")]],
  [primordials.RegExpPrototype, [RegExpPrototypeGetSource, regExpText]],
  [primordials.BooleanPrototype, [BooleanPrototypeValueOf, boxed("Boolean", BooleanPrototypeValueOf)]],
  [primordials.NumberPrototype, [NumberPrototypeValueOf, boxed("Number", NumberPrototypeValueOf)]],
  [primordials.StringPrototype, [StringPrototypeValueOf, boxed("String", StringPrototypeValueOf)]],
  [primordials.BigIntPrototype, [BigIntPrototypeValueOf, boxed("BigInt", BigIntPrototypeValueOf)]],
  [primordials.SymbolPrototype, [SymbolPrototypeValueOf, boxed("Symbol", SymbolPrototypeValueOf)]],
  [primordials.ArrayBufferPrototype, [ArrayBufferPrototypeGetByteLength, (o) => wrap(className(o) ?? "ArrayBuffer", "{", bufferItems(o), "}", false)]],
  [primordials.PromisePrototype, [(o) => native_promise_state(o)[0], formatPromise]],
  [ErrorPrototype, [() => 0, formatError]],
]);

function formatPromise(promise, state) {
  const { 0: status, 1: value } = native_promise_state(promise);
  const items = [status === 0 ? "<pending>" : (status === 2 ? "<rejected> " : "") + format(value, state)];
  addProperties(items, promise, state, undefined);
  return wrap(className(promise) ?? "Promise", "{", items, "}", false);
}

function formatObject(object, state) {
  if (ArrayIsArray(object)) {
    const name = className(object);
    return wrap(name === "Array" ? "" : `${name ?? "[Array: null prototype]"}(${object.length})`, "[", arrayItems(object, state), "]", true);
  }
  if (typeof object === "function") {
    const items = [];
    addProperties(items, object, state, undefined);
    const text = functionText(object);
    return items.length === 0 ? text : wrap(text, "{", items, "}", false);
  }
  if (ArrayBufferIsView(object)) {
    const tag = TypedArrayPrototypeGetSymbolToStringTag(object);
    if (tag === undefined) return `DataView { byteLength: ${DataViewPrototypeGetByteLength(object)} }`;
    return wrap(`${className(object) ?? tag}(${TypedArrayPrototypeGetLength(object)})`, "[", typedArrayItems(object, state), "]", true);
  }
  for (let p = ReflectGetPrototypeOf(object); p !== null && p !== ObjectPrototype; p = ReflectGetPrototypeOf(p)) {
    if (native_proxy_target(p) !== undefined) break;
    if (interfaces.has(p) && !isErrorLike(p)) return formatInterface(object, p, state);
    const builtin = builtins.get(p);
    if (builtin === undefined) continue;
    try {
      builtin[0](object); // throws when only the prototype is that of the class
    } catch {
      continue;
    }
    return builtin[1](object, state);
  }
  const items = [];
  addProperties(items, object, state, undefined);
  return wrap(prefixOf(object, "Object", "Object"), "{", items, "}", false);
}

/** DOMException is an interface that is best shown as the error that it is. */
function isErrorLike(prototype) {
  for (let p = prototype; p !== null; p = ReflectGetPrototypeOf(p)) if (p === ErrorPrototype) return true;
  return false;
}

function format(value, state) {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) {
    const text = primitive(value);
    state.used += text.length;
    return text;
  }
  for (let proxy = native_proxy_target(value); proxy !== undefined; proxy = native_proxy_target(value)) {
    value = proxy[0];
    if (value === null) return "<Revoked Proxy>";
  }
  if (ArrayPrototypeIndexOf(state.stack, value) >= 0) {
    let index = ArrayPrototypeIndexOf(state.circular, value);
    if (index < 0) index = ArrayPrototypePush(state.circular, value) - 1;
    return `[Circular *${index + 1}]`;
  }
  if (state.stack.length > maxDepth && typeof value !== "function") {
    const name = ArrayIsArray(value) ? "Array" : (className(value) ?? "Object: null prototype");
    return `[${name}]`;
  }
  if (state.used > maxCharacters) return "...";
  ArrayPrototypePush(state.stack, value);
  state.used += 2;
  const text = formatObject(value, state);
  ArrayPrototypePop(state.stack);
  const index = ArrayPrototypeIndexOf(state.circular, value);
  return index < 0 ? text : `<ref *${index + 1}> ${text}`;
}

/**
 * Describes any value in at most about 10,000 characters.
 * @param {any} value
 * @returns {string}
 */
export function inspect(value) {
  let text;
  try {
    text = format(value, { __proto__: null, stack: [], circular: [], used: 0 });
  } catch {
    return "<could not be shown>"; // the stack is nearly exhausted
  }
  return text.length > 2 * maxCharacters ? `${StringPrototypeSlice(text, 0, 2 * maxCharacters)}...` : text;
}
