/** What pages are put together from: a badge, a notice, a command to copy, crumbs, key facts, conditions. */
import { html } from "hono/html";
import type { Phase } from "../../../shared/policy/evacuation/phase.ts";
import { fleetPath } from "../paths.ts";
import type { Html } from "../visit.ts";
import type { ClusterProblem } from "./cluster-problems.ts";
import { ago, told, visible } from "./text.ts";

/** `good`: done as wanted. `busy`: goes on by itself. `bad`: stays so until a person acts. `quiet`: neither. */
export type Mood = "good" | "busy" | "warn" | "bad" | "quiet";

const MOODS = {
  Pending: "busy",
  Migrating: "busy",
  BackingOff: "warn",
  WaitingForOwner: "warn",
  Blocked: "bad",
  Moved: "good",
  Abandoned: "bad",
  Withdrawn: "quiet",
  Duplicate: "quiet",
  Gone: "quiet",
} as const satisfies Record<Phase, Mood>;

export function badge(word: string, mood: Mood): Html {
  return html`<span class="badge ${mood}">${word}</span>`;
}

/** `count`: of several that are in it. */
export function phaseBadge(phase: Phase | undefined, count?: number): Html {
  if (phase === undefined) return badge("New", "busy");
  return badge(count === undefined ? phase : `${count} ${phase}`, MOODS[phase]);
}

/** `bad` is read out at once by a screen reader. */
export function notice(mood: Mood, content: Html | string): Html {
  return html`<div class="notice ${mood}" role="${mood === "bad" ? "alert" : "status"}">${content}</div>`;
}

/** The button is shown where there is a script that copies. */
export function commandLine(text: string): Html {
  return html`<span class="command"
    ><code>${text}</code><button type="button" aria-label="Copy: ${text}">Copy</button></span
  >`;
}

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

export function problemList(problems: readonly ClusterProblem[]): Html {
  return html`${problems.map(({ mood, title, message, command }) =>
    notice(
      mood,
      html`<p><strong>${title}.</strong> ${told(message)}</p>
        ${commandLine(command)}`,
    ),
  )}`;
}

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
