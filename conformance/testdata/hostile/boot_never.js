await new Promise(() => {});
export default { fetch: () => new Response("never") };
