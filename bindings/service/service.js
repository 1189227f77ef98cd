// The binding kind service: https://fetch.spec.whatwg.org/#fetch-method, on
// another service in place of the network.
// Public: nothing; env.NAME is a Fetcher. Ops: those of edge:fetch.

import { registerFacade } from "edge:facades";
import { fetchThrough } from "edge:fetch";
import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";

const { PromiseReject, TypeError } = primordials;

// Only create() below has it, so a worker that reaches the class through an
// instance cannot make a Fetcher for a handle that it guesses.
const brand = { __proto__: null };

/** Another service, as a worker sees it. */
class Fetcher {
  #handle;
  #field;

  /**
   * @param {object} token
   * @param {number} handle
   * @param {string} field
   */
  constructor(token, handle, field) {
    if (token !== brand) webidl.illegalConstructor();
    this.#handle = handle;
    this.#field = field;
  }

  /**
   * Like the global fetch(), answered by the service, redirects too.
   * @param {RequestInfo | URL} input
   * @param {RequestInit} [init]
   * @returns {Promise<Response>}
   */
  fetch(input, init = undefined) {
    try {
      if (!webidl.isObject(this) || !(#handle in this)) throw new TypeError("Illegal invocation");
      webidl.requiredArguments(arguments.length, 1, "Failed to execute 'fetch' on 'Fetcher'");
      return fetchThrough(this.#handle, input, init);
    } catch (error) {
      return PromiseReject(error);
    }
  }

  /** A service speaks HTTP; sockets to it are not offered. */
  connect() {
    if (!webidl.isObject(this) || !(#handle in this)) throw new TypeError("Illegal invocation");
    throw new TypeError(`Failed to execute 'connect' on 'Fetcher': ${this.#field} is a service binding, which has no sockets: use fetch()`);
  }
}

webidl.configureInterface(Fetcher);

/**
 * Makes env.NAME.
 * @param {string} value the binding's config path
 * @param {number} handle of the fetch.Fetcher
 * @returns {Fetcher}
 */
export function create(value, handle) {
  return new Fetcher(brand, handle, value);
}

registerFacade("service", create);
