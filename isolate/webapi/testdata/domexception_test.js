test("name, message and code come from the constructor", () => {
  const e = new DOMException("no", "AbortError");
  assertEquals(e.name, "AbortError");
  assertEquals(e.message, "no");
  assertEquals(e.code, 20);
  assertEquals(String(e), "AbortError: no");
});

test("defaults are an empty message and the name Error, without a code", () => {
  const e = new DOMException();
  assertEquals([e.message, e.name, e.code], ["", "Error", 0]);
  assertEquals(new DOMException(null, undefined).message, "null");
  assertEquals(new DOMException("x", "EncodingError").code, 0);
});

test("it is an Error with a stack that begins with its name", () => {
  const e = new DOMException("gone", "NotFoundError");
  assert(e instanceof Error);
  assert(e.stack.startsWith("NotFoundError: gone\n"), e.stack);
  assert(e.stack.includes("domexception_test"), e.stack);
  assertEquals(Object.prototype.toString.call(e), "[object DOMException]");
  if (Error.isError) assert(Error.isError(e));
});

test("the class has the shape that Web IDL gives it", () => {
  assertEquals(Object.getPrototypeOf(DOMException), Function.prototype);
  assertEquals(Object.getPrototypeOf(DOMException.prototype), Error.prototype);
  assertEquals(DOMException.length, 0);
  assert(!Object.hasOwn(new DOMException("a"), "message"));
  const desc = Object.getOwnPropertyDescriptor(DOMException.prototype, "code");
  assert(desc.enumerable && desc.configurable && desc.set === undefined);
});

test("getters refuse other objects", () => {
  const { get } = Object.getOwnPropertyDescriptor(DOMException.prototype, "name");
  assertThrows(() => get.call({}), TypeError);
  assertThrows(() => get.call(new Error()), TypeError);
  assertThrows(() => DOMException("x"), TypeError);
});

test("the legacy codes are constants of class and prototype", () => {
  assertEquals(DOMException.DATA_CLONE_ERR, 25);
  assertEquals(DOMException.prototype.INDEX_SIZE_ERR, 1);
  const desc = Object.getOwnPropertyDescriptor(DOMException, "TIMEOUT_ERR");
  assertEquals(desc, { value: 23, writable: false, enumerable: true, configurable: false });
  const names = Object.keys(DOMException).filter((k) => k.endsWith("_ERR"));
  assertEquals(names.length, 25);
});

test("it can be extended", () => {
  class Mine extends DOMException {
    extra = 1;
  }
  const e = new Mine("m", "DataError");
  assert(e instanceof Mine && e instanceof DOMException);
  assertEquals([e.name, e.extra], ["DataError", 1]);
});

test("QuotaExceededError carries quota and requested", () => {
  const e = new QuotaExceededError("full", { quota: 5, requested: 7 });
  assert(e instanceof DOMException);
  assertEquals([e.name, e.code, e.message, e.quota, e.requested], ["QuotaExceededError", 22, "full", 5, 7]);
  assertEquals(new QuotaExceededError().quota, null);
  assertThrows(() => new QuotaExceededError("", { quota: -1 }), RangeError);
  assertThrows(() => new QuotaExceededError("", { requested: -1 }), RangeError);
  assertThrows(() => new QuotaExceededError("", { quota: 3, requested: 2 }), RangeError);
  assertThrows(() => new QuotaExceededError("", { quota: NaN }), TypeError);
});
