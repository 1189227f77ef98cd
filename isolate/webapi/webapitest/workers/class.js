// Classes as entrypoints: one object for each request.
import { WorkerEntrypoint, env as moduleEnv, waitUntil } from "edge:workers";

export default class extends WorkerEntrypoint {
  count = 0;
  async fetch(request) {
    waitUntil(Promise.resolve());
    this.ctx.waitUntil(Promise.resolve());
    return Response.json([++this.count, this.env.NAME, this.env === moduleEnv, this instanceof WorkerEntrypoint, request.method]);
  }
}

export class Admin extends WorkerEntrypoint {
  fetch() {
    return new Response(`admin of ${this.env.NAME}`);
  }
}

export class Plain {
  constructor(ctx, env) {
    this.name = env.NAME;
  }
  fetch() {
    return new Response(`plain ${this.name}`);
  }
}

export class Silent extends WorkerEntrypoint {}
