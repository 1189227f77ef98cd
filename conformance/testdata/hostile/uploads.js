// A tenant that is sent more than it can hold.

export default {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/count": {
        let n = 0;
        for await (const chunk of request.body) n += chunk.length;
        return new Response(String(n));
      }
      case "/first": {
        const { value } = await request.body.getReader().read();
        return new Response(value.length > 0 ? "some" : "none");
      }
      case "/ignore":
        return new Response("ignored");
      case "/whole":
        return new Response(String((await request.arrayBuffer()).byteLength));
      case "/text":
        return new Response(String((await request.text()).length));
      case "/clone": {
        const copy = request.clone();
        let n = 0;
        for await (const chunk of copy.body) n += chunk.length;
        return new Response(String(n));
      }
      case "/echo":
        return new Response(request.body);
      case "/never":
        return new Promise(() => setInterval(() => {}, 1000));
    }
    return new Response("ok");
  },
};
