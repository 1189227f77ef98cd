// Workers: start-up, entrypoints, and the events that the host sends.
// Public: none. Ops: op_boot_done, op_fetch_respond, op_fetch_pass_through,
// op_invocation_done, op_invocation_fail, op_log.
//
// The host emits "load" once, "fetch" for each request, and "abort" when the
// client of a request has left.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { abortBody, bodyFromHandle, bodyFromSource, isDisturbed, isUnusable, kindStream, sendBody } from "edge:body";
import { DOMException } from "edge:domexception";
import { dispatchTrusted, hasListeners } from "edge:event";
import { createFacade } from "edge:facades";
import { FetchEvent, activate, answerOf } from "edge:fetch_event";
import { abortRequest, bodyOf, makeRequest } from "edge:request";
import { isResponse, partsOf } from "edge:response";
import { stopTimersOf } from "edge:timers";
import { guardWebAssembly } from "edge:webassembly";
import { WorkerEntrypoint, enter, env as workerEnv, invocationOf, leave } from "edge:workers";
import {
  native_class_name,
  native_import_main,
  native_invocation,
  native_on,
  op_boot_done,
  op_fetch_pass_through,
  op_fetch_respond,
  op_invocation_done,
  op_invocation_fail,
  op_log,
} from "edge:ops";

const {
  ArrayPrototypeJoin,
  ArrayPrototypePush,
  FunctionPrototypeSymbolHasInstance,
  ObjectDefineProperty,
  PromisePrototypeThen,
  PromiseResolve,
  ReflectConstruct,
  ReflectDeleteProperty,
  ReflectGetOwnPropertyDescriptor,
  ReflectOwnKeys,
  SafeMap,
  String,
  TypeError,
  globalThis: global,
} = primordials;

/**
 * Where fetch events go: "" is the default export, null stands for the
 * listeners of addEventListener("fetch").
 * @type {Map<string, object | Function | null>}
 */
const entrypoints = new SafeMap();

/**
 * Says what was thrown, whatever it is: [name, message, stack].
 * @param {any} error
 */
function describeError(error) {
  try {
    const stack = typeof error === "object" && error !== null ? error.stack : undefined; // once: it may be a getter
    if (typeof stack === "string") return [String(error.name), String(error.message), stack];
    const text = `Uncaught ${typeof error === "object" && error !== null ? `an object of class ${native_class_name(error)}` : String(error)}`;
    return ["Error", text, text];
  } catch {
    return ["Error", "an exception that cannot be shown", ""];
  }
}

/** Says what a value is, for "it returned ...". */
function describeValue(value) {
  if (value === undefined || value === null) return String(value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object") return `a ${typeof value}`;
  try {
    return `an object of class ${native_class_name(value)}`;
  } catch {
    return "an object";
  }
}

// What env.NAME is in a module is the global NAME in a script of the service
// worker style, which cannot be told apart before it has run.
function exposeEnv() {
  const names = ReflectOwnKeys(workerEnv);
  const before = [];
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    const desc = ReflectGetOwnPropertyDescriptor(global, name);
    if (desc !== undefined && !desc.configurable) continue;
    ArrayPrototypePush(before, [name, desc]);
    ObjectDefineProperty(global, name, { __proto__: null, value: workerEnv[name], writable: true, enumerable: true, configurable: true });
  }
  return () => {
    for (let i = 0; i < before.length; i++) {
      const { 0: name, 1: desc } = before[i];
      if (desc === undefined) ReflectDeleteProperty(global, name);
      else ObjectDefineProperty(global, name, { __proto__: null, ...desc });
    }
  };
}

function isEntrypointClass(value) {
  if (typeof value !== "function") return false;
  const { prototype } = value;
  if (typeof prototype !== "object" || prototype === null) return false;
  return typeof prototype.fetch === "function" || FunctionPrototypeSymbolHasInstance(WorkerEntrypoint, prototype);
}

function isEntrypoint(value) {
  return isEntrypointClass(value) || (webidl.isObject(value) && typeof value.fetch === "function");
}

/** Finds the entrypoints among a module's exports; throws when there are none. */
function findEntrypoints(namespace) {
  if (isEntrypoint(namespace.default)) entrypoints.set("", namespace.default);
  else if (hasListeners(global, "fetch")) entrypoints.set("", null);
  const names = ReflectOwnKeys(namespace);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (typeof name === "string" && name !== "default" && isEntrypoint(namespace[name])) entrypoints.set(name, namespace[name]);
  }
  if (entrypoints.size > 0) return;
  const found = "default" in namespace
    ? `its default export is ${describeValue(namespace.default)} without a fetch method`
    : "it has no default export";
  throw new TypeError(
    `the worker has no fetch handler: ${found}; ` +
      "export default { fetch(request, env, ctx) { ... } }, or a class that extends WorkerEntrypoint, or call addEventListener(\"fetch\", ...)",
  );
}

/**
 * Makes env, evaluates the main module, finds the entrypoints.
 * @param {[string, any, string | null, number][]} entries
 */
async function load(entries) {
  for (let i = 0; i < entries.length; i++) {
    const { 0: name, 1: value, 2: facade, 3: handle } = entries[i];
    const made = facade === null ? value : createFacade(facade, value, handle);
    ObjectDefineProperty(workerEnv, name, { __proto__: null, value: made, writable: true, enumerable: true, configurable: true });
  }
  const hide = exposeEnv();
  const namespace = await native_import_main();
  findEntrypoints(namespace);
  if (entrypoints.get("") !== null) hide();
}

/** One event that is being handled. */
class Invocation {
  id;
  request;
  /** What has to end before the event does, besides the handler. */
  waiting = 0;
  answered = false;
  ended = false;
  passThrough = false;

  constructor(id, request) {
    this.id = id;
    this.request = request;
  }

  /** Calls the handler; gives what it returned. */
  call(entrypoint) {
    const handler = entrypoints.get(entrypoint);
    if (handler === undefined) throw new TypeError(noSuchEntrypoint(entrypoint));
    if (handler === null) return this.dispatch();
    const ctx = new ExecutionContext(this);
    const target = isEntrypointClass(handler) ? ReflectConstruct(handler, [ctx, workerEnv]) : handler;
    if (typeof target.fetch !== "function") {
      throw new TypeError(`the entrypoint ${entrypoint === "" ? "'default'" : `'${entrypoint}'`} has no fetch method`);
    }
    return target.fetch(this.request, workerEnv, ctx);
  }

  /** Fires the event at the listeners of addEventListener("fetch"). */
  dispatch() {
    const event = new FetchEvent("fetch", { __proto__: null, cancelable: true, request: this.request });
    activate(event, this);
    dispatchTrusted(global, event);
    const answer = answerOf(event);
    if (answer === undefined) {
      throw new TypeError("no listener of the fetch event called event.respondWith(...)");
    }
    return answer;
  }

  // https://w3c.github.io/ServiceWorker/#wait-until-method
  waitUntil(promise) {
    const settled = PromiseResolve(promise); // may throw, by a getter of the script's
    this.waiting++;
    PromisePrototypeThen(settled, () => this.release(), (error) => {
      const { 0: name, 1: message, 2: stack } = describeError(error);
      op_log("error", `Uncaught (in waitUntil) ${stack || `${name}: ${message}`}`);
      this.release();
    });
  }

  /** Waits for an internal promise, however it ends. */
  waitFor(promise) {
    this.waiting++;
    PromisePrototypeThen(promise, () => this.release(), () => this.release());
  }

  passThroughOnException() {
    this.passThrough = true;
  }

  release() {
    this.waiting--;
    this.settle();
  }

  /** Ends the event when nothing of it is left. */
  settle() {
    if (this.ended || !this.answered || this.waiting > 0) return;
    this.end();
    op_invocation_done();
  }

  end() {
    this.ended = true;
    leave(this);
    stopTimersOf(this.id);
  }

  respond(response) {
    if (this.ended || this.answered) return;
    let sent;
    try {
      sent = this.send(response);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.answered = true;
    if (sent !== null) this.waitFor(sent);
    this.settle();
  }

  /** Hands the response to the host; gives the promise of a stream that is being sent. */
  send(response) {
    if (!isResponse(response)) {
      throw new TypeError(`the fetch handler must return a Response, but it returned ${describeValue(response)}`);
    }
    const { status, statusText, block, body, type } = partsOf(response);
    if (type === "error") throw new TypeError("the fetch handler returned Response.error(), which cannot be sent");
    if (isUnusable(body)) {
      throw new TypeError("the fetch handler returned a Response whose body was already read, or is locked");
    }
    const { kind, value, size, done } = sendBody(body);
    op_fetch_respond(status, statusText, block, kind, value, size);
    return kind === kindStream ? done : null;
  }

  fail(error) {
    if (this.ended) return;
    const { 0: name, 1: message, 2: stack } = describeError(error);
    const { request } = this;
    if (!this.answered && this.passThrough && !isDisturbed(bodyOf(request))) {
      this.answered = true;
      this.waitFor(op_fetch_pass_through(name, message, stack));
      return;
    }
    this.end();
    op_invocation_fail(name, message, stack);
  }

  abort() {
    const reason = new DOMException("The client has left", "AbortError");
    const body = bodyOf(this.request);
    abortRequest(this.request, reason);
    abortBody(body, reason);
  }
}

/** ctx, the third argument of a fetch handler. */
class ExecutionContext {
  /** @type {Invocation} */
  #invocation;
  #props = undefined;

  constructor(invocation) {
    this.#invocation = invocation;
  }

  /**
   * Keeps the event alive until a promise is settled.
   * @param {any} promise
   */
  waitUntil(promise) {
    this.#invocation.waitUntil(promise);
  }

  /** Lets the request go on to the outbound service when the worker throws. */
  passThroughOnException() {
    this.#invocation.passThroughOnException();
  }

  /** What the caller of a named entrypoint configured for it. */
  get props() {
    return (this.#props ??= {});
  }
}

function noSuchEntrypoint(name) {
  const names = [];
  for (const key of entrypoints.keys()) ArrayPrototypePush(names, key === "" ? "default" : key);
  return `the worker has no entrypoint named '${name === "" ? "default" : name}' (it has ${ArrayPrototypeJoin(names, ", ")})`;
}

native_on("load", (...entries) => {
  guardWebAssembly();
  PromisePrototypeThen(load(entries), () => op_boot_done(true, "", "", ""), (error) => {
    const { 0: name, 1: message, 2: stack } = describeError(error);
    op_boot_done(false, name, message, stack);
  });
});

function onFetch(entrypoint, method, url, block, bodyKind, body, bodySize, cf) {
  const id = native_invocation();
  const content = bodyKind === 0 ? null : bodyKind === 1 ? bodyFromSource(body) : bodyFromHandle(body, bodySize);
  const invocation = new Invocation(id, makeRequest(method, url, block, content, cf));
  enter(invocation);
  try {
    const result = invocation.call(entrypoint);
    if (isResponse(result)) {
      invocation.respond(result);
    } else {
      PromisePrototypeThen(PromiseResolve(result), (response) => invocation.respond(response), (error) => invocation.fail(error));
    }
  } catch (error) {
    invocation.fail(error);
  }
}

native_on("fetch", onFetch);

/**
 * Sends a request through the worker's machinery while the start-up snapshot is
 * made, where ops do nothing: the code that it compiles is in every isolate then.
 * @param {(request: any, env: any, ctx: any) => any} handler
 * @param {any[]} event what the host would send
 */
export function warmUp(handler, event) {
  entrypoints.set("", { fetch: handler });
  onFetch("", ...event);
  entrypoints.delete("");
}

native_on("abort", () => {
  invocationOf(native_invocation())?.abort();
});
