/** What has to leave a node, each with all that is known of it. */
import { isActive } from "../evacuation/phase.ts";
import { type EvacuationFacts, keyOf, type MigrationFacts, type VmiFacts } from "../facts.ts";
import type { PreflightFacts, PreflightPod } from "../preflight/facts.ts";
import { verdictOfPod } from "../preflight/pod-verdict.ts";
import type { PodVerdict } from "../preflight/result.ts";

/** A pod that is to leave, with what is known of its VM. */
export interface Subject {
  /** `VM shop/web`, of every launcher pod of that VM, or `pod shop/cart-0`. */
  readonly key: string;
  readonly pod: PreflightPod;
  readonly verdict: PodVerdict;
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

type Vm = Pick<Subject, "vmi" | "migration" | "evacuation">;

function vmsOf({ vmis, migrations, evacuations }: PreflightFacts): ReadonlyMap<string, Vm> {
  const migrationOf = new Map(migrations.map((one) => [keyOf({ ...one, name: one.vmiName }), one]));
  const evacuationOf = new Map(
    evacuations.toSorted(byInterest).map((one) => [keyOf({ namespace: one.namespace, name: one.spec.vmiName }), one]),
  );
  return new Map(
    vmis.map((vmi) => {
      const [migration, evacuation] = [migrationOf.get(keyOf(vmi)), evacuationOf.get(keyOf(vmi))];
      return [keyOf(vmi), { vmi, ...(migration && { migration }), ...(evacuation && { evacuation }) }];
    }),
  );
}

/** The last of a VM's counts. */
function byInterest(a: EvacuationFacts, b: EvacuationFacts): number {
  return Number(isActive(a)) - Number(isActive(b)) || a.createdAt - b.createdAt;
}

export function subjectOf({ namespace, name, vmi }: PodVerdict): string {
  return vmi === undefined ? `pod ${namespace}/${name}` : `VM ${namespace}/${vmi}`;
}

/** It has ended, or goes with its VM: nothing that a person waits for. */
export function isMinor({ verdict: { outcome, vmi } }: Subject): boolean {
  return outcome === "Follows" || (outcome === "Ended" && vmi === undefined);
}

/** Until a person changes something. An owner that migrates an External VM itself does what is needed, or has asked KubeVirt to. */
export function isBlocked({ verdict, vmi, migration }: Subject): boolean {
  const isOnItsWay = vmi?.isMigrating === true || (migration !== undefined && migration.blockedBy === undefined);
  return verdict.outcome === "Blocked" && !isOnItsWay;
}
