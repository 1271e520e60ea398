/** The frame of every page, the files that the page loads, and the error page. */
import { html } from "hono/html";
import type { Platform } from "../env.ts";
import { type Reason, rejectionOf, type RenderedError, renderRejection } from "../errors.ts";
import { FLEET_PATH, type Html, sentence, signInPath, visible } from "./components.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";
import type { PageContext } from "./session.ts";

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke-width="7"><circle cx="16" cy="16" r="11.5" stroke="#0f7f8c"/><circle cx="16" cy="16" r="11.5" stroke="#f4f7f7" stroke-dasharray="6.02 12.04" stroke-dashoffset="3.01"/></g><g fill="none" stroke="#0a5c66" stroke-width="1.2"><circle cx="16" cy="16" r="15"/><circle cx="16" cy="16" r="8"/></g></svg>
`;

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly content: string;
}

/** Hashes a file with FNV-1a (32 bits). */
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
  /** The name of the signed-in user. Absent if nobody is signed in. */
  readonly visitor?: string;
  /** The address from which the page refreshes itself. Absent if the page does not change. */
  readonly path?: string;
  /** The seconds between two refreshes. */
  readonly every?: number;
  readonly main: Html;
}

export interface Shown extends Required<Pick<Frame, "title" | "every">> {
  readonly main: Html;
}

export function layout({ title, visitor, path, every = 5, main }: Frame): Html {
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
          ${path === undefined ? "" : asOf(path, every)} ${visitor === undefined ? "" : signOut(visitor)}
        </header>
        <main id="main" tabindex="-1">${main}</main>
      </body>
    </html> `;
}

function asOf(path: string, every: number): Html {
  return html`<p class="asof" id="asof" data-path="${path}" data-every="${every}">
    <span class="dot" aria-hidden="true"></span>
    <span class="words"></span>
    <a href="${path}">Refresh</a>
  </p>`;
}

function signOut(visitor: string): Html {
  return html`<form class="visitor" method="post" action="/signout">
    <span>${visible(visitor)}</span>
    <button type="submit">Sign out</button>
  </form>`;
}

/** Answers with an error page. A visitor who is not signed in gets the sign-in page. */
export async function answerError(c: PageContext, error: unknown, platform: Platform): Promise<Response> {
  const rendered = renderRejection(rejectionOf(error, platform.log));
  const { code, body } = rendered;
  if (body.error.reason === "Unauthorized") return c.redirect(signInPath(c.req.path), 303);
  const [title, words] = wordsOf(rendered);
  const main = html`<h1>${title}</h1>
    <p class="lead">${words}</p>
    <p class="acts"><a href="${FLEET_PATH}">To the fleet</a></p>`;
  return c.html(await layout({ title, main }), code);
}

type Words = readonly [title: string, words: string];

/** The titles and texts of error pages. The text for `InternalError` gives no details. */
// prettier-ignore
const BY_REASON: Partial<Record<Reason, Words>> = {
  NotFound:             ["No such page", "Lifeboat has no page at this address."],
  UnknownCluster:       ["No such cluster", "Lifeboat's configuration has no cluster of this name."],
  NodeNotFound:         ["No such node", "The cluster has no node of this name. The node might have been removed."],
  NodeEvacuationNotFound: ["No such NodeEvacuation", "The cluster has no NodeEvacuation of this name. If the lifeboat command created a NodeEvacuation, Lifeboat deletes it some time after its end."],
  RollingMaintenanceNotFound: ["No such RollingMaintenance", "The cluster has no RollingMaintenance of this name. If the lifeboat command created a RollingMaintenance, Lifeboat deletes it some time after its end."],
  VmNotFound:           ["No such virtual machine", "The VM does not run, and no evacuation or migration of it is left. The setting evacuation.historySeconds limits how long Lifeboat keeps an ended evacuation."],
  InvalidConfiguration: ["Lifeboat is not set up for this cluster", "The entry of the cluster in CLUSTERS or in the registry is not valid. Lifeboat's log says why, and so does lifeboat doctor."],
  ClusterUnavailable:   ["The cluster cannot be read", "Until Lifeboat can read the cluster, the webhook's failurePolicy decides whether an eviction is allowed. Try again in a moment, or run lifeboat doctor."],
  ObjectUnreadable:     ["The object cannot be read", "Correct the object, then reload this page."],
  InternalError:        ["Something went wrong", "Lifeboat cannot show this page because of an unexpected error. Lifeboat's log describes the error. Your VMs are not affected."],
};

function wordsOf({ body }: RenderedError): Words {
  const { reason, message } = body.error;
  const [title, words] = BY_REASON[reason] ?? ["Lifeboat cannot do that", "Nothing was changed."];
  const isSaid = BY_REASON[reason] === undefined || reason === "ClusterUnavailable" || reason === "ObjectUnreadable";
  return [title, isSaid ? `${sentence(message)} ${words}` : words];
}
