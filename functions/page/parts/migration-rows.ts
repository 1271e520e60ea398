/** The migrations of a VM, as KubeVirt keeps them: newest first. */
import { html } from "hono/html";
import { isFinal, type MigrationFacts } from "../../../shared/policy/facts.ts";
import type { Html } from "../visit.ts";
import { move } from "./evacuation-rows.ts";
import { badge, type Mood } from "./components.ts";
import { ago, told, visible } from "./text.ts";

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
