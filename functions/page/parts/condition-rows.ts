/** Conditions of an object, as a table. */
import { html } from "hono/html";
import type { Html } from "../visit.ts";
import { badge, type Mood } from "./phase.ts";
import { told, visible } from "./text.ts";
import { ago } from "./time.ts";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

type Moods = Readonly<Record<string, Mood>>;

/** `moods`: of each status; without it, none is good or bad by itself. */
export function conditionRows(conditions: readonly Condition[], now: Date, moods: Moods = {}): Html {
  return html`<table class="rows">
    <thead>
      <tr>
        <th scope="col">Condition</th>
        <th scope="col">Status</th>
        <th scope="col">Since</th>
        <th scope="col">Message</th>
      </tr>
    </thead>
    <tbody>
      ${conditions.map(
        ({ type, status, reason, message, lastTransitionTime }) =>
          html`<tr>
            <th scope="row">${told(type)}</th>
            <td data-label="Status">${badge(visible(status), moods[status] ?? "quiet")} ${told(reason)}</td>
            <td data-label="Since">${ago(lastTransitionTime, now)}</td>
            <td data-label="Message">${told(message)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}
