/** A cluster: its nodes, those that are being emptied first; what leaves, and what has left. */
import { html } from "hono/html";
import { type EvacuationFacts, isActive } from "../../shared/kube/evacuation.ts";
import type { NodeFacts } from "../../shared/kube/facts.ts";
import { type Departures, departuresFrom, type NodeState, nodeState } from "../../shared/preflight/progress.ts";
import {
  ago,
  badge,
  type Column,
  counted,
  crumbs,
  fromTerminal,
  type Html,
  isolated,
  type Labelled,
  lasting,
  nodeLink,
  progressBar,
  section,
  table,
  visible,
} from "./components.ts";
import { evacuationTable, type Sorted, sortEvacuations } from "./evacuations.ts";
import { type ClusterView, readCluster, type VmsOfNode } from "./reads.ts";
import type { LivePage, Seen } from "./stream.ts";
import type { Visit } from "./visits.ts";
import { CAUSES, problemNotices } from "./words.ts";
import { carriesDrainTaint } from "../../shared/kube/objects.ts";

const MOST_NODES = 300;
const MOST_OPEN = 200;
const MOST_ENDED = 50;

export function clusterPage({ target }: Visit): LivePage<ClusterView> {
  return { key: "", title: target.name, read: (last) => readCluster(target, last), view: clusterView };
}

function clusterView(view: ClusterView, { cluster, now }: Seen): Html {
  const { historySeconds } = view.settings.evacuation;
  const sorted = sortEvacuations(view.evacuations, now, historySeconds);
  const { needAttention, inProgress, ended } = sorted;
  const open = [...needAttention, ...inProgress];
  const lines = nodeLines(view);
  const caption = html`Kept for ${lasting(historySeconds)}; the newest of a pod as long as the pod exists`;
  return html`${crumbs([cluster])}
    <h1>${visible(cluster)}</h1>
    <p class="lead">${verdictOn(view, sorted, lines)}</p>
    ${problemNotices(view.problems)}
    <section>
      <h2>Nodes</h2>
      ${nodeTable(lines, cluster, now)}
    </section>
    ${section("VMs that leave their node", open, (rows) => evacuationTable(rows, { cluster, now, most: MOST_OPEN }))}
    ${section("Ended lately", ended, (rows) => evacuationTable(rows, { cluster, now, caption, most: MOST_ENDED }))}
    ${fromTerminal("kubectl get evacuations -A -o wide -w", "lifeboat doctor")}`;
}

interface NodeLine {
  readonly name: string;
  readonly state: NodeState;
  readonly conditions: readonly Labelled[];
  readonly departures: Departures;
  readonly vms: VmsOfNode;
  /** Else only VMs are known that an evacuation moves. */
  readonly areAllKnown: boolean;
  /** VMs that a drain that is in progress cannot move. */
  readonly blocked: number;
}

const NO_VMS: VmsOfNode = { vms: [], blocked: 0, shutDown: 0 };
const STATES: readonly NodeState[] = ["Emptying", "Cordoned", "Emptied", "InUse"];

/** Those that are being emptied first, of these those with most that is blocked; then what else is not as usual. */
function nodeLines({ census, evacuations, settings }: ClusterView): readonly NodeLine[] {
  const from = Map.groupBy(evacuations, ({ status }) => status.sourceNode ?? "");
  const lines = census.nodes.map((node): NodeLine => {
    const own = from.get(node.name) ?? [];
    const vms = census.areAllRead ? (census.vmsOn.get(node.name) ?? NO_VMS) : { ...NO_VMS, vms: leaving(own, node) };
    const facts = { node, settings, evacuations: own, vmis: vms.vms };
    const departures = departuresFrom(facts);
    const state = nodeState(facts, vms.vms.length, departures);
    const blocked = departures.active.filter(isBlocked).length + vms.blocked;
    const conditions = conditionsOf(node, settings);
    return { name: node.name, state, conditions, departures, vms, areAllKnown: census.areAllRead, blocked };
  });
  const rank = ({ state }: NodeLine) => STATES.indexOf(state);
  return lines.toSorted(
    (a, b) =>
      rank(a) - rank(b) ||
      (a.state === "Emptying" ? b.blocked - a.blocked : 0) ||
      b.conditions.length - a.conditions.length ||
      (a.name < b.name ? -1 : 1),
  );
}

function leaving(evacuations: readonly EvacuationFacts[], { name: nodeName }: NodeFacts): VmsOfNode["vms"] {
  return evacuations.filter(isActive).map(({ namespace, spec }) => ({ namespace, name: spec.vmiName, nodeName }));
}

function isBlocked({ status: { phase } }: EvacuationFacts): boolean {
  return phase === "Blocked" || phase === "WaitingForOwner";
}

function conditionsOf(node: NodeFacts, settings: ClusterView["settings"]): readonly Labelled[] {
  return [
    ...(node.ready ? [] : [["NotReady", "bad"] as const]),
    ...node.pressures.map((pressure) => [pressure, "bad"] as const),
    ...(carriesDrainTaint(node, settings) ? [["Drain taint", "warn"] as const] : []),
    ...(node.unschedulable ? [["Cordoned", "warn"] as const] : []),
    ...(node.endsAt === undefined ? [] : [["Is to end", "warn"] as const]),
  ];
}

function nodeTable(lines: readonly NodeLine[], cluster: string, now: Date): Html {
  const columns: readonly Column<NodeLine>[] = [
    { head: "Node", cell: ({ name }) => nodeLink(cluster, name) },
    { head: "State", cell: stateCell },
    { head: "VMs", cell: vmsCell },
    { head: "A drain", cell: drainCell },
    { head: "Because of", cell: causeCell },
    { head: "Since", cell: ({ departures, state }) => sinceCell(state, departures, now) },
  ];
  const caption = "Whether other nodes have room is on the page of each node";
  return table(lines, { key: ({ name }) => name, columns, caption, most: MOST_NODES });
}

function stateCell({ state, conditions }: NodeLine): Html {
  const isUsual = conditions.length === 0 && state !== "Emptying";
  return html`${state === "Emptying" ? badge("Being emptied", "busy") : ""}
  ${isUsual ? badge("Ready", "good") : conditions.map((one) => html`${badge(...one)} `)}`;
}

function vmsCell({ name, state, vms: { vms }, areAllKnown, departures: { gone } }: NodeLine): Html | string {
  if (state !== "Emptying") return areAllKnown ? String(vms.length) : "";
  const total = gone.length + vms.length;
  const text = `${gone.length} of ${total}${areAllKnown ? "" : " or more"} gone`;
  return html`<span class="progress">${progressBar(gone.length, total, `VMs gone from ${name}`)} ${text}</span>`;
}

/** What its VMs let one expect. */
function drainCell({ state, blocked, vms }: NodeLine): Html | "" {
  if (blocked > 0) return badge(counted(blocked, "VM", ["blocks it", "block it"]), state === "InUse" ? "warn" : "bad");
  if (vms.vms.length === 0) return "";
  if (vms.shutDown > 0) return badge(`Shuts down ${counted(vms.shutDown, "VM")}`, "warn");
  return badge("VMs can move", "good");
}

function causeCell({ state, departures: { causes, requestedBy } }: NodeLine): Html | "" {
  if (state !== "Emptying") return "";
  const asked =
    requestedBy.length === 0 ? "" : html` <span class="muted">asked by ${isolated(requestedBy.join(", "))}</span>`;
  return html`${causes.map((cause) => CAUSES[cause]).join(", ")}${asked}`;
}

function sinceCell(state: NodeState, { since }: Departures, now: Date): Html | "" {
  return state !== "Emptying" || since === undefined ? "" : ago(since, now);
}

function verdictOn({ census, problems }: ClusterView, sorted: Sorted, lines: readonly NodeLine[]): string {
  const emptying = lines.filter(({ state }) => state === "Emptying");
  const stuck = emptying.filter(({ blocked }) => blocked > 0).length;
  const wrong = problems.filter(({ mood }) => mood === "bad").length;
  const [attention, moving] = [sorted.needAttention.length, sorted.inProgress.length];
  const parts = [
    ...(wrong > 0 ? [`Lifeboat has ${counted(wrong, "problem")} here`] : []),
    ...(attention > 0 ? [`${counted(attention, "VM", ["needs", "need"])} attention`] : []),
    ...(emptying.length > 0 ? [`${counted(emptying.length, "node", ["is", "are"])} being emptied`] : []),
    ...(stuck > 0 ? [`${counted(stuck, "node", ["is", "are"])} blocked`] : []),
    ...(moving > 0 ? [`${counted(moving, "VM", ["is", "are"])} on the move`] : []),
  ];
  const vms = census.vms === undefined ? "" : `${counted(census.vms, "VM")} on `;
  const size = `${vms}${counted(census.nodes.length, "node")}`;
  return parts.length === 0 ? `All is quiet: ${size}.` : `${parts.join(", ")}. ${size}.`;
}
