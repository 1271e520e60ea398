/** A line for a terminal, to copy: what a page shows or does can be had there, too. */
import { html } from "hono/html";
import type { Html } from "../visit.ts";

/** The script adds a button that copies it. */
export function commandLine(text: string): Html {
  return html`<code class="command">${text}</code>`;
}
