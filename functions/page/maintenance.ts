/** Renders NodeEvacuations: their progress, their obstacles, and the commands that change a NodeEvacuation. */
import { html } from "hono/html";
import { type Client, named } from "../../shared/kube/client.ts";
import type { NodeFacts } from "../../shared/kube/facts.ts";
import {
  hasEnded,
  isOpen,
  type NodeBlocker,
  type NodeEvacuationFacts,
  type NodeEvacuationPhase,
  type WhenBlocked,
} from "../../shared/kube/node-evacuation.ts";
import { asPartOf } from "../../shared/kube/rolling-maintenance.ts";
import { secondsUntil, withoutFractions } from "../../shared/settings/time.ts";
import { noneOrUnread, RejectionError, unlessUnreadable } from "../errors.ts";
import { actsOnMaintenance, actsPart } from "./acts.ts";
import {
  ago,
  badge,
  clusterPath,
  type Column,
  crumbs,
  factList,
  fromTerminal,
  type Html,
  isolated,
  lasting,
  type Tone,
  nodeEvacuationLink,
  nodeLink,
  sentence,
  shellLine,
  table,
  visible,
} from "./components.ts";
import { withRemedy } from "./evacuations.ts";
import { findByName } from "./find.ts";
import type { Shown } from "./layout.ts";
import type { Visit } from "./session.ts";

const MOODS: Readonly<Record<NodeEvacuationPhase, Tone>> = {
  Blocked: "bad",
  Evacuating: "busy",
  Paused: "warn",
  Scheduled: "quiet",
  Evacuated: "good",
  Refused: "bad",
  Expired: "bad",
  Withdrawn: "quiet",
  Gone: "quiet",
};

const WORDS: Readonly<Record<WhenBlocked, string>> = {
  Wait: "stay, and the node is not empty until a person acts",
  Restart: "are restarted on other nodes",
  ShutDown: "are stopped, and start when the node takes pods again",
};

function phaseBadge({ status: { phase = "Scheduled" } }: NodeEvacuationFacts): Html {
  return badge(phase, MOODS[phase]);
}

const MOST = 100;

/** Renders the NodeEvacuations that have not ended. NodeEvacuations that need a person come first. */
export function maintenanceTable(all: readonly NodeEvacuationFacts[], cluster: string, now: Date): Html {
  const columns: readonly Column<NodeEvacuationFacts>[] = [
    { head: "Name", cell: ({ name }) => nodeEvacuationLink(cluster, name) },
    { head: "Node", cell: ({ spec }) => nodeLink(cluster, spec.nodeName) },
    { head: "Phase", cell: phaseBadge },
    { head: "When", cell: (ne) => whenOf(ne, now) },
    { head: "Message", cell: (ne) => messageOf(ne, undefined) },
  ];
  const rows = all.toSorted((a, b) => rankOf(a) - rankOf(b) || a.createdAt - b.createdAt);
  return table(rows, { key: ({ uid }) => uid, columns, most: MOST });
}

function rankOf({ status: { phase = "Scheduled" } }: NodeEvacuationFacts): number {
  return Object.keys(MOODS).indexOf(phase);
}

function whenOf({ spec, status }: NodeEvacuationFacts, now: Date): Html | "" {
  const { startTime, estimatedCompletionTime, completionTime } = status;
  const { notBefore } = spec.schedule;
  if (completionTime !== undefined) return html`ended ${ago(completionTime, now)}`;
  if (startTime === undefined) {
    const left = secondsUntil(notBefore, now);
    return left > 0 ? html`starts in ${lasting(left)} (${isolated(withoutFractions(notBefore ?? ""))})` : "";
  }
  const left = secondsUntil(estimatedCompletionTime, now);
  return left > 0 ? html`empty in about ${lasting(left)}` : "";
}

/** Returns a text about the present state. The spec takes precedence over the status, which may be outdated. */
function messageOf(ne: NodeEvacuationFacts, node: NodeFacts | undefined): Html | string {
  const { spec, status } = ne;
  const { startTime, message = "Lifeboat has not processed the object yet" } = status;
  if (hasEnded({ status })) return isolated(sentence(message));
  if (spec.intent === "Withdrawn") return "The maintenance is cancelled. Running migrations continue, other VMs stay.";
  if (spec.progress === "Paused") {
    return startTime === undefined
      ? "A person has paused the maintenance. The drain has not started."
      : "A person has paused the maintenance: nothing new starts; running migrations continue.";
  }
  return isResumed(ne, node)
    ? "The maintenance was resumed, and continues within a minute."
    : isolated(sentence(message));
}

/**
 * Returns whether a person has resumed a NodeEvacuation whose status is still Paused. The caller has checked that
 * `spec.progress` is Running. Returns false if the drain has started and the node is uncordoned, because the drain
 * stays Paused until the node is cordoned. Returns false if a RollingMaintenance owns the NodeEvacuation, because the
 * page might not know whether the RollingMaintenance is paused.
 */
function isResumed({ status, owner }: NodeEvacuationFacts, node: NodeFacts | undefined): boolean {
  if (owner !== undefined || status.phase !== "Paused") return false;
  return status.startTime === undefined || node?.unschedulable === true;
}

/**
 * Returns the active NodeEvacuation of a node. If no NodeEvacuation is active, returns the newest one, but only if
 * Lifeboat still has to act on it.
 */
export function currentOf(all: readonly NodeEvacuationFacts[], node: string): NodeEvacuationFacts | undefined {
  const own = all.filter(({ spec }) => spec.nodeName === node).toSorted((a, b) => b.createdAt - a.createdAt);
  const active = own.filter((ne) => !hasEnded(ne));
  return active.find(({ status }) => status.startTime !== undefined) ?? active.at(-1) ?? own.slice(0, 1).find(isOpen);
}

/**
 * Returns the NodeEvacuation as paused or withdrawn if its RollingMaintenance is paused or withdrawn. Ignores a
 * RollingMaintenance that cannot be parsed, because the NodeEvacuation's status message already names it.
 */
export async function asPart(ne: NodeEvacuationFacts, client: Client): Promise<NodeEvacuationFacts> {
  if (ne.owner === undefined || hasEnded(ne)) return ne;
  const items = (await client.list("rollingmaintenances").catch(noneOrUnread)) ?? [];
  return asPartOf(ne, { items, odd: [] });
}

interface Around {
  readonly cluster: string;
  readonly now: Date;
  readonly node: NodeFacts | undefined;
}

export function maintenancePart(ne: NodeEvacuationFacts, around: Around): Html {
  return html`<section>
    <h2>Maintenance ${phaseBadge(ne)}</h2>
    ${stateOf(ne, around)}
  </section>`;
}

function stateOf(ne: NodeEvacuationFacts, { cluster, now, node }: Around): Html {
  const { virtualMachines: vms, verdict, blockers } = ne.status;
  const shown = (["moving", "waiting", "blocked", "restarted", "stopped"] as const).flatMap((key) =>
    vms === undefined || vms[key] === 0 ? [] : [`${vms[key]} ${key}`],
  );
  const gone = vms === undefined || vms.total === 0 ? [] : [`${vms.total - vms.left} of ${vms.total} gone`];
  return html`<p>${messageOf(ne, node)}</p>
    ${factList([
      ["NodeEvacuation", nodeEvacuationLink(cluster, ne.name)],
      ["VMs", [...gone, ...shown].join(", ")],
      ["When", whenOf(ne, now)],
      ["Forecast", isolated(verdict)],
      ["VMs that block it", WORDS[ne.spec.virtualMachines.whenBlocked]],
    ])}
    ${blockers.length === 0 ? "" : blockerTable(blockers)}`;
}

function blockerTable(blockers: readonly NodeBlocker[]): Html {
  const columns: readonly Column<NodeBlocker>[] = [
    { head: "Cannot leave", cell: ({ namespace, name }) => isolated(`${namespace}/${name}`) },
    { head: "Reason", cell: ({ reason }) => isolated(reason) },
    { head: "Message", cell: ({ message, whoCanFix }) => withRemedy(message, whoCanFix && visible(whoCanFix)) },
  ];
  return table(blockers, { key: ({ namespace, name }) => `${namespace}/${name}`, columns, most: MOST });
}

const READ_SECONDS = 10;
const EVERY_SECONDS = 5;

export async function nodeEvacuationPage({ target }: Visit, name: string): Promise<Shown> {
  const client = target.connect(READ_SECONDS);
  const ne = await findByName("nodeevacuations", name, client);
  if (ne === undefined) throw new RejectionError("NodeEvacuationNotFound");
  const node = await client.get("nodes", named(ne.spec.nodeName)).catch(unlessUnreadable);
  const around = { cluster: target.name, now: target.platform.now(), node };
  const main = html`${crumbs([target.name, clusterPath(target.name)], [name])}
    <h1>${visible(name)} ${phaseBadge(ne)}</h1>
    <p class="lead">Node ${nodeLink(target.name, ne.spec.nodeName)} has to be empty.</p>
    ${stateOf(await asPart(ne, client), around)} ${hasEnded(ne) ? "" : actsPart(actsOnMaintenance(ne))}
    ${fromTerminal(
      shellLine("kubectl", "describe", "nodeevacuation", name),
      shellLine("kubectl", "get", "nodeevacuations", "-o", "wide"),
    )}`;
  return { title: name, every: EVERY_SECONDS, main };
}
