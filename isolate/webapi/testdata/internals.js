// For tests only: shows them what no worker can import. The test's engine is
// made with this module as one more extension.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { createConsole, formatLog } from "edge:console";
import { inspect } from "edge:inspect";
import { addAbortAlgorithm, createAbortSignal, createDependentAbortSignal, removeAbortAlgorithm, signalAbort } from "edge:abort";
import { stopTimersOf, timersOf } from "edge:timers";
import { native_invocation, native_set_invocation } from "edge:ops";

Object.defineProperty(globalThis, "internals", {
  value: {
    primordials,
    webidl,
    createConsole,
    formatLog,
    inspect,
    addAbortAlgorithm,
    createAbortSignal,
    createDependentAbortSignal,
    removeAbortAlgorithm,
    signalAbort,
    stopTimersOf,
    timersOf,
    native_invocation,
    native_set_invocation,
  },
  configurable: true,
});
