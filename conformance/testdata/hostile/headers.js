// A tenant that tries to write what it may not into the head of its response.

const lines = "a\r\nx-injected: 1";
const values = {
  cr_lf: lines, lf: "a\nx-injected: 1", cr: "a\rx-injected: 1", nul: "a\0b", lf_at_end: "a\n\n", wide: "a\u010ax-injected: 1", euro: "\u20ac",
};
const names = ["", " ", "a b", "a:", ":a", "a\r\nx-injected", "a\nb", "a\0", "\u00e4", "a,b", "(a)", "a/b", "\u010d"];

const refused = (f) => {
  try {
    f();
  } catch (e) {
    return e instanceof TypeError || e instanceof RangeError;
  }
  return false;
};

const through = {
  constructor: (n, v) => new Headers([[n, v]]),
  record: (n, v) => new Headers({ [n]: v }),
  append: (n, v) => new Headers().append(n, v),
  set: (n, v) => new Headers().set(n, v),
  response: (n, v) => new Response("", { headers: [[n, v]] }),
  response_headers: (n, v) => new Response("").headers.append(n, v),
  request: (n, v) => new Request("http://a/", { headers: [[n, v]] }),
  get: (n) => new Headers().get(n),
  delete: (n) => new Headers().delete(n),
};

/** What was not refused. Spaces around a value are trimmed: that is the standard. */
function attempts() {
  const accepted = [];
  for (const [how, f] of Object.entries(through)) {
    if (how !== "get" && how !== "delete") {
      for (const [what, value] of Object.entries(values)) {
        if (what !== "lf_at_end" && !refused(() => f("x", value))) accepted.push(`${how} value ${what}`);
      }
    }
    for (const name of names) if (!refused(() => f(name, "v"))) accepted.push(`${how} name ${JSON.stringify(name)}`);
  }
  const others = {
    status_text: () => new Response("", { statusText: `OK\r\nx-injected: 1` }),
    status_text_lf: () => new Response("", { statusText: "OK\nx" }),
    status_text_wide: () => new Response("", { statusText: "\u010d\u010a" }),
    status_0: () => new Response("", { status: 0 }),
    status_100: () => new Response(null, { status: 100 }),
    status_101: () => new Response(null, { status: 101 }),
    status_199: () => new Response("", { status: 199 }),
    status_600: () => new Response("", { status: 600 }),
    status_text_number: () => new Response("", { status: "200\r\nx-injected: 1" }),
    body_of_204: () => new Response("x", { status: 204 }),
    body_of_304: () => new Response("x", { status: 304 }),
    redirect_status: () => Response.redirect("http://a/", 200),
    method: () => new Request("http://a/", { method: "GET / HTTP/1.1\r\nx-injected: 1" }),
    method_space: () => new Request("http://a/", { method: "A B" }),
    method_connect: () => new Request("http://a/", { method: "CONNECT" }),
  };
  for (const [what, f] of Object.entries(others)) if (!refused(f)) accepted.push(what);
  if (Response.redirect("http://a/\r\nx-injected").headers.get("location") !== "http://a/x-injected") accepted.push("redirect");
  return accepted;
}

// Responses that are allowed to be made, and whose head says what is not so.
const sent = {
  short_length: () => new Response("hello", { headers: { "content-length": "1" } }),
  long_length: () => new Response("hello", { headers: { "content-length": "100" } }),
  two_lengths: () => new Response("hello", { headers: [["content-length", "5"], ["content-length", "6"]] }),
  odd_length: () => new Response("hello", { headers: { "content-length": "5, 5" } }),
  chunked: () => new Response("hello", { headers: { "transfer-encoding": "chunked" } }),
  chunked_and_length: () => new Response("0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", { headers: { "transfer-encoding": "chunked", "content-length": "3" } }),
  identity: () => new Response("hello", { headers: { "transfer-encoding": "identity, gzip" } }),
  connection: () => new Response("hello", { headers: { connection: "upgrade, keep-alive, x-edge", upgrade: "websocket", "keep-alive": "timeout=0", trailer: "x", te: "trailers", "proxy-connection": "close" } }),
  stream_with_length: () => new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("hello")); c.close(); } }), { headers: { "content-length": "2" } }),
  stream_with_long_length: () => new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("hello")); c.close(); } }), { headers: { "content-length": "200" } }),
  no_content_with_length: () => new Response(null, { status: 204, headers: { "content-length": "10", "transfer-encoding": "chunked" } }),
  not_modified_with_length: () => new Response(null, { status: 304, headers: { "content-length": "10" } }),
  status_text: () => new Response("hello", { status: 299, statusText: "\tAll \u00e4 fine: HTTP/1.1 200 OK" }),
  forged_outcome: () => new Response("hello", { headers: { "edge-outcome": "fatal", date: "yesterday", server: "x" } }),
  many_headers: () => {
    const h = new Headers();
    for (let i = 0; i < 2000; i++) h.append(`x-${i}`, "y".repeat(100));
    return new Response("hello", { headers: h });
  },
  huge_header: () => new Response("hello", { headers: { x: "y".repeat(4 << 20) } }),
  latin1: () => new Response("hello", { headers: { x: "\u0080\u00ff\u00e4", y: "\t tabs \t" } }),
};

function weaken() {
  const all = () => true;
  RegExp.prototype.test = all;
  RegExp.prototype.exec = () => null;
  RegExp.prototype[Symbol.match] = () => null;
  RegExp.prototype[Symbol.search] = () => -1;
  String.prototype.charCodeAt = () => 65;
  String.prototype.codePointAt = () => 65;
  String.prototype.includes = () => false;
  String.prototype.indexOf = () => -1;
  String.prototype.search = () => -1;
  String.prototype.match = () => null;
  Array.prototype.includes = all;
  Array.prototype.indexOf = () => 0;
  Array.prototype.some = () => false;
  Array.prototype.every = all;
  Set.prototype.has = all;
  Map.prototype.has = all;
}

export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    const name = pathname.slice(1);
    switch (name) {
      case "ok":
        return new Response("ok");
      case "list":
        return Response.json({ all: Object.keys(sent) });
      case "attempts":
        return new Response(`accepted: ${attempts().join("; ")}`);
      case "attempts_after_weakening": {
        const { join } = Array.prototype;
        weaken();
        return new Response(`accepted: ${Reflect.apply(join, attempts(), ["; "])}`);
      }
    }
    return sent[name]();
  },
};
