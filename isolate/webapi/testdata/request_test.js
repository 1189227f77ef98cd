const url = "http://h.example/p?q";

test("Request: defaults", () => {
  const r = new Request(url);
  assertEquals(
    [r.method, r.url, r.destination, r.referrer, r.referrerPolicy, r.mode, r.credentials, r.cache, r.redirect, r.integrity, r.keepalive, r.isReloadNavigation, r.isHistoryNavigation, r.duplex, r.body, r.bodyUsed],
    ["GET", url, "", "about:client", "", "cors", "same-origin", "default", "follow", "", false, false, false, "half", null, false],
  );
  assertEquals([...r.headers], []);
  assert(r.signal instanceof AbortSignal && r.signal === r.signal && !r.signal.aborted);
});

test("Request: the URL is parsed", () => {
  assertEquals(new Request("HTTP://H.example:80/a b#f").url, "http://h.example/a%20b#f");
  assertEquals(new Request(new URL(url)).url, url);
  for (const bad of ["/relative", "http://", "", "http://u:p@h/", "http://u@h/"]) assertThrows(() => new Request(bad), TypeError);
  assertEquals(new Request("http://h/?a@b").url, "http://h/?a@b");
  assertThrows(() => new Request(), TypeError);
  assertThrows(() => Request(url), TypeError);
});

test("Request: methods", () => {
  for (const m of ["get", "Get", "post", "put", "delete", "options", "head"]) assertEquals(new Request(url, { method: m }).method, m.toUpperCase());
  assertEquals(new Request(url, { method: "patch" }).method, "patch");
  assertEquals(new Request(url, { method: "Chicken" }).method, "Chicken");
  for (const m of ["CONNECT", "trace", "Track", "", "a b", "a\n", "\u0100"]) assertThrows(() => new Request(url, { method: m }), TypeError);
});

test("Request: a GET or HEAD has no body", () => {
  assertThrows(() => new Request(url, { body: "x" }), TypeError, "cannot have a body");
  assertThrows(() => new Request(url, { method: "HEAD", body: "" }), TypeError);
  assertEquals(new Request(url, { body: null }).body, null);
  const post = new Request(url, { method: "POST", body: "x" });
  assertThrows(() => new Request(post, { method: "GET" }), TypeError);
  assertEquals(post.bodyUsed, false);
});

test("Request: body and its Content-Type", async () => {
  const r = new Request(url, { method: "POST", body: "h\u00e9", headers: { a: "1" } });
  assertEquals(r.headers.get("content-type"), "text/plain;charset=UTF-8");
  assertEquals(await r.text(), "h\u00e9");
  assert(r.bodyUsed);
  const s = new Request(url, { method: "POST", body: new ReadableStream({ start: (c) => c.close() }) });
  assertEquals(s.headers.get("content-type"), null);
  assertEquals(new Request(url, { method: "PUT", body: "{}", headers: { "content-type": "application/json" } }).headers.get("content-type"), "application/json");
});

test("Request: from another one takes its body", async () => {
  for (const body of ["text", new TextEncoder().encode("text"), new Blob(["text"]), new Response("text").body]) {
    const a = new Request(url, { method: "POST", body, headers: { a: "1" }, redirect: "manual", integrity: "i" });
    const b = new Request(a);
    assertEquals([a.bodyUsed, b.bodyUsed], [true, false]);
    assertEquals([b.method, b.url, b.headers.get("a"), b.redirect, b.integrity], ["POST", url, "1", "manual", "i"]);
    assertEquals(await b.text(), "text");
    await assertRejects(a.text(), TypeError);
    assertThrows(() => new Request(a), TypeError, "already read");
  }
});

test("Request: from another one whose stream was seen", async () => {
  const a = new Request(url, { method: "POST", body: "text" });
  const { body } = a;
  const b = new Request(a);
  assert(a.bodyUsed && body.locked && b.body !== body);
  assertEquals(await b.text(), "text");
});

test("Request: a new body leaves the other's alone", async () => {
  const a = new Request(url, { method: "POST", body: "a" });
  const b = new Request(a, { body: "b" });
  assertEquals([a.bodyUsed, await b.text(), await a.text()], [false, "b", "a"]);
  const c = new Request(a, { body: "c", headers: {} });
  assertEquals(c.headers.get("content-type"), "text/plain;charset=UTF-8");
});

test("Request: init headers replace those of the input", () => {
  const a = new Request(url, { headers: { a: "1", b: "2" } });
  assertEquals([...new Request(a, { headers: { c: "3" } }).headers], [["c", "3"]]);
  assertEquals([...new Request(a, {}).headers].length, 2);
  const b = new Request(a);
  b.headers.set("a", "9");
  assertEquals(a.headers.get("a"), "1");
});

test("Request: headers that browsers forbid may be set", () => {
  const r = new Request(url, { headers: { cookie: "a=1", host: "x", origin: "http://o" } });
  assertEquals([r.headers.get("cookie"), r.headers.get("host"), r.headers.get("origin")], ["a=1", "x", "http://o"]);
});

test("Request: enumerations and refusals of init", () => {
  for (const init of [
    { mode: "navigate" }, { mode: "x" }, { cache: "only-if-cached" }, { cache: "x" }, { credentials: "x" }, { redirect: "x" }, { window: {} },
    { duplex: "full" }, { priority: "x" }, { referrer: "http://:x" }, { referrerPolicy: "x" }, { signal: {} }, { headers: null }, { mode: "no-cors", method: "PUT" },
  ]) assertThrows(() => new Request(url, init), TypeError);
  const r = new Request(url, { cache: "no-store", credentials: "omit", keepalive: 1, referrer: "", referrerPolicy: "origin", window: null, signal: null, mode: "same-origin", priority: "high" });
  assertEquals([r.cache, r.credentials, r.keepalive, r.referrer, r.referrerPolicy, r.mode], ["no-store", "omit", true, "", "origin", "same-origin"]);
  assertEquals(new Request(url, { referrer: "http://o.example/" }).referrer, "about:client");
  assertEquals(new Request(url, { cache: "only-if-cached", mode: "same-origin" }).cache, "only-if-cached");
  assertThrows(() => new Request(url, 5), TypeError);
});

test("Request: its signal follows", () => {
  const controller = new AbortController();
  const a = new Request(url, { signal: controller.signal });
  const b = new Request(a);
  const c = b.clone();
  assert(a.signal !== controller.signal && a.signal !== b.signal && b.signal !== c.signal);
  const order = [];
  for (const r of [a, b, c]) r.signal.addEventListener("abort", () => order.push(r));
  controller.abort("why");
  assertEquals([a.signal.reason, b.signal.reason, c.signal.reason], ["why", "why", "why"]);
  assertEquals(order.length, 3);
  assert(new Request(url, { signal: AbortSignal.abort() }).signal.aborted);
  assert(!new Request(a, { signal: null }).signal.aborted);
  assert(new Request(a).signal.aborted, "seen first after the abort");
});

test("Request: clone", async () => {
  const a = new Request(url, { method: "POST", body: "x", headers: { a: "1" } });
  const b = a.clone();
  b.headers.set("a", "2");
  assertEquals([a.headers.get("a"), await a.text(), await b.text()], ["1", "x", "x"]);
  assertThrows(() => a.clone(), TypeError);
});

test("Request: shape of the interface", () => {
  assertEquals([Request.length, Request.name], [1, "Request"]);
  assertEquals(Object.prototype.toString.call(new Request(url)), "[object Request]");
  for (const name of ["method", "url", "headers", "destination", "referrer", "referrerPolicy", "mode", "credentials", "cache", "redirect", "integrity", "keepalive", "isReloadNavigation", "isHistoryNavigation", "signal", "duplex", "body", "bodyUsed"]) {
    const d = Object.getOwnPropertyDescriptor(Request.prototype, name);
    assert(d.enumerable && d.get && !d.set, name);
    assertThrows(() => Request.prototype[name], TypeError);
  }
});
