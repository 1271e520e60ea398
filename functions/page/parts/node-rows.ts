/** The nodes of a cluster: what is on each, and what keeps VMs away from it. */
import { html } from "hono/html";
import type { NodeFacts } from "../../../shared/policy/facts.ts";
import { carriesDrainTaint } from "../../../shared/policy/kube/taints.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import type { Census } from "../cluster-reads.ts";
import { nodePath } from "../paths.ts";
import type { Html } from "../visit.ts";
import { nodeLink } from "./evacuation-rows.ts";
import { visible } from "./text.ts";
import { badge, type Mood } from "./components.ts";

const MOST_NODES = 300;

export function nodeRows(cluster: string, { nodes, vmsOn }: Census, settings: Settings): Html {
  const all = nodes
    .map((node) => ({ node, states: nodeStates(node, settings) }))
    .toSorted((a, b) => b.states.length - a.states.length || (a.node.name < b.node.name ? -1 : 1));
  const more = all.length - MOST_NODES;
  return html`<table class="rows">
      <caption>
        Would a drain succeed? The page of each node says.
      </caption>
      <thead>
        <tr>
          <th scope="col">Node</th>
          ${vmsOn === undefined ? "" : html`<th scope="col">VMs</th>`}
          <th scope="col">State</th>
          <th scope="col">Drain</th>
        </tr>
      </thead>
      <tbody>
        ${all.slice(0, MOST_NODES).map(
          ({ node: { name }, states }) =>
            html`<tr data-key="${visible(name)}">
              <th scope="row">${nodeLink(cluster, name)}</th>
              ${vmsOn === undefined ? "" : html`<td data-label="VMs">${String(vmsOn.get(name) ?? 0)}</td>`}
              <td data-label="State">
                ${states.length === 0 ? badge("Ready", "good") : states.map(([word, mood]) => html`${badge(word, mood)} `)}
              </td>
              <td data-label="Drain">
                <a href="${nodePath(cluster, name)}">Would a drain of ${visible(name)} succeed?</a>
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${more > 0 ? html`<p class="muted">${more} more: <code>kubectl get nodes</code> lists all.</p>` : ""}`;
}

export type NodeState = readonly [word: string, mood: Mood];

/** Nothing: ready, and VMs may come. */
export function nodeStates(node: NodeFacts, settings: Settings): readonly NodeState[] {
  return [
    ...(node.ready ? [] : [["NotReady", "bad"] as const]),
    ...node.pressures.map((pressure) => [pressure, "bad"] as const),
    ...(carriesDrainTaint(node, settings) ? [["Drain taint", "warn"] as const] : []),
    ...(node.unschedulable ? [["Cordoned", "warn"] as const] : []),
    ...(node.endsAt === undefined ? [] : [["Is to end", "warn"] as const]),
  ];
}
