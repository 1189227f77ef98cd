// edge:workers and cloudflare:workers, as each program that imports them gets it.
export const { WorkerEntrypoint, env, waitUntil } = globalThis[Symbol.for("edge.workers")];
