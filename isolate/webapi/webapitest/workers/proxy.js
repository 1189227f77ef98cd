// Requests that go on to the outbound service.
const origin = "http://origin.example";

export default {
  async fetch(request) {
    const url = new URL(request.url);
    switch (url.pathname.split("/")[1]) {
      case "copy": {
        const response = await fetch(origin + url.pathname.slice(5) + url.search, request);
        return new Response(response.body, response);
      }
      case "outside":
        return new Response(outside);
    }
    return fetch(new Request(origin + url.pathname + url.search, request));
  },
};

let outside = "none";
try {
  await fetch(origin);
} catch (e) {
  outside = e.message;
}
