// Encoding Standard, the streams: https://encoding.spec.whatwg.org/#interface-textdecoderstream
// Public: TextDecoderStream, TextEncoderStream. Ops: none (native_utf8_encode).

import { primordials } from "edge:primordials";
import * as webidl from "edge:webidl";
import { TextDecoder } from "edge:encoding";
import { TransformStream, createTransformStream } from "edge:streams_transform";
import { native_utf8_encode } from "edge:ops";

const {
  PromiseReject,
  ReflectGetOwnPropertyDescriptor,
  StringPrototypeCharCodeAt,
  StringPrototypeSlice,
  Uint8Array,
  uncurryThis,
} = primordials;

const getReadable = uncurryThis(ReflectGetOwnPropertyDescriptor(TransformStream.prototype, "readable").get);
const getWritable = uncurryThis(ReflectGetOwnPropertyDescriptor(TransformStream.prototype, "writable").get);

const decoderPrototype = TextDecoder.prototype;
const decode = uncurryThis(decoderPrototype.decode);
const getEncoding = uncurryThis(ReflectGetOwnPropertyDescriptor(decoderPrototype, "encoding").get);
const getFatal = uncurryThis(ReflectGetOwnPropertyDescriptor(decoderPrototype, "fatal").get);
const getIgnoreBOM = uncurryThis(ReflectGetOwnPropertyDescriptor(decoderPrototype, "ignoreBOM").get);

const streaming = { __proto__: null, stream: true };

/** A transformer reports errors by a promise, never by throwing. */
function attempt(algorithm, chunk, state) {
  try {
    algorithm(chunk, state);
    return undefined;
  } catch (error) {
    return PromiseReject(error);
  }
}

class DecodeTransformer {
  #decoder;
  constructor(decoder) {
    this.#decoder = decoder;
  }

  transform(chunk, state) {
    return attempt(this.#decodeAndEnqueue, chunk, state);
  }

  flush(state) {
    return attempt(this.#flushAndEnqueue, undefined, state);
  }

  cancel() {}

  // https://encoding.spec.whatwg.org/#decode-and-enqueue-a-chunk
  #decodeAndEnqueue = (chunk, state) => {
    // The decoder takes a missing chunk for an empty one.
    const prefix = "Failed to write to a TextDecoderStream";
    chunk = webidl.converters.BufferSource(chunk, prefix, "The chunk", { allowShared: true });
    const text = decode(this.#decoder, chunk, streaming);
    if (text !== "") state.enqueue(text);
  };

  // https://encoding.spec.whatwg.org/#flush-and-enqueue
  #flushAndEnqueue = (_, state) => {
    const text = decode(this.#decoder);
    if (text !== "") state.enqueue(text);
  };
}

// https://encoding.spec.whatwg.org/#textdecoderstream
export class TextDecoderStream {
  #decoder;
  #transform;

  // https://encoding.spec.whatwg.org/#dom-textdecoderstream
  constructor(label = "utf-8", options = undefined) {
    this.#decoder = new TextDecoder(label, options);
    this.#transform = createTransformStream(new DecodeTransformer(this.#decoder));
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-encoding
  get encoding() {
    return getEncoding(this.#decoder);
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-fatal
  get fatal() {
    return getFatal(this.#decoder);
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-ignorebom
  get ignoreBOM() {
    return getIgnoreBOM(this.#decoder);
  }

  // https://streams.spec.whatwg.org/#dom-generictransformstream-readable
  get readable() {
    return getReadable(this.#transform);
  }

  // https://streams.spec.whatwg.org/#dom-generictransformstream-writable
  get writable() {
    return getWritable(this.#transform);
  }
}
webidl.configureInterface(TextDecoderStream);

class EncodeTransformer {
  /** A lead surrogate that ended the last chunk, or "". */
  #lead = "";

  transform(chunk, state) {
    return attempt(this.#encodeAndEnqueue, chunk, state);
  }

  // https://encoding.spec.whatwg.org/#encode-and-flush
  flush(state) {
    if (this.#lead !== "") state.enqueue(new Uint8Array([0xef, 0xbf, 0xbd]));
  }

  cancel() {}

  // https://encoding.spec.whatwg.org/#encode-and-enqueue-a-chunk
  #encodeAndEnqueue = (chunk, state) => {
    let text = webidl.converters.DOMString(chunk, "Failed to write to a TextEncoderStream", "The chunk");
    if (text === "") return;
    text = this.#lead + text;
    this.#lead = "";
    const last = StringPrototypeCharCodeAt(text, text.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#lead = StringPrototypeSlice(text, -1);
      text = StringPrototypeSlice(text, 0, -1);
    }
    if (text !== "") state.enqueue(native_utf8_encode(text));
  };
}

// https://encoding.spec.whatwg.org/#textencoderstream
export class TextEncoderStream {
  #transform = createTransformStream(new EncodeTransformer());

  constructor() {}

  // https://encoding.spec.whatwg.org/#dom-textencoder-encoding
  get encoding() {
    this.#transform; // the brand
    return "utf-8";
  }

  // https://streams.spec.whatwg.org/#dom-generictransformstream-readable
  get readable() {
    return getReadable(this.#transform);
  }

  // https://streams.spec.whatwg.org/#dom-generictransformstream-writable
  get writable() {
    return getWritable(this.#transform);
  }
}
webidl.configureInterface(TextEncoderStream);
