// DOM, events: https://dom.spec.whatwg.org/#events
// HTML, event handlers and two events: https://html.spec.whatwg.org/multipage/webappapis.html#events
// Public: Event, CustomEvent, ErrorEvent, PromiseRejectionEvent, EventTarget. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { DOMException } from "edge:domexception";
import { native_now } from "edge:ops";

const {
  ArrayPrototypePush,
  FunctionPrototypeCall,
  ObjectDefineProperty,
  ReflectGetOwnPropertyDescriptor,
  SafeMap,
  TypeError,
  globalThis: global,
} = primordials;

/**
 * What modules that import this one provide; set while the snapshot is made.
 * reportException: HTML's "report an exception". signal: how AbortSignal takes
 * part in addEventListener.
 */
const late = {
  reportException: undefined,
  isAbortSignal: undefined,
  isAborted: undefined,
  addAbortAlgorithm: undefined,
  abortListenersChanged: undefined,
};

/**
 * Sets how an exception of a listener is reported.
 * @param {(error: any) => void} fn
 */
export function setReportException(fn) {
  late.reportException = fn;
}

/**
 * Tells this module of AbortSignal.
 * @param {object} hooks
 */
export function setAbortHooks(hooks) {
  late.isAbortSignal = hooks.isAbortSignal;
  late.isAborted = hooks.isAborted;
  late.addAbortAlgorithm = hooks.addAbortAlgorithm;
  late.abortListenersChanged = hooks.abortListenersChanged;
}

const { DOMString, boolean, any } = webidl.converters;
const no = () => false;

const eventInit = [
  { key: "bubbles", converter: boolean, defaultValue: no },
  { key: "cancelable", converter: boolean, defaultValue: no },
  { key: "composed", converter: boolean, defaultValue: no },
];
const convertEventInit = webidl.createDictionaryConverter("EventInit", eventInit);

// isTrusted is unforgeable: an accessor of each event, with one getter for all.
let isTrustedDescriptor;
let eventInternals;
let targetInternals;

const initialized = 1;
const dispatching = 2;
const stopped = 4;
const stoppedImmediately = 8;
const canceled = 16;
const inPassive = 32;
const trusted = 64;
const bubbling = 128;
const cancelable = 256;
const composed = 512;

export class Event {
  #type;
  #flags = initialized;
  #target = null;
  #currentTarget = null;
  #phase = 0;
  #time = native_now();

  // https://dom.spec.whatwg.org/#dom-event-event
  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'Event'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#type = DOMString(type, prefix, "Argument 1");
    ObjectDefineProperty(this, "isTrusted", isTrustedDescriptor);
    if (eventInitDict !== undefined && eventInitDict !== null) {
      const init = convertEventInit(eventInitDict, prefix, "Argument 2");
      if (init.bubbles) this.#flags |= bubbling;
      if (init.cancelable) this.#flags |= cancelable;
      if (init.composed) this.#flags |= composed;
    }
  }

  get type() {
    return this.#type;
  }
  get target() {
    return this.#target;
  }
  get srcElement() {
    return this.#target;
  }
  get currentTarget() {
    return this.#currentTarget;
  }

  // https://dom.spec.whatwg.org/#dom-event-composedpath
  composedPath() {
    return this.#currentTarget === null ? [] : [this.#currentTarget];
  }

  get eventPhase() {
    return this.#phase;
  }

  // https://dom.spec.whatwg.org/#dom-event-stoppropagation
  stopPropagation() {
    this.#flags |= stopped;
  }
  get cancelBubble() {
    return (this.#flags & stopped) !== 0;
  }
  set cancelBubble(value) {
    this.#flags |= boolean(value) ? stopped : 0;
  }

  // https://dom.spec.whatwg.org/#dom-event-stopimmediatepropagation
  stopImmediatePropagation() {
    this.#flags |= stopped | stoppedImmediately;
  }

  get bubbles() {
    return (this.#flags & bubbling) !== 0;
  }
  get cancelable() {
    return (this.#flags & cancelable) !== 0;
  }

  // https://dom.spec.whatwg.org/#dom-event-returnvalue
  get returnValue() {
    return (this.#flags & canceled) === 0;
  }
  set returnValue(value) {
    this.#cancel(!boolean(value));
  }

  // https://dom.spec.whatwg.org/#dom-event-preventdefault
  preventDefault() {
    this.#cancel(true);
  }
  // https://dom.spec.whatwg.org/#set-the-canceled-flag
  #cancel(cancel) {
    if (cancel && (this.#flags & (cancelable | inPassive)) === cancelable) this.#flags |= canceled;
  }

  get defaultPrevented() {
    return (this.#flags & canceled) !== 0;
  }
  get composed() {
    return (this.#flags & composed) !== 0;
  }
  get timeStamp() {
    return this.#time;
  }

  // https://dom.spec.whatwg.org/#dom-event-initevent
  initEvent(type, bubbles = false, cancelable = false) {
    const prefix = "Failed to execute 'initEvent' on 'Event'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    eventInternals.initialize(this, DOMString(type, prefix, "Argument 1"), boolean(bubbles), boolean(cancelable));
  }

  static {
    isTrustedDescriptor = ReflectGetOwnPropertyDescriptor(
      {
        get isTrusted() {
          return (this.#flags & trusted) !== 0;
        },
      },
      "isTrusted",
    );
    isTrustedDescriptor = { __proto__: null, get: isTrustedDescriptor.get, set: undefined, enumerable: true, configurable: false };
    eventInternals = {
      is: (V) => webidl.isObject(V) && #flags in V,
      trust: (event) => {
        event.#flags |= trusted;
      },
      // https://dom.spec.whatwg.org/#concept-event-initialize
      initialize: (event, type, bubbles, mayCancel) => {
        if ((event.#flags & dispatching) !== 0) return false;
        event.#flags = initialized | (event.#flags & composed) | (bubbles ? bubbling : 0) | (mayCancel ? cancelable : 0);
        event.#target = null;
        event.#type = type;
        return true;
      },
      // https://dom.spec.whatwg.org/#concept-event-dispatch, for a target that
      // is alone in its path: first its capturing listeners, then the others.
      dispatch: (event, target) => {
        event.#flags |= dispatching;
        event.#target = target;
        event.#phase = Event.AT_TARGET;
        event.#currentTarget = target;
        eventInternals.invoke(event, target, true);
        eventInternals.invoke(event, target, false);
        event.#phase = Event.NONE;
        event.#currentTarget = null;
        event.#flags &= ~(dispatching | stopped | stoppedImmediately);
        return (event.#flags & canceled) === 0;
      },
      // https://dom.spec.whatwg.org/#concept-event-listener-inner-invoke
      invoke: (event, target, capture) => {
        if ((event.#flags & stopped) !== 0) return;
        // Lists are replaced, never changed, so this one needs no copy.
        const list = targetInternals.listeners(target)?.get(event.#type);
        if (list === undefined) return;
        for (let i = 0; i < list.length; i++) {
          const listener = list[i];
          if (listener.removed || listener.capture !== capture) continue;
          if (listener.once) targetInternals.remove(target, event.#type, listener);
          if (listener.passive) event.#flags |= inPassive;
          try {
            callListener(listener.callback, event, target);
          } catch (error) {
            late.reportException(error);
          }
          event.#flags &= ~inPassive;
          if ((event.#flags & stoppedImmediately) !== 0) return;
        }
      },
      canDispatch: (event) => (event.#flags & (dispatching | initialized)) === initialized,
      distrust: (event) => {
        event.#flags &= ~trusted;
      },
    };
  }
}

// https://webidl.spec.whatwg.org/#call-a-user-objects-operation
function callListener(callback, event, target) {
  if (typeof callback === "function") {
    FunctionPrototypeCall(callback, target, event);
    return;
  }
  const { handleEvent } = callback;
  if (typeof handleEvent !== "function") throw new TypeError("The event listener has no handleEvent function.");
  FunctionPrototypeCall(handleEvent, callback, event);
}

webidl.configureInterface(Event);
webidl.defineConstants(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });
webidl.converters.Event = webidl.createInterfaceConverter("Event", eventInternals.is);

const convertCustomEventInit = webidl.createDictionaryConverter("CustomEventInit", [
  { key: "detail", converter: any, defaultValue: () => null },
]);

// https://dom.spec.whatwg.org/#interface-customevent
export class CustomEvent extends Event {
  #detail;

  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'CustomEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    super(type, eventInitDict);
    this.#detail = convertCustomEventInit(eventInitDict, prefix, "Argument 2").detail;
  }

  get detail() {
    return this.#detail;
  }

  // https://dom.spec.whatwg.org/#dom-customevent-initcustomevent
  initCustomEvent(type, bubbles = false, cancelable = false, detail = null) {
    const prefix = "Failed to execute 'initCustomEvent' on 'CustomEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = DOMString(type, prefix, "Argument 1");
    this.#detail = this.#detail; // checks the brand first
    if (eventInternals.initialize(this, type, boolean(bubbles), boolean(cancelable))) this.#detail = detail;
  }
}
webidl.configureInterface(CustomEvent);

const convertErrorEventInit = webidl.createDictionaryConverter("ErrorEventInit", [
  { key: "message", converter: DOMString, defaultValue: () => "" },
  { key: "filename", converter: webidl.converters.USVString, defaultValue: () => "" },
  { key: "lineno", converter: webidl.converters["unsigned long"], defaultValue: () => 0 },
  { key: "colno", converter: webidl.converters["unsigned long"], defaultValue: () => 0 },
  { key: "error", converter: any },
]);

let isErrorEvent;

// https://html.spec.whatwg.org/multipage/webappapis.html#the-errorevent-interface
export class ErrorEvent extends Event {
  #init;

  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'ErrorEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    super(type, eventInitDict);
    this.#init = convertErrorEventInit(eventInitDict, prefix, "Argument 2");
  }

  get message() {
    return this.#init.message;
  }
  get filename() {
    return this.#init.filename;
  }
  get lineno() {
    return this.#init.lineno;
  }
  get colno() {
    return this.#init.colno;
  }
  get error() {
    return this.#init.error;
  }

  static {
    isErrorEvent = (event) => #init in event;
  }
}
webidl.configureInterface(ErrorEvent);

const convertPromiseRejectionEventInit = webidl.createDictionaryConverter("PromiseRejectionEventInit", [
  { key: "promise", converter: webidl.converters.object, required: true },
  { key: "reason", converter: any },
]);

// https://html.spec.whatwg.org/multipage/webappapis.html#the-promiserejectionevent-interface
export class PromiseRejectionEvent extends Event {
  #promise;
  #reason;

  constructor(type, eventInitDict) {
    const prefix = "Failed to construct 'PromiseRejectionEvent'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    super(type, eventInitDict);
    const init = convertPromiseRejectionEventInit(eventInitDict, prefix, "Argument 2");
    this.#promise = init.promise;
    this.#reason = init.reason;
  }

  get promise() {
    return this.#promise;
  }
  get reason() {
    return this.#reason;
  }
}
webidl.configureInterface(PromiseRejectionEvent);

const convertAddOptions = webidl.createDictionaryConverter(
  "AddEventListenerOptions",
  [{ key: "capture", converter: boolean, defaultValue: no }],
  [
    { key: "once", converter: boolean, defaultValue: no },
    { key: "passive", converter: boolean },
    { key: "signal", converter: (V, prefix, context) => webidl.converters.AbortSignal(V, prefix, context) },
  ],
);
const convertOptions = webidl.createDictionaryConverter("EventListenerOptions", [
  { key: "capture", converter: boolean, defaultValue: no },
]);

// https://dom.spec.whatwg.org/#callbackdef-eventlistener, nullable
function convertListener(V, prefix) {
  if (V === null || V === undefined) return null;
  if (!webidl.isObject(V)) throw webidl.makeException(TypeError, "is not an object", prefix, "Argument 2");
  return V;
}

// A boolean is short for {capture}: https://dom.spec.whatwg.org/#concept-flatten-options
function isDictionary(V) {
  return V === undefined || V === null || webidl.isObject(V);
}

// The global object is an EventTarget which no constructor of ours made.
const globalData = { listeners: null, handlers: null };

/**
 * @typedef {{callback: object, capture: boolean, once: boolean, passive: boolean, removed: boolean}} Listener
 */

// https://dom.spec.whatwg.org/#interface-eventtarget
export class EventTarget {
  /** @type {Map<string, Listener[]> | null} */
  #listeners = null;
  /** @type {Map<string, {value: object, listener: Listener}> | null} */
  #handlers = null;

  // https://dom.spec.whatwg.org/#dom-eventtarget-addeventlistener
  addEventListener(type, callback, options = undefined) {
    const prefix = "Failed to execute 'addEventListener' on 'EventTarget'";
    const target = targetInternals.receiver(this);
    webidl.requiredArguments(arguments.length, 2, prefix);
    type = DOMString(type, prefix, "Argument 1");
    callback = convertListener(callback, prefix);
    let capture;
    let once = false;
    let passive = false;
    let signal;
    if (options === undefined) {
      capture = false;
    } else if (isDictionary(options)) {
      ({ capture, once, passive = false, signal } = convertAddOptions(options, prefix, "Argument 3"));
    } else {
      capture = boolean(options);
    }
    if (callback === null || (signal !== undefined && late.isAborted(signal))) return;
    const list = targetInternals.listeners(target)?.get(type);
    for (let i = 0; i < (list?.length ?? 0); i++) {
      if (list[i].callback === callback && list[i].capture === capture) return;
    }
    const listener = { callback, capture, once, passive, removed: false };
    targetInternals.add(target, type, listener);
    if (signal !== undefined) {
      late.addAbortAlgorithm(signal, () => targetInternals.remove(target, type, listener));
    }
  }

  // https://dom.spec.whatwg.org/#dom-eventtarget-removeeventlistener
  removeEventListener(type, callback, options = undefined) {
    const prefix = "Failed to execute 'removeEventListener' on 'EventTarget'";
    const target = targetInternals.receiver(this);
    webidl.requiredArguments(arguments.length, 2, prefix);
    type = DOMString(type, prefix, "Argument 1");
    callback = convertListener(callback, prefix);
    const capture = isDictionary(options) ? convertOptions(options, prefix, "Argument 3").capture : boolean(options);
    const list = targetInternals.listeners(target)?.get(type);
    for (let i = 0; i < (list?.length ?? 0); i++) {
      if (list[i].callback === callback && list[i].capture === capture) {
        targetInternals.remove(target, type, list[i]);
        return;
      }
    }
  }

  // https://dom.spec.whatwg.org/#dom-eventtarget-dispatchevent
  dispatchEvent(event) {
    const prefix = "Failed to execute 'dispatchEvent' on 'EventTarget'";
    const target = targetInternals.receiver(this);
    webidl.requiredArguments(arguments.length, 1, prefix);
    webidl.converters.Event(event, prefix, "Argument 1");
    if (!eventInternals.canDispatch(event)) {
      throw new DOMException(`${prefix}: The event is already being dispatched.`, "InvalidStateError");
    }
    eventInternals.distrust(event);
    return eventInternals.dispatch(event, target);
  }

  static {
    const is = (V) => webidl.isObject(V) && (#listeners in V || V === global);
    targetInternals = {
      is,
      // An operation of the global object may be called without a receiver.
      receiver: (V) => {
        if (V === undefined || V === null) return global;
        if (!is(V)) throw new TypeError("Illegal invocation");
        return V;
      },
      listeners: (target) => (target === global ? globalData.listeners : target.#listeners),
      handlers: (target) => {
        if (target === global) return (globalData.handlers ??= new SafeMap());
        return (target.#handlers ??= new SafeMap());
      },
      // https://dom.spec.whatwg.org/#add-an-event-listener
      add: (target, type, listener) => {
        let map = targetInternals.listeners(target);
        if (map === null) {
          map = new SafeMap();
          if (target === global) globalData.listeners = map;
          else target.#listeners = map;
        }
        const old = map.get(type);
        const list = [];
        for (let i = 0; i < (old?.length ?? 0); i++) ArrayPrototypePush(list, old[i]);
        ArrayPrototypePush(list, listener);
        map.set(type, list);
        if (old === undefined && type === "abort") late.abortListenersChanged(target, true);
      },
      // https://dom.spec.whatwg.org/#remove-an-event-listener
      remove: (target, type, listener) => {
        listener.removed = true;
        const map = targetInternals.listeners(target);
        const old = map?.get(type);
        if (old === undefined) return;
        const list = [];
        for (let i = 0; i < old.length; i++) {
          if (old[i] !== listener) ArrayPrototypePush(list, old[i]);
        }
        if (list.length > 0) {
          map.set(type, list);
          return;
        }
        map.delete(type);
        if (type === "abort") late.abortListenersChanged(target, false);
      },
    };
  }
}
webidl.configureInterface(EventTarget);

/**
 * Reports whether V is an EventTarget.
 * @type {(V: any) => boolean}
 */
export const isEventTarget = targetInternals.is;

/**
 * Reports whether a target has listeners of a type: if not, the event need not
 * be made.
 * @param {EventTarget} target
 * @param {string} type
 */
export function hasListeners(target, type) {
  return targetInternals.listeners(target)?.get(type) !== undefined;
}

/**
 * Dispatches an event of the platform: isTrusted is true.
 * https://dom.spec.whatwg.org/#concept-event-fire
 * @param {EventTarget} target
 * @param {Event} event
 * @returns {boolean} false when it was canceled
 */
export function dispatchTrusted(target, event) {
  eventInternals.trust(event);
  return eventInternals.dispatch(event, target);
}

/**
 * Defines an event handler attribute, on<type>.
 * https://html.spec.whatwg.org/multipage/webappapis.html#event-handler-idl-attributes
 * @param {object} object a prototype, or the global object
 * @param {string} type
 */
export function defineEventHandler(object, type) {
  const name = `on${type}`;
  const owner = (receiver) => (object === global ? global : targetInternals.receiver(receiver));
  const accessors = {
    get [name]() {
      return targetInternals.handlers(owner(this)).get(type)?.value ?? null;
    },
    set [name](value) {
      const target = owner(this);
      const handlers = targetInternals.handlers(target);
      const handler = handlers.get(type);
      if (!webidl.isObject(value)) {
        if (handler !== undefined) {
          handlers.delete(type);
          targetInternals.remove(target, type, handler.listener);
        }
        return;
      }
      // A handler keeps its place among the listeners when it is replaced.
      if (handler !== undefined) {
        handler.value = value;
        return;
      }
      const added = { value, listener: undefined };
      const callback = (event) => processHandler(added.value, event, target);
      added.listener = { callback, capture: false, once: false, passive: false, removed: false };
      handlers.set(type, added);
      targetInternals.add(target, type, added.listener);
    },
  };
  const { get, set } = ReflectGetOwnPropertyDescriptor(accessors, name);
  ObjectDefineProperty(object, name, { __proto__: null, get, set, enumerable: true, configurable: true });
}

// https://html.spec.whatwg.org/multipage/webappapis.html#the-event-handler-processing-algorithm
function processHandler(handler, event, target) {
  if (typeof handler !== "function") return;
  if (target === global && event.type === "error" && isErrorEvent(event)) {
    const { message, filename, lineno, colno, error } = event;
    if (FunctionPrototypeCall(handler, target, message, filename, lineno, colno, error) === true) event.preventDefault();
    return;
  }
  if (FunctionPrototypeCall(handler, target, event) === false) event.preventDefault();
}
