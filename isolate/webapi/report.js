// HTML, runtime script errors and unhandled promise rejections:
// https://html.spec.whatwg.org/multipage/webappapis.html#runtime-script-errors
// Public: reportError. Ops: op_log.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { inspect } from "edge:console";
import { ErrorEvent, PromiseRejectionEvent, dispatchTrusted, hasListeners, setReportException } from "edge:event";
import { native_unhandled, op_log } from "edge:ops";

const { Number, RegExpPrototypeExec, SafeWeakSet, String, StringPrototypeSplit, globalThis: global } = primordials;

const frameRE = /\(?([^\s()]+):(\d+):(\d+)\)?$/;

/**
 * What an ErrorEvent says of a thrown value. Reading a stack may run the code
 * of the one who threw, so a second failure is contained here.
 * https://html.spec.whatwg.org/multipage/webappapis.html#extract-error
 */
function extractError(error) {
  const init = { cancelable: true, message: "Uncaught exception", filename: "", lineno: 0, colno: 0, error };
  try {
    init.message = `Uncaught ${typeof error === "object" && error !== null ? String(error) : inspect(error)}`;
    const stack = webidl.isObject(error) ? error.stack : undefined;
    if (typeof stack !== "string") return init;
    const lines = StringPrototypeSplit(stack, "\n", 64);
    for (let i = 0; i < lines.length; i++) {
      const frame = RegExpPrototypeExec(/^\s+at /, lines[i]) && RegExpPrototypeExec(frameRE, lines[i]);
      if (!frame) continue;
      init.filename = frame[1];
      init.lineno = Number(frame[2]);
      init.colno = Number(frame[3]);
      break;
    }
  } catch {
    // What was found so far has to do.
  }
  return init;
}

let reporting = false;

/**
 * Fires "error" at the global object, and logs what no listener canceled. It
 * never throws and ends nothing: whether the invocation fails is for those to
 * say who wait for its response.
 * https://html.spec.whatwg.org/multipage/webappapis.html#report-an-exception
 * @param {any} error
 */
export function reportException(error) {
  let handled = false;
  // An exception of an "error" listener is logged, not fired again.
  if (!reporting && hasListeners(global, "error")) {
    reporting = true;
    try {
      handled = !dispatchTrusted(global, new ErrorEvent("error", extractError(error)));
    } finally {
      reporting = false;
    }
  }
  if (!handled) op_log("error", `Uncaught ${inspect(error)}`);
}
setReportException(reportException);

/**
 * https://html.spec.whatwg.org/multipage/webappapis.html#dom-reporterror
 * @param {any} e
 */
export function reportError(e) {
  webidl.requiredArguments(arguments.length, 1, "Failed to execute 'reportError'");
  reportException(e);
}

// Promises whose rejection was announced and that have no handler yet. Made when
// it is needed: V8 cannot give a snapshot that holds a weak table a new hash seed.
let outstanding;

// https://html.spec.whatwg.org/multipage/webappapis.html#unhandled-promise-rejections
native_unhandled((type, promise, reason) => {
  if (type === 0) {
    outstanding ??= new SafeWeakSet();
    outstanding.add(promise);
    const event = hasListeners(global, "unhandledrejection")
      ? new PromiseRejectionEvent("unhandledrejection", { cancelable: true, promise, reason })
      : undefined;
    if (event === undefined || dispatchTrusted(global, event)) op_log("error", `Uncaught (in promise) ${inspect(reason)}`);
    return;
  }
  if (!outstanding?.has(promise)) return;
  outstanding.delete(promise);
  if (hasListeners(global, "rejectionhandled")) {
    dispatchTrusted(global, new PromiseRejectionEvent("rejectionhandled", { promise, reason }));
  }
});
