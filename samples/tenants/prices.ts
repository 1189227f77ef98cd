// The tenant that was granted nothing but its own table.
import { WorkerEntrypoint } from "edge:workers";

interface Env {
  TABLE: Record<string, number>;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const item = new URL(request.url).pathname.slice(1);
    if (item === "network") {
      try {
        await fetch("https://example.com/");
        return new Response("the network is open\n", { status: 500 });
      } catch (error) {
        return new Response(`${error.name}: ${error.message}\n`);
      }
    }
    const cents = env.TABLE[item];
    if (cents === undefined) return new Response(`nothing is known of ${item}`, { status: 404 });
    return Response.json({ item, cents });
  },
};

const left: Record<string, number> = { tea: 12 };

/** A second entrance, for those who have a binding to it. */
export class Stock extends WorkerEntrypoint<Env> {
  async fetch(request: Request): Promise<Response> {
    const item = new URL(request.url).pathname.slice(1);
    return Response.json({ item, left: left[item] ?? 0 });
  }
}
