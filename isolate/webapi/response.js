// Fetch, the Response class: https://fetch.spec.whatwg.org/#response-class
// Public: Response. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { bodyFromSource, cloneBody, convertBodyInit, extractBody, isUnusable, mixinBody } from "edge:body";
import { blockFromInit, blockGet, blockHasType, blockOf, headersFromBlock } from "edge:headers";
import { parseHref } from "edge:url";

const {
  JSONStringify,
  RangeError,
  StringPrototypeCharCodeAt,
  StringPrototypeIndexOf,
  StringPrototypeSlice,
  TypeError,
} = primordials;

/** Tells the constructor that it is called from inside. */
const kInternal = {};

// https://fetch.spec.whatwg.org/#null-body-status
function isNullBodyStatus(status) {
  return status === 204 || status === 205 || status === 304 || status === 101 || status === 103;
}

// https://fetch.spec.whatwg.org/#redirect-status
export function isRedirectStatus(status) {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

// https://httpwg.org/specs/rfc9112.html#status.line
function isReasonPhrase(s) {
  for (let i = 0; i < s.length; i++) {
    const c = StringPrototypeCharCodeAt(s, i);
    if (c !== 9 && (c < 0x20 || c === 0x7f)) return false;
  }
  return true;
}

/**
 * Converts a ResponseInit and fills the members of a response with it.
 * https://fetch.spec.whatwg.org/#responseinit
 */
function convertInit(init, prefix) {
  const converted = { block: "", status: 200, statusText: "" };
  if (init === undefined || init === null) return converted;
  if (typeof init !== "object" && typeof init !== "function") {
    throw new TypeError(`${prefix}: Argument 2 is not of type ResponseInit, an object.`);
  }
  const { headers } = init;
  if (headers !== undefined) converted.block = blockFromInit(headers, prefix, "'headers' of 'ResponseInit'");
  const { status } = init;
  if (status !== undefined) {
    converted.status = webidl.converters["unsigned short"](status, prefix, "'status' of 'ResponseInit'");
  }
  const { statusText } = init;
  if (statusText !== undefined) {
    converted.statusText = webidl.converters.ByteString(statusText, prefix, "'statusText' of 'ResponseInit'");
  }
  return converted;
}

/** @type {(v: any) => boolean} */
export let isResponse;
/**
 * Gives what is sent: status, statusText, block and body. It is called once the
 * response has been handed over.
 * @type {(r: Response) => {status: number, statusText: string, block: string, body: Body | null, type: string}}
 */
export let partsOf;
/**
 * Makes a response with immutable headers, such as fetch gives.
 * @type {(status: number, statusText: string, block: string, body: Body | null,
 *   type: "default" | "basic" | "error", url: string, redirected: boolean) => Response}
 */
export let makeResponse;
/** @type {(r: Response) => Body | null} */
let bodyOf;
/** @type {(r: Response) => string} */
let headerBlock;

/**
 * https://fetch.spec.whatwg.org/#response
 *
 * Apart from the standard: there is no base URL for redirect(), and Set-Cookie
 * is a header like any other.
 */
export class Response {
  #status = 200;
  #statusText = "";
  #block = "";
  /** Made when script asks for it; from then on it has the header list. @type {Headers | null} */
  #headers = null;
  #immutable = false;
  /** @type {Body | null} */
  #body = null;
  #type = "default";
  #url = "";
  #redirected = false;

  static {
    isResponse = (v) => webidl.isObject(v) && #status in v;
    partsOf = (r) => ({
      status: r.#status,
      statusText: r.#statusText,
      block: headerBlock(r),
      body: r.#body,
      type: r.#type,
    });
    bodyOf = (r) => r.#body;
    headerBlock = (r) => (r.#headers === null ? r.#block : blockOf(r.#headers));
    makeResponse = (status, statusText, block, body, type, url, redirected) => {
      const response = new Response(kInternal);
      response.#status = status;
      response.#statusText = statusText;
      response.#block = block;
      response.#immutable = true;
      response.#body = body;
      response.#type = type;
      response.#url = url;
      response.#redirected = redirected;
      return response;
    };
  }

  // https://fetch.spec.whatwg.org/#dom-response
  constructor(body = null, init = undefined) {
    if (body === kInternal) return;
    const prefix = "Failed to construct 'Response'";
    if (body !== null) body = convertBodyInit(body, prefix, "Argument 1");
    init = convertInit(init, prefix);
    this.#initialize(init, body === null ? null : extractBody(body), prefix);
  }

  // https://fetch.spec.whatwg.org/#initialize-a-response
  #initialize(init, body, prefix) {
    const { status } = init;
    if (status < 200 || status > 599) {
      throw new RangeError(`${prefix}: The status ${status} is outside the range 200 to 599.`);
    }
    if (init.statusText !== "" && !isReasonPhrase(init.statusText)) {
      throw new TypeError(`${prefix}: The statusText is not a valid reason phrase.`);
    }
    this.#status = status;
    this.#statusText = init.statusText;
    this.#block = init.block;
    if (body === null) return;
    if (isNullBodyStatus(status)) {
      throw new TypeError(`${prefix}: A response with status ${status} cannot have a body.`);
    }
    this.#body = body;
    if (body.type !== null && !blockHasType(init.block)) {
      this.#block = `${init.block}content-type\n${body.type}\n`;
    }
  }

  // https://fetch.spec.whatwg.org/#dom-response-error
  static error() {
    return makeResponse(0, "", "", null, "error", "", false);
  }

  // https://fetch.spec.whatwg.org/#dom-response-redirect
  static redirect(url, status = 302) {
    const prefix = "Failed to execute 'redirect' on 'Response'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    url = webidl.converters.USVString(url, prefix, "Argument 1");
    status = webidl.converters["unsigned short"](status, prefix, "Argument 2");
    const href = parseHref(url);
    if (href === undefined) {
      throw new TypeError(`${prefix}: '${url}' is not an absolute URL`);
    }
    if (!isRedirectStatus(status)) {
      throw new RangeError(`${prefix}: ${status} is not a redirect status (301, 302, 303, 307 and 308 are)`);
    }
    return makeResponse(status, "", `location\n${href}\n`, null, "default", "", false);
  }

  // https://fetch.spec.whatwg.org/#dom-response-json
  static json(data, init = undefined) {
    const prefix = "Failed to execute 'json' on 'Response'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    init = convertInit(init, prefix);
    const text = JSONStringify(data);
    if (text === undefined) throw new TypeError(`${prefix}: The data cannot be written as JSON`);
    const body = bodyFromSource(text);
    body.type = "application/json";
    const response = new Response(kInternal);
    response.#initialize(init, body, prefix);
    return response;
  }

  // https://fetch.spec.whatwg.org/#dom-response-type
  get type() {
    return this.#type;
  }

  // https://fetch.spec.whatwg.org/#dom-response-url
  get url() {
    const url = this.#url;
    const hash = StringPrototypeIndexOf(url, "#");
    return hash === -1 ? url : StringPrototypeSlice(url, 0, hash);
  }

  // https://fetch.spec.whatwg.org/#dom-response-redirected
  get redirected() {
    return this.#redirected;
  }

  // https://fetch.spec.whatwg.org/#dom-response-status
  get status() {
    return this.#status;
  }

  // https://fetch.spec.whatwg.org/#dom-response-ok
  get ok() {
    return this.#status >= 200 && this.#status <= 299;
  }

  // https://fetch.spec.whatwg.org/#dom-response-statustext
  get statusText() {
    return this.#statusText;
  }

  // https://fetch.spec.whatwg.org/#dom-response-headers
  get headers() {
    return (this.#headers ??= headersFromBlock(this.#block, this.#immutable ? "immutable" : "response"));
  }

  // https://fetch.spec.whatwg.org/#dom-response-clone
  clone() {
    if (isUnusable(this.#body)) {
      throw new TypeError("Failed to execute 'clone' on 'Response': The body was already read, or it is locked");
    }
    const clone = new Response(kInternal);
    clone.#status = this.#status;
    clone.#statusText = this.#statusText;
    clone.#block = headerBlock(this);
    clone.#immutable = this.#immutable;
    clone.#body = cloneBody(this.#body);
    clone.#type = this.#type;
    clone.#url = this.#url;
    clone.#redirected = this.#redirected;
    return clone;
  }
}

mixinBody(Response.prototype, {
  body: (r) => bodyOf(r),
  contentType: (r) => blockGet(headerBlock(r), "content-type"),
});
webidl.configureInterface(Response);

/** Whether a status and a method leave a response without a body. */
export function hasNoBody(method, status) {
  return method === "HEAD" || method === "CONNECT" || isNullBodyStatus(status);
}
