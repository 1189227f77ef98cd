for (;;);
export default { fetch: () => new Response("never") };
