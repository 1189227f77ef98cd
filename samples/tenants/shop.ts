// The tenant that was granted something: two bindings and one host.
interface Service {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

interface Env {
  PRICES: Service;
  STOCK: Service;
}

/** Tries something and tells what came of it. */
async function attempt(what: () => Promise<Response>): Promise<string> {
  try {
    const response = await what();
    return `answered with ${response.status}`;
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const item = url.pathname.match(/^\/price\/(\w+)$/)?.[1];
    if (item !== undefined) {
      // The host of the URL is any: a binding leads to its service.
      const [price, stock] = await Promise.all([
        env.PRICES.fetch(`http://prices/${item}`),
        env.STOCK.fetch(`http://stock/${item}`),
      ]);
      if (!price.ok) return new Response(`no price: ${await price.text()}`, { status: 404 });
      return Response.json({ ...(await price.json()), ...(await stock.json()) });
    }
    if (url.pathname === "/pay") {
      return Response.json({
        "https://other.example.net/": await attempt(() => fetch("https://other.example.net/")),
        "http://169.254.169.254/": await attempt(() => fetch("http://169.254.169.254/latest/meta-data/")),
      });
    }
    return new Response("try /price/tea and /pay\n", { status: 404 });
  },
};
