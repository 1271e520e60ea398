/** The fleet: what is in progress in each cluster, and what is wrong there. */
import { html } from "hono/html";
import type { Phase } from "../../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts } from "../../../shared/policy/facts.ts";
import {
  ago,
  badge,
  counted,
  type Fact,
  factList,
  fromTerminal,
  type Html,
  isolated,
  type Labelled,
  type Mood,
  sentence,
  visible,
} from "../components.ts";
import { type Fleet, type FleetEntry, readFleet, type Summary } from "../fleet-reads.ts";
import { clusterPath, nodeLink, signInPath } from "../links.ts";
import type { LivePage } from "../stream.ts";
import { MOST_CLUSTERS, type OpenClusters } from "../visits.ts";
import { phaseBadge, type Problem } from "../words.ts";

/** Nodes that a card names; the cluster's page has all of them. */
const MOST_NODES = 5;

export function fleetPage({ visits, closed, more }: OpenClusters): LivePage<Fleet> {
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
        ${leftOut(closed, more)} ${fromTerminal("lifeboat evacuations -A", "lifeboat doctor")}`,
  };
}

const blockedIn = ({ evacuations }: Summary) =>
  evacuations.filter(({ status: { phase } }) => phase === "Blocked" || phase === "WaitingForOwner").length;
const isWrong = ({ problems }: Summary) => problems.some(({ mood }) => mood === "bad");

function stateOf({ last, unread }: FleetEntry): Labelled {
  if (unread !== undefined || last === undefined) return ["Cannot be reached", "bad"];
  const { summary } = last;
  if (isWrong(summary)) return ["Lifeboat has a problem", "bad"];
  if (blockedIn(summary) > 0) return ["Needs a person", "bad"];
  if (summary.evacuations.some(({ status }) => status.phase === "BackingOff")) return ["Tries again", "warn"];
  return summary.evacuations.length > 0 ? ["VMs are moving", "busy"] : ["Nothing to do", "good"];
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
  const moving = summaries.reduce((sum, { evacuations }) => sum + evacuations.length, 0) - blocked;
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

function summaryOf(name: string, { evacuations, problems, vms }: Summary): Html {
  return html`${problems.map(problemPart)}
  ${factList([
    ["In progress", evacuations.length === 0 ? "nothing" : phasesOf(evacuations)],
    ["VMs are leaving", nodesOf(name, evacuations)],
    ["VMs that run", vms === undefined ? "" : String(vms)],
  ] satisfies readonly Fact[])}`;
}

/** What is only not known is said in full by the cluster's page. */
function problemPart({ mood, title, message }: Problem): Html {
  if (mood === "warn") return html`<p class="muted">${title}.</p>`;
  return html`<div class="notice ${mood}">
    <p><strong>${title}.</strong> ${isolated(message)}</p>
  </div>`;
}

/** One that no function has looked at counts as Pending. */
function phasesOf(evacuations: readonly EvacuationFacts[]): Html {
  const phases = Map.groupBy(evacuations, ({ status }): Phase => status.phase ?? "Pending");
  return html`${[...phases].map(([phase, { length }]) => html`<div>${phaseBadge(phase, length)}</div>`)}`;
}

function nodesOf(cluster: string, evacuations: readonly EvacuationFacts[]): Html | "" {
  const nodes = Map.groupBy(evacuations, ({ status }) => status.sourceNode ?? "");
  nodes.delete("");
  if (nodes.size === 0) return "";
  const links = [...nodes].slice(0, MOST_NODES).map(([node, { length }], i) => {
    return html`${i === 0 ? "" : ", "}${nodeLink(cluster, node)} (${counted(length, "VM")})`;
  });
  const more = nodes.size - MOST_NODES;
  return html`${links}${more > 0 ? ` and ${counted(more, "more node")}` : ""}`;
}

function leftOut(closed: readonly string[], more: number): Html {
  const isTooMany = html`<p class="muted">
    You have signed in to ${counted(more, "more cluster")}: this page shows ${MOST_CLUSTERS} of them.
  </p>`;
  const again = html`<p class="muted">You are no longer signed in to ${visible(closed.join(", "))}.</p>`;
  return html`${closed.length > 0 ? again : ""} ${more > 0 ? isTooMany : ""}
    <p class="acts"><a href="${signInPath("/")}">Sign in to another cluster</a></p>`;
}
