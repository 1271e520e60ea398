/** Something to know first: what is wrong, what waits, what is done. */
import { html } from "hono/html";
import type { Html } from "../visit.ts";
import type { Mood } from "./phase.ts";

/** `bad` is read out at once by a screen reader. */
export function notice(mood: Mood, content: Html | string): Html {
  return html`<div class="notice ${mood}" role="${mood === "bad" ? "alert" : "status"}">${content}</div>`;
}
