await new Promise((resolve) => setTimeout(resolve, 60_000));
export default { fetch: () => new Response("never") };
