// The same code for everybody; what differs is in the bindings. The count is the
// isolate's own: no tenant sees another's.
interface Env {
  NAME: string;
  PLAN: string;
}

let count = 0;

export default {
  fetch(_request: Request, env: Env): Response {
    count++;
    return Response.json({ tenant: env.NAME, plan: env.PLAN, count });
  },
};
