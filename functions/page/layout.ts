/** The frame of every page. */
import { html, raw } from "hono/html";
import { durationText } from "../../shared/policy/duration-text.ts";
import { ASSETS } from "./assets/assets.ts";
import { visible } from "./parts/text.ts";
import { fleetPath } from "./paths.ts";
import type { Html } from "./visit.ts";

export interface Frame {
  readonly title: string;
  /** Absent: nobody is signed in. */
  readonly visitor?: string;
  /** Absent on a page that does not change. */
  readonly live?: Live;
  /** What has come of what the visitor has just done: stays while `main` changes. */
  readonly said?: Html | undefined;
  readonly main: Html | string;
}

interface Live {
  /** Of the page, and of its stream. */
  readonly path: string;
  /** Of what is shown. */
  readonly ageSeconds: number;
}

export function layout({ title, visitor, live, said, main }: Frame): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${visible(title)} · Lifeboat</title>
        <link rel="icon" type="image/svg+xml" href="${ASSETS.icon.path}" />
        <link rel="stylesheet" href="${ASSETS.style.path}" />
        <script src="${ASSETS.script.path}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header class="top">
          <a class="home" href="${fleetPath()}"
            ><img src="${ASSETS.icon.path}" alt="" width="28" height="28" />Lifeboat</a
          >
          ${live === undefined ? "" : asOf(live)} ${visitor === undefined ? "" : signOut(visitor)}
        </header>
        ${said === undefined ? "" : html`<div class="said">${said}</div>`}
        <main id="main" tabindex="-1">${typeof main === "string" ? raw(main) : main}</main>
      </body>
    </html> `;
}

/** The script keeps it true. */
function asOf({ path, ageSeconds }: Live): Html {
  return html`<p class="asof" id="asof" data-stream="${path}" data-age="${ageSeconds.toFixed(1)}">
    <span class="dot" aria-hidden="true"></span>
    <span class="words">as of ${durationText(ageSeconds)} ago</span>
    <a href="${path}">Refresh</a>
  </p>`;
}

function signOut(visitor: string): Html {
  return html`<form class="visitor" method="post" action="/signout">
    <span>${visible(visitor)}</span>
    <button type="submit">Sign out</button>
  </form>`;
}
