/** Renders the table of a cluster's nodes. Each row shows the number of VMs and the known obstacles to a drain. */
import { html } from "hono/html";
import { isHeldFast } from "../../shared/eviction/table.ts";
import type { Client } from "../../shared/kube/client.ts";
import { type EvacuationFacts, isActive } from "../../shared/kube/evacuation.ts";
import type { NodeFacts, VmiFacts } from "../../shared/kube/facts.ts";
import { NODE_NAME_LABEL } from "../../shared/kube/names.ts";
import { carriesDrainTaint, isFinal } from "../../shared/kube/objects.ts";
import { type Departures, departuresFrom, type NodeState, nodeState } from "../../shared/preflight/progress.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { strategyOf } from "../../shared/settings/strategy.ts";
import { unlessUnreadable } from "../errors.ts";
import type { Target } from "../target.ts";
import { badge, type Column, counted, type Html, type Labelled, nodeLink, progressBar, table } from "./components.ts";

const MOST_NODES = 300;

/** The numbers of VMs on each node, for recently read clusters. */
export type RecentVms = Map<string, { readonly at: number; readonly byNode: VmsByNode }>;
interface VmsByNode {
  readonly of: ReadonlyMap<string, { readonly vms: number; readonly held: number }>;
  /** A text for each VMI that cannot be parsed: `namespace/name: what is wrong`. */
  readonly odd: readonly string[];
}
const MAX_AGE_MS = 30_000;
const MOST_KEPT = 16;
/** The time limit for counting the VMs of a cluster. After the limit, the page shows no numbers. */
const COUNT_MS = 4000;

interface Counting {
  readonly client: Client;
  readonly settings: Settings;
  readonly recent: RecentVms;
}

/** Counts the VMs on each node. Returns undefined if the VMIs could not be read in time. */
export async function countVms(target: Target, { client, settings, recent }: Counting): Promise<VmsByNode | undefined> {
  const now = target.platform.now().getTime();
  const known = recent.get(target.name);
  if (known !== undefined && now - known.at <= MAX_AGE_MS) return known.byNode;
  const odd: string[] = [];
  const onOdd = (issue: string) => void odd.push(issue);
  const vmis = await client.list("virtualmachineinstances", { withinMs: COUNT_MS, onOdd }).catch(unlessUnreadable);
  if (vmis === undefined) return undefined;
  const running = Map.groupBy(
    vmis.filter((vmi) => !isFinal(vmi)),
    ({ nodeName = "" }) => nodeName,
  );
  const of = new Map(
    [...running].map(([node, here]) => [
      node,
      { vms: here.length, held: here.filter((vmi) => staysFor(vmi, settings)).length },
    ]),
  );
  const byNode = { of, odd };
  recent.delete(target.name);
  recent.set(target.name, { at: now, byNode });
  for (const oldest of recent.keys()) if (recent.size > MOST_KEPT) recent.delete(oldest);
  return byNode;
}

/** Returns whether the VM can leave only if its owner or its external controller acts. */
function staysFor(vmi: VmiFacts, settings: Settings): boolean {
  return isHeldFast(vmi, settings) || strategyOf(vmi, settings) === "External";
}

export function isClosed(node: NodeFacts, settings: Settings): boolean {
  return node.unschedulable || carriesDrainTaint(node, settings);
}

/** Reads the VMs that a drain of these nodes still has to move. Also returns whether a VMI cannot be parsed. */
export async function vmisOnAny(nodes: readonly string[], client: Client) {
  let isPartlySeen = false;
  const onOdd = () => void (isPartlySeen = true);
  const found = await client.list("virtualmachineinstances", { labels: { [NODE_NAME_LABEL]: nodes }, onOdd });
  return { vmis: found.filter((vmi) => !isFinal(vmi)), isPartlySeen };
}

export interface NodeLine {
  readonly name: string;
  readonly state: NodeState;
  readonly conditions: readonly Labelled[];
  readonly departures: Departures;
  /**
   * The number of VMs that are still on the node. If the node is not cordoned and has no drain taint, counts only VMs
   * with an active Evacuation.
   */
  readonly left: number;
  readonly blocked: number;
  /**
   * The number of VMs on the node, and how many of them would block a drain. Undefined if Lifeboat could not count the
   * VMs, or found no VM on the node but could not read every VMI.
   */
  readonly onIt: { readonly vms: number; readonly held: number } | undefined;
}

interface Around {
  readonly evacuations: readonly EvacuationFacts[];
  readonly vmis: readonly VmiFacts[];
  readonly isPartlySeen: boolean;
  readonly settings: Settings;
  readonly vmCounts: VmsByNode | undefined;
}

const STATES: readonly NodeState[] = ["Draining", "Cordoned", "Drained", "InUse"];

/**
 * Returns a table row for each node. Draining nodes come first. Nodes of the same state are sorted by their number of
 * blocked VMs.
 */
export function nodeLines(
  nodes: readonly NodeFacts[],
  { evacuations, vmis, isPartlySeen, settings, vmCounts }: Around,
): readonly NodeLine[] {
  const from = Map.groupBy(evacuations, ({ status }) => status.sourceNode ?? "");
  const on = Map.groupBy(vmis, ({ nodeName }) => nodeName ?? "");
  const lines = nodes.map((node): NodeLine => {
    const own = from.get(node.name) ?? [];
    const there = on.get(node.name) ?? [];
    const seen = isClosed(node, settings) ? there : leaving(own, node);
    const departures = departuresFrom({ node, settings, evacuations: own, vmis: seen });
    const held = there.filter((vmi) => isHeldFast(vmi, settings)).length;
    return {
      name: node.name,
      state: nodeState({ node, settings }, seen.length, { ...departures, isPartlySeen }),
      conditions: conditionsOf(node, settings),
      departures,
      left: seen.length,
      blocked: departures.active.filter(isBlocked).length + held,
      onIt: vmCounts && (vmCounts.of.get(node.name) ?? (vmCounts.odd.length > 0 ? undefined : { vms: 0, held: 0 })),
    };
  });
  const rank = ({ state }: NodeLine) => STATES.indexOf(state);
  return lines.toSorted(
    (a, b) =>
      rank(a) - rank(b) ||
      b.blocked - a.blocked ||
      b.conditions.length - a.conditions.length ||
      (a.name < b.name ? -1 : 1),
  );
}

function leaving(evacuations: readonly EvacuationFacts[], { name: nodeName }: NodeFacts) {
  return evacuations.filter(isActive).map(({ namespace, spec }) => ({ namespace, name: spec.vmiName, nodeName }));
}

function isBlocked({ status: { phase } }: EvacuationFacts): boolean {
  return phase === "Blocked" || phase === "WaitingForExternalController";
}

function conditionsOf(node: NodeFacts, settings: Settings): readonly Labelled[] {
  return [
    ...(node.ready ? [] : [["NotReady", "bad"] as const]),
    ...node.pressures.map((pressure) => [pressure, "bad"] as const),
    ...(carriesDrainTaint(node, settings) ? [["Drain taint", "warn"] as const] : []),
    ...(node.unschedulable ? [["Cordoned", "warn"] as const] : []),
    ...(node.endsAt === undefined ? [] : [["Will be terminated", "warn"] as const]),
  ];
}

export function nodeTable(lines: readonly NodeLine[], cluster: string): Html {
  const columns: readonly Column<NodeLine>[] = [
    { head: "Node", cell: ({ name }) => nodeLink(cluster, name) },
    { head: "State", cell: stateCell },
    { head: "VMs", cell: vmsCell },
    { head: "A drain", cell: drainCell },
  ];
  const caption = "The page of a node has the full forecast of its drain";
  return table(lines, { key: ({ name }) => name, columns, caption, most: MOST_NODES });
}

function stateCell({ state, conditions }: NodeLine): Html {
  const isUsual = conditions.length === 0 && state !== "Draining";
  return html`${state === "Draining" ? badge("Being drained", "busy") : ""}
  ${isUsual ? badge("Ready", "good") : conditions.map((one) => html`${badge(...one)} `)}`;
}

function vmsCell({ name, state, left, departures: { gone }, onIt }: NodeLine): Html | string {
  if (state !== "Draining") return onIt === undefined ? "" : counted(onIt.vms, "VM");
  const total = gone.length + left;
  const bar = progressBar(gone.length, total, `VMs gone from ${name}`);
  return html`<span class="progress">${bar} ${gone.length} of ${total} gone</span>`;
}

function drainCell({ state, blocked, onIt }: NodeLine): Html | "" {
  if (blocked > 0) return badge(counted(blocked, "VM", ["blocks it", "block it"]), "bad");
  if (state === "Draining") return badge("In progress", "busy");
  if (state === "Drained") return badge("No VM is left", "good");
  if (onIt === undefined) return "";
  if (onIt.held > 0) return badge(counted(onIt.held, "VM", ["would block it", "would block it"]), "warn");
  return badge(onIt.vms === 0 ? "No VM to move" : "No known blocker", "quiet");
}
