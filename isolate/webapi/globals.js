// The global object: https://min-common-api.proposal.wintertc.org/#api-index
// Public: every global name of the platform. Ops: none.
//
// The only module that changes the global object. It is evaluated after all the
// standards that it imports; no module imports it.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { AbortController, AbortSignal } from "edge:abort";
import { atob, btoa } from "edge:base64";
import { Blob, File } from "edge:blob";
import { console } from "edge:console";
import { Crypto, CryptoKey, SubtleCrypto, crypto } from "edge:crypto";
import { DOMException, QuotaExceededError } from "edge:domexception";
import { TextDecoder, TextEncoder } from "edge:encoding";
import { TextDecoderStream, TextEncoderStream } from "edge:encoding_streams";
import { CustomEvent, ErrorEvent, Event, EventTarget, PromiseRejectionEvent, defineEventHandler } from "edge:event";
import { fetch } from "edge:fetch";
import { ExtendableEvent, FetchEvent } from "edge:fetch_event";
import { FormData } from "edge:formdata";
import { Headers } from "edge:headers";
import { describeInterface } from "edge:inspect";
import { Navigator, navigator } from "edge:navigator";
import { Performance, performance } from "edge:performance";
import { reportError } from "edge:report";
import { Request } from "edge:request";
import { Response } from "edge:response";
import {
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
} from "edge:streams_readable";
import { ByteLengthQueuingStrategy, CountQueuingStrategy } from "edge:streams_strategies";
import { TransformStream, TransformStreamDefaultController } from "edge:streams_transform";
import { WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter } from "edge:streams_writable";
import { registerInterface, structuredClone } from "edge:structured_clone";
import { clearInterval, clearTimeout, queueMicrotask, setInterval, setTimeout } from "edge:timers";
import { installUint8Array } from "edge:uint8array";
import { URL, URLSearchParams } from "edge:url";

const { Atomics, ObjectSetPrototypeOf, ReflectDeleteProperty, ReflectOwnKeys, globalThis: global } = primordials;

const interfaces = {
  AbortController,
  AbortSignal,
  Blob,
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  Crypto,
  CryptoKey,
  CustomEvent,
  DOMException,
  ErrorEvent,
  Event,
  EventTarget,
  ExtendableEvent,
  FetchEvent,
  File,
  FormData,
  Headers,
  Navigator,
  Performance,
  PromiseRejectionEvent,
  QuotaExceededError,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  Request,
  Response,
  SubtleCrypto,
  TextDecoder,
  TextDecoderStream,
  TextEncoder,
  TextEncoderStream,
  TransformStream,
  TransformStreamDefaultController,
  URL,
  URLSearchParams,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
};

const operations = {
  atob,
  btoa,
  clearInterval,
  clearTimeout,
  fetch,
  queueMicrotask,
  reportError,
  setInterval,
  setTimeout,
  structuredClone,
};

// https://html.spec.whatwg.org/multipage/workers.html#workerglobalscope
class WorkerGlobalScope extends EventTarget {
  constructor() {
    webidl.illegalConstructor();
  }
}
webidl.configureInterface(WorkerGlobalScope);

function exposeAll() {
  const classes = ReflectOwnKeys(interfaces);
  for (let i = 0; i < classes.length; i++) {
    webidl.exposeInterface(classes[i], interfaces[classes[i]]);
    describeInterface(interfaces[classes[i]]);
    registerInterface(interfaces[classes[i]]);
  }
  const functions = ReflectOwnKeys(operations);
  for (let i = 0; i < functions.length; i++) webidl.exposeOperation(functions[i], operations[functions[i]]);

  webidl.exposeAttribute("self", global, true);
  webidl.exposeAttribute("navigator", navigator);
  webidl.exposeAttribute("performance", performance, true);
  webidl.exposeAttribute("crypto", crypto);
  webidl.exposeNamespace("console", console);

  // https://html.spec.whatwg.org/multipage/workers.html#handler-workerglobalscope-onerror
  defineEventHandler(global, "error");
  defineEventHandler(global, "unhandledrejection");
  defineEventHandler(global, "rejectionhandled");

  // addEventListener, removeEventListener and dispatchEvent are inherited.
  ObjectSetPrototypeOf(global, WorkerGlobalScope.prototype);
}

/**
 * Takes away what makes a clock of shared memory, or blocks the thread that
 * other tenants run on.
 */
function removeShared() {
  ReflectDeleteProperty(global, "SharedArrayBuffer");
  const blocking = ["wait", "waitAsync", "notify"];
  for (let i = 0; i < blocking.length; i++) ReflectDeleteProperty(Atomics, blocking[i]);
}

exposeAll();
installUint8Array();
removeShared();
