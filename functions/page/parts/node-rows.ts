/** The nodes of a cluster: what is on each, and what keeps VMs away from it. */
import { html } from "hono/html";
import type { Cause } from "../../../shared/policy/cause.ts";
import type { NodeFacts } from "../../../shared/policy/facts.ts";
import { carriesDrainTaint } from "../../../shared/policy/kube/taints.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import type { Census, ClusterView, LeftNodeView } from "../cluster-reads.ts";
import { nodePath } from "../paths.ts";
import type { Html, Seen } from "../visit.ts";
import { badge, commandLine, type Mood } from "./components.ts";
import { nodeLink } from "./evacuation-rows.ts";
import { counted } from "./fleet-words.ts";
import { CAUSE_WORDS } from "./phase-words.ts";
import { ago, shellLine, told, visible } from "./text.ts";

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

type Place = Pick<Seen, "cluster" | "now">;

export function leftNodeRows({ leftNodes }: Pick<ClusterView, "leftNodes">, { cluster, now }: Place): Html | "" {
  if (leftNodes.length === 0) return "";
  const title = leftNodes.some(({ since }) => since !== undefined) ? "Nodes being emptied" : "Cordoned nodes with VMs";
  return html`<section>
    <h2>${title}</h2>
    <table class="rows">
      <caption>
        What blocks, and how far each VM is: on the page of the node
      </caption>
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">VMs gone</th>
          <th scope="col">Blocked</th>
          <th scope="col">Because of</th>
          <th scope="col">Since</th>
        </tr>
      </thead>
      <tbody>
        ${leftNodes.map((node) => leftNodeRow(node, cluster, now))}
      </tbody>
    </table>
    ${commandLine(shellLine("lifeboat", "explain", "node", leftNodes[0]?.name ?? ""))}
  </section>`;
}

function leftNodeRow(node: LeftNodeView, cluster: string, now: Date): Html {
  const { name, causes, requestedBy, since } = node;
  const blocked = node.blocked + node.heldFast.length;
  const why = causes.length === 0 ? "cordoned; nothing asks its VMs to leave now" : causes.map(causeWords).join(", ");
  return html`<tr data-key="${visible(name)}">
    <th scope="row">${nodeLink(cluster, name)}</th>
    <td data-label="VMs gone">${since === undefined ? staying(node) : gone(node)}</td>
    <td data-label="Blocked">
      ${blocked === 0 ? "" : badge(`${blocked} blocked`, since === undefined ? "warn" : "bad")}
    </td>
    <td data-label="Because of">
      ${why}
      ${requestedBy.length === 0 ? "" : html`<span class="muted">asked by ${told(requestedBy.join(", "))}</span>`}
    </td>
    <td data-label="Since">${since === undefined ? "" : ago(new Date(since), now)}</td>
  </tr>`;
}

function causeWords(cause: Cause): string {
  return CAUSE_WORDS[cause];
}

function staying(node: LeftNodeView): string {
  return `${counted(node.staying ?? 0, "VM")} there`;
}

/** Where it is not known how many are still there, those that are under way count. */
function gone({ name, gone: left, leaving, staying }: LeftNodeView): Html {
  const there = Math.max(staying ?? leaving, leaving);
  const total = left + there;
  const text = `${left} of ${total}${staying === undefined ? " or more" : ""}`;
  return html`<span class="progress"
    ><progress value="${left}" max="${Math.max(total, 1)}" aria-label="VMs gone from ${visible(name)}"></progress>
    ${text}</span
  >`;
}
