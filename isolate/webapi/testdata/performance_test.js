test("now is monotonic and fits timeOrigin", async () => {
  const a = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 1));
  const b = performance.now();
  assert(b > a, `${a} ${b}`);
  const { timeOrigin } = performance;
  assert(Math.abs(timeOrigin + b - Date.now()) < 60000);
  assertEquals(performance.timeOrigin, timeOrigin);
});

test("the clock is coarse", () => {
  for (let i = 0; i < 50; i++) {
    const tenths = performance.now() * 10;
    assert(Math.abs(tenths - Math.round(tenths)) < 1e-3, String(tenths));
  }
});

test("Performance is an EventTarget that scripts do not construct", () => {
  assert(performance instanceof Performance && performance instanceof EventTarget);
  assertThrows(() => new Performance(), TypeError, "Illegal constructor");
  assertThrows(() => Performance.prototype.now.call({}), TypeError);
  assertThrows(() => Performance.prototype.toJSON.call({}), TypeError);
  assertEquals(Object.keys(performance.toJSON()), ["timeOrigin"]);
  assertEquals(JSON.parse(JSON.stringify(performance)), { timeOrigin: performance.timeOrigin });
});
