// What JSX becomes: text that is escaped, piece by piece.

/** HTML that needs no escaping any more. */
class Html {
  constructor(readonly text: string) {}
}

type Child = Html | string | number | boolean | null | undefined | Child[] | Promise<Child>;
type Props = Record<string, unknown> & { children?: Child };
type Component = (props: Props) => Html | Promise<Html>;

declare global {
  namespace JSX {
    type Element = Html | Promise<Html>;
    interface IntrinsicElements {
      [tag: string]: Record<string, unknown>;
    }
  }
}

const voids = new Set(["br", "hr", "img", "input", "link", "meta"]);

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text: string) => text.replace(/[&<>"]/g, (c) => escapes[c]);

async function render(child: Child): Promise<string> {
  child = await child;
  if (child instanceof Html) return child.text;
  if (Array.isArray(child)) return (await Promise.all(child.map(render))).join("");
  return child === null || child === undefined || typeof child === "boolean" ? "" : escape(String(child));
}

/** Makes an element, or calls a component, which may be asynchronous. */
export async function h(tag: string | Component, props: Props | null, ...children: Child[]): Promise<Html> {
  if (typeof tag === "function") return tag({ ...props, children });
  let text = `<${tag}`;
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === true) text += ` ${name}`;
    else if (value !== false && value !== null && value !== undefined) text += ` ${name}="${escape(String(value))}"`;
  }
  text += ">";
  return new Html(voids.has(tag) ? text : `${text}${await render(children)}</${tag}>`);
}

/** <>...</> */
export const Fragment: Component = async ({ children }) => new Html(await render(children));

/** Marks text as HTML. */
export const raw = (text: string) => new Html(text);

/** Answers with a page. */
export async function page(element: JSX.Element, init?: ResponseInit): Promise<Response> {
  const headers = new Headers(init?.headers);
  headers.set("content-type", "text/html; charset=utf-8");
  return new Response(`<!doctype html>\n${(await element).text}\n`, { ...init, headers });
}
