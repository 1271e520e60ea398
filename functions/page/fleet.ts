/**
 * Renders the page of the fleet: the evacuations and the problems of each cluster. A slow cluster does not delay the
 * page.
 */
import { html } from "hono/html";
import type { Phase } from "../../shared/kube/evacuation.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import { ACTIVE_EVACUATIONS } from "../../shared/kube/selections.ts";
import type { Target } from "../target.ts";
import { clusterProblems, collectUnreadable, isUnread, type Problem, problemNotices } from "./cluster.ts";
import {
  badge,
  clusterPath,
  counted,
  fromTerminal,
  type Html,
  type Labelled,
  type Tone,
  sentence,
  signInPath,
  visible,
} from "./components.ts";
import { phaseBadge } from "./evacuations.ts";
import type { Shown } from "./layout.ts";
import { MOST_CLUSTERS, type OpenClusters } from "./session.ts";

interface Summary {
  /** The number of active Evacuations in each phase. An Evacuation without a phase counts as Pending. */
  readonly phases: ReadonlyMap<Phase, number>;
  readonly problems: readonly Problem[];
}

interface FleetEntry {
  readonly name: string;
  /** The summary of the cluster, or the error that prevented the read. */
  readonly found: Summary | string;
}

/** Seconds after which the page shows a cluster as unreachable. */
const CLUSTER_SECONDS = 3;
/** The number of clusters to read in parallel. A Cloudflare Worker can have six open connections. */
const AT_A_TIME = 6;
const EVERY_SECONDS = 15;

export async function fleetPage({ visits, more }: OpenClusters): Promise<Shown> {
  const entries: FleetEntry[] = [];
  const waiting = visits.values();
  const worker = async () => {
    for (const { target } of waiting) entries.push({ name: target.name, found: await readSummary(target) });
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  const main = html`<h1>Fleet</h1>
    <p class="lead">${verdictOn(entries)}</p>
    <ul class="cards">
      ${entries.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)).map(clusterCard)}
    </ul>
    ${leftOut(more)} ${fromTerminal("kubectl get evacuations -A -o wide", "lifeboat doctor")}`;
  return { title: "Fleet", every: EVERY_SECONDS, main };
}

async function readSummary(target: Target): Promise<Summary | string> {
  const cluster = target.connect(CLUSTER_SECONDS);
  try {
    const unreadable = collectUnreadable();
    const evacuations = await cluster.list("evacuations", { ...ACTIVE_EVACUATIONS, ...unreadable.of("Evacuation") });
    const problems = [...(await clusterProblems(cluster)), ...unreadable.problems()];
    const byPhase = Map.groupBy(evacuations, ({ status }) => status.phase ?? "Pending");
    return { problems, phases: new Map([...byPhase].map(([phase, { length }]) => [phase, length])) };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return error.message;
  }
}

const blockedIn = ({ phases }: Summary) =>
  (phases.get("Blocked") ?? 0) + (phases.get("WaitingForExternalController") ?? 0);
const activeIn = ({ phases }: Summary) => [...phases.values()].reduce((sum, count) => sum + count, 0);
const isPartlySeen = ({ problems }: Summary) => problems.some(isUnread);
const isWrong = ({ problems }: Summary) => problems.some(({ mood }) => mood === "bad");

function stateOf({ found }: FleetEntry): Labelled {
  if (typeof found === "string") return ["Cannot be reached", "bad"];
  if (isWrong(found)) return ["Lifeboat has a problem", "bad"];
  if (blockedIn(found) > 0) return ["Needs a person", "bad"];
  if (found.phases.has("BackingOff")) return ["Tries again", "warn"];
  if (activeIn(found) > 0) return ["VMs are moving", "busy"];
  return isPartlySeen(found) ? ["Not certain", "warn"] : ["Nothing to do", "good"];
}

const ORDER: readonly Tone[] = ["bad", "warn", "busy", "good"];

const rank = (entry: FleetEntry) => ORDER.indexOf(stateOf(entry)[1]);

function verdictOn(entries: readonly FleetEntry[]): string {
  const summaries = entries.flatMap(({ found }) => (typeof found === "string" ? [] : [found]));
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
  if (parts.length > 0) return `${parts.join(", ")}.`;
  return summaries.some(isPartlySeen) ? "Lifeboat could not read everything." : "No VM has to leave its node.";
}

function clusterCard(entry: FleetEntry): Html {
  const { name, found } = entry;
  return html`<li class="card" data-key="${visible(name)}">
    <h2><a href="${clusterPath(name)}">${visible(name)}</a> ${badge(...stateOf(entry))}</h2>
    ${typeof found === "string" ? html`<p>${sentence(found)}</p>` : summaryOf(found)}
  </li>`;
}

function summaryOf({ phases, problems }: Summary): Html {
  return html`${problemNotices(problems)}
  ${[...phases].map(([phase, count]) => html`<div>${phaseBadge(phase, count)}</div>`)}`;
}

function leftOut(more: number): Html {
  const isTooMany = html`<p class="muted">
    This page shows ${MOST_CLUSTERS} clusters. You have signed in to ${counted(more, "more cluster")}.
  </p>`;
  return html`${more > 0 ? isTooMany : ""}
    <p class="acts"><a href="${signInPath("/")}">Sign in to another cluster</a></p>`;
}
