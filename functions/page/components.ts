/** Renders parts of pages, for example links, times, badges, notices, commands and tables. */
import { html } from "hono/html";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import { plain } from "../../shared/kube/plain.ts";
import { durationText } from "../../shared/settings/time.ts";

/**
 * Escaped HTML. The `html` template escapes all inserted text. Use only this template to insert text from a cluster or
 * a visitor.
 */
export type Html = ReturnType<typeof html>;

const LONGEST = 1024;
/** Isolates a text that another party wrote, so that it cannot change the direction of the page's own text. */
export function isolated(text: string | undefined): Html | "" {
  if (text === undefined || text === "") return "";
  const isLong = text.length > LONGEST;
  return html`<bdi>${visible(isLong ? `${text.slice(0, LONGEST).toWellFormed()}…` : text)}</bdi>`;
}

export function visible(text: string): string {
  return plain(text);
}

/** Adds a full stop, and capitalizes the first word unless it is a name such as `node-1`. */
export function sentence(words: string): string {
  if (words === "") return "";
  const [first = "", ...rest] = words.split(/(?<=^.)/su);
  const text = /^\w[\w-]*(?:\.\w|\d)/.test(words) ? words : first.toUpperCase() + rest.join("");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const join = (...parts: readonly string[]) =>
  `/${parts.map((one) => encodeURIComponent(one.toWellFormed())).join("/")}`;

export const FLEET_PATH = "/";
/** Returns the path of the sign-in page. `to` is the page that opens after the sign-in. */
export const signInPath = (to: string) => `/signin?to=${encodeURIComponent(to)}`;
export const clusterPath = (cluster: string) => join("fleet", cluster);
export const nodePath = (cluster: string, node: string) => join("fleet", cluster, "nodes", node);
export const vmPath = (cluster: string, { namespace, name }: NamespacedName) =>
  join("fleet", cluster, "vms", namespace, name);
const nodeEvacuationPath = (cluster: string, name: string) => join("fleet", cluster, "nodeevacuations", name);

const rollingPath = (cluster: string, name: string) => join("fleet", cluster, "rollingmaintenances", name);

export function rollingLink(cluster: string, name: string): Html {
  return html`<a href="${rollingPath(cluster, name)}">${visible(name)}</a>`;
}

export function vmLink(cluster: string, vm: NamespacedName): Html {
  return html`<a href="${vmPath(cluster, vm)}">${visible(`${vm.namespace}/${vm.name}`)}</a>`;
}

export function nodeLink(cluster: string, node: string | undefined): Html | "" {
  return node === undefined || node === "" ? "" : html`<a href="${nodePath(cluster, node)}">${visible(node)}</a>`;
}

export function nodeEvacuationLink(cluster: string, name: string): Html {
  return html`<a href="${nodeEvacuationPath(cluster, name)}">${visible(name)}</a>`;
}

export function move(cluster: string, from: string | undefined, to: string | undefined): Html | "" {
  if (from === undefined && to === undefined) return "";
  return html`<span class="move"
    >${nodeLink(cluster, from)}${to === undefined ? "" : html` → ${nodeLink(cluster, to)}`}</span
  >`;
}

type Step = readonly [name: string, path?: string];

export function crumbs(...steps: readonly Step[]): Html {
  const stepOf = ([name, path]: Step) =>
    path === undefined
      ? html`<li><span aria-current="page">${visible(name)}</span></li>`
      : html`<li><a href="${path}">${visible(name)}</a></li>`;
  return html`<nav class="crumbs" aria-label="Breadcrumbs">
    <ol>
      ${[["Fleet", FLEET_PATH] as const, ...steps].map(stepOf)}
    </ol>
  </nav>`;
}

/** Returns a count with the right plural, such as "3 VMs" or "3 VMs move". */
export function counted(count: number, noun: string, [one, several]: readonly [string, string] = ["", ""]): string {
  const verb = count === 1 ? one : several;
  return `${count} ${noun}${count === 1 ? "" : "s"}${verb === "" ? "" : ` ${verb}`}`;
}

export function ago(time: string | Date | number, now: Date): Html {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return html`<span>at an unknown time</span>`;
  const words = durationText((now.getTime() - at.getTime()) / 1000);
  return html`<time datetime="${at.toISOString()}" title="${at.toISOString()}">${words} ago</time>`;
}

export function lasting(seconds: number): Html {
  return html`<time datetime="PT${Math.max(0, Math.round(seconds))}S">${durationText(seconds)}</time>`;
}

/**
 * How good a state is. `good`: finished. `busy`: in progress. `warn`: at risk. `bad`: in need of a person. `quiet`:
 * neutral.
 */
export type Tone = "good" | "busy" | "warn" | "bad" | "quiet";
export type Labelled = readonly [word: string, mood: Tone];

export function badge(word: string, mood: Tone): Html {
  return html`<span class="badge ${mood}">${word}</span>`;
}

export function notice(mood: Tone, content: Html | string): Html {
  return html`<div class="notice ${mood}" role="${mood === "bad" ? "alert" : "status"}">${content}</div>`;
}

const quoted = (word: string) => `'${visible(word).replaceAll("'", String.raw`'\''`)}'`;

/** Joins the words of a command line, and quotes them for the shell if necessary. */
export function shellLine(...words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))).join(" ");
}

export function commandLine(text: string): Html {
  return html`<span class="command"
    ><code>${text}</code><button type="button" aria-label="Copy: ${text}">Copy</button></span
  >`;
}

export function fromTerminal(...commands: readonly string[]): Html {
  return html`<details data-key="terminal">
    <summary>From a terminal</summary>
    ${commands.map((text) => html`<p>${commandLine(text)}</p>`)}
  </details>`;
}

/** Renders a section. Returns an empty string if there are no rows. */
export function section<T>(title: string, rows: readonly T[], content: (rows: readonly T[]) => Html): Html | "" {
  if (rows.length === 0) return "";
  return html`<section>
    <h2>${title} <span class="muted">${rows.length}</span></h2>
    ${content(rows)}
  </section>`;
}

type Fact = readonly [term: string, value: Html | string];

export function factList(facts: readonly Fact[]): Html | "" {
  const shown = facts.filter(([, value]) => value !== "");
  if (shown.length === 0) return "";
  return html`<dl class="facts">
    ${shown.map(
      ([term, value]) =>
        html`<div>
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Renders a progress bar. `label` is the text for screen readers. */
export function progressBar(done: number, total: number, label: string): Html {
  return html`<progress value="${done}" max="${Math.max(1, total)}" aria-label="${visible(label)}"></progress>`;
}

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => Html | string;
}

interface Table<T> {
  readonly key: (row: T) => string;
  readonly columns: readonly Column<T>[];
  readonly caption?: Html | string;
  /** The maximum number of rows to show. Further rows are only counted. */
  readonly most: number;
}

/** Renders a table. Leaves out columns that are empty in every row. */
export function table<T>(rows: readonly T[], { key, columns, caption, most }: Table<T>): Html {
  const shown = rows.slice(0, most).map((row) => ({ key: key(row), cells: columns.map(({ cell }) => cell(row)) }));
  const heads = columns
    .map(({ head }, at) => ({ head, at }))
    .filter(({ at }) => shown.some((row) => row.cells[at] !== ""));
  const cellOf = (cell: Html | string | undefined, head: string, isFirst: boolean) =>
    isFirst ? html`<th scope="row">${cell}</th>` : html`<td data-label="${head}">${cell}</td>`;
  const more = rows.length - shown.length;
  return html`<table class="rows">
      ${
        caption === undefined
          ? ""
          : html`<caption>
              ${caption}
            </caption>`
      }
      <thead>
        <tr>
          ${heads.map(({ head }) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${shown.map(
          (row) =>
            html`<tr data-key="${visible(row.key)}">
              ${heads.map(({ head, at }, i) => cellOf(row.cells[at], head, i === 0))}
            </tr>`,
        )}
      </tbody>
    </table>
    ${more > 0 ? html`<p class="muted">${more} more are not listed.</p>` : ""}`;
}
