// A tenant that calls others more often than it may.

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/many": {
        const calls = [];
        for (let i = 0; i < 20; i++) {
          calls.push(env.OTHER.fetch("http://other/?n=2").then((r) => r.text(), (e) => `${e.name} ${e.code} ${e.message}`));
        }
        const answers = await Promise.all(calls);
        return Response.json({ answered: answers.filter((a) => a === "2:90").length, refused: [...new Set(answers.filter((a) => a !== "2:90"))] });
      }
      case "/loop":
        return fetch("http://loop.test/loop");
      case "/loop_of_headers": {
        // It hides where it comes from.
        const headers = new Headers(request.headers);
        headers.delete("cdn-loop");
        headers.set("CDN-Loop", "other");
        return fetch("http://loop.test/loop_of_headers", { headers });
      }
      case "/fan": {
        // Twice as many with each hop.
        const answers = await Promise.all([fetch("http://loop.test/fan"), fetch("http://loop.test/fan")]);
        return new Response(null, { status: answers[0].status, headers: answers[0].headers });
      }
    }
    return new Response("ok");
  },
};
