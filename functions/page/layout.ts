/** The frame of every page, and the files that it loads. */
import { html, raw } from "hono/html";
import { durationText } from "../../shared/settings/duration-text.ts";
import { type Html, visible } from "./components.ts";
import { FLEET_PATH } from "./links.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

/** The mark: a lifebuoy, cut where a light and a dark surface would both show it. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke-width="7"><circle cx="16" cy="16" r="11.5" stroke="#0f7f8c"/><circle cx="16" cy="16" r="11.5" stroke="#f4f7f7" stroke-dasharray="6.02 12.04" stroke-dashoffset="3.01"/></g><g fill="none" stroke="#0a5c66" stroke-width="1.2"><circle cx="16" cy="16" r="15"/><circle cx="16" cy="16" r="8"/></g></svg>
`;

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly content: string;
}

/** FNV-1a, 32 bits: tells versions apart, secures nothing. */
function versionOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

export const ASSETS = {
  icon: { path: `/assets/${versionOf(ICON)}.svg`, type: "image/svg+xml", content: ICON },
  style: { path: `/assets/${versionOf(STYLE)}.css`, type: "text/css; charset=utf-8", content: STYLE },
  script: { path: `/assets/${versionOf(SCRIPT)}.js`, type: "text/javascript; charset=utf-8", content: SCRIPT },
} as const satisfies Record<string, Asset>;

export interface Frame {
  readonly title: string;
  /** Absent: nobody is signed in. */
  readonly visitor?: string;
  /** Absent on a page that does not change. */
  readonly live?: Live;
  /** What has come of what the visitor has just done: stays while `main` changes. */
  readonly result?: Html | undefined;
  readonly main: Html | string;
}

interface Live {
  /** Of the page, and of its stream. */
  readonly path: string;
  /** Of what is shown. */
  readonly ageSeconds: number;
}

export function layout({ title, visitor, live, result, main }: Frame): Html {
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
          <a class="home" href="${FLEET_PATH}"
            ><img src="${ASSETS.icon.path}" alt="" width="28" height="28" />Lifeboat</a
          >
          ${live === undefined ? "" : asOf(live)} ${visitor === undefined ? "" : signOut(visitor)}
        </header>
        ${result === undefined ? "" : html`<div class="said">${result}</div>`}
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
