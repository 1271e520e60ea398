/**
 * What has to leave a node, each with all that is known of it, and how far it is.
 */
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { MigrationFacts, VmiFacts } from "../kube/facts.ts";
import type { PodVerdict, PreflightFacts, PreflightPod } from "./facts.ts";
import { verdictOfPod } from "./pod-verdict.ts";
import { keyOf } from "../kube/objects.ts";

/** A pod that is to leave, with what is known of its VM. */
export interface Subject extends Vm {
  /** `VM shop/web`, of every launcher pod of that VM, or `pod shop/cart-0`. */
  readonly key: string;
  readonly pod: PreflightPod;
  readonly verdict: PodVerdict;
}

interface Vm {
  readonly vmi?: VmiFacts;
  readonly migration?: MigrationFacts;
  /** The one that has not ended, else the newest. */
  readonly evacuation?: EvacuationFacts;
}

/** Without what a drain leaves in place. `verdicts`: of the pods, in their order, where they are known. */
export function subjectsOf(
  f: PreflightFacts,
  verdicts: readonly PodVerdict[] = f.pods.map((pod) => verdictOfPod(pod, f)),
): readonly Subject[] {
  const vms = vmsOf(f);
  return f.pods.flatMap((pod, i) => {
    const verdict = verdicts[i];
    if (verdict === undefined || verdict.outcome === "Stays") return [];
    const key = keyOf({ namespace: verdict.namespace, name: verdict.vmi ?? "" });
    return [{ key: subjectOf(verdict), pod, verdict, ...vms.get(key) }];
  });
}

function vmsOf({ vmis, migrations, evacuations }: PreflightFacts): ReadonlyMap<string, Vm> {
  const migrationOf = new Map(migrations.map((one) => [keyOf({ ...one, name: one.vmiName }), one]));
  // The last of a VM's counts.
  const byInterest = evacuations.toSorted(
    (a, b) => Number(isActive(a)) - Number(isActive(b)) || a.createdAt - b.createdAt,
  );
  const evacuationOf = new Map(byInterest.map((one) => [keyOf({ ...one, name: one.spec.vmiName }), one]));
  return new Map(
    vmis.map((vmi) => {
      const [migration, evacuation] = [migrationOf.get(keyOf(vmi)), evacuationOf.get(keyOf(vmi))];
      return [keyOf(vmi), { vmi, ...(migration && { migration }), ...(evacuation && { evacuation }) }];
    }),
  );
}

export function subjectOf({ namespace, name, vmi }: PodVerdict): string {
  return vmi === undefined ? `pod ${namespace}/${name}` : `VM ${namespace}/${vmi}`;
}

/** It has ended, or goes with its VM: nothing that a person waits for. */
export function isMinor({ verdict: { outcome, vmi } }: Subject): boolean {
  return outcome === "Follows" || (outcome === "Ended" && vmi === undefined);
}

/** It needs action. An owner that migrates an External VM itself does what is needed, or has asked KubeVirt to. */
export function isBlocked({ verdict, vmi, migration }: Subject): boolean {
  const isOnItsWay = vmi?.isMigrating === true || (migration !== undefined && migration.blockedBy === undefined);
  return verdict.outcome === "Blocked" && !isOnItsWay;
}

/** Its last evacuation has failed: to an eviction it is as any other VM that is to move, but a person wants to know. */
export function failingPhase({ evacuation, verdict }: Subject): "BackingOff" | "Abandoned" | undefined {
  if (verdict.outcome !== "Moves" && verdict.reason !== "BackingOff") return undefined;
  const { phase } = evacuation?.status ?? {};
  return phase === "BackingOff" || phase === "Abandoned" ? phase : undefined;
}

/** Where it is on its way to. A migration names its target when it has ended; before, only the VMI does. */
export function targetOf({ migration, vmi, evacuation }: Subject): string | undefined {
  return migration?.targetNode ?? vmi?.targetNode ?? evacuation?.status.targetNode;
}

export type Mood = "waiting" | "moving" | "blocked" | "gone";

export interface Row {
  readonly key: string;
  readonly isVm: boolean;
  readonly mood: Mood;
  readonly words: string;
}

type Place = Omit<Row, "key" | "isVm">;

export function rowOf(subject: Subject): Row {
  return { key: subject.key, isVm: subject.verdict.vmi !== undefined, ...placeOf(subject) };
}

function at(mood: Mood, words: string): Place {
  return { mood, words };
}

function placeOf(subject: Subject): Place {
  const { pod, verdict, vmi } = subject;
  switch (verdict.outcome) {
    case "Blocked":
      return migrating(subject) ?? at("blocked", `blocked: ${verdict.reason}`);
    case "Waits":
      return at("waiting", `waits: ${verdict.message}`);
    case "Moves":
      return migrating(subject) ?? at("waiting", vmi?.evacuationNodeName === undefined ? "runs" : "is to move");
    case "ShutsDown":
    case "Ended":
    case "Evicted":
      return pod.deleting ? at("moving", "is shutting down") : at("waiting", "runs");
    case "Follows":
    case "Stays":
      return at("waiting", "");
  }
}

/** By the reason of its Evacuation: the migration itself says nothing of this. */
const WAITS: ReadonlyMap<string, string> = new Map([
  ["KubeVirtBackoff", "waits for the end of KubeVirt's back-off"],
  ["KubeVirtNotAnswering", "waits for virt-controller, which does not answer"],
]);

const QUEUED = "waits in KubeVirt's queue";

function migrating(subject: Subject): Place | undefined {
  const { migration, evacuation } = subject;
  if (migration === undefined) return undefined;
  const { phase } = migration;
  if (phase === "" || phase === "Pending") {
    const why = WAITS.get(evacuation?.status.reason ?? "");
    if (why !== undefined) return at("waiting", why);
    if (phase === "Pending") return at("waiting", QUEUED);
  }
  const words = phase === "Running" ? "moves" : "is about to move";
  const target = targetOf(subject);
  return at("moving", target === undefined ? words : `${words} to ${target}`);
}

/** Its migration waits for others, for KubeVirt's limits: not for anything that is the matter with it. */
export function isQueued({ words }: Row): boolean {
  return words === QUEUED;
}
