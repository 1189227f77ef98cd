// A JSON API: tokens by jose, input checked by zod, routes by Hono.
import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { SignJWT, errors, jwtVerify } from "jose";
import { z } from "zod";

interface Env {
  Bindings: { TOKEN_SECRET: string; USERS: Record<string, string> };
  Variables: { user: string };
}

const Login = z.strictObject({ user: z.string().min(1), password: z.string().min(1) });

const Order = z.strictObject({
  items: z.array(z.strictObject({ sku: z.string().regex(/^[A-Z]{2}-\d+$/), count: z.int().min(1).max(99) })).min(1),
  note: z.string().max(200).optional(),
});

const prices: Record<string, number> = { "AB-1": 250, "AB-2": 1999 };

const key = (secret: string) => new TextEncoder().encode(secret);

/** Reads the body as T; a mistake is answered with all of them. */
async function read<T>(request: Request, type: z.ZodType<T>): Promise<T> {
  const body = await request.json().catch(() => {
    throw new HTTPException(400, { message: "the body is not JSON" });
  });
  const result = type.safeParse(body);
  if (result.success) return result.data;
  const mistakes = result.error.issues.map((issue) => ({ at: issue.path.join("."), message: issue.message }));
  throw new HTTPException(422, { res: Response.json({ mistakes }, { status: 422 }) });
}

const signedIn = createMiddleware<Env>(async (c, next) => {
  const token = c.req.header("authorization")?.match(/^Bearer (.+)$/)?.[1];
  if (token === undefined) throw new HTTPException(401, { message: "send a token: POST /login" });
  try {
    const { payload } = await jwtVerify(token, key(c.env.TOKEN_SECRET), { issuer: "edge-sample", algorithms: ["HS256"] });
    c.set("user", payload.sub ?? "");
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new HTTPException(401, { message: `the token is refused: ${error.code}` });
    throw error;
  }
  await next();
});

const app = new Hono<Env>();

app.get("/", (c) => c.json({ routes: app.routes.filter((r) => r.method !== "ALL").map((r) => `${r.method} ${r.path}`) }));

app.post("/login", async (c) => {
  const { user, password } = await read(c.req.raw, Login);
  if (c.env.USERS[user] !== password) throw new HTTPException(401, { message: "wrong user or password" });
  const token = await new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(user)
    .setIssuer("edge-sample")
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(key(c.env.TOKEN_SECRET));
  return c.json({ token });
});

app.get("/me", signedIn, (c) => c.json({ user: c.get("user") }));

app.post("/orders", signedIn, async (c) => {
  const order = await read(c.req.raw, Order);
  const lines = order.items.map(({ sku, count }) => ({ sku, count, cents: (prices[sku] ?? 0) * count }));
  return c.json({ user: c.get("user"), lines, cents: lines.reduce((sum, line) => sum + line.cents, 0) }, 201);
});

app.notFound((c) => c.json({ error: `no route for ${c.req.method} ${c.req.path}` }, 404));

app.onError((error, c) => {
  if (!(error instanceof HTTPException)) throw error; // the runtime's: logged with its stack, answered with 500
  return error.res ?? c.json({ error: error.message }, error.status);
});

export default app;
