/** Where a page is: the pages above it. */
import { html } from "hono/html";
import { fleetPath } from "../paths.ts";
import type { Html } from "../visit.ts";
import { visible } from "./text.ts";

type Step = readonly [name: string, path?: string];

/** The last step is the page itself. */
export function crumbs(...steps: readonly Step[]): Html {
  return html`<nav class="crumbs" aria-label="Breadcrumbs">
    <ol>
      ${[["Fleet", fleetPath()] as Step, ...steps].map(
        ([name, path]) =>
          html`<li>
            ${
              path === undefined
                ? html`<span aria-current="page">${visible(name)}</span>`
                : html`<a href="${path}">${visible(name)}</a>`
            }
          </li>`,
      )}
    </ol>
  </nav>`;
}
