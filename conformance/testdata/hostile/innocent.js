// A tenant that does ordinary work while its neighbours misbehave: it parses,
// computes, streams, and answers with something that depends on the question.
let served = 0;

export default {
  async fetch(request) {
    served++;
    const url = new URL(request.url);
    const n = Number(url.searchParams.get("n") ?? 0);
    const body = await new Response(JSON.stringify({ n, squares: Array.from({ length: 10 }, (_, i) => i * n) })).json();
    const text = `${n}:${body.squares.reduce((a, b) => a + b, 0)}`;
    if (n % 2 === 0) return new Response(text, { headers: { "x-served": String(served) } });
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    writer.write(new TextEncoder().encode(text)).then(() => writer.close());
    return new Response(readable, { headers: { "x-served": String(served) } });
  },
};
