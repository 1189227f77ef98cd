// Two WebAssembly modules: one imported, one bound.
import hashModule from "./hash.wasm";

interface Env {
  GCD: WebAssembly.Module;
}

// Instantiated once per isolate, while the worker starts.
const { memory, fnv1a } = new WebAssembly.Instance(hashModule).exports as {
  memory: WebAssembly.Memory;
  fnv1a(at: number, length: number): number;
};

function hash(text: string): string {
  const bytes = new Uint8Array(memory.buffer);
  const { read, written } = new TextEncoder().encodeInto(text, bytes);
  if (read < text.length) throw new RangeError(`the text is longer than ${bytes.length} bytes`);
  return (fnv1a(0, written) >>> 0).toString(16).padStart(8, "0");
}

let gcd: ((a: number, b: number) => number) | undefined;

export default {
  fetch(request: Request, env: Env): Response {
    const url = new URL(request.url);
    if (url.pathname === "/hash") {
      const text = url.searchParams.get("text") ?? "";
      return Response.json({ text, fnv1a: hash(text) });
    }
    const numbers = url.pathname.match(/^\/gcd\/(\d+)\/(\d+)$/);
    if (numbers !== null) {
      gcd ??= new WebAssembly.Instance(env.GCD).exports.gcd as typeof gcd;
      return Response.json({ gcd: gcd!(Number(numbers[1]), Number(numbers[2])) });
    }
    return new Response("try /hash?text=hello and /gcd/1071/462\n", { status: 404 });
  },
};
