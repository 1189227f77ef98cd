// The namespace is a thenable: import() calls this.
export function then() {
  for (;;);
}
export default { fetch: () => new Response("never") };
