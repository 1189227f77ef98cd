// Web IDL, DOMException: https://webidl.spec.whatwg.org/#idl-DOMException
// Public: DOMException, QuotaExceededError. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { native_set_dom_exception } from "edge:ops";

const { Error, ErrorPrototype, ObjectSetPrototypeOf, RangeError, ReflectDeleteProperty } = primordials;

// https://webidl.spec.whatwg.org/#dfn-error-names-table
const codes = {
  __proto__: null,
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
};

class Identity {
  constructor(object) {
    return object;
  }
}

/**
 * Puts message and name on an Error, out of reach of scripts. A DOMException is
 * a true Error, with [[ErrorData]] and a stack, which no class that inherits
 * from Function.prototype alone can construct by itself.
 */
class Data extends Identity {
  #message;
  #name;

  constructor(error, message, name) {
    super(error);
    this.#message = message;
    this.#name = name;
  }
  static message(error) {
    return error.#message;
  }
  static name(error) {
    return error.#name;
  }
  static has(V) {
    return webidl.isObject(V) && #name in V;
  }
}
const { message: messageOf, name: nameOf } = Data;

/**
 * Reports whether V is a DOMException.
 * @type {(V: any) => boolean}
 */
export const isDOMException = Data.has;

export class DOMException {
  // https://webidl.spec.whatwg.org/#dom-domexception-domexception
  constructor(message = "", name = "Error") {
    message = webidl.converters.DOMString(message, "Failed to construct 'DOMException'", "Argument 1");
    name = webidl.converters.DOMString(name, "Failed to construct 'DOMException'", "Argument 2");
    // The engine writes the message of the construction into the stack; the
    // property itself is the prototype's accessor.
    const error = new Error(message);
    ReflectDeleteProperty(error, "message");
    ObjectSetPrototypeOf(error, new.target.prototype);
    return new Data(error, message, name);
  }

  // https://webidl.spec.whatwg.org/#dom-domexception-name
  get name() {
    return nameOf(this);
  }

  // https://webidl.spec.whatwg.org/#dom-domexception-message
  get message() {
    return messageOf(this);
  }

  // https://webidl.spec.whatwg.org/#dom-domexception-code
  get code() {
    return codes[nameOf(this)] ?? 0;
  }
}

ObjectSetPrototypeOf(DOMException.prototype, ErrorPrototype);
webidl.configureInterface(DOMException);
webidl.defineConstants(DOMException, {
  INDEX_SIZE_ERR: 1,
  DOMSTRING_SIZE_ERR: 2,
  HIERARCHY_REQUEST_ERR: 3,
  WRONG_DOCUMENT_ERR: 4,
  INVALID_CHARACTER_ERR: 5,
  NO_DATA_ALLOWED_ERR: 6,
  NO_MODIFICATION_ALLOWED_ERR: 7,
  NOT_FOUND_ERR: 8,
  NOT_SUPPORTED_ERR: 9,
  INUSE_ATTRIBUTE_ERR: 10,
  INVALID_STATE_ERR: 11,
  SYNTAX_ERR: 12,
  INVALID_MODIFICATION_ERR: 13,
  NAMESPACE_ERR: 14,
  INVALID_ACCESS_ERR: 15,
  VALIDATION_ERR: 16,
  TYPE_MISMATCH_ERR: 17,
  SECURITY_ERR: 18,
  NETWORK_ERR: 19,
  ABORT_ERR: 20,
  URL_MISMATCH_ERR: 21,
  QUOTA_EXCEEDED_ERR: 22,
  TIMEOUT_ERR: 23,
  INVALID_NODE_TYPE_ERR: 24,
  DATA_CLONE_ERR: 25,
});

const convertOptions = webidl.createDictionaryConverter("QuotaExceededErrorOptions", [
  { key: "quota", converter: webidl.converters.double },
  { key: "requested", converter: webidl.converters.double },
]);

// https://webidl.spec.whatwg.org/#quotaexceedederror
export class QuotaExceededError extends DOMException {
  #quota = null;
  #requested = null;

  // https://webidl.spec.whatwg.org/#dom-quotaexceedederror-quotaexceedederror
  constructor(message = "", options = {}) {
    const prefix = "Failed to construct 'QuotaExceededError'";
    message = webidl.converters.DOMString(message, prefix, "Argument 1");
    const { quota, requested } = convertOptions(options, prefix, "Argument 2");
    super(message, "QuotaExceededError");
    if (quota !== undefined) {
      if (quota < 0) throw new RangeError(`${prefix}: quota is negative.`);
      this.#quota = quota;
    }
    if (requested !== undefined) {
      if (requested < 0) throw new RangeError(`${prefix}: requested is negative.`);
      this.#requested = requested;
    }
    if (quota !== undefined && requested !== undefined && requested < quota) {
      throw new RangeError(`${prefix}: requested is less than quota.`);
    }
  }

  // https://webidl.spec.whatwg.org/#dom-quotaexceedederror-quota
  get quota() {
    return this.#quota;
  }

  // https://webidl.spec.whatwg.org/#dom-quotaexceedederror-requested
  get requested() {
    return this.#requested;
  }
}
webidl.configureInterface(QuotaExceededError);

native_set_dom_exception((message, name) => new DOMException(message, name));
