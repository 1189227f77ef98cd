// URL Standard, the API: https://url.spec.whatwg.org/#api
// Public: URL, URLSearchParams. Ops: none (native_url_parse, native_url_set).
//
// A URL is its serialization and the offsets of its components in it, which the
// parser in C++ writes into one shared array. Attributes are slices.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { parseUrlencoded, serializeUrlencoded } from "edge:urlencoded";
import { native_url_parse, native_url_set } from "edge:ops";

const {
  ArrayPrototypePush,
  ArrayPrototypeSort,
  ArrayPrototypeSplice,
  ReflectOwnKeys,
  String,
  StringPrototypeCharCodeAt,
  StringPrototypeSlice,
  StringPrototypeStartsWith,
  TypeError,
  Uint32Array,
} = primordials;

const { USVString } = webidl.converters;
const convertRecord = webidl.createRecordConverter(USVString, USVString);
const convertPairs = webidl.converters["sequence<sequence<USVString>>"];

// Offsets as the parser leaves them; read at once, before anything else runs.
const out = new Uint32Array(9);

// What native_url_set knows the attributes by.
const kProtocol = 1;
const kUsername = 2;
const kPassword = 3;
const kHost = 4;
const kHostname = 5;
const kPort = 6;
const kPathname = 7;
const kSearch = 8;
const kHash = 9;

// Values of scheme_type.
const kNotSpecial = 1;
const kFile = 6;

/** Tells the constructor of URLSearchParams that a URL calls it. */
const kInternal = {};

/** Sets the query of a URL, when its searchParams changed. */
let setQuery;
/** Replaces the list of a URLSearchParams, when its URL changed. */
let setList;

/** Reads the list of a URLSearchParams. */
let listOf;

/** Reports whether an object is a URLSearchParams. */
let isParams;

export { parseUrlencoded, serializeUrlencoded } from "edge:urlencoded";

function invalidURL(prefix) {
  return new TypeError(`${prefix}: Invalid URL`);
}

/**
 * Parses a URL for other standards, without an object.
 * @param {string} input
 * @param {string} [base]
 * @returns {string | undefined} its serialization, undefined on failure
 */
export function parseHref(input, base = undefined) {
  return native_url_parse(input, base, out);
}

/**
 * Reports whether a value is a URLSearchParams.
 * @param {any} V
 */
export function isURLSearchParams(V) {
  return webidl.isObject(V) && isParams(V);
}

/**
 * Gives the name-value pairs of a URLSearchParams, which must not be changed.
 * @param {URLSearchParams} params
 * @returns {[string, string][]}
 */
export function entriesOfURLSearchParams(params) {
  return listOf(params);
}

// https://url.spec.whatwg.org/#interface-urlsearchparams
export class URLSearchParams {
  /** @type {[string, string][]} */
  #list;
  /** @type {URL | null} */
  #url = null;

  static {
    setList = (params, list) => {
      params.#list = list;
    };
    listOf = (params) => params.#list;
    isParams = (o) => #list in o;
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-urlsearchparams
  constructor(init = "") {
    if (init === kInternal) {
      this.#url = arguments[1];
      this.#list = arguments[2];
      return;
    }
    const prefix = "Failed to construct 'URLSearchParams'";
    if (!webidl.isObject(init)) {
      const text = USVString(init, prefix, "Argument 1");
      this.#list = parseUrlencoded(StringPrototypeStartsWith(text, "?") ? StringPrototypeSlice(text, 1) : text);
      return;
    }
    const list = (this.#list = []);
    const method = webidl.iteratorMethod(init);
    if (method === undefined) {
      const record = convertRecord(init, prefix, "Argument 1");
      const keys = ReflectOwnKeys(record);
      for (let i = 0; i < keys.length; i++) ArrayPrototypePush(list, [keys[i], record[keys[i]]]);
      return;
    }
    const pairs = webidl.sequenceFromIterable(init, method, webidl.converters["sequence<USVString>"], prefix, "Argument 1");
    for (let i = 0; i < pairs.length; i++) {
      if (pairs[i].length !== 2) throw new TypeError(`${prefix}: each query pair must be an iterable of a name and a value`);
      ArrayPrototypePush(list, [pairs[i][0], pairs[i][1]]);
    }
  }

  // https://url.spec.whatwg.org/#concept-urlsearchparams-update
  #update() {
    if (this.#url !== null) setQuery(this.#url, serializeUrlencoded(this.#list));
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-size
  get size() {
    return this.#list.length;
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-append
  append(name, value) {
    const list = this.#list;
    const prefix = "Failed to execute 'append' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = USVString(name, prefix, "Argument 1");
    value = USVString(value, prefix, "Argument 2");
    ArrayPrototypePush(list, [name, value]);
    this.#update();
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-delete
  delete(name, value = undefined) {
    this.#list; // the brand
    const prefix = "Failed to execute 'delete' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    if (value !== undefined) value = USVString(value, prefix, "Argument 2");
    const list = this.#list;
    for (let i = 0; i < list.length;) {
      if (list[i][0] === name && (value === undefined || list[i][1] === value)) ArrayPrototypeSplice(list, i, 1);
      else i++;
    }
    this.#update();
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-get
  get(name) {
    const list = this.#list;
    const prefix = "Failed to execute 'get' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    for (let i = 0; i < list.length; i++) {
      if (list[i][0] === name) return list[i][1];
    }
    return null;
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-getall
  getAll(name) {
    const list = this.#list;
    const prefix = "Failed to execute 'getAll' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    const values = [];
    for (let i = 0; i < list.length; i++) {
      if (list[i][0] === name) ArrayPrototypePush(values, list[i][1]);
    }
    return values;
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-has
  has(name, value = undefined) {
    const list = this.#list;
    const prefix = "Failed to execute 'has' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    if (value !== undefined) value = USVString(value, prefix, "Argument 2");
    for (let i = 0; i < list.length; i++) {
      if (list[i][0] === name && (value === undefined || list[i][1] === value)) return true;
    }
    return false;
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-set
  set(name, value) {
    this.#list; // the brand
    const prefix = "Failed to execute 'set' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = USVString(name, prefix, "Argument 1");
    value = USVString(value, prefix, "Argument 2");
    const list = this.#list;
    let found = false;
    for (let i = 0; i < list.length;) {
      if (list[i][0] !== name) {
        i++;
      } else if (found) {
        ArrayPrototypeSplice(list, i, 1);
      } else {
        found = true;
        list[i++][1] = value;
      }
    }
    if (!found) ArrayPrototypePush(list, [name, value]);
    this.#update();
  }

  // https://url.spec.whatwg.org/#dom-urlsearchparams-sort
  sort() {
    ArrayPrototypeSort(this.#list, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.#update();
  }

  // https://url.spec.whatwg.org/#urlsearchparams-stringification-behavior
  toString() {
    return serializeUrlencoded(this.#list);
  }

  static {
    webidl.pairIterable("URLSearchParams", this, (target) => target.#list);
  }
}
webidl.configureInterface(URLSearchParams);

// https://url.spec.whatwg.org/#url-class
export class URL {
  #href;
  #protocolEnd = 0;
  #usernameEnd = 0;
  #hostStart = 0;
  #hostEnd = 0;
  #port = 0;
  #pathnameStart = 0;
  #searchStart = 0;
  #hashStart = 0;
  #schemeType = 0;
  /** @type {URLSearchParams | undefined} made when it is first asked for */
  #searchParams = undefined;

  static {
    setQuery = (url, query) => url.#setQuery(query);
  }

  // https://url.spec.whatwg.org/#dom-url-url
  constructor(url, base = undefined) {
    const prefix = "Failed to construct 'URL'";
    if (url === kInternal) {
      this.#adopt(base);
      return;
    }
    webidl.requiredArguments(arguments.length, 1, prefix);
    url = USVString(url, prefix, "Argument 1");
    if (base !== undefined) base = USVString(base, prefix, "Argument 2");
    const href = native_url_parse(url, base, out);
    if (href === undefined) throw invalidURL(prefix);
    this.#adopt(href);
  }

  // https://url.spec.whatwg.org/#dom-url-parse
  static parse(url, base = undefined) {
    const prefix = "Failed to execute 'parse' on 'URL'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    url = USVString(url, prefix, "Argument 1");
    if (base !== undefined) base = USVString(base, prefix, "Argument 2");
    const href = native_url_parse(url, base, out);
    return href === undefined ? null : new URL(kInternal, href);
  }

  // https://url.spec.whatwg.org/#dom-url-canparse
  static canParse(url, base = undefined) {
    const prefix = "Failed to execute 'canParse' on 'URL'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    url = USVString(url, prefix, "Argument 1");
    if (base !== undefined) base = USVString(base, prefix, "Argument 2");
    return native_url_parse(url, base, out) !== undefined;
  }

  // Takes over what the parser has just made. -1 stands for null.
  #adopt(href) {
    this.#href = href;
    this.#protocolEnd = out[0];
    this.#usernameEnd = out[1];
    this.#hostStart = out[2];
    this.#hostEnd = out[3];
    this.#port = out[4] | 0;
    this.#pathnameStart = out[5];
    this.#searchStart = out[6] | 0;
    this.#hashStart = out[7] | 0;
    this.#schemeType = out[8];
  }

  #set(which, value, name) {
    this.#href; // the brand
    value = USVString(value, `Failed to set the '${name}' property on 'URL'`, "The provided value");
    const href = native_url_set(this.#href, which, value, out);
    if (href !== undefined) this.#adopt(href);
  }

  // Sets a query that the urlencoded serializer made, so that nothing in it has
  // to be encoded; "" is null.
  #setQuery(query) {
    const href = this.#href;
    const end = this.#hashStart < 0 ? href.length : this.#hashStart;
    const start = this.#searchStart < 0 ? end : this.#searchStart;
    const search = query === "" ? "" : `?${query}`;
    this.#href = StringPrototypeSlice(href, 0, start) + search + StringPrototypeSlice(href, end);
    this.#searchStart = search === "" ? -1 : start;
    if (this.#hashStart >= 0) this.#hashStart = start + search.length;
  }

  // Parses the query anew into the URLSearchParams that scripts may hold.
  #renewSearchParams() {
    if (this.#searchParams !== undefined) setList(this.#searchParams, this.#parseQuery());
  }

  #parseQuery() {
    if (this.#searchStart < 0) return [];
    const end = this.#hashStart < 0 ? this.#href.length : this.#hashStart;
    return parseUrlencoded(StringPrototypeSlice(this.#href, this.#searchStart + 1, end));
  }

  // https://url.spec.whatwg.org/#dom-url-href
  get href() {
    return this.#href;
  }
  set href(value) {
    this.#href; // the brand
    const prefix = "Failed to set the 'href' property on 'URL'";
    value = USVString(value, prefix, "The provided value");
    const href = native_url_parse(value, undefined, out);
    if (href === undefined) throw invalidURL(prefix);
    this.#adopt(href);
    this.#renewSearchParams();
  }

  // https://url.spec.whatwg.org/#dom-url-origin
  get origin() {
    const href = this.#href;
    if (this.#schemeType === kNotSpecial) return StringPrototypeStartsWith(href, "blob:") ? this.#blobOrigin() : "null";
    if (this.#schemeType === kFile) return "null";
    return `${this.protocol}//${this.host}`;
  }

  // https://url.spec.whatwg.org/#concept-url-origin, for blob URLs
  #blobOrigin() {
    const inner = URL.parse(this.pathname);
    return inner !== null && (inner.#schemeType === 0 || inner.#schemeType === 2) ? inner.origin : "null";
  }

  // https://url.spec.whatwg.org/#dom-url-protocol
  get protocol() {
    return StringPrototypeSlice(this.#href, 0, this.#protocolEnd);
  }
  set protocol(value) {
    this.#set(kProtocol, value, "protocol");
  }

  // https://url.spec.whatwg.org/#dom-url-username
  get username() {
    const start = this.#protocolEnd + 2;
    return start < this.#usernameEnd ? StringPrototypeSlice(this.#href, start, this.#usernameEnd) : "";
  }
  set username(value) {
    this.#set(kUsername, value, "username");
  }

  // https://url.spec.whatwg.org/#dom-url-password
  get password() {
    const start = this.#usernameEnd + 1;
    return start < this.#hostStart ? StringPrototypeSlice(this.#href, start, this.#hostStart) : "";
  }
  set password(value) {
    this.#set(kPassword, value, "password");
  }

  // Where the host begins, behind the "@" of credentials.
  #hostnameStart() {
    const start = this.#hostStart;
    return start < this.#hostEnd && StringPrototypeCharCodeAt(this.#href, start) === 64 ? start + 1 : start;
  }

  // https://url.spec.whatwg.org/#dom-url-host
  get host() {
    // "/." may stand before the path when there is no host.
    const end = this.#port < 0 ? this.#hostEnd : this.#pathnameStart;
    return StringPrototypeSlice(this.#href, this.#hostnameStart(), end);
  }
  set host(value) {
    this.#set(kHost, value, "host");
  }

  // https://url.spec.whatwg.org/#dom-url-hostname
  get hostname() {
    return StringPrototypeSlice(this.#href, this.#hostnameStart(), this.#hostEnd);
  }
  set hostname(value) {
    this.#set(kHostname, value, "hostname");
  }

  // https://url.spec.whatwg.org/#dom-url-port
  get port() {
    return this.#port < 0 ? "" : String(this.#port);
  }
  set port(value) {
    this.#set(kPort, value, "port");
  }

  // https://url.spec.whatwg.org/#dom-url-pathname
  get pathname() {
    const end = this.#searchStart >= 0 ? this.#searchStart : this.#hashStart >= 0 ? this.#hashStart : undefined;
    return StringPrototypeSlice(this.#href, this.#pathnameStart, end);
  }
  set pathname(value) {
    this.#set(kPathname, value, "pathname");
  }

  // https://url.spec.whatwg.org/#dom-url-search
  get search() {
    const start = this.#searchStart;
    if (start < 0) return "";
    const end = this.#hashStart < 0 ? this.#href.length : this.#hashStart;
    return end - start === 1 ? "" : StringPrototypeSlice(this.#href, start, end);
  }
  set search(value) {
    this.#set(kSearch, value, "search");
    this.#renewSearchParams();
  }

  // https://url.spec.whatwg.org/#dom-url-searchparams
  get searchParams() {
    this.#href; // the brand
    this.#searchParams ??= new URLSearchParams(kInternal, this, this.#parseQuery());
    return this.#searchParams;
  }

  // https://url.spec.whatwg.org/#dom-url-hash
  get hash() {
    const start = this.#hashStart;
    return start < 0 || start === this.#href.length - 1 ? "" : StringPrototypeSlice(this.#href, start);
  }
  set hash(value) {
    this.#set(kHash, value, "hash");
  }

  // https://url.spec.whatwg.org/#dom-url-tojson
  toJSON() {
    return this.#href;
  }

  // https://url.spec.whatwg.org/#URL-stringification-behavior
  toString() {
    return this.#href;
  }
}
webidl.configureInterface(URL);
