// Streams, queuing strategies: https://streams.spec.whatwg.org/#qs
// Public: ByteLengthQueuingStrategy, CountQueuingStrategy. Ops: none.

import * as webidl from "edge:webidl";

// https://streams.spec.whatwg.org/#dictdef-queuingstrategyinit
const convertInit = webidl.createDictionaryConverter("QueuingStrategyInit", [
  { key: "highWaterMark", converter: webidl.converters["unrestricted double"], required: true },
]);

// https://streams.spec.whatwg.org/#dictdef-queuingstrategy
export const convertStrategy = webidl.createDictionaryConverter("QueuingStrategy", [
  { key: "highWaterMark", converter: webidl.converters["unrestricted double"] },
  { key: "size", converter: webidl.converters.Function },
]);

// The functions are one per realm and are no constructors; methods are neither.
const sizes = {
  // https://streams.spec.whatwg.org/#byte-length-queuing-strategy-size-function
  bytes: {
    size(chunk) {
      return chunk.byteLength;
    },
  }.size,
  // https://streams.spec.whatwg.org/#count-queuing-strategy-size-function
  count: {
    size() {
      return 1;
    },
  }.size,
};

// https://streams.spec.whatwg.org/#byte-length-queuing-strategy
export class ByteLengthQueuingStrategy {
  #highWaterMark;

  // https://streams.spec.whatwg.org/#blqs-constructor
  constructor(init) {
    const prefix = "Failed to construct 'ByteLengthQueuingStrategy'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#highWaterMark = convertInit(init, prefix, "Argument 1").highWaterMark;
  }

  // https://streams.spec.whatwg.org/#blqs-high-water-mark
  get highWaterMark() {
    return this.#highWaterMark;
  }

  // https://streams.spec.whatwg.org/#blqs-size
  get size() {
    this.#highWaterMark; // throws for another object
    return sizes.bytes;
  }
}
webidl.configureInterface(ByteLengthQueuingStrategy);

// https://streams.spec.whatwg.org/#count-queuing-strategy
export class CountQueuingStrategy {
  #highWaterMark;

  // https://streams.spec.whatwg.org/#cqs-constructor
  constructor(init) {
    const prefix = "Failed to construct 'CountQueuingStrategy'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#highWaterMark = convertInit(init, prefix, "Argument 1").highWaterMark;
  }

  // https://streams.spec.whatwg.org/#cqs-high-water-mark
  get highWaterMark() {
    return this.#highWaterMark;
  }

  // https://streams.spec.whatwg.org/#cqs-size
  get size() {
    this.#highWaterMark; // throws for another object
    return sizes.count;
  }
}
webidl.configureInterface(CountQueuingStrategy);
