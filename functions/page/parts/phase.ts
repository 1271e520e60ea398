/** The phase of an Evacuation, or a verdict, as a coloured word. */
import { html } from "hono/html";
import type { Phase } from "../../../shared/policy/evacuation/phase.ts";
import type { Html } from "../visit.ts";

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
