// Everything that could notice the runtime at work, before the first request.
const seen = [];
Object.defineProperty(Object.prototype, "then", {
  configurable: true,
  get() {
    seen.push("then");
    return undefined;
  },
});
Object.defineProperty(Object.prototype, "fetch", { configurable: true, get() { return undefined; } });
export default { fetch: () => new Response("ok") };
