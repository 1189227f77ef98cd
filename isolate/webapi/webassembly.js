// WebAssembly JavaScript Interface, without shared memories: https://webassembly.github.io/spec/js-api/
// Public: WebAssembly.Memory, Module, compile, instantiate, validate, in place of the engine's. Ops: none.
//
// A shared memory is backed by a SharedArrayBuffer, which together with a
// second thread is a clock of nanoseconds. Workers have neither, and the engine
// has no switch for it, so what would make one is refused here: descriptors,
// and modules that declare or import one.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";

const {
  ArrayBufferIsView,
  DataViewPrototypeGetBuffer,
  DataViewPrototypeGetByteLength,
  DataViewPrototypeGetByteOffset,
  ObjectDefineProperty,
  PromiseReject,
  Proxy,
  ReflectApply,
  ReflectConstruct,
  ReflectDeleteProperty,
  ReflectGetOwnPropertyDescriptor,
  ReflectOwnKeys,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag,
  Uint8Array,
} = primordials;

// The engine's own, captured when an isolate is given its worker: while the
// start-up snapshot is made there is no WebAssembly.
let WebAssembly;
let WebAssemblyCompile;
let WebAssemblyInstantiate;
let WebAssemblyMemory;
let WebAssemblyModule;
let WebAssemblyValidate;

const why = "shared memories are not offered: workers have no threads to share them with";

/** A position in the bytes of a module. */
class Reader {
  bytes;
  at;
  end;
  constructor(bytes, at, end) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }
  byte() {
    return this.at < this.end ? this.bytes[this.at++] : 0;
  }
  /** LEB128, unsigned; what does not fit is for the engine to refuse. */
  number() {
    let n = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      n += (byte & 127) * scale;
      if (byte < 128 || scale > 2 ** 63) return n;
    }
  }
  skip(count) {
    this.at += count;
  }
  /** Limits of a table or a memory; reports whether they say "shared". */
  limits() {
    const flags = this.byte();
    this.number();
    if ((flags & 1) !== 0) this.number();
    return (flags & 2) !== 0;
  }
  valueType() {
    const code = this.byte();
    // (ref ht) and (ref null ht) are followed by a heap type.
    if (code === 0x63 || code === 0x64) this.number();
  }
}

/** Reports whether the import section of a module asks for a shared memory. */
function importsShared(section) {
  for (let count = section.number(); count > 0 && section.at < section.end; count--) {
    section.skip(section.number());
    section.skip(section.number());
    switch (section.byte()) {
      case 0: // function
        section.number();
        break;
      case 1: // table
        section.valueType();
        section.limits();
        break;
      case 2: // memory
        if (section.limits()) return true;
        break;
      case 3: // global
        section.valueType();
        section.byte();
        break;
      case 4: // tag
        section.byte();
        section.number();
        break;
      default:
        return false; // not a module that the engine accepts
    }
  }
  return false;
}

/** Reports whether a module declares or imports a shared memory. */
function usesSharedMemory(bytes) {
  const module = new Reader(bytes, 8, bytes.length);
  while (module.at < module.end) {
    const id = module.byte();
    const size = module.number();
    const section = new Reader(bytes, module.at, module.at + size);
    if (id === 2 && importsShared(section)) return true;
    if (id === 5) {
      for (let count = section.number(); count > 0 && section.at < section.end; count--) {
        if (section.limits()) return true;
      }
    }
    module.skip(size);
  }
  return false;
}

/** The bytes of a BufferSource, in place. */
function bytesOf(source) {
  if (!ArrayBufferIsView(source)) return new Uint8Array(source);
  if (TypedArrayPrototypeGetSymbolToStringTag(source) === undefined) {
    return new Uint8Array(DataViewPrototypeGetBuffer(source), DataViewPrototypeGetByteOffset(source), DataViewPrototypeGetByteLength(source));
  }
  return new Uint8Array(TypedArrayPrototypeGetBuffer(source), TypedArrayPrototypeGetByteOffset(source), TypedArrayPrototypeGetByteLength(source));
}

/**
 * Returns the arguments for the engine, the module's bytes checked. Options are
 * read by the engine after that, so with them the bytes are taken in a copy.
 */
function checked(args, prefix) {
  const source = args[0];
  if (!webidl.isBufferSource(source)) return args;
  let bytes = bytesOf(source);
  if (args.length > 1) bytes = new Uint8Array(bytes); // slice() would ask Symbol.species
  if (usesSharedMemory(bytes)) throw new TypeError(`${prefix}: ${why}`);
  return args.length > 1 ? [bytes, args[1], args[2]] : [bytes];
}

/** Stands before a descriptor: the engine reads it through this, in its own order. */
const descriptorHandler = {
  __proto__: null,
  get(descriptor, key) {
    const value = descriptor[key];
    if (key === "shared" && value) throw new TypeError(`WebAssembly.Memory(): ${why}`);
    return value;
  },
};

// https://webassembly.github.io/spec/js-api/#dom-memory-memory
function Memory(descriptor) {
  if (new.target === undefined) throw new TypeError("WebAssembly.Memory must be invoked with 'new'");
  if (webidl.isObject(descriptor)) descriptor = new Proxy(descriptor, descriptorHandler);
  return ReflectConstruct(WebAssemblyMemory, [descriptor], new.target);
}

// https://webassembly.github.io/spec/js-api/#dom-module-module
function Module(...args) {
  if (new.target === undefined) throw new TypeError("WebAssembly.Module must be invoked with 'new'");
  return ReflectConstruct(WebAssemblyModule, checked(args, "WebAssembly.Module()"), new.target);
}

const functions = {
  // https://webassembly.github.io/spec/js-api/#dom-webassembly-validate
  validate(source) {
    if (!webidl.isBufferSource(source)) return WebAssemblyValidate(source);
    const bytes = bytesOf(source);
    return WebAssemblyValidate(bytes) && !usesSharedMemory(bytes);
  },
  // https://webassembly.github.io/spec/js-api/#dom-webassembly-compile
  compile(...args) {
    try {
      return ReflectApply(WebAssemblyCompile, WebAssembly, checked(args, "WebAssembly.compile()"));
    } catch (error) {
      return PromiseReject(error);
    }
  },
  // https://webassembly.github.io/spec/js-api/#dom-webassembly-instantiate
  instantiate(...args) {
    try {
      return ReflectApply(WebAssemblyInstantiate, WebAssembly, checked(args, "WebAssembly.instantiate()"));
    } catch (error) {
      return PromiseReject(error);
    }
  },
};

function replace(object, name, value) {
  const { enumerable } = ReflectGetOwnPropertyDescriptor(object, name);
  ObjectDefineProperty(object, name, { __proto__: null, value, writable: true, enumerable, configurable: true });
}

/** Puts a wrapper in a constructor's place, so that nothing leads back to the engine's. */
function replaceConstructor(Wrapper, Native, prototype) {
  ObjectDefineProperty(Wrapper, "prototype", { __proto__: null, value: prototype, writable: false, enumerable: false, configurable: false });
  ObjectDefineProperty(Wrapper, "length", { __proto__: null, value: 1, writable: false, enumerable: false, configurable: true });
  const keys = ReflectOwnKeys(Native);
  for (let i = 0; i < keys.length; i++) {
    if (ReflectGetOwnPropertyDescriptor(Wrapper, keys[i]) === undefined) {
      ObjectDefineProperty(Wrapper, keys[i], ReflectGetOwnPropertyDescriptor(Native, keys[i]));
    }
  }
  replace(prototype, "constructor", Wrapper);
  replace(WebAssembly, Wrapper.name, Wrapper);
}

/** Puts the guarded constructors and functions in place, before any code of the worker runs. */
export function guardWebAssembly() {
  // These too come with each context, whatever the snapshot lacked.
  ReflectDeleteProperty(globalThis, "SharedArrayBuffer");
  WebAssembly = globalThis.WebAssembly;
  if (WebAssembly === undefined) return; // switched off by a flag of the engine
  ({
    compile: WebAssemblyCompile,
    instantiate: WebAssemblyInstantiate,
    Memory: WebAssemblyMemory,
    Module: WebAssemblyModule,
    validate: WebAssemblyValidate,
  } = WebAssembly);
  replaceConstructor(Memory, WebAssemblyMemory, WebAssemblyMemory.prototype);
  replaceConstructor(Module, WebAssemblyModule, WebAssemblyModule.prototype);
  const names = ["validate", "compile", "instantiate"];
  for (let i = 0; i < names.length; i++) {
    ObjectDefineProperty(functions[names[i]], "length", { __proto__: null, value: 1, writable: false, enumerable: false, configurable: true });
    replace(WebAssembly, names[i], functions[names[i]]);
  }
}
