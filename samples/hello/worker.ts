// Answers every request with a greeting: curl http://127.0.0.1:8080/?name=you
interface Env {
  GREETING: string;
}

export default {
  fetch(request: Request, env: Env): Response {
    const url = new URL(request.url);
    const name = url.searchParams.get("name") ?? "world";
    return new Response(`${env.GREETING}, ${name}!\n`);
  },
};
