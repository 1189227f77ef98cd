// Not a standard: requests that are made while the start-up snapshot is, so that
// an isolate's first request finds the common paths compiled.
// Public: none. Ops: none.

import { TextDecoder, TextEncoder } from "edge:encoding";
import { Headers } from "edge:headers";
import { Response } from "edge:response";
import { URL, URLSearchParams } from "edge:url";
import { warmUp } from "edge:worker";

const block = "host\nwarm.example\nuser-agent\nwarm\naccept\n*/*\ncontent-type\napplication/json\n";

function touch(request, ctx) {
  const url = new URL(request.url);
  const params = new URLSearchParams(url.search);
  params.get("a");
  url.searchParams.get("a");
  request.headers.get("accept");
  request.headers.has("cookie");
  ctx.waitUntil(undefined);
  const headers = new Headers({ "content-type": "text/plain" });
  headers.set("x-path", url.pathname + url.hostname + request.method);
  headers.append("vary", "accept");
  new TextDecoder().decode(new TextEncoder().encode(request.url));
  return headers;
}

const events = [
  ["GET", "http://warm.example/a/b?a=1", block, 0, null, 0, null],
  ["POST", "http://warm.example/", block, 1, "{}", 2, null],
];

for (let i = 0; i < 4; i++) {
  const event = events[i & 1];
  warmUp((request, _env, ctx) => new Response("warm", { status: 200, headers: touch(request, ctx) }), event);
  warmUp(async (request, _env, ctx) => {
    if (request.method === "POST") return Response.json(await request.json(), { headers: touch(request, ctx) });
    return new Response(await request.text());
  }, event);
}
