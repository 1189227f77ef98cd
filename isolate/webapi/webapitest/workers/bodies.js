// Bodies in and out.
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/text":
        return new Response(await request.text());
      case "/json":
        return Response.json((await request.json()).a);
      case "/bytes":
        return new Response(await request.bytes());
      case "/form": {
        const form = await request.formData();
        const file = form.get("file");
        return Response.json([form.get("a"), file.name, file.type, await file.text()]);
      }
      case "/echo":
        return new Response(request.body, { headers: { "x-used": String(request.bodyUsed) } });
      case "/clone": {
        const copy = request.clone();
        return new Response(await request.text() + await copy.text());
      }
      case "/upper":
        return new Response(request.body.pipeThrough(new TransformStream({
          transform(chunk, controller) {
            controller.enqueue(new TextEncoder().encode(new TextDecoder().decode(chunk).toUpperCase()));
          },
        })));
      case "/stream": {
        let n = 0;
        return new Response(new ReadableStream({
          async pull(controller) {
            await 0;
            if (n === 100) controller.close();
            else controller.enqueue(new Uint8Array(1000).fill(97 + n++ % 26));
          },
        }));
      }
      case "/unread":
        return new Response("did not look");
      case "/surrogate":
        return new Response("a\ud800b\u00e9\u{1f600}");
      case "/blob":
        return new Response(new Blob(["blob"], { type: "a/b" }));
      case "/empty":
        return new Response("");
      case "/null":
        return new Response(null);
    }
    return new Response(null, { status: 404 });
  },
};
