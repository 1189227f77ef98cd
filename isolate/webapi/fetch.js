// Fetch, fetch(): https://fetch.spec.whatwg.org/#fetch-method
// Public: fetch. Ops: op_fetch, op_fetch_abort.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { abortReason, addAbortAlgorithm, isAborted, removeAbortAlgorithm } from "edge:abort";
import { abortBody, bodyFromHandle, bodyFromSource, cancelBody, isUnusable, sendBody } from "edge:body";
import { blockDelete, blockGet } from "edge:headers";
import { Request, hasCredentials, partsOf } from "edge:request";
import { hasNoBody, isRedirectStatus, makeResponse } from "edge:response";
import { URL, parseHref } from "edge:url";
import { op_fetch, op_fetch_abort } from "edge:ops";

const {
  Promise,
  PromisePrototypeThen,
  PromiseReject,
  ReflectGetOwnPropertyDescriptor,
  StringPrototypeIndexOf,
  StringPrototypeSlice,
  StringPrototypeStartsWith,
  TypeError,
  uncurryThis,
} = primordials;

const getOrigin = uncurryThis(ReflectGetOwnPropertyDescriptor(URL.prototype, "origin").get);

/** The most redirects that one fetch follows. */
const maxRedirects = 20;

/** Names a fetch that can be aborted; 0 for one that cannot. */
let lastToken = 0;

function nextToken() {
  lastToken = lastToken === 0x7fffffff ? 1 : lastToken + 1;
  return lastToken;
}

// https://fetch.spec.whatwg.org/#request-body-header-name
const bodyHeaders = ["content-encoding", "content-language", "content-location", "content-type", "content-length"];

// What another origin must not see. Browsers keep all but the first from scripts.
const originHeaders = ["authorization", "cookie", "proxy-authorization", "host"];

function removeAll(block, names) {
  for (let i = 0; i < names.length; i++) block = blockDelete(block, names[i]);
  return block;
}

function withoutFragment(url) {
  const hash = StringPrototypeIndexOf(url, "#");
  return hash === -1 ? url : StringPrototypeSlice(url, 0, hash);
}

/** A fetch on its way; the request's parts change with each redirect. */
class Fetch {
  /** @type {Body | null} */
  responseBody = null;
  method;
  url;
  block;
  body;
  redirect;
  cors;
  fetcher;
  token;
  aborted = false;

  constructor(parts, fetcher, token) {
    this.method = parts.method;
    this.url = withoutFragment(parts.url);
    this.block = parts.block;
    this.body = parts.body;
    this.redirect = parts.redirect;
    this.cors = parts.mode === "cors";
    this.fetcher = fetcher;
    this.token = token;
  }

  // https://fetch.spec.whatwg.org/#http-fetch
  async run() {
    if (!StringPrototypeStartsWith(this.url, "http:") && !StringPrototypeStartsWith(this.url, "https:")) {
      const scheme = StringPrototypeSlice(this.url, 0, StringPrototypeIndexOf(this.url, ":") + 1);
      throw new TypeError(`fetch failed: '${scheme}' is not a scheme that can be fetched (only http: and https: are)`);
    }
    const { body } = this;
    if (isUnusable(body)) throw new TypeError("fetch failed: the body of the request was already read, or it is locked");
    let sent = sendBody(body);
    for (let redirects = 0; ; redirects++) {
      const result = await op_fetch(
        this.fetcher, this.token, this.method, this.url, this.block, this.redirect === "manual",
        sent.kind, sent.value, sent.size,
      );
      const status = result[0];
      const location = this.redirect !== "manual" && isRedirectStatus(status) ? blockGet(result[2], "location") : null;
      if (location === null) return this.finish(result, redirects > 0);
      if (this.redirect === "error") throw new TypeError(`fetch failed: ${this.url} redirects, and the redirect mode is 'error'`);
      if (redirects === maxRedirects) throw new TypeError(`fetch failed: more than ${maxRedirects} redirects`);
      sent = this.follow(status, location, sent);
    }
  }

  // https://fetch.spec.whatwg.org/#http-redirect-fetch
  follow(status, location, sent) {
    const href = parseHref(location, this.url);
    if (href === undefined) throw new TypeError(`fetch failed: ${this.url} redirects to '${location}', which is not a valid URL`);
    if (!StringPrototypeStartsWith(href, "http:") && !StringPrototypeStartsWith(href, "https:")) {
      throw new TypeError(`fetch failed: ${this.url} redirects to '${href}' (only http: and https: can be fetched)`);
    }
    const sameOrigin = getOrigin(new URL(href)) === getOrigin(new URL(this.url));
    if (this.cors && !sameOrigin && hasCredentials(href)) {
      throw new TypeError(`fetch failed: ${this.url} redirects to another origin with credentials in the URL`);
    }
    if (status !== 303 && this.body !== null && this.body.source === null) {
      throw new TypeError(`fetch failed: ${this.url} redirects with status ${status}, and a body that is a stream cannot be sent again`);
    }
    const { method } = this;
    if (((status === 301 || status === 302) && method === "POST") || (status === 303 && method !== "GET" && method !== "HEAD")) {
      this.method = "GET";
      this.body = null;
      this.block = removeAll(this.block, bodyHeaders);
      sent = sendBody(null);
    }
    if (!sameOrigin) this.block = removeAll(this.block, originHeaders);
    this.url = withoutFragment(href);
    return sent;
  }

  // https://fetch.spec.whatwg.org/#concept-main-fetch
  finish(result, redirected) {
    const { 0: status, 1: statusText, 2: block, 3: kind, 4: value, 5: size } = result;
    let body = null;
    if (kind !== 0 && !hasNoBody(this.method, status)) {
      body = kind === 3 ? bodyFromHandle(value, size) : bodyFromSource(value);
    }
    this.responseBody = body;
    return makeResponse(status, statusText, block, body, "basic", this.url, redirected);
  }
}

/**
 * Fetches through a service binding, or through the worker's outbound service.
 * @param {number} fetcher the resource of the binding, 0 for the outbound service
 * @param {any} input
 * @param {any} init
 * @returns {Promise<Response>}
 */
export function fetchThrough(fetcher, input, init) {
  let parts;
  try {
    parts = partsOf(new Request(input, init));
  } catch (error) {
    return PromiseReject(error);
  }
  const { signal } = parts;
  if (signal === null) return new Fetch(parts, fetcher, 0).run();
  if (isAborted(signal)) {
    cancelBody(parts.body, abortReason(signal));
    return PromiseReject(abortReason(signal));
  }
  const running = new Fetch(parts, fetcher, nextToken());
  return new Promise((resolve, reject) => {
    // https://fetch.spec.whatwg.org/#abort-fetch
    const abort = () => {
      const reason = abortReason(signal);
      reject(reason);
      op_fetch_abort(running.token);
      cancelBody(parts.body, reason);
      abortBody(running.responseBody, reason);
    };
    addAbortAlgorithm(signal, abort);
    PromisePrototypeThen(running.run(), (response) => {
      const forget = () => removeAbortAlgorithm(signal, abort);
      if (running.responseBody === null) forget();
      else running.responseBody.onSpent = forget;
      resolve(response);
    }, (error) => {
      removeAbortAlgorithm(signal, abort);
      reject(error);
    });
  });
}

/**
 * https://fetch.spec.whatwg.org/#dom-global-fetch
 *
 * Apart from the standard: only http: and https: are fetched, nothing is
 * cached, and with the redirect mode "manual" the redirect is the response, as
 * a proxy needs it.
 */
export function fetch(input, init = undefined) {
  try {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'fetch'");
  } catch (error) {
    return PromiseReject(error);
  }
  return fetchThrough(0, input, init);
}
