// Fetch, bodies: https://fetch.spec.whatwg.org/#bodies and #body-mixin
// Public: none (the members of Body, for Request and Response). Ops: none.
//
// A body is one of: a string, bytes, a resource of the host (handle), or a
// stream. The stream object is made when script asks for it, so that a body
// which is read whole, or passed on, never becomes one.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { blobFromBytes, bytesOfBlob, concatBytes, copyBytes, isBlob, streamOfBytes, typeOfBlob } from "edge:blob";
import { formDataFromEntries, isFormData, parseMultipart, serializeMultipart } from "edge:formdata";
import { extractMIMEType, serializeMIMEType } from "edge:mimetype";
import {
  acquireDefaultReader,
  cancelStream,
  markHandled,
  readerRead,
  streamFromHandle,
  streamPump,
  streamState,
  takeHandle,
  teeStreams,
} from "edge:body_streams";
import { isURLSearchParams, parseUrlencoded, serializeUrlencoded } from "edge:url";
import { native_utf8_decode, native_utf8_encode } from "edge:ops";

const {
  ArrayBufferPrototypeGetByteLength,
  ArrayPrototypePush,
  JSONParse,
  MapPrototypeGet,
  ObjectDefineProperties,
  Promise,
  PromisePrototypeThen,
  PromiseReject,
  PromiseResolve,
  StringPrototypeCharCodeAt,
  StringPrototypeSlice,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetSymbolToStringTag,
} = primordials;
