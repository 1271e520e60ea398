/** Moments and durations, as people read them. */
import { html } from "hono/html";
import { durationText } from "../../../shared/policy/duration-text.ts";
import type { Html } from "../visit.ts";

/** "12m ago"; the exact moment for those who point at it. */
export function ago(time: string | Date, now: Date): Html {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return html`<span>at an unknown time</span>`;
  const words = durationText((now.getTime() - at.getTime()) / 1000);
  return html`<time datetime="${at.toISOString()}" title="${at.toISOString()}">${words} ago</time>`;
}
