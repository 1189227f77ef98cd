// A default export that is an object, and a named one.
let count = 0;

export default {
  name: "default",
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/":
        return new Response("hello");
      case "/this":
        return Response.json([this.name, ++count, arguments.length, typeof ctx.waitUntil, ctx.props]);
      case "/env":
        return Response.json([env.GREETING, env.LIMITS.cpu, Object.keys(env), typeof GREETING]);
      case "/request":
        return Response.json([
          request.method, request.url, [...request.headers], request.body, request.redirect,
          request.headers.get("x-missing"), request.cf, request.signal.aborted,
        ]);
      case "/immutable":
        try {
          request.headers.set("a", "b");
        } catch (e) {
          return new Response(`${e.name}: ${e.message}`);
        }
        return new Response("set");
      case "/headers": {
        const response = new Response(null, { status: 204, headers: [["X-A", "1"], ["set-cookie", "a=1"], ["Set-Cookie", "b=2"]] });
        response.headers.append("x-latin", "caf\u00e9");
        return response;
      }
    }
    return new Response("not here", { status: 404, statusText: "Nope" });
  },
};

export const other = {
  async fetch() {
    return new Response("other");
  },
};

// A function that has a fetch method, as some routers are.
export const callable = Object.assign(() => {}, { fetch: () => new Response("callable") });

export const notAnEntrypoint = 5;
