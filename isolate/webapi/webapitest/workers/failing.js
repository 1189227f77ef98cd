// Every way in which a handler can fail.
export default {
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    const used = new Response("x");
    switch (pathname) {
      case "/sync":
        throw new RangeError("at once");
      case "/async":
        return Promise.reject(new TypeError("later"));
      case "/string":
        throw "a string";
      case "/object":
        return Promise.reject({ code: 5 });
      case "/null":
        throw null;
      case "/hostile":
        throw { get stack() { throw new Error("no"); } };
      case "/undefined":
        return undefined;
      case "/text":
        return "text";
      case "/plain":
        return Promise.resolve({ status: 200 });
      case "/fake":
        return Object.create(Response.prototype);
      case "/error":
        return Response.error();
      case "/used":
        return used.text().then(() => used);
      case "/locked":
        used.body.getReader();
        return used;
      case "/pass":
        ctx.passThroughOnException();
        throw new Error("passed");
      case "/passread":
        ctx.passThroughOnException();
        return request.text().then(() => {
          throw new Error("read already");
        });
      case "/thenable":
        return { then(resolve) { resolve(new Response("thenable")); } };
      case "/waituntil":
        ctx.waitUntil(Promise.reject(new Error("in the background")));
        ctx.waitUntil(5);
        return new Response("fine");
    }
  },
};
