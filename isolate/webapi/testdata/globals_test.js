const names = {
  interfaces: "AbortController AbortSignal Blob ByteLengthQueuingStrategy CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException ErrorEvent Event EventTarget ExtendableEvent FetchEvent File FormData Headers Navigator Performance PromiseRejectionEvent QuotaExceededError ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader Request Response SubtleCrypto TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL URLSearchParams WritableStream WritableStreamDefaultController WritableStreamDefaultWriter",
  operations: "atob btoa clearInterval clearTimeout fetch queueMicrotask reportError setInterval setTimeout structuredClone",
  attributes: "crypto navigator performance self onerror onunhandledrejection onrejectionhandled",
};

test("interfaces are writable, not enumerable, configurable", () => {
  for (const name of names.interfaces.split(" ")) {
    const desc = Object.getOwnPropertyDescriptor(globalThis, name);
    assert(desc !== undefined, `${name} is missing`);
    assertEquals([typeof desc.value, desc.writable, desc.enumerable, desc.configurable], ["function", true, false, true], name);
  }
});

test("operations are enumerable functions", () => {
  for (const name of names.operations.split(" ")) {
    const desc = Object.getOwnPropertyDescriptor(globalThis, name);
    assert(desc !== undefined, `${name} is missing`);
    assertEquals([typeof desc.value, desc.writable, desc.enumerable], ["function", true, true], name);
  }
});

test("attributes are accessors", () => {
  for (const name of names.attributes.split(" ")) {
    const desc = Object.getOwnPropertyDescriptor(globalThis, name);
    assertEquals([typeof desc?.get, desc?.enumerable, desc?.configurable], ["function", true, true], name);
  }
});

test("self is the global object and can be replaced", () => {
  assertEquals(self, globalThis);
  self = 1;
  assertEquals(globalThis.self, 1);
  self = globalThis;
});

test("the global object is an EventTarget", () => {
  assert(globalThis instanceof EventTarget);
  const seen = [];
  const listener = function (event) {
    seen.push([event.type, this === globalThis, event.target === globalThis]);
  };
  addEventListener("ping", listener);
  dispatchEvent(new Event("ping"));
  globalThis.dispatchEvent(new Event("ping"));
  removeEventListener("ping", listener);
  dispatchEvent(new Event("ping"));
  assertEquals(seen, [["ping", true, true], ["ping", true, true]]);
});

test("nothing of shared memory is left", () => {
  assertEquals(typeof SharedArrayBuffer, "undefined");
  assertEquals(["wait", "waitAsync", "notify"].filter((k) => k in Atomics), []);
  assertEquals(Atomics.add(new Int32Array(2), 0, 3), 0);
});

test("navigator says which runtime this is", () => {
  assertEquals(navigator.userAgent, "edge");
  assert(navigator instanceof Navigator);
  assertThrows(() => new Navigator(), TypeError, "Illegal constructor");
});
