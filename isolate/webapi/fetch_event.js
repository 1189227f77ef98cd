// Service Workers, fetch events: https://w3c.github.io/ServiceWorker/#fetchevent-interface
// Public: ExtendableEvent, FetchEvent. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException } from "edge:domexception";
import { Event } from "edge:event";
import { isRequest } from "edge:request";

const { PromiseResolve, uncurryThis } = primordials;

const stopImmediatePropagation = uncurryThis(Event.prototype.stopImmediatePropagation);

const eventInit = [
  { key: "bubbles", converter: webidl.converters.boolean },
  { key: "cancelable", converter: webidl.converters.boolean },
  { key: "composed", converter: webidl.converters.boolean },
];
// https://w3c.github.io/ServiceWorker/#dictdef-fetcheventinit
const convertFetchEventInit = webidl.createDictionaryConverter("FetchEventInit", eventInit, [
  { key: "request", converter: webidl.createInterfaceConverter("Request", isRequest), required: true },
]);

function notActive(method) {
  return new DOMException(`Failed to execute '${method}': the event is not active`, "InvalidStateError");
}

/**
 * Binds an event to the request that it stands for.
 * @type {(e: FetchEvent, host: {waitUntil: (p: any) => void, passThroughOnException: () => void}) => void}
 */
export let activate;
/** Gives what respondWith got, undefined when it was not called. @type {(e: FetchEvent) => Promise<any> | undefined} */
export let answerOf;
let hostOf;

// https://w3c.github.io/ServiceWorker/#extendableevent-interface
export class ExtendableEvent extends Event {
  #host = null;

  static {
    hostOf = (e, method) => {
      if (e.#host === null) throw notActive(method);
      return e.#host;
    };
    activate = (e, host) => {
      e.#host = host;
    };
  }

  // https://w3c.github.io/ServiceWorker/#dom-extendableevent-waituntil
  waitUntil(promise) {
    const host = hostOf(this, "waitUntil");
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'waitUntil' on 'ExtendableEvent'");
    host.waitUntil(promise);
  }
}
webidl.configureInterface(ExtendableEvent);

// https://w3c.github.io/ServiceWorker/#fetchevent-interface
export class FetchEvent extends ExtendableEvent {
  #request;
  /** @type {Promise<any> | undefined} */
  #answer = undefined;

  static {
    answerOf = (e) => e.#answer;
  }

  constructor(type, eventInitDict) {
    const prefix = "Failed to construct 'FetchEvent'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    const init = convertFetchEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#request = init.request;
  }

  // https://w3c.github.io/ServiceWorker/#dom-fetchevent-request
  get request() {
    return this.#request;
  }

  // https://w3c.github.io/ServiceWorker/#dom-fetchevent-respondwith
  respondWith(response) {
    const answered = this.#answer !== undefined;
    const host = hostOf(this, "respondWith");
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'respondWith' on 'FetchEvent'");
    if (answered || host.answered) {
      throw new DOMException("Failed to execute 'respondWith': it was called already, or the event is over", "InvalidStateError");
    }
    stopImmediatePropagation(this);
    this.#answer = PromiseResolve(response);
  }

  /** Lets the request go on to the outbound service when the worker throws. Not of the standard. */
  passThroughOnException() {
    hostOf(this, "passThroughOnException").passThroughOnException();
  }
}
webidl.configureInterface(FetchEvent);
