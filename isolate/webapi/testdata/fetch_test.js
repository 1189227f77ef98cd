// Fetches from webapitest.Origin, which is the outbound service here.
const origin = "http://origin.example";
const echo = async (path, init) => (await fetch(`${origin}${path}`, init)).json();

test("fetch: a response and its parts", async () => {
  const r = await fetch(`${origin}/echo?q#fragment`);
  assert(r instanceof Response);
  assertEquals([r.status, r.statusText, r.ok, r.type, r.url, r.redirected, r.bodyUsed], [200, "OK", true, "basic", `${origin}/echo?q`, false, false]);
  assertThrows(() => r.headers.set("a", "b"), TypeError, "immutable");
  const got = await r.json();
  assertEquals([got.method, got.url, got.body], ["GET", `${origin}/echo?q`, ""]);
});

test("fetch: default headers, unless the script sets them", async () => {
  const headers = new Map((await echo("/echo")).headers);
  assertEquals([headers.get("accept"), headers.get("accept-encoding"), headers.get("user-agent")], ["*/*", "gzip, deflate, br, zstd", "edge"]);
  const own = new Map((await echo("/echo", { headers: { Accept: "a/b", "User-Agent": "me", "Accept-Encoding": "br", "Content-Length": "9" } })).headers);
  assertEquals([own.get("accept"), own.get("accept-encoding"), own.get("user-agent"), own.get("content-length")], ["a/b", "br", "me", undefined]);
  assertEquals(new Map((await echo("/echo", { headers: { range: "bytes=0-" } })).headers).get("accept-encoding"), "identity");
});

test("fetch: request bodies of every kind", async () => {
  const post = async (body) => (await echo("/echo", { method: "POST", body })).body;
  assertEquals(await post("h\u00e9"), "h\u00e9");
  assertEquals(await post(new TextEncoder().encode("bytes")), "bytes");
  assertEquals(await post(new Blob(["bl", "ob"])), "blob");
  assertEquals(await post(new URLSearchParams("a=1")), "a=1");
  assertEquals(await post(new Response("text").body), "text");
  let n = 0;
  const stream = new ReadableStream({ pull(c) { n++ < 3 ? c.enqueue(new TextEncoder().encode(`${n}`)) : c.close(); } });
  assertEquals(await post(stream), "123");
  const form = new FormData();
  form.append("a", "b");
  assert((await post(form)).includes('name="a"\r\n\r\nb\r\n'));
});

test("fetch: a fetched body is sent on", async () => {
  const r = await fetch(`${origin}/stream?n=5`);
  assertEquals((await echo("/echo", { method: "POST", body: r.body })).body, "01234");
  assert(r.bodyUsed);
});

test("fetch: a Request, its body and its headers", async () => {
  const request = new Request(`${origin}/echo`, { method: "PUT", body: "x", headers: { "x-a": "1" } });
  const got = await (await fetch(request, { headers: { "x-b": "2" } })).json();
  const headers = new Map(got.headers);
  assertEquals([got.method, got.body, headers.get("x-a"), headers.get("x-b")], ["PUT", "x", undefined, "2"]);
  assert(request.bodyUsed);
  await assertRejects(fetch(request), TypeError, "already read");
});

test("fetch: response headers keep their bytes and their cookies", async () => {
  const { headers } = await fetch(`${origin}/headers`);
  assertEquals([headers.get("x-latin"), headers.getSetCookie()], ["caf\u00e9", ["a=1", "b=2"]]);
});

test("fetch: content codings are undone", async () => {
  for (const coding of ["gzip", "deflate", "raw", "br", "zstd", "both"]) {
    const r = await fetch(`${origin}/encoded/${coding}`);
    assertEquals([r.headers.get("content-encoding"), r.headers.get("content-length")], [null, null], coding);
    assertEquals(await r.text(), "hello, hello, hello", coding);
  }
  const unknown = await fetch(`${origin}/encoded/unknown`);
  assertEquals([unknown.headers.get("content-encoding"), await unknown.text()], ["rot13", "hello, hello, hello"]);
  await assertRejects((await fetch(`${origin}/encoded/broken`)).text(), TypeError);
});

test("fetch: streamed bodies", async () => {
  assertEquals(await (await fetch(`${origin}/stream?n=12`)).text(), "01234567891011");
  const chunks = [];
  for await (const chunk of (await fetch(`${origin}/stream?n=3`)).body) chunks.push(new TextDecoder().decode(chunk));
  assertEquals(chunks.join(""), "012");
  assertEquals((await (await fetch(`${origin}/large`)).bytes()).length, 100000);
  const broken = await fetch(`${origin}/broken`);
  await assertRejects(broken.text(), TypeError);
  const endless = await fetch(`${origin}/endless`);
  const reader = endless.body.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), "0");
  await reader.cancel();
});

test("fetch: clone of a streamed body", async () => {
  const r = await fetch(`${origin}/stream?n=4`);
  const c = r.clone();
  assertEquals([await r.text(), await c.text(), c.url], ["0123", "0123", `${origin}/stream?n=4`]);
});

test("fetch: no body for HEAD and null body statuses", async () => {
  assertEquals((await fetch(`${origin}/large`, { method: "HEAD" })).body, null);
  for (const status of [204, 205, 304]) assertEquals((await fetch(`${origin}/status/${status}`)).body, null);
});

test("fetch: redirects are followed", async () => {
  const to = (status, location) => `${origin}/status/${status}?location=${encodeURIComponent(location)}`;
  const r = await fetch(to(302, "/echo?x"));
  assertEquals([r.redirected, r.url, (await r.json()).url], [true, `${origin}/echo?x`, `${origin}/echo?x`]);
  for (const [status, method, want] of [
    [301, "POST", "GET"], [302, "POST", "GET"], [303, "POST", "GET"], [303, "PUT", "GET"], [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"], [307, "POST", "POST"], [308, "POST", "POST"], [308, "DELETE", "DELETE"],
  ]) {
    const response = await fetch(to(status, "/echo"), { method, body: method === "HEAD" ? null : "body" });
    if (method === "HEAD") continue;
    const got = await response.json();
    const headers = new Map(got.headers);
    assertEquals([got.method, got.body, headers.has("content-type")], [want, want === "GET" ? "" : "body", want !== "GET"], `${status} ${method}`);
  }
  assertEquals((await fetch(`${origin}/status/302`)).status, 302, "without a Location it is the response");
  assertEquals((await fetch(to(304, "/echo"))).status, 304);
});

test("fetch: redirects to another origin lose credentials", async () => {
  const headers = { authorization: "a", cookie: "c", "x-a": "1" };
  const location = (url) => `${origin}/status/307?location=${encodeURIComponent(url)}`;
  const same = new Map((await (await fetch(location("/echo"), { headers })).json()).headers);
  assertEquals([same.get("authorization"), same.get("cookie"), same.get("x-a")], ["a", "c", "1"]);
  for (const url of ["http://other.example/echo", "https://origin.example/echo", "http://origin.example:81/echo"]) {
    const other = new Map((await (await fetch(location(url), { headers })).json()).headers);
    assertEquals([other.get("authorization"), other.get("cookie"), other.get("x-a")], [undefined, undefined, "1"], url);
  }
});

test("fetch: redirects that cannot be followed", async () => {
  const to = (status, location) => `${origin}/status/${status}?location=${encodeURIComponent(location)}`;
  await assertRejects(fetch(to(302, "data:,x")), TypeError, "data:");
  await assertRejects(fetch(to(302, "http://:x")), TypeError, "not a valid URL");
  await assertRejects(fetch(to(302, "http://u:p@other.example/")), TypeError, "credentials");
  await assertRejects(fetch(to(302, "/echo"), { redirect: "error" }), TypeError, "redirect");
  const stream = () => new ReadableStream({ start(c) { c.enqueue(new Uint8Array(1)); c.close(); } });
  await assertRejects(fetch(to(307, "/echo"), { method: "POST", body: stream() }), TypeError, "stream");
  let loop = "/echo";
  for (let i = 0; i < 3; i++) loop = `/status/302?location=${encodeURIComponent(loop)}`;
  assertEquals((await fetch(origin + loop)).status, 200);
});

test("fetch: more than 20 redirects, and none when they are manual", async () => {
  await assertRejects(fetch(`${origin}/loop`), TypeError, "more than 20 redirects");
  const r = await fetch(`${origin}/status/302?location=/echo`, { redirect: "manual" });
  assertEquals([r.status, r.type, r.headers.get("location"), r.redirected, await r.text()], [302, "basic", "/echo", false, "status 302"]);
});

test("fetch: what is refused at once", async () => {
  for (const url of ["/relative", "", "http://u:p@h/"]) await assertRejects(fetch(url), TypeError);
  for (const url of ["data:,x", "file:///etc/passwd", "ftp://h/", "blob:x", "ws://h/", "about:blank"]) {
    await assertRejects(fetch(url), TypeError, "only http: and https:");
  }
  await assertRejects(fetch(), TypeError, "1 argument required");
  await assertRejects(fetch(origin, { method: "GET", body: "x" }), TypeError);
  assertEquals([fetch.length, fetch.name], [1, "fetch"]);
});

test("fetch: failures of the other side are TypeErrors", async () => {
  await assertRejects(fetch(`${origin}/fail`), TypeError, "fetch failed: the origin is down");
});

test("fetch: an aborted signal", async () => {
  const reason = new RangeError("mine");
  await assertRejects(fetch(`${origin}/hang`, { signal: AbortSignal.abort(reason) }), RangeError, "mine");
  const controller = new AbortController();
  const hanging = fetch(`${origin}/hang`, { signal: controller.signal });
  controller.abort();
  assertEquals((await assertRejects(hanging, DOMException)).name, "AbortError");
  const request = new Request(`${origin}/hang`, { signal: AbortSignal.timeout(1) });
  assertEquals((await assertRejects(fetch(request), DOMException)).name, "TimeoutError");
});

test("fetch: abort while the response streams", async () => {
  const controller = new AbortController();
  const r = await fetch(`${origin}/endless`, { signal: controller.signal });
  const reader = r.body.getReader();
  await reader.read();
  const next = reader.read();
  controller.abort("why");
  let got;
  await next.catch((e) => { got = e; });
  assertEquals(got, "why");
  const second = new AbortController();
  const unread = await fetch(`${origin}/endless`, { signal: second.signal });
  second.abort("early");
  await unread.text().catch((e) => { got = e; });
  assertEquals(got, "early");
});

test("fetch: abort cancels the stream that is being sent", async () => {
  let canceled;
  const controller = new AbortController();
  const body = new ReadableStream({ cancel(reason) { canceled = reason; } });
  const sending = fetch(`${origin}/echo`, { method: "POST", body, signal: controller.signal });
  controller.abort("stop");
  await sending.catch(() => {});
  assertEquals(canceled, "stop");
});
