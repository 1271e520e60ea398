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

/** "3m20s": how long something takes or has taken, as of now. */
export function lasting(seconds: number): Html {
  return html`<time datetime="PT${Math.max(0, Math.round(seconds))}S">${durationText(seconds)}</time>`;
}
