/** Evacuations as a table: of a cluster, or of a VM. */
import { html } from "hono/html";
import { isActive } from "../../../shared/policy/evacuation/phase.ts";
import { type EvacuationFacts, isFinal, type MigrationFacts } from "../../../shared/policy/facts.ts";
import { nodePath, vmPath } from "../paths.ts";
import type { Html } from "../visit.ts";
import { badge, type Mood, phaseBadge } from "./components.ts";
import { CAUSE_WORDS } from "./phase-words.ts";
import { ago, lasting, told, visible } from "./text.ts";
import { endOf } from "./under-way.ts";

export interface EvacuationRows {
  readonly cluster: string;
  readonly caption: Html | string;
  readonly evacuations: readonly EvacuationFacts[];
  /** So many are shown; the rest is counted. */
  readonly most: number;
  readonly now: Date;
  /** Of one VM: each row need not say which. */
  readonly ofOneVm?: boolean;
}

export function evacuationRows({ cluster, caption, evacuations, most, now, ofOneVm = false }: EvacuationRows): Html {
  const shown = evacuations.slice(0, most);
  const more = evacuations.length - shown.length;
  return html`<table class="rows">
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${ofOneVm ? "" : html`<th scope="col">VM</th>`}
          <th scope="col">Phase</th>
          <th scope="col">From → to</th>
          <th scope="col">Cause</th>
          <th scope="col">Attempts</th>
          <th scope="col">When</th>
          <th scope="col">Message</th>
        </tr>
      </thead>
      <tbody>
        ${shown.map((one) => rowOf(one, { cluster, now, ofOneVm }))}
      </tbody>
    </table>
    ${more > 0 ? html`<p class="muted">${more} more: <code>kubectl get evacuations -A</code> lists all.</p>` : ""}`;
}

function rowOf(
  one: EvacuationFacts,
  { cluster, now, ofOneVm }: Required<Pick<EvacuationRows, "cluster" | "now" | "ofOneVm">>,
): Html {
  const { spec, status } = one;
  return html`<tr data-key="${one.uid}">
    ${ofOneVm ? "" : html`<th scope="row">${vmLink(cluster, one)}</th>`}
    <td data-label="Phase">${phaseBadge(status.phase)}</td>
    <td data-label="From → to">${move(cluster, status.sourceNode, status.targetNode)}</td>
    <td data-label="Cause">${CAUSE_WORDS[spec.cause]}${askedBy(spec.requestedBy)}</td>
    <td data-label="Attempts">${status.attempts === 0 ? "" : String(status.attempts)}</td>
    <td data-label="When">${whenOf(one, now)}</td>
    <td data-label="Message">${told(status.message)}</td>
  </tr>`;
}

export function vmLink(cluster: string, { namespace, spec }: EvacuationFacts): Html {
  const { vmiName: name } = spec;
  return html`<a href="${vmPath(cluster, { namespace, name })}">${visible(`${namespace}/${name}`)}</a>`;
}

export function move(cluster: string, from: string | undefined, to: string | undefined): Html | "" {
  if (from === undefined && to === undefined) return "";
  return html`<span class="move"
    >${nodeLink(cluster, from)}${to === undefined ? "" : html` → ${nodeLink(cluster, to)}`}</span
  >`;
}

export function nodeLink(cluster: string, node: string | undefined): Html | "" {
  return node === undefined || node === "" ? "" : html`<a href="${nodePath(cluster, node)}">${visible(node)}</a>`;
}

function askedBy(name: string): Html | "" {
  return name === "" ? "" : html` <span class="muted">asked by ${told(name)}</span>`;
}

/** Since when, or when it ended and how long it took. */
function whenOf(one: EvacuationFacts, now: Date): Html {
  const end = endOf(one);
  if (isActive(one) || end === 0) return ago(new Date(one.createdAt), now);
  return html`${ago(new Date(end), now)}, took ${lasting((end - one.createdAt) / 1000)}`;
}

const MOST_MIGRATIONS = 50;

export function migrationRows(cluster: string, migrations: readonly MigrationFacts[], now: Date): Html {
  if (migrations.length === 0) return html`<div class="empty"><p>KubeVirt has none of this VM.</p></div>`;
  const newest = migrations.toSorted((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? 1 : -1));
  const more = newest.length - MOST_MIGRATIONS;
  return html`<table class="rows">
      <caption>
        Newest first
      </caption>
      <thead>
        <tr>
          <th scope="col">Migration</th>
          <th scope="col">Phase</th>
          <th scope="col">From → to</th>
          <th scope="col">Begun</th>
          <th scope="col">Why</th>
        </tr>
      </thead>
      <tbody>
        ${newest.slice(0, MOST_MIGRATIONS).map(
          (one) =>
            html`<tr data-key="${one.uid}">
              <th scope="row">${told(one.name)}</th>
              <td data-label="Phase">${badge(visible(one.phase) || "New", moodOf(one))}</td>
              <td data-label="From → to">${move(cluster, one.sourceNode, one.targetNode)}</td>
              <td data-label="Begun">${ago(new Date(one.createdAt), now)}</td>
              <td data-label="Why">${told(whyOf(one))}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${more > 0 ? html`<p class="muted">${more} more: <code>kubectl get vmim</code> lists all.</p>` : ""}`;
}

function moodOf({ phase, blockedBy }: MigrationFacts): Mood {
  if (phase === "Succeeded") return "good";
  if (phase === "Failed") return "bad";
  return blockedBy === undefined ? "busy" : "warn";
}

/** What went wrong or keeps it waiting; else who wanted it. */
function whyOf(migration: MigrationFacts): string {
  const { failureReason, blockedBy, evacuates, cause } = migration;
  if (failureReason !== undefined) return failureReason;
  if (blockedBy !== undefined && !isFinal(migration)) return `waits: ${blockedBy.message ?? blockedBy.type}`;
  if (cause !== undefined) return `created by Lifeboat: ${cause}`;
  return evacuates === undefined ? "" : `created by KubeVirt, to evacuate ${evacuates}`;
}
