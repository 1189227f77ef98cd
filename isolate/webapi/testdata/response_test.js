test("Response: defaults", () => {
  const r = new Response();
  assertEquals([r.type, r.url, r.redirected, r.status, r.ok, r.statusText, r.body, r.bodyUsed], ["default", "", false, 200, true, "", null, false]);
  assertEquals([...r.headers], []);
  assert(r.headers === r.headers);
  for (const body of [null, undefined]) assertEquals(new Response(body).body, null);
});

test("Response: init", () => {
  const r = new Response("x", { status: 201, statusText: "Made \u00ff", headers: { "X-A": "1" } });
  assertEquals([r.status, r.statusText, r.headers.get("x-a"), r.headers.get("content-type")], [201, "Made \u00ff", "1", "text/plain;charset=UTF-8"]);
  for (const status of [199, 600, 0, 100, 65536 + 199]) assertThrows(() => new Response(null, { status }), RangeError);
  assertEquals(new Response(null, { status: 65536 + 201 }).status, 201);
  assertEquals([new Response(null, { status: 300 }).ok, new Response(null, { status: 299 }).ok], [false, true]);
  for (const statusText of ["\n", "a\0", "\u007f", "\u0100"]) assertThrows(() => new Response(null, { statusText }), TypeError);
  assertEquals(new Response(null, { statusText: "a\tb " }).statusText, "a\tb ");
  assertThrows(() => new Response(null, 5), TypeError);
  assertEquals(new Response(null, null).status, 200);
  assertEquals(new Response(null, () => {}).status, 200);
  assertThrows(() => Response(), TypeError);
});

test("Response: members of init are read in order", () => {
  const log = [];
  const init = new Proxy({}, { get: (_, k) => { log.push(k); } });
  new Response(null, init);
  assertEquals(log, ["headers", "status", "statusText"]);
});

test("Response: null body statuses take no body", () => {
  for (const status of [204, 205, 304]) {
    assertEquals(new Response(null, { status }).status, status);
    assertThrows(() => new Response("", { status }), TypeError, "cannot have a body");
  }
});

test("Response: Content-Type of each kind of body", () => {
  const type = (body, headers) => new Response(body, { headers }).headers.get("content-type");
  assertEquals(type("a"), "text/plain;charset=UTF-8");
  assertEquals(type(""), "text/plain;charset=UTF-8");
  assertEquals(type(new URLSearchParams()), "application/x-www-form-urlencoded;charset=UTF-8");
  assertEquals(type(new Blob([], { type: "a/b" })), "a/b");
  assertEquals(type(new Blob([])), null);
  assertEquals(type(new Uint8Array(1)), null);
  assertEquals(type(new ArrayBuffer(1)), null);
  assertEquals(type(new ReadableStream()), null);
  assert(/^multipart\/form-data; boundary=[-A-Za-z0-9]{20,70}$/.test(type(new FormData())));
  assertEquals(type("a", { "Content-Type": "x/y" }), "x/y");
});

test("Response.error", () => {
  const r = Response.error();
  assertEquals([r.type, r.status, r.statusText, r.body, r.ok], ["error", 0, "", null, false]);
  assertThrows(() => r.headers.append("a", "b"), TypeError, "immutable");
  assertEquals(r.clone().type, "error");
});

test("Response.redirect", () => {
  const r = Response.redirect("http://a.example/\u00e9 b");
  assertEquals([r.status, r.headers.get("location"), r.type, r.body], [302, "http://a.example/%C3%A9%20b", "default", null]);
  assertThrows(() => r.headers.set("a", "b"), TypeError);
  for (const status of [301, 302, 303, 307, 308]) assertEquals(Response.redirect("http://a/", status).status, status);
  for (const status of [200, 300, 304, 309, 400]) assertThrows(() => Response.redirect("http://a/", status), RangeError);
  assertThrows(() => Response.redirect("/relative"), TypeError, "absolute URL");
  assertThrows(() => Response.redirect("http://:x/"), TypeError);
  assertThrows(() => Response.redirect(), TypeError);
});

test("Response.json", async () => {
  const r = Response.json({ a: [1, "\u00e9"] }, { status: 202 });
  assertEquals([r.status, r.headers.get("content-type")], [202, "application/json"]);
  assertEquals(await r.json(), { a: [1, "\u00e9"] });
  assertEquals(Response.json(1, { headers: { "content-type": "a/b" } }).headers.get("content-type"), "a/b");
  assertEquals(await Response.json(null).text(), "null");
  assertThrows(() => Response.json(undefined), TypeError);
  assertThrows(() => Response.json(Symbol("x")), TypeError);
  assertThrows(() => Response.json({ toJSON() { throw new RangeError("mine"); } }), RangeError, "mine");
  assertThrows(() => Response.json(1, { status: 204 }), TypeError);
  assertThrows(() => Response.json(), TypeError);
  const circular = {};
  circular.a = circular;
  assertThrows(() => Response.json(circular), TypeError);
});

test("Response: clone shares the body, not the headers", async () => {
  const r = new Response("text", { status: 201, headers: { a: "1" } });
  const c = r.clone();
  c.headers.set("a", "2");
  assertEquals([r.headers.get("a"), c.headers.get("a"), c.status], ["1", "2", 201]);
  assertEquals([await r.text(), await c.text()], ["text", "text"]);
  assertThrows(() => r.clone(), TypeError, "already read");
  const bytes = new Response(new Uint8Array([1, 2]));
  const copy = bytes.clone();
  (await bytes.bytes())[0] = 9;
  assertEquals(await copy.bytes(), new Uint8Array([1, 2]));
  const stream = new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array([65])); c.close(); } }));
  const streamCopy = stream.clone();
  assertEquals([await streamCopy.text(), await stream.text()], ["A", "A"]);
  const locked = new Response("x");
  locked.body.getReader();
  assertThrows(() => locked.clone(), TypeError);
});

test("Response: headers given as Headers are copied", () => {
  const h = new Headers({ a: "1" });
  const r = new Response(null, { headers: h });
  h.set("a", "2");
  assertEquals(r.headers.get("a"), "1");
});

test("Response: shape of the interface", () => {
  assertEquals([Response.length, Response.json.length, Response.redirect.length, Response.name], [0, 1, 1, "Response"]);
  assertEquals(Object.prototype.toString.call(new Response()), "[object Response]");
  for (const name of ["type", "url", "redirected", "status", "ok", "statusText", "headers", "clone", "body", "bodyUsed", "arrayBuffer", "blob", "bytes", "formData", "json", "text"]) {
    const d = Object.getOwnPropertyDescriptor(Response.prototype, name);
    assert(d.enumerable && d.configurable, name);
    if (d.get) {
      assertEquals(d.set, undefined);
      assertThrows(() => Response.prototype[name], TypeError);
    }
  }
  assertEquals(Object.keys(Response).sort(), ["error", "json", "redirect"]);
});
