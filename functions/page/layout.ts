/**
 * The frame of every page.
 * Owns: the document around `main`. Does not own: what is in it (views/), how it looks (assets/style.ts).
 */
import { html } from "hono/html";
import { ASSETS } from "./assets/assets.ts";
import { fleetPath } from "./paths.ts";
import type { Html } from "./visit.ts";

export interface Frame {
  readonly title: string;
  /** Absent: nobody is signed in. */
  readonly visitor?: string;
  /** Where the script finds the stream of this page; absent on a page that does not change. */
  readonly stream?: string;
  readonly main: Html;
}

export function layout({ title, visitor, stream, main }: Frame): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Lifeboat</title>
        <link rel="stylesheet" href="${ASSETS.style.path}" />
        <script src="${ASSETS.script.path}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header>
          <a class="home" href="${fleetPath()}">Lifeboat</a>${visitor === undefined ? "" : signOut(visitor)}
        </header>
        <main id="main" ${stream === undefined ? "" : html`data-stream="${stream}"`}>${main}</main>
      </body>
    </html> `;
}

function signOut(visitor: string): Html {
  return html`<form method="post" action="/signout"><span>${visitor}</span> <button>Sign out</button></form>`;
}
