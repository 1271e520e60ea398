/** Evacuations for a person who looks at a cluster, a node or a VM: in what order, and as a table. */
import { html } from "hono/html";
import { type EvacuationFacts, isActive, type Phase } from "../../shared/kube/evacuation.ts";
import { secondsUntil } from "../../shared/settings/time.ts";
import { ago, type Column, type Html, isolated, lasting, move, sentence, table, vmLink } from "./components.ts";
import { CAUSES, phaseBadge, whoCanChange } from "./words.ts";
import { keyOf } from "../../shared/kube/objects.ts";

/** Those at the top cannot continue without a person; the last one tries again by itself, and may fail again. */
const ATTENTION: readonly Phase[] = ["Blocked", "Abandoned", "WaitingForOwner", "BackingOff"];

export interface Sorted {
  readonly needAttention: readonly EvacuationFacts[];
  readonly inProgress: readonly EvacuationFacts[];
  /** Newest end first. */
  readonly ended: readonly EvacuationFacts[];
}

/** What was given up needs a person no more once the VM is evacuated anew, or after so many seconds. */
export function sortEvacuations(evacuations: readonly EvacuationFacts[], now: Date, givenUpSeconds: number): Sorted {
  const latest = new Map(evacuations.toSorted(byAge).map((one) => [keyOfVm(one), one]));
  const isRecent = (one: EvacuationFacts) =>
    latest.get(keyOfVm(one)) === one && now.getTime() - endOf(one) < givenUpSeconds * 1000;
  const needsAttention = (one: EvacuationFacts) => rankOf(one) >= 0 && (isActive(one) || isRecent(one));
  const rest = evacuations.filter((one) => !needsAttention(one));
  return {
    needAttention: evacuations.filter(needsAttention).toSorted((a, b) => rankOf(a) - rankOf(b) || byAge(a, b)),
    inProgress: rest.filter(isActive).toSorted(byAge),
    ended: rest.filter((one) => !isActive(one)).toSorted((a, b) => endOf(b) - endOf(a) || byAge(a, b)),
  };
}

function rankOf({ status: { phase = "Pending" } }: EvacuationFacts): number {
  return ATTENTION.indexOf(phase);
}

/** Oldest first. */
export function byAge(a: EvacuationFacts, b: EvacuationFacts): number {
  return a.createdAt - b.createdAt || Number(isActive(a)) - Number(isActive(b)) || (keyOf(a) < keyOf(b) ? -1 : 1);
}

function keyOfVm({ namespace, spec }: EvacuationFacts): string {
  return keyOf({ namespace, name: spec.vmiName });
}

function endOf({ status: { completionTime } }: EvacuationFacts): number {
  return Date.parse(completionTime ?? "") || 0;
}

interface Options {
  readonly cluster: string;
  readonly now: Date;
  readonly caption?: Html | string;
  readonly most: number;
  /** Of one VM: rows need not say which. */
  readonly ofOneVm?: boolean;
}

export function evacuationTable(evacuations: readonly EvacuationFacts[], options: Options): Html {
  const { cluster, now, caption, most, ofOneVm = false } = options;
  const vm: Column<EvacuationFacts> = {
    head: "VM",
    cell: ({ namespace, spec }) => vmLink(cluster, { namespace, name: spec.vmiName }),
  };
  const columns: readonly Column<EvacuationFacts>[] = [
    ...(ofOneVm ? [] : [vm]),
    { head: "Phase", cell: ({ status }) => phaseBadge(status.phase) },
    { head: "From → to", cell: ({ status }) => move(cluster, status.sourceNode, status.targetNode) },
    { head: "Cause", cell: ({ spec }) => html`${CAUSES[spec.cause]}${askedBy(spec.requestedBy)}` },
    { head: "Failed attempts", cell: (one) => failedAttempts(one, now) },
    { head: "When", cell: (one) => whenOf(one, now) },
    { head: "Message", cell: messageOf },
  ];
  return table(evacuations, { key: ({ uid }) => uid, columns, most, ...(caption !== undefined && { caption }) });
}

function askedBy(name: string): Html | "" {
  return name === "" ? "" : html` <span class="muted">asked by ${isolated(name)}</span>`;
}

function failedAttempts({ status: { attempts, phase, nextAttemptTime } }: EvacuationFacts, now: Date): Html | string {
  if (attempts === 0) return "";
  const next = phase === "BackingOff" ? secondsUntil(nextAttemptTime, now) : 0;
  return next > 0 ? html`${attempts}, next in ${lasting(next)}` : String(attempts);
}

/** Since when, or when it ended and how long it took. */
function whenOf(one: EvacuationFacts, now: Date): Html {
  const end = endOf(one);
  if (isActive(one) || end === 0) return ago(one.createdAt, now);
  return html`${ago(end, now)}, took ${lasting((end - one.createdAt) / 1000)}`;
}

function messageOf(one: EvacuationFacts): Html | "" {
  const { message = "" } = one.status;
  const who = whoCanChange(one);
  if (who === undefined) return isolated(message);
  return html`${isolated(sentence(message))} <strong>Who can change it:</strong> ${who}.`;
}
