const tick = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));

test("setTimeout calls with its arguments, later", async () => {
  let got;
  const id = setTimeout(function (...args) { got = [this === globalThis, args]; }, 0, 1, "a");
  assert(Number.isInteger(id) && id > 0);
  assertEquals(got, undefined);
  await tick(1);
  assertEquals(got, [true, [1, "a"]]);
});

test("timers fire by deadline, then in the order they were set", async () => {
  const order = [];
  setTimeout(() => order.push("c"), 4);
  setTimeout(() => order.push("a"), 0);
  setTimeout(() => order.push("b"), 0);
  setTimeout(() => order.push("a2"), -5);
  setTimeout(() => order.push("a3"), "0");
  await tick(8);
  assertEquals(order, ["a", "b", "a2", "a3", "c"]);
});

test("many timers keep their order", async () => {
  const order = [];
  const ids = [];
  for (let i = 0; i < 60; i++) {
    const delay = (i * 7) % 10;
    ids.push(setTimeout(() => order.push([delay, i]), delay));
  }
  for (let i = 0; i < 60; i += 3) clearTimeout(ids[i]);
  await tick(30);
  assertEquals(order.length, 40);
  for (let i = 1; i < order.length; i++) {
    assert(order[i - 1][0] < order[i][0] || (order[i - 1][0] === order[i][0] && order[i - 1][1] < order[i][1]), JSON.stringify(order));
  }
});

test("a microtask checkpoint comes between two timers", async () => {
  const order = [];
  setTimeout(() => {
    order.push("first");
    Promise.resolve().then(() => Promise.resolve()).then(() => order.push("microtask"));
  }, 0);
  setTimeout(() => order.push("second"), 0);
  await tick(2);
  assertEquals(order, ["first", "microtask", "second"]);
});

test("cleared timers do not fire", async () => {
  let fired = 0;
  const a = setTimeout(() => fired++, 0);
  const b = setInterval(() => fired++, 0);
  clearInterval(a);
  clearTimeout(b);
  clearTimeout();
  clearTimeout(123456789);
  clearTimeout("nonsense");
  clearTimeout(null);
  await tick(3);
  assertEquals(fired, 0);
});

test("an interval repeats until it clears itself", async () => {
  let count = 0;
  await new Promise((resolve) => {
    const id = setInterval((step) => {
      count += step;
      if (count === 3) {
        clearInterval(id);
        resolve();
      }
    }, 1, 1);
  });
  await tick(5);
  assertEquals(count, 3);
});

test("a throwing callback is reported, and an interval lives on", async () => {
  const errors = [];
  const onError = (e) => {
    errors.push(e.error.message);
    e.preventDefault();
  };
  addEventListener("error", onError);
  await new Promise((resolve) => {
    let n = 0;
    const id = setInterval(() => {
      if (++n === 2) {
        clearInterval(id);
        resolve();
      }
      throw new Error(`boom ${n}`);
    }, 1);
  });
  await tick(1);
  removeEventListener("error", onError);
  assertEquals(errors, ["boom 1", "boom 2"]);
});

test("handlers are functions; no code is made from text", () => {
  assertThrows(() => setTimeout("globalThis.hacked = 1", 0), TypeError, "no code is made from strings");
  assertThrows(() => setInterval({}, 0), TypeError);
  assertThrows(() => setTimeout(), TypeError, "1 argument required");
  assertThrows(() => setTimeout(() => {}, 1n), TypeError);
});

test("too many live timers are refused", () => {
  const ids = [];
  let error;
  try {
    for (let i = 0; i < 20000; i++) ids.push(setTimeout(() => {}, 1e9));
  } catch (e) {
    error = e;
  }
  for (const id of ids) clearTimeout(id);
  assertEquals([error?.name, error instanceof DOMException, ids.length > 9000 && ids.length <= 10000], ["QuotaExceededError", true, true]);
  clearTimeout(setTimeout(() => {}, 1e9));
});

test("a callback runs in the invocation that set it", async () => {
  const { native_invocation, native_set_invocation, timersOf, stopTimersOf } = internals;
  const outer = native_invocation();
  native_set_invocation(77);
  let seen;
  setTimeout(() => { seen = native_invocation(); }, 0);
  setTimeout(() => { seen = "not stopped"; }, 1);
  native_set_invocation(78);
  setTimeout(() => { seen = "not stopped"; }, 1);
  native_set_invocation(outer);
  assertEquals([timersOf(77), timersOf(78)], [2, 1]);
  await tick(0);
  stopTimersOf(77);
  stopTimersOf(78);
  assertEquals([timersOf(77), timersOf(78)], [0, 0]);
  await tick(3);
  assertEquals(seen, 77);
});

test("queueMicrotask runs after the current job, before timers", async () => {
  const order = [];
  setTimeout(() => order.push("timer"), 0);
  queueMicrotask(() => order.push("microtask"));
  Promise.resolve().then(() => order.push("promise"));
  order.push("sync");
  await tick(1);
  assertEquals(order, ["sync", "microtask", "promise", "timer"]);
  assertThrows(() => queueMicrotask(), TypeError);
  assertThrows(() => queueMicrotask("code"), TypeError, "not a function");
});

test("a throwing microtask is reported", async () => {
  let error;
  const onError = (e) => {
    error = e.error;
    e.preventDefault();
  };
  addEventListener("error", onError);
  queueMicrotask(() => { throw "text"; });
  await tick(0);
  removeEventListener("error", onError);
  assertEquals(error, "text");
});
