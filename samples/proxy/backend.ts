// What the proxy stands in front of: a page in pieces, and what the backend saw.
const page = [
  "<h1>Very long pages</h1>\n",
  "<p>Copenhagen is very nice in Cop",
  "enhagen's very long summer.</p>\n",
  "<p>The end.</p>\n",
];

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/headers") return Response.json(Object.fromEntries(request.headers));
    if (url.pathname === "/upload") return Response.json({ bytes: (await request.bytes()).length });
    if (url.pathname === "/image") return new Response(new Uint8Array([0x89, 0x50, 0x4e, 0x47]), { headers: { "content-type": "image/png" } });

    let next = 0;
    const body = new ReadableStream({
      async pull(controller) {
        // A moment between the pieces, so that streaming is seen.
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(page[next++]);
        if (next === page.length) controller.close();
      },
    });
    return new Response(body.pipeThrough(new TextEncoderStream()), {
      headers: { "content-type": "text/html; charset=utf-8", server: "backend", etag: '"one"' },
    });
  },
};
