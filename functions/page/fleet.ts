/** The fleet: what is in progress in each cluster and what is wrong there, read so that no cluster holds up the others. */
import { html } from "hono/html";
import { ClusterError } from "../../shared/kube/failures.ts";
import type { Phase } from "../../shared/kube/evacuation.ts";
import type { Target } from "../target.ts";
import {
  ago,
  badge,
  clusterPath,
  counted,
  factList,
  fromTerminal,
  type Html,
  type Labelled,
  type Mood,
  nodeLink,
  sentence,
  signInPath,
  visible,
} from "./components.ts";
import { problemsIn, unlessUnreadable } from "./reads.ts";
import type { LivePage } from "./stream.ts";
import { MOST_CLUSTERS, type OpenClusters } from "./visits.ts";
import { phaseBadge, type Problem, problemNotices } from "./words.ts";
import { activeEvacuations } from "../../shared/kube/requests.ts";

interface Summary {
  /** How many evacuations that have not ended are in each; one that no reconcile has read counts as Pending. */
  readonly phases: ReadonlyMap<Phase, number>;
  /** How many VMs leave each node. */
  readonly nodes: ReadonlyMap<string, number>;
  readonly problems: readonly Problem[];
  /** Undefined: it could not be read. */
  readonly vms: number | undefined;
}

interface FleetEntry {
  /** When it was tried last. */
  readonly triedAt?: Date;
  /** What was read last. */
  readonly last?: { readonly summary: Summary; readonly readAt: Date };
  /** Why nothing newer could be read. */
  readonly unread?: string;
}

export type Fleet = ReadonlyMap<string, FleetEntry>;

/** A cluster that takes longer is said to be unreachable: one of them must not hold up the page of all. */
const CLUSTER_SECONDS = 3;
/**
 * A Worker may wait on six connections. Each cluster is asked one thing after another: one that hangs with several requests would use up
 * the time of others, which wait for a connection.
 */
const AT_A_TIME = 6;
/** No cluster is asked later than this after the first one. */
const LAST_START_MS = 3000;
const MAX_AGE_MS = 4000;
const NO_TIME = "the other clusters took so long that there was no time to ask this one; it comes first next time";

/** Those that were tried longest ago come first, so that each has its turn. */
async function readFleet(targets: readonly Target[], before: Fleet = new Map()): Promise<Fleet> {
  const found = new Map(before);
  const triedAt = ({ name }: Target) => before.get(name)?.triedAt?.getTime() ?? 0;
  const waiting = targets.toSorted((a, b) => triedAt(a) - triedAt(b)).values();
  const began = targets[0]?.platform.now().getTime() ?? 0;
  const worker = async () => {
    for (const target of waiting) {
      const now = target.platform.now().getTime();
      const entry = before.get(target.name);
      if (now - triedAt(target) <= MAX_AGE_MS) continue;
      const isLate = now - began > LAST_START_MS;
      found.set(target.name, isLate ? { unread: NO_TIME, ...entry } : await readEntry(target, entry));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return found;
}

async function readEntry(target: Target, before: FleetEntry | undefined): Promise<FleetEntry> {
  const readAt = target.platform.now();
  try {
    return { triedAt: readAt, last: { summary: await readSummary(target), readAt } };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return { ...before, triedAt: readAt, unread: error.message };
  }
}

async function readSummary(target: Target): Promise<Summary> {
  const cluster = target.connect(CLUSTER_SECONDS);
  const evacuations = await activeEvacuations(cluster);
  const problems = await problemsIn(cluster);
  const phases = countBy(evacuations, ({ status }) => status.phase ?? "Pending");
  const nodes = countBy(evacuations, ({ status }) => status.sourceNode ?? "");
  return { phases, nodes, problems, vms: await cluster.count("virtualmachineinstances").catch(unlessUnreadable) };
}

function countBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, number> {
  return new Map([...Map.groupBy(items, keyOf)].map(([key, { length }]) => [key, length]));
}

/** Nodes that a card names; the cluster's page has all of them. */
const MOST_NODES = 5;

export function fleetPage({ visits, more }: OpenClusters): LivePage<Fleet> {
  const targets = visits.map(({ target }) => target);
  return {
    // Of these clusters and no others: what one visitor may see is never shown to another.
    key: JSON.stringify(targets.map(({ name }) => name)),
    title: "Fleet",
    read: (last) => readFleet(targets, last?.facts),
    view: (fleet, { now }) =>
      html`<h1>Fleet</h1>
        <p class="lead">${verdictOn([...fleet.values()])}</p>
        <ul class="cards">
          ${inOrder(fleet).map(([name, entry]) => clusterCard(name, entry, now))}
        </ul>
        ${leftOut(more)} ${fromTerminal("kubectl get evacuations -A -o wide", "lifeboat doctor")}`,
  };
}

const blockedIn = ({ phases }: Summary) => (phases.get("Blocked") ?? 0) + (phases.get("WaitingForOwner") ?? 0);
const activeIn = ({ phases }: Summary) => [...phases.values()].reduce((sum, count) => sum + count, 0);
const isWrong = ({ problems }: Summary) => problems.some(({ mood }) => mood === "bad");

function stateOf({ last, unread }: FleetEntry): Labelled {
  if (unread !== undefined || last === undefined) return ["Cannot be reached", "bad"];
  const { summary } = last;
  if (isWrong(summary)) return ["Lifeboat has a problem", "bad"];
  if (blockedIn(summary) > 0) return ["Needs a person", "bad"];
  if (summary.phases.has("BackingOff")) return ["Tries again", "warn"];
  return activeIn(summary) > 0 ? ["VMs are moving", "busy"] : ["Nothing to do", "good"];
}

const ORDER: readonly Mood[] = ["bad", "warn", "busy", "good"];

const rank = (entry: FleetEntry) => ORDER.indexOf(stateOf(entry)[1]);

/** Those that need a person first; of the same state, by name. */
function inOrder(fleet: Fleet): readonly (readonly [name: string, entry: FleetEntry])[] {
  return [...fleet].toSorted(([a, x], [b, y]) => rank(x) - rank(y) || (a < b ? -1 : 1));
}

/** What to know of all of them, in one line. */
function verdictOn(entries: readonly FleetEntry[]): string {
  const summaries = entries.flatMap(({ last, unread }) => (last && unread === undefined ? [last.summary] : []));
  const unreachable = entries.length - summaries.length;
  const wrong = summaries.filter(isWrong).length;
  const blocked = summaries.reduce((sum, summary) => sum + blockedIn(summary), 0);
  const moving = summaries.reduce((sum, summary) => sum + activeIn(summary), 0) - blocked;
  const parts = [
    ...(unreachable > 0 ? [`${counted(unreachable, "cluster")} cannot be reached`] : []),
    ...(wrong > 0 ? [`Lifeboat has a problem in ${counted(wrong, "cluster")}`] : []),
    ...(blocked > 0 ? [`${counted(blocked, "VM", ["waits", "wait"])} for a person`] : []),
    ...(moving > 0 ? [`${counted(moving, "VM", ["is", "are"])} leaving`] : []),
  ];
  return parts.length === 0 ? "No VM has to leave its node." : `${parts.join(", ")}.`;
}

function clusterCard(name: string, entry: FleetEntry, now: Date): Html {
  const { last, unread } = entry;
  return html`<li class="card" data-key="${visible(name)}">
    <h2><a href="${clusterPath(name)}">${visible(name)}</a> ${badge(...stateOf(entry))}</h2>
    ${unread === undefined ? "" : html`<p>${sentence(unread)}</p>`}
    ${unread === undefined || last === undefined ? "" : html`<p class="muted">What was true ${ago(last.readAt, now)}:</p>`}
    ${last === undefined ? "" : summaryOf(name, last.summary)}
  </li>`;
}

function summaryOf(name: string, { phases, nodes, problems, vms }: Summary): Html {
  const badges = [...phases].map(([phase, count]) => html`<div>${phaseBadge(phase, count)}</div>`);
  return html`${problemNotices(problems)}
  ${factList([
    ["In progress", badges.length === 0 ? "nothing" : html`${badges}`],
    ["VMs are leaving", nodesOf(name, nodes)],
    ["VMs that run", vms === undefined ? "" : String(vms)],
  ])}`;
}

function nodesOf(cluster: string, nodes: ReadonlyMap<string, number>): Html | "" {
  const named = [...nodes].filter(([node]) => node !== "");
  if (named.length === 0) return "";
  const links = named.slice(0, MOST_NODES).map(([node, count], i) => {
    return html`${i === 0 ? "" : ", "}${nodeLink(cluster, node)} (${counted(count, "VM")})`;
  });
  const more = named.length - MOST_NODES;
  return html`${links}${more > 0 ? ` and ${counted(more, "more node")}` : ""}`;
}

function leftOut(more: number): Html {
  const isTooMany = html`<p class="muted">
    You have signed in to ${counted(more, "more cluster")}: this page shows ${MOST_CLUSTERS} of them.
  </p>`;
  return html`${more > 0 ? isTooMany : ""}
    <p class="acts"><a href="${signInPath("/")}">Sign in to another cluster</a></p>`;
}
