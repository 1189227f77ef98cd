// Replaces words in pages while they stream through. A word that is cut by the
// edge of a chunk is found too; of a page of any size, no more is kept than a
// word's length.
interface Env {
  REPLACE: Record<string, string>;
}

/** A stream of text in which words are replaced. */
function replacing(words: Record<string, string>): TransformStream<string, string> {
  const pattern = new RegExp(Object.keys(words).map((word) => RegExp.escape?.(word) ?? word).join("|"), "g");
  const keep = Math.max(...Object.keys(words).map((word) => word.length)) - 1;
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const text = rest + chunk;
      // What begins in the last characters may be the begin of a word.
      const limit = text.length - keep;
      let out = "";
      let done = 0;
      for (const match of text.matchAll(pattern)) {
        if (match.index >= limit) break;
        out += text.slice(done, match.index) + words[match[0]];
        done = match.index + match[0].length;
      }
      const end = Math.max(done, limit);
      out += text.slice(done, end);
      rest = text.slice(end);
      if (out !== "") controller.enqueue(out);
    },
    flush(controller) {
      controller.enqueue(rest.replace(pattern, (word) => words[word]));
    },
  });
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const response = await fetch(request);
    const type = response.headers.get("content-type") ?? "";
    // Everything else passes untouched, without a look at it.
    if (!type.startsWith("text/html") || response.body === null) return response;

    const headers = new Headers(response.headers);
    headers.delete("content-length");
    headers.delete("etag"); // of other bytes
    headers.set("x-rewritten-by", "edge");
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(replacing(env.REPLACE))
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { status: response.status, statusText: response.statusText, headers });
  },
};
