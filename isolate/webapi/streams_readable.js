// Streams, readable streams: https://streams.spec.whatwg.org/#rs
// Public: ReadableStream, and, from the modules it builds on,
// ReadableStreamDefaultReader, ReadableStreamDefaultController,
// ReadableStreamBYOBReader, ReadableStreamBYOBRequest,
// ReadableByteStreamController. Ops: none.

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { isAbortSignal } from "edge:abort";
import { cloneAsUint8Array, extractHighWaterMark, kInternal, markHandled } from "edge:streams_queue";
import { convertStrategy } from "edge:streams_strategies";
import { StreamState, cancelStream, readableClass } from "edge:streams_readable_core";
import { ReadableStreamDefaultController, ReadableStreamDefaultReader, setUpFromScript } from "edge:streams_readable_default";
import { ReadableByteStreamController, ReadableStreamBYOBReader, ReadableStreamBYOBRequest, setUpByteFromScript } from "edge:streams_byte";
import { iterateStream, streamFromIterable } from "edge:streams_iterate";
import { teeStream } from "edge:streams_tee";
import { pipe } from "edge:streams_pipe";
import { isWritable, writableState } from "edge:streams_writable";

export {
  ReadableByteStreamController,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
};

const { ArrayBufferIsView, ObjectDefineProperty, PromiseReject, RangeError, SymbolAsyncIterator, TypeError } = primordials;

const { boolean, Function: callback } = webidl.converters;
const enforceUnsigned = (V, prefix, context) => webidl.converters["unsigned long long"](V, prefix, context, { enforceRange: true });

// https://streams.spec.whatwg.org/#dictdef-underlyingsource
const convertSource = webidl.createDictionaryConverter("UnderlyingSource", [
  { key: "autoAllocateChunkSize", converter: enforceUnsigned },
  { key: "cancel", converter: callback },
  { key: "pull", converter: callback },
  { key: "start", converter: callback },
  { key: "type", converter: webidl.createEnumConverter("ReadableStreamType", ["bytes"]) },
]);

// https://streams.spec.whatwg.org/#dictdef-readablestreamgetreaderoptions
const convertGetReaderOptions = webidl.createDictionaryConverter("ReadableStreamGetReaderOptions", [
  { key: "mode", converter: webidl.createEnumConverter("ReadableStreamReaderMode", ["byob"]) },
]);

// https://streams.spec.whatwg.org/#dictdef-readablestreamiteratoroptions
const convertIteratorOptions = webidl.createDictionaryConverter("ReadableStreamIteratorOptions", [
  { key: "preventCancel", converter: boolean, defaultValue: () => false },
]);

// https://streams.spec.whatwg.org/#dictdef-streampipeoptions
const convertPipeOptions = webidl.createDictionaryConverter("StreamPipeOptions", [
  { key: "preventAbort", converter: boolean, defaultValue: () => false },
  { key: "preventCancel", converter: boolean, defaultValue: () => false },
  { key: "preventClose", converter: boolean, defaultValue: () => false },
  { key: "signal", converter: webidl.createInterfaceConverter("AbortSignal", isAbortSignal) },
]);

/** Reports whether V is a ReadableStream. */
export function isReadableStream(V) {
  return readableClass.is(V);
}

/**
 * The internal slots of a stream; `reader`, null when it is not locked, and
 * `disturbed` are what other standards ask for. Throws for what is no stream.
 * @returns {StreamState}
 */
export function streamState(stream) {
  return readableClass.state(stream);
}

const convertReadable = webidl.createInterfaceConverter("ReadableStream", isReadableStream);
const convertWritable = webidl.createInterfaceConverter("WritableStream", isWritable);

// https://streams.spec.whatwg.org/#dictdef-readablewritablepair
const convertPair = webidl.createDictionaryConverter("ReadableWritablePair", [
  { key: "readable", converter: convertReadable, required: true },
  { key: "writable", converter: convertWritable, required: true },
]);

/** Makes the public object of a stream made of states. */
export function wrapReadable(state) {
  return new ReadableStream(kInternal, state);
}

/**
 * Splits the stream of a body; the second branch gets its own copy of each chunk.
 * @see https://streams.spec.whatwg.org/#readablestream-tee
 * @returns {[ReadableStream, ReadableStream]}
 */
export function teeStreamForBody(stream) {
  const { branch1, branch2 } = teeStream(readableClass.state(stream), cloneChunk);
  return [wrapReadable(branch1), wrapReadable(branch2)];
}

/** Copies bytes; a body refuses what else there is. */
function cloneChunk(chunk) {
  return ArrayBufferIsView(chunk) ? cloneAsUint8Array(chunk) : chunk;
}

// https://streams.spec.whatwg.org/#readablestream
export class ReadableStream {
  /** @type {StreamState} */
  #state;

  static {
    readableClass.is = (V) => webidl.isObject(V) && #state in V;
    readableClass.state = (stream) => stream.#state;
  }

  // https://streams.spec.whatwg.org/#rs-from
  static from(asyncIterable) {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'from' on 'ReadableStream'");
    return wrapReadable(streamFromIterable(asyncIterable));
  }

  // https://streams.spec.whatwg.org/#rs-constructor
  constructor(underlyingSource = undefined, strategy = undefined) {
    if (underlyingSource === kInternal) {
      this.#state = strategy;
      return;
    }
    const prefix = "Failed to construct 'ReadableStream'";
    if (underlyingSource !== undefined) underlyingSource = webidl.converters.object(underlyingSource, prefix, "Argument 1");
    strategy = convertStrategy(strategy, prefix, "Argument 2");
    const source = convertSource(underlyingSource, prefix, "Argument 1");
    const state = new StreamState();
    this.#state = state;
    if (source.type === "bytes") {
      if (strategy.size !== undefined) throw new RangeError(`${prefix}: the strategy of a byte stream must not have a size`);
      setUpByteFromScript(state, underlyingSource, source, extractHighWaterMark(strategy, 0));
    } else {
      setUpFromScript(state, underlyingSource, source, extractHighWaterMark(strategy, 1), strategy.size);
    }
  }

  // https://streams.spec.whatwg.org/#rs-locked
  get locked() {
    return this.#state.reader !== null;
  }

  // https://streams.spec.whatwg.org/#rs-cancel
  cancel(reason = undefined) {
    try {
      const state = this.#state;
      if (state.reader !== null) return PromiseReject(new TypeError("Failed to execute 'cancel' on 'ReadableStream': the stream is locked to a reader"));
      return cancelStream(state, reason);
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#rs-get-reader
  getReader(options = undefined) {
    this.#state; // throws for another object
    if (options === undefined) return new ReadableStreamDefaultReader(this);
    const { mode } = convertGetReaderOptions(options, "Failed to execute 'getReader' on 'ReadableStream'", "Argument 1");
    return mode === undefined ? new ReadableStreamDefaultReader(this) : new ReadableStreamBYOBReader(this);
  }

  // https://streams.spec.whatwg.org/#rs-pipe-through
  pipeThrough(transform, options = undefined) {
    const state = this.#state;
    const prefix = "Failed to execute 'pipeThrough' on 'ReadableStream'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const { readable, writable } = convertPair(transform, prefix, "Argument 1");
    options = convertPipeOptions(options, prefix, "Argument 2");
    if (state.reader !== null) throw new TypeError(`${prefix}: the stream is locked to a reader`);
    const dest = writableState(writable);
    if (dest.writer !== null) throw new TypeError(`${prefix}: the writable side of the transform is locked to a writer`);
    markHandled(pipe(state, dest, options));
    return readable;
  }

  // https://streams.spec.whatwg.org/#rs-pipe-to
  pipeTo(destination, options = undefined) {
    try {
      const state = this.#state;
      const prefix = "Failed to execute 'pipeTo' on 'ReadableStream'";
      webidl.requiredArguments(arguments.length, 1, prefix);
      destination = convertWritable(destination, prefix, "Argument 1");
      options = convertPipeOptions(options, prefix, "Argument 2");
      if (state.reader !== null) throw new TypeError(`${prefix}: the stream is locked to a reader`);
      const dest = writableState(destination);
      if (dest.writer !== null) throw new TypeError(`${prefix}: the destination is locked to a writer`);
      return pipe(state, dest, options);
    } catch (e) {
      return PromiseReject(e);
    }
  }

  // https://streams.spec.whatwg.org/#rs-tee
  tee() {
    const { branch1, branch2 } = teeStream(this.#state);
    return [wrapReadable(branch1), wrapReadable(branch2)];
  }

  // https://streams.spec.whatwg.org/#rs-asynciterator
  values(options = undefined) {
    const state = this.#state;
    const { preventCancel } = convertIteratorOptions(options, "Failed to execute 'values' on 'ReadableStream'", "Argument 1");
    return iterateStream(state, preventCancel);
  }
}
webidl.configureInterface(ReadableStream);
// https://webidl.spec.whatwg.org/#define-the-asynchronous-iteration-methods
ObjectDefineProperty(ReadableStream.prototype, SymbolAsyncIterator, {
  __proto__: null,
  value: ReadableStream.prototype.values,
  writable: true,
  enumerable: false,
  configurable: true,
});
webidl.converters.ReadableStream = convertReadable;
webidl.converters.WritableStream = convertWritable;
