/**
 * What a drain has to get off a node, as it is now.
 * Owns: one look at the node. Does not own: what each pod's eviction gets (shared/policy/preflight), reading (shared/pass).
 */
import { observePodsOf } from "../../../shared/pass/observe-preflight.ts";
import { type EvacuationFacts, keyOf, type MigrationFacts, type VmiFacts } from "../../../shared/policy/facts.ts";
import type { PreflightFacts, PreflightPod } from "../../../shared/policy/preflight/facts.ts";
import { verdictOfPod } from "../../../shared/policy/preflight/pod-verdict.ts";
import type { PodVerdict } from "../../../shared/policy/preflight/result.ts";
import type { Connection } from "../connection.ts";
import type { Host } from "../host.ts";
import { subjectOf } from "../print-preflight.ts";

/** A pod that is to leave, with what is known of its VM. */
export interface Subject {
  /** `VM shop/web`, of every launcher pod of that VM, or `pod shop/cart-0`. */
  readonly key: string;
  readonly pod: PreflightPod;
  readonly verdict: PodVerdict;
  readonly vmi?: VmiFacts;
  readonly migration?: MigrationFacts;
  readonly evacuation?: EvacuationFacts;
}

/**
 * Looks at a node that has been cordoned. Room elsewhere is looked at once, before the drain: what was found of it stays.
 * An ordinary pod that comes after the first look tolerates the cordon, and would come again: as with kubectl, it is none of the drain's.
 */
export function createLook(
  before: PreflightFacts,
  { connection, host }: { readonly connection: Connection; readonly host: Host },
): () => Promise<readonly Subject[]> {
  let known: Set<string> | undefined;
  return async () => {
    const observer = { cluster: connection.cluster(), settings: await connection.settings(), now: host.now() };
    const found = subjectsOf({ ...before, ...(await observePodsOf(before.node.name, before.flags, observer)) });
    const leaving = found.filter(({ pod, vmi }) => known === undefined || known.has(pod.uid) || vmi !== undefined);
    known ??= new Set();
    for (const { pod } of leaving) known.add(pod.uid);
    return leaving;
  };
}

export function subjectsOf(f: PreflightFacts): readonly Subject[] {
  return f.pods.flatMap((pod) => {
    const verdict = verdictOfPod(pod, f);
    return verdict.outcome === "Stays" ? [] : [{ key: subjectOf(verdict), pod, verdict, ...vmOf(verdict, f) }];
  });
}

function vmOf({ namespace, vmi: name }: PodVerdict, f: PreflightFacts) {
  const vmi = f.vmis.find((one) => one.namespace === namespace && one.name === name);
  if (vmi === undefined) return {};
  const migration = f.migrations.find((one) => keyOf({ ...one, name: one.vmiName }) === keyOf(vmi));
  const evacuation = f.evacuations.find(
    ({ namespace, spec }) => keyOf({ namespace, name: spec.vmiName }) === keyOf(vmi),
  );
  return { vmi, ...(migration && { migration }), ...(evacuation && { evacuation }) };
}

/** It has ended, or goes with its VM: nothing that a person waits for. */
export function isMinor({ verdict: { outcome, vmi } }: Subject): boolean {
  return outcome === "Follows" || (outcome === "Ended" && vmi === undefined);
}
