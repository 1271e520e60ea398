/** A line for a terminal, to copy: what a page shows or does can be had there, too. */
import { html } from "hono/html";
import type { Html } from "../visit.ts";

/** The button is shown where there is a script that copies. */
export function commandLine(text: string): Html {
  return html`<span class="command"
    ><code>${text}</code><button type="button" aria-label="Copy: ${text}">Copy</button></span
  >`;
}
