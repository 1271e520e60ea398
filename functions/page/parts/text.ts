/** What a cluster or another person has written, for a page and for a shell. */
import { html } from "hono/html";
import { durationText } from "../../../shared/policy/duration-text.ts";
import type { Html } from "../visit.ts";

const LONGEST = 1024;
/** Control characters, and those that turn the direction of what follows them. */
// oxlint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;

/** Words of another party: isolated, so that they turn nothing around them. */
export function told(text: string | undefined): Html | "" {
  if (text === undefined || text === "") return "";
  const isLong = text.length > LONGEST;
  return html`<bdi>${visible(isLong ? `${text.slice(0, LONGEST).toWellFormed()}…` : text)}</bdi>`;
}

export function visible(text: string): string {
  return text.replaceAll(UNSEEN, " ");
}

/** Words of a command line, quoted where a shell would take them for more than a word. */
export function shellLine(...words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))).join(" ");
}

function quoted(word: string): string {
  return `'${visible(word).replaceAll("'", String.raw`'\''`)}'`;
}

export function sentence(words: string): string {
  if (words === "") return "";
  const [first = "", ...rest] = words.split(/(?<=^.)/su);
  const text = first.toUpperCase() + rest.join("");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

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
