import { Fragment, h, page, raw } from "./html.ts";
import style from "./style.css" with { type: "text" };

interface Env {
  TITLE: string;
}

const books = [
  { title: "Snow & Ice", year: 1934 },
  { title: "a < b", year: 2001 },
];

/** A component may wait, here for what a database would answer. */
async function Books({ before }: { before: number }) {
  await Promise.resolve();
  const found = books.filter((book) => book.year < before);
  if (found.length === 0) return <p>There are none.</p>;
  return (
    <ul>
      {found.map((book) => (
        <li>
          {book.title}, <i>{book.year}</i>
        </li>
      ))}
    </ul>
  );
}

function Layout({ title, children }: { title: string; children?: unknown }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{title}</title>
        <style>{raw(style.trim())}</style>
      </head>
      <body>{children}</body>
    </html>
  );
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const name = query.get("name");
    return page(
      <Layout title={env.TITLE}>
        <>
          <h1>{env.TITLE}</h1>
          {name !== null && <p class="greeting">Hello, {name}!</p>}
        </>
        <Books before={Number(query.get("before") ?? 3000)} />
      </Layout>,
    );
  },
};
