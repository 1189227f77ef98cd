// A worker without a network.
export default {
  async fetch() {
    try {
      await fetch("http://origin.example/echo");
    } catch (e) {
      return new Response(`${e.name} ${e.code}: ${e.message}`);
    }
    return new Response("fetched");
  },
};
