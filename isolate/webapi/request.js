// Fetch, the Request class: https://fetch.spec.whatwg.org/#request-class
// Public: Request. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { abortReason, createAbortSignal, createDependentAbortSignal, isAbortSignal, isAborted, signalAbort } from "edge:abort";
import { cloneBody, convertBodyInit, extractBody, isUnusable, mixinBody, moveBody } from "edge:body";
import { blockFromInit, blockGet, blockHasType, blockOf, headersFromBlock } from "edge:headers";
import { URL, parseHref } from "edge:url";

const {
  JSONParse,
  ReflectGetOwnPropertyDescriptor,
  StringPrototypeCharCodeAt,
  StringPrototypeIndexOf,
  StringPrototypeToUpperCase,
  TypeError,
  uncurryThis,
} = primordials;

/** Tells the constructor that it is called from inside. */
const kInternal = {};

const getUsername = uncurryThis(ReflectGetOwnPropertyDescriptor(URL.prototype, "username").get);
const getPassword = uncurryThis(ReflectGetOwnPropertyDescriptor(URL.prototype, "password").get);

// Standard methods and how they may be written: they need no check.
const methods = {
  __proto__: null,
  DELETE: "DELETE", GET: "GET", HEAD: "HEAD", OPTIONS: "OPTIONS", PATCH: "PATCH", POST: "POST", PUT: "PUT",
  delete: "DELETE", get: "GET", head: "HEAD", options: "OPTIONS", post: "POST", put: "PUT",
};

// https://fetch.spec.whatwg.org/#concept-method
function checkMethod(method, prefix) {
  const known = methods[method];
  if (known !== undefined) return known;
  let ok = method.length > 0;
  for (let i = 0; ok && i < method.length; i++) {
    const c = StringPrototypeCharCodeAt(method, i);
    ok = (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || (c >= 48 && c <= 57) || c === 33 || (c >= 35 && c <= 39) ||
      c === 42 || c === 43 || c === 45 || c === 46 || (c >= 94 && c <= 96) || c === 124 || c === 126;
  }
  if (!ok) throw new TypeError(`${prefix}: '${method}' is not a valid HTTP method.`);
  const upper = StringPrototypeToUpperCase(method);
  // https://fetch.spec.whatwg.org/#forbidden-method
  if (upper === "CONNECT" || upper === "TRACE" || upper === "TRACK") {
    throw new TypeError(`${prefix}: The HTTP method '${method}' is not allowed.`);
  }
  // https://fetch.spec.whatwg.org/#concept-method-normalize
  return methods[upper] !== undefined && upper !== "PATCH" ? upper : method;
}

const convertSignal = webidl.createNullableConverter(webidl.createInterfaceConverter("AbortSignal", isAbortSignal));
const referrerPolicies = [
  "", "no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin",
  "origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url",
];
const convertMode = webidl.createEnumConverter("RequestMode", ["navigate", "same-origin", "no-cors", "cors"]);
const convertCache = webidl.createEnumConverter("RequestCache", ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"]);

// https://fetch.spec.whatwg.org/#requestinit
const convertInit = webidl.createDictionaryConverter("RequestInit", [
  { key: "body", converter: webidl.createNullableConverter(convertBodyInit) },
  { key: "cache", converter: convertCache },
  { key: "cf", converter: webidl.converters.any },
  { key: "credentials", converter: webidl.createEnumConverter("RequestCredentials", ["omit", "same-origin", "include"]) },
  { key: "duplex", converter: webidl.createEnumConverter("RequestDuplex", ["half"]) },
  { key: "headers", converter: blockFromInit },
  { key: "integrity", converter: webidl.converters.DOMString },
  { key: "keepalive", converter: webidl.converters.boolean },
  { key: "method", converter: webidl.converters.ByteString },
  { key: "mode", converter: convertMode },
  { key: "priority", converter: webidl.createEnumConverter("RequestPriority", ["high", "low", "auto"]) },
  { key: "redirect", converter: webidl.createEnumConverter("RequestRedirect", ["follow", "error", "manual"]) },
  { key: "referrer", converter: webidl.converters.USVString },
  { key: "referrerPolicy", converter: webidl.createEnumConverter("ReferrerPolicy", referrerPolicies) },
  { key: "signal", converter: convertSignal },
  { key: "window", converter: webidl.converters.any },
]);

/** What a request says that the host does not act on, but script can read. */
class Extras {
  cache = "default";
  credentials = "same-origin";
  integrity = "";
  keepalive = false;
  mode = "cors";
  referrer = "about:client";
  referrerPolicy = "";
}
const defaults = new Extras();

/** @type {(v: any) => boolean} */
export let isRequest;
/**
 * Makes the request of a fetch event. Its headers are immutable.
 * @type {(method: string, url: string, block: string, body: Body | null, cf: string | null) => Request}
 */
export let makeRequest;
/**
 * Gives what is sent: method, url, block, body, redirect and the signal, null
 * when nobody can have it.
 * @type {(r: Request) => {method: string, url: string, block: string, body: Body | null,
 *   redirect: string, mode: string, signal: AbortSignal | null}}
 */
export let partsOf;
/** Aborts the signal of a request that the host made. @type {(r: Request, reason: any) => void} */
export let abortRequest;
/** @type {(r: Request) => Body | null} */
export let bodyOf;
/** @type {(r: Request) => string} */
let headerBlock;

/**
 * https://fetch.spec.whatwg.org/#request
 *
 * Apart from the standard: there is no base URL, a ReadableStream needs no
 * duplex: "half", and every header may be set, in every mode, since there is no
 * page whose user they would protect.
 */
export class Request {
  #method = "GET";
  #url = "";
  #block = "";
  /** Made when script asks for it; from then on it has the header list. @type {Headers | null} */
  #headers = null;
  #immutable = false;
  /** @type {Body | null} */
  #body = null;
  #redirect = "follow";
  /** Made when script asks for it. @type {AbortSignal | null} */
  #signal = null;
  /** What the signal depends on. @type {AbortSignal | Request | null} */
  #follows = null;
  /** @type {Extras} */
  #extras = defaults;
  /** JSON text until script asks for it. */
  #cf = undefined;
  #cfParsed = true;

  static {
    isRequest = (v) => webidl.isObject(v) && #method in v;
    makeRequest = (method, url, block, body, cf) => {
      const request = new Request(kInternal);
      request.#method = method;
      request.#url = url;
      request.#block = block;
      request.#immutable = true;
      request.#body = body;
      request.#redirect = "manual";
      if (cf !== null) {
        request.#cf = cf;
        request.#cfParsed = false;
      }
      return request;
    };
    partsOf = (r) => ({
      method: r.#method,
      url: r.#url,
      block: headerBlock(r),
      body: r.#body,
      redirect: r.#redirect,
      mode: r.#extras.mode,
      signal: r.#abortable(),
    });
    abortRequest = (r, reason) => signalAbort(r.#ownSignal(), reason);
    bodyOf = (r) => r.#body;
    headerBlock = (r) => (r.#headers === null ? r.#block : blockOf(r.#headers));
  }

  // https://fetch.spec.whatwg.org/#dom-request
  constructor(input, init = undefined) {
    if (input === kInternal) return;
    const prefix = "Failed to construct 'Request'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const from = isRequest(input) ? input : null;
    if (from === null) input = webidl.converters.USVString(input, prefix, "Argument 1");
    const given = init !== undefined && init !== null;
    init = convertInit(init, prefix, "Argument 2");
    let signal = null;
    if (from === null) {
      this.#url = parseRequestURL(input, prefix);
    } else {
      this.#method = from.#method;
      this.#url = from.#url;
      this.#block = headerBlock(from);
      this.#redirect = from.#redirect;
      this.#extras = from.#extras;
      this.#cf = from.#cf;
      this.#cfParsed = from.#cfParsed;
      signal = from;
    }
    if (given) this.#apply(init, from === null, prefix);
    if (init.signal !== undefined) signal = init.signal;
    this.#follows = signal;
    this.#setBody(init.body ?? null, from === null ? null : from.#body, prefix);
  }

  /** Applies the members of a RequestInit other than body and signal. */
  #apply(init, fromURL, prefix) {
    if (init.window !== undefined && init.window !== null) {
      throw new TypeError(`${prefix}: 'window' of 'RequestInit' can only be null.`);
    }
    const { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy } = init;
    if (mode === "navigate") throw new TypeError(`${prefix}: A request cannot have the mode 'navigate'.`);
    const extras = { ...this.#extras, referrer: "about:client", referrerPolicy: referrerPolicy ?? "" };
    if (referrer !== undefined) extras.referrer = convertReferrer(referrer, prefix);
    if (mode !== undefined) extras.mode = mode;
    else if (fromURL) extras.mode = "cors";
    if (credentials !== undefined) extras.credentials = credentials;
    if (cache !== undefined) extras.cache = cache;
    if (extras.cache === "only-if-cached" && extras.mode !== "same-origin") {
      throw new TypeError(`${prefix}: The cache mode 'only-if-cached' needs the mode 'same-origin'.`);
    }
    if (integrity !== undefined) extras.integrity = integrity;
    if (keepalive !== undefined) extras.keepalive = keepalive;
    this.#extras = extras;
    if (init.redirect !== undefined) this.#redirect = init.redirect;
    if (init.method !== undefined) this.#method = checkMethod(init.method, prefix);
    if (extras.mode === "no-cors" && this.#method !== "GET" && this.#method !== "HEAD" && this.#method !== "POST") {
      throw new TypeError(`${prefix}: '${this.#method}' is not allowed with the mode 'no-cors'.`);
    }
    if (init.headers !== undefined) this.#block = init.headers;
    if (init.cf !== undefined) {
      this.#cf = init.cf;
      this.#cfParsed = true;
    }
  }

  /** Steps 34 to 42 of the constructor. */
  #setBody(initBody, inputBody, prefix) {
    if ((initBody !== null || inputBody !== null) && (this.#method === "GET" || this.#method === "HEAD")) {
      throw new TypeError(`${prefix}: A request with method ${this.#method} cannot have a body.`);
    }
    if (initBody !== null) {
      this.#body = extractBody(initBody, this.#extras.keepalive);
      const { type } = this.#body;
      if (type !== null && !blockHasType(this.#block)) this.#block += `content-type\n${type}\n`;
    } else if (inputBody !== null) {
      if (isUnusable(inputBody)) {
        throw new TypeError(`${prefix}: The body of the given request was already read, or it is locked.`);
      }
      this.#body = moveBody(inputBody);
    }
  }

  // https://fetch.spec.whatwg.org/#request-signal
  #ownSignal() {
    if (this.#signal === null) {
      const follows = this.#follows;
      if (follows === null) this.#signal = createAbortSignal();
      else this.#signal = createDependentAbortSignal([isRequest(follows) ? follows.#ownSignal() : follows]);
    }
    return this.#signal;
  }

  /** The nearest signal that exists; null when there is none to abort the request. */
  #abortable() {
    if (this.#signal !== null || this.#follows === null) return this.#signal;
    return isRequest(this.#follows) ? this.#follows.#abortable() : this.#follows;
  }

  // https://fetch.spec.whatwg.org/#dom-request-method
  get method() {
    return this.#method;
  }

  // https://fetch.spec.whatwg.org/#dom-request-url
  get url() {
    return this.#url;
  }

  // https://fetch.spec.whatwg.org/#dom-request-headers
  get headers() {
    return (this.#headers ??= headersFromBlock(this.#block, this.#immutable ? "immutable" : "request"));
  }

  // https://fetch.spec.whatwg.org/#dom-request-destination
  get destination() {
    return this.#extras && "";
  }

  // https://fetch.spec.whatwg.org/#dom-request-referrer
  get referrer() {
    return this.#extras.referrer;
  }

  // https://fetch.spec.whatwg.org/#dom-request-referrerpolicy
  get referrerPolicy() {
    return this.#extras.referrerPolicy;
  }

  // https://fetch.spec.whatwg.org/#dom-request-mode
  get mode() {
    return this.#extras.mode;
  }

  // https://fetch.spec.whatwg.org/#dom-request-credentials
  get credentials() {
    return this.#extras.credentials;
  }

  // https://fetch.spec.whatwg.org/#dom-request-cache
  get cache() {
    return this.#extras.cache;
  }

  // https://fetch.spec.whatwg.org/#dom-request-redirect
  get redirect() {
    return this.#redirect;
  }

  // https://fetch.spec.whatwg.org/#dom-request-integrity
  get integrity() {
    return this.#extras.integrity;
  }

  // https://fetch.spec.whatwg.org/#dom-request-keepalive
  get keepalive() {
    return this.#extras.keepalive;
  }

  // https://fetch.spec.whatwg.org/#dom-request-isreloadnavigation
  get isReloadNavigation() {
    return this.#extras === null;
  }

  // https://fetch.spec.whatwg.org/#dom-request-ishistorynavigation
  get isHistoryNavigation() {
    return this.#extras === null;
  }

  // https://fetch.spec.whatwg.org/#dom-request-signal
  get signal() {
    return this.#ownSignal();
  }

  // https://fetch.spec.whatwg.org/#dom-request-duplex
  get duplex() {
    return this.#extras && "half";
  }

  /** What the host knows of the connection, such as clientAddr. Not of the standard. */
  get cf() {
    if (!this.#cfParsed) {
      this.#cf = JSONParse(this.#cf);
      this.#cfParsed = true;
    }
    return this.#cf;
  }

  // https://fetch.spec.whatwg.org/#dom-request-clone
  clone() {
    if (isUnusable(this.#body)) {
      throw new TypeError("Failed to execute 'clone' on 'Request': The body was already read, or it is locked");
    }
    const clone = new Request(kInternal);
    clone.#method = this.#method;
    clone.#url = this.#url;
    clone.#block = headerBlock(this);
    clone.#immutable = this.#immutable;
    clone.#body = cloneBody(this.#body);
    clone.#redirect = this.#redirect;
    clone.#follows = this;
    clone.#extras = this.#extras;
    clone.#cf = this.#cf;
    clone.#cfParsed = this.#cfParsed;
    return clone;
  }
}

function parseRequestURL(input, prefix) {
  const href = parseHref(input);
  if (href === undefined) throw new TypeError(`${prefix}: '${input}' is not an absolute URL`);
  if (hasCredentials(href)) throw new TypeError(`${prefix}: The URL '${input}' includes credentials`);
  return href;
}

/** Reports whether a serialized URL includes credentials. */
export function hasCredentials(href) {
  if (StringPrototypeIndexOf(href, "@") === -1) return false;
  const url = new URL(href);
  return getUsername(url) !== "" || getPassword(url) !== "";
}

// There is no client whose origin a referrer could share, so it is "client".
function convertReferrer(referrer, prefix) {
  if (referrer === "") return "";
  if (parseHref(referrer) === undefined) throw new TypeError(`${prefix}: The referrer '${referrer}' is not a valid URL.`);
  return "about:client";
}

mixinBody(Request.prototype, {
  body: (r) => bodyOf(r),
  contentType: (r) => blockGet(headerBlock(r), "content-type"),
});
webidl.configureInterface(Request);
