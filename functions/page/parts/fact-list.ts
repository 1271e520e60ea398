/** Key facts, each with its name. */
import { html } from "hono/html";
import type { Html } from "../visit.ts";

/** Left out where there is nothing to say. */
export type Fact = readonly [term: string, value: Html | string];

export function factList(facts: readonly Fact[]): Html | "" {
  const said = facts.filter(([, value]) => value !== "");
  if (said.length === 0) return "";
  return html`<dl class="facts">
    ${said.map(
      ([term, value]) =>
        html`<div>
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}
