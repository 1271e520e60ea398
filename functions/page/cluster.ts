/** A cluster: its nodes, those that are being emptied first; what leaves, and what has left; what is wrong with Lifeboat there. */
import { html } from "hono/html";
import { type Client, named } from "../../shared/kube/client.ts";
import { type EvacuationFacts, isActive } from "../../shared/kube/evacuation.ts";
import type { ConfigurationObserved, NodeFacts, VmiFacts } from "../../shared/kube/facts.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import { CONFIGURATION, NODE_NAME_LABEL } from "../../shared/kube/names.ts";
import { hasEnded } from "../../shared/kube/node-evacuation.ts";
import { carriesDrainTaint, isFinal, ownValue } from "../../shared/kube/objects.ts";
import { type Departures, departuresFrom, type NodeState, nodeState } from "../../shared/preflight/progress.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { isHeldFast } from "../../shared/eviction/table.ts";
import {
  badge,
  type Column,
  commandLine,
  counted,
  crumbs,
  fromTerminal,
  type Html,
  isolated,
  type Labelled,
  lasting,
  nodeLink,
  notice,
  progressBar,
  section,
  table,
  visible,
} from "./components.ts";
import { evacuationTable, type Sorted, sortEvacuations } from "./evacuations.ts";
import type { Shown } from "./layout.ts";
import { maintenanceTable, nodeEvacuationsFor } from "./maintenance.ts";
import type { Visit } from "./session.ts";

const READ_SECONDS = 10;
/** A large cluster has hundreds of nodes, which are all read. */
const EVERY_SECONDS = 10;
const MOST_NODES = 300;
const MOST_OPEN = 200;
const MOST_ENDED = 50;

export async function clusterPage({ target, visitor }: Visit): Promise<Shown> {
  const client = target.connect(READ_SECONDS);
  const { settings } = await target.settings(client);
  const [evacuations, problems, nodes, maintenance] = await Promise.all([
    client.list("evacuations"),
    problemsIn(client),
    client.list("nodes"),
    nodeEvacuationsFor(visitor, client),
  ]);
  const planned = maintenance.filter((ne) => !hasEnded(ne));
  const closed = nodes.filter((node) => isClosed(node, settings)).map(({ name }) => name);
  const vmis = closed.length === 0 ? [] : await vmisOnAny(closed, client);
  const lines = nodeLines(nodes, { evacuations, vmis, settings });
  const now = target.platform.now();
  const { historySeconds } = settings.evacuation;
  const sorted = sortEvacuations(evacuations, now, historySeconds);
  const open = [...sorted.needAttention, ...sorted.inProgress];
  const caption = html`Kept for ${lasting(historySeconds)}; the newest of a pod as long as the pod exists`;
  const options = { cluster: target.name, now };
  const main = html`${crumbs([target.name])}
    <h1>${visible(target.name)}</h1>
    <p class="lead">${verdictOn(lines, sorted, problems)}</p>
    ${problemNotices(problems)} ${section("Maintenance", planned, (rows) => maintenanceTable(rows, target.name, now))}
    <section>
      <h2>Nodes</h2>
      ${nodeTable(lines, target.name)}
    </section>
    ${section("VMs that leave their node", open, (rows) => evacuationTable(rows, { ...options, most: MOST_OPEN }))}
    ${section("Ended lately", sorted.ended, (rows) => evacuationTable(rows, { ...options, caption, most: MOST_ENDED }))}
    ${fromTerminal("kubectl get evacuations -A -o wide -w", "lifeboat doctor")}`;
  return { title: target.name, every: EVERY_SECONDS, main };
}

/** What cannot be read does not keep the rest from being shown. */
export function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof ClusterError)) throw error;
}

function isClosed(node: NodeFacts, settings: Settings): boolean {
  return node.unschedulable || carriesDrainTaint(node, settings);
}

/** What a drain has still before it. VMs of nodes that nobody has closed are not read: there may be thousands. */
async function vmisOnAny(nodes: readonly string[], client: Client): Promise<readonly VmiFacts[]> {
  const found = await client.list("virtualmachineinstances", { labels: { [NODE_NAME_LABEL]: nodes } });
  return found.filter((vmi) => !isFinal(vmi));
}

interface NodeLine {
  readonly name: string;
  readonly state: NodeState;
  readonly conditions: readonly Labelled[];
  readonly departures: Departures;
  /** VMs that are still there: of a node that nobody has closed, those that an evacuation moves. */
  readonly left: number;
  /** VMs that a drain that is in progress cannot move. */
  readonly blocked: number;
}

interface Around {
  readonly evacuations: readonly EvacuationFacts[];
  readonly vmis: readonly VmiFacts[];
  readonly settings: Settings;
}

const STATES: readonly NodeState[] = ["Emptying", "Cordoned", "Emptied", "InUse"];

/** Those that are being emptied first, of these those with most that is blocked; then what else is not as usual. */
function nodeLines(nodes: readonly NodeFacts[], { evacuations, vmis, settings }: Around): readonly NodeLine[] {
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
      state: nodeState({ node, settings }, seen.length, departures),
      conditions: conditionsOf(node, settings),
      departures,
      left: seen.length,
      blocked: departures.active.filter(isBlocked).length + held,
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
    ...(node.endsAt === undefined ? [] : [["Is to end", "warn"] as const]),
  ];
}

function nodeTable(lines: readonly NodeLine[], cluster: string): Html {
  const columns: readonly Column<NodeLine>[] = [
    { head: "Node", cell: ({ name }) => nodeLink(cluster, name) },
    { head: "State", cell: stateCell },
    { head: "VMs", cell: vmsCell },
  ];
  const caption = "What a drain would meet is on the page of each node";
  return table(lines, { key: ({ name }) => name, columns, caption, most: MOST_NODES });
}

function stateCell({ state, conditions }: NodeLine): Html {
  const isUsual = conditions.length === 0 && state !== "Emptying";
  return html`${state === "Emptying" ? badge("Being emptied", "busy") : ""}
  ${isUsual ? badge("Ready", "good") : conditions.map((one) => html`${badge(...one)} `)}`;
}

function vmsCell({ name, state, left, blocked, departures: { gone } }: NodeLine): Html | "" {
  const blocks = blocked === 0 ? "" : badge(counted(blocked, "VM", ["blocks it", "block it"]), "bad");
  if (state !== "Emptying") return blocks;
  const total = gone.length + left;
  const bar = progressBar(gone.length, total, `VMs gone from ${name}`);
  return html`<span class="progress">${bar} ${gone.length} of ${total} gone ${blocks}</span>`;
}

function verdictOn(lines: readonly NodeLine[], sorted: Sorted, problems: readonly Problem[]): string {
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
  const size = counted(lines.length, "node");
  return parts.length === 0 ? `All is quiet: ${size}.` : `${parts.join(", ")}. ${size}.`;
}

type Condition = ConfigurationObserved["conditions"][number];

/** What is wrong with Lifeboat itself in a cluster. `bad`: it does not do what it is to do. `warn`: it will not, or that is not known. */
export interface Problem {
  readonly mood: "bad" | "warn";
  readonly title: string;
  readonly message: string;
}

const WRONG: Readonly<Record<string, string>> = {
  WebhookCalled: "The API server does not ask Lifeboat about evictions",
  Permitted: "Lifeboat lacks a permission",
  Ready: "The configuration is not valid",
  ReviewsDecided: "An eviction was answered without the facts",
  CredentialsValid: "Lifeboat's token does not work any more",
  CertificateValid: "The certificate of Lifeboat's webhooks has ended",
};

export async function problemsIn(cluster: Client): Promise<readonly Problem[]> {
  const configuration = await cluster.get("lifeboatconfigurations", named(CONFIGURATION)).catch(unlessUnreadable);
  return problemsOf(configuration?.conditions ?? []);
}

/** The worst come first. */
function problemsOf(conditions: readonly Condition[]): readonly Problem[] {
  const problems = conditions.flatMap(({ type, status, reason, message }): readonly Problem[] => {
    if (reason === "ExpiresSoon") {
      const what = type === "CertificateValid" ? "The certificate of Lifeboat's webhooks" : "Lifeboat's token";
      return [{ mood: "warn", title: `${what} ends soon`, message }];
    }
    const title = ownValue(WRONG, type);
    if (title === undefined || status === "True") return [];
    if (status === "False") return [{ mood: "bad", title, message }];
    return [{ mood: "warn", title: `Not known yet: ${type}`, message }];
  });
  return problems.toSorted((a, b) => Number(a.mood === "warn") - Number(b.mood === "warn"));
}

export function problemNotices(problems: readonly Problem[]): Html | "" {
  if (problems.length === 0) return "";
  const one = ({ mood, title, message }: Problem) =>
    notice(mood, html`<p><strong>${title}.</strong> ${isolated(message)}</p>`);
  return html`${problems.map(one)}
    <p>${commandLine("lifeboat doctor")}</p>`;
}
