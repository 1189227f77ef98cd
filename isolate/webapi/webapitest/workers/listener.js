// The service worker style: env.NAME is the global NAME.
const atStart = GREETING;

addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (pathname === "/silent") return;
  if (pathname === "/twice") {
    event.respondWith(new Response("first"));
    try {
      event.respondWith(new Response("second"));
    } catch (e) {
      event.waitUntil(Promise.reject(new Error(`expected: ${e.name}`)));
    }
    return;
  }
  if (pathname === "/throw") throw new Error("listener");
  event.respondWith(respond(event));
});

addEventListener("fetch", (event) => {
  if (new URL(event.request.url).pathname === "/throw") event.respondWith(new Response("second listener"));
});

async function respond(event) {
  await 0;
  return Response.json([atStart, GREETING, event.type, event instanceof FetchEvent, event.isTrusted]);
}
