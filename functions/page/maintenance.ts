/** NodeEvacuations for a person: how far they are, what is in their way, and what a visitor may do about them. */
import { html } from "hono/html";
import type { Client } from "../../shared/kube/client.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import {
  hasEnded,
  isOpen,
  type NodeBlocker,
  type NodeEvacuationFacts,
  type NodeEvacuationPhase,
} from "../../shared/kube/node-evacuation.ts";
import type { Preflight } from "../../shared/preflight/facts.ts";
import { secondsUntil, withoutFractions } from "../../shared/settings/time.ts";
import {
  badge,
  type Column,
  factList,
  type Html,
  isolated,
  lasting,
  type Mood,
  type NodeAct,
  nodeLink,
  progressBar,
  sentence,
  table,
  visible,
} from "./components.ts";
import { withRemedy } from "./evacuations.ts";
import { actForm, mayEmpty, startForm, type Ways, WORDS } from "./maintenance-forms.ts";
import type { Visit, Visitor } from "./session.ts";

/** Of a visitor who may not list them, or of a cluster without the kind: none. */
export async function nodeEvacuationsFor(
  { maintains = [] }: Visitor,
  cluster: Client,
): Promise<readonly NodeEvacuationFacts[]> {
  if (!maintains.includes("look")) return [];
  return await cluster.list("nodeevacuations").catch((error: unknown) => {
    if (!(error instanceof ClusterError)) throw error;
    return [];
  });
}

/** To stop it takes less than to go on with it, as the shipped policy says. */
export function mayChange(visitor: Visitor, act: NodeAct, ne: NodeEvacuationFacts): boolean {
  return mayEmpty(visitor, act === "resume" ? waysOf(ne) : []);
}

function waysOf({ spec: { virtualMachines } }: NodeEvacuationFacts): Ways {
  return [virtualMachines.whenBlocked, virtualMachines.whenAttemptsFail];
}

const MOODS: Readonly<Record<NodeEvacuationPhase, Mood>> = {
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

function phaseBadge({ status: { phase = "Scheduled" } }: NodeEvacuationFacts): Html {
  return badge(phase, MOODS[phase]);
}

const MOST = 100;

/** Those that have not ended; first those that need a person. */
export function maintenanceTable(all: readonly NodeEvacuationFacts[], cluster: string, now: Date): Html {
  const columns: readonly Column<NodeEvacuationFacts>[] = [
    { head: "Node", cell: ({ spec }) => nodeLink(cluster, spec.nodeName) },
    { head: "Phase", cell: phaseBadge },
    { head: "VMs", cell: countsOf },
    { head: "When", cell: (ne) => whenOf(ne, now) },
    { head: "Message", cell: ({ status }) => isolated(status.message) },
    { head: "Name", cell: ({ name }) => isolated(name) },
  ];
  const rows = all.toSorted((a, b) => rankOf(a) - rankOf(b) || a.createdAt - b.createdAt);
  return table(rows, { key: ({ uid }) => uid, columns, most: MOST });
}

function rankOf({ status: { phase = "Scheduled" } }: NodeEvacuationFacts): number {
  return Object.keys(MOODS).indexOf(phase);
}

function countsOf({ spec, status: { virtualMachines: vms } }: NodeEvacuationFacts): Html | "" {
  if (vms === undefined || vms.total === 0) return "";
  const gone = vms.total - vms.left;
  const bar = progressBar(gone, vms.total, `VMs gone from ${spec.nodeName}`);
  return html`<span class="progress">${bar} ${gone} of ${vms.total} gone</span>`;
}

function whenOf({ spec, status: { startTime, estimatedCompletionTime } }: NodeEvacuationFacts, now: Date): Html | "" {
  const { notBefore } = spec.schedule;
  if (startTime === undefined) {
    const left = secondsUntil(notBefore, now);
    return left > 0 ? html`starts in ${lasting(left)} (${isolated(withoutFractions(notBefore ?? ""))})` : "";
  }
  const left = secondsUntil(estimatedCompletionTime, now);
  return left > 0 ? html`empty in about ${lasting(left)}` : "";
}

/** The one that has not ended, else the last one; undefined: there is none, or it is long over. */
function currentOf(all: readonly NodeEvacuationFacts[], node: string): NodeEvacuationFacts | undefined {
  const own = all.filter(({ spec }) => spec.nodeName === node).toSorted((a, b) => b.createdAt - a.createdAt);
  const active = own.filter((ne) => !hasEnded(ne));
  return active.find(({ status }) => status.startTime !== undefined) ?? active.at(-1) ?? own.slice(0, 1).find(isOpen);
}

interface About {
  readonly visit: Visit;
  readonly node: string;
  readonly preflight: Preflight;
  readonly all: readonly NodeEvacuationFacts[];
}

/** Of a node: its NodeEvacuation, or how to start one. */
export function maintenancePart({ visit, node, preflight, all }: About): Html | "" {
  const current = currentOf(all, node);
  const isStartable = current === undefined || hasEnded(current);
  return html`${current === undefined ? "" : currentPart(current, visit)}
  ${isStartable && mayEmpty(visit.visitor, []) ? startForm(visit, node, preflight) : ""}`;
}

function currentPart(ne: NodeEvacuationFacts, { target, visitor }: Visit): Html {
  const { virtualMachines: vms, message = "Lifeboat has not looked at it yet", verdict, blockers } = ne.status;
  const shown = (["moving", "waiting", "blocked", "restarted", "stopped"] as const).flatMap((key) =>
    vms === undefined || vms[key] === 0 ? [] : [`${vms[key]} ${key}`],
  );
  const acts = hasEnded(ne) ? [] : actsOn(ne).filter((act) => mayChange(visitor, act, ne));
  return html`<section>
    <h2>Maintenance ${phaseBadge(ne)}</h2>
    <p>${isolated(sentence(message))}</p>
    ${countsOf(ne)}
    ${factList([
      ["NodeEvacuation", isolated(ne.name)],
      ["VMs", shown.join(", ")],
      ["When", whenOf(ne, target.platform.now())],
      ["Foretold", isolated(verdict)],
      ["VMs that block it", WORDS[ne.spec.virtualMachines.whenBlocked]],
    ])}
    ${blockers.length === 0 ? "" : blockerTable(blockers)}
    ${acts.map((act) => html`${actForm(act, ne, { target, visitor })} `)}
  </section>`;
}

function blockerTable(blockers: readonly NodeBlocker[]): Html {
  const columns: readonly Column<NodeBlocker>[] = [
    { head: "Cannot leave", cell: ({ namespace, name }) => isolated(`${namespace}/${name}`) },
    { head: "Reason", cell: ({ reason }) => isolated(reason) },
    { head: "Message", cell: ({ message, whoCanFix }) => withRemedy(message, whoCanFix && visible(whoCanFix)) },
  ];
  return table(blockers, { key: ({ namespace, name }) => `${namespace}/${name}`, columns, most: MOST });
}

function actsOn({ spec }: NodeEvacuationFacts): readonly NodeAct[] {
  if (spec.intent === "Withdrawn") return [];
  return [spec.progress === "Paused" ? "resume" : "pause", "cancel"];
}
