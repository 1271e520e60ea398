/**
 * Facts that belong together: a VMI that runs, its launcher pod, its record, migration, budget and slot.
 * Owns: making them so, of facts of every kind. Does not own: how often that is done, and in how many fields not
 * (test/mostly.ts), requests (policy-requests.ts), worlds (policy-worlds.ts).
 */
import * as fc from "fast-check";
import { CAUSES } from "../../shared/policy/cause.ts";
import { budgetName } from "../../shared/policy/budget.ts";
import type {
  BudgetFacts,
  DisruptionTarget,
  LauncherFacts,
  MigrationFacts,
  PodFacts,
  VmiFacts,
} from "../../shared/policy/facts.ts";
import { type EvacuationRecord, secondsAfter } from "../../shared/policy/record.ts";
import { type Slot, slotFor } from "../../shared/policy/slots.ts";
import { almost } from "../mostly.ts";
import { without } from "../policy/fixtures.ts";
import * as any from "./policy-facts.ts";
import { budget } from "./policy-budgets.ts";
import { record } from "./policy-records.ts";
import { NOON, time } from "./policy-words.ts";

/** A VMI and the pod that its guest runs in. */
export interface Resident {
  readonly vmi: VmiFacts;
  readonly pod: PodFacts;
}

const IF_POSSIBLE = ["LiveMigrateIfPossible", "LiveMigrateIfPossible"] as const;

/** How a VMI stands to an evacuation from the node it is on. `Foreign`: the record is somebody else's. */
const standing = fc.record({
  /** Now and then it is not scheduled yet. */
  nodeName: fc.option(fc.constantFrom("node01", "node02"), { nil: undefined, freq: 12 }),
  evictionStrategy: fc.constantFrom("LiveMigrate", "LiveMigrate", ...IF_POSSIBLE, "External", "None", "Sometimes"),
  marked: fc.boolean(),
  recorded: fc.constantFrom("No", "Active", "Active", "Ended", "Ended", "Foreign"),
  restSeconds: fc.nat(400),
  outcome: fc.constantFrom("Abandoned" as const, "Cancelled" as const),
  cause: fc.constantFrom(...CAUSES, "Preemption" as const, "NoExecuteTaint" as const, "NoExecuteTaint" as const),
});

type Standing = typeof standing extends fc.Arbitrary<infer T> ? T : never;

const launcherLabels = (vmi: VmiFacts) => ({ "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vmi.uid });

const fittingVmi = fc.tuple(any.vmi, any.pod, record, standing).map(([found, pod, kept, s]): VmiFacts => {
  const { nodeName, evictionStrategy, marked } = s;
  const now = recordIn(kept, pod, s);
  return {
    ...without(found, "nodeName", "evacuationNodeName", "record", "recordText"),
    evictionStrategy,
    phase: "Running",
    deleting: false,
    activePods: nodeName === undefined ? {} : { [pod.uid]: nodeName },
    ...(nodeName && { nodeName, ...(marked && { evacuationNodeName: nodeName }) }),
    ...(now && { record: now, recordText: JSON.stringify(now) }),
  };
});

function recordIn(kept: EvacuationRecord, pod: PodFacts, s: Standing): EvacuationRecord | undefined {
  const { nodeName: node = "", recorded, restSeconds, outcome, cause } = s;
  const own = { ...without(kept, "outcome"), node, podUID: pod.uid, cause };
  if (recorded === "No") return undefined;
  if (recorded === "Foreign") return kept;
  return recorded === "Active" ? own : { ...own, outcome, notBefore: secondsAfter(NOON, restSeconds) };
}

/** Of a pod that the scheduler or the taint manager is about to delete. */
export const chosen: fc.Arbitrary<DisruptionTarget> = fc.record({
  active: fc.constant(true),
  reason: fc.constantFrom("PreemptionByScheduler", "DeletionByTaintManager"),
  since: time,
});

/** The pod first listed by the VMI, ready or not, to be ended or not. */
function launcherOf(vmi: VmiFacts, found: PodFacts, disruptionTarget: DisruptionTarget | undefined): PodFacts {
  const [listed] = Object.entries(vmi.activePods);
  const [uid, nodeName] = listed ?? [found.uid, vmi.nodeName];
  return {
    ...without(found, "nodeName", "disruptionTarget"),
    ...(disruptionTarget && { disruptionTarget }),
    namespace: vmi.namespace,
    uid,
    phase: "Running",
    labels: launcherLabels(vmi),
    annotations: { "kubevirt.io/domain": vmi.name },
    owners: [{ kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid, controller: true }],
    ...(nodeName !== undefined && { nodeName }),
  };
}

export const vmi = almost(fittingVmi, any.vmi);

export const resident: fc.Arbitrary<Resident> = vmi.chain((own) =>
  almost(
    fc.tuple(any.pod, fc.option(chosen, { nil: undefined, freq: 2 })).map(([found, by]) => launcherOf(own, found, by)),
    any.pod,
  ).map((pod) => ({ vmi: own, pod })),
);

/** A pod that holds a volume for the VMI in that launcher. */
export function hotplugOf(launcher: PodFacts): fc.Arbitrary<PodFacts> {
  const { namespace, name, uid } = launcher;
  const owners = [{ kind: "Pod", name, uid, controller: true }];
  const labels = { "kubevirt.io": "hotplug-disk" };
  return almost(
    any.pod.map((found) => ({ ...found, namespace, labels, owners, phase: "Running" })),
    any.pod,
  );
}

/** Of the evacuation that its record tells of, if any; or begun by KubeVirt for its mark. */
export function migrationOf({ namespace, name, nodeName = "", record: kept }: VmiFacts): fc.Arbitrary<MigrationFacts> {
  const attempt = kept && { evacuationId: kept.id, attempt: kept.attempts + 1 };
  const phase = fc.constantFrom("Pending", "Running", "Succeeded", "Failed");
  const fitting = fc.tuple(any.migration, phase, fc.boolean()).map(([found, phase, ours]): MigrationFacts => ({
    ...without(found, "evacuationId", "attempt"),
    namespace,
    vmiName: name,
    phase,
    deleting: false,
    sourceNode: nodeName,
    evacuates: nodeName,
    ...(ours && attempt),
  }));
  return almost(fitting, any.migration);
}

/** Ours, up to date, and allowing nothing. */
export function budgetOf(vmi: VmiFacts): fc.Arbitrary<BudgetFacts> {
  const selector = { matchLabels: launcherLabels(vmi), matchExpressions: [] };
  const owners = [{ kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid, controller: false }];
  const counts = { disruptionsAllowed: 0, currentHealthy: 1, expectedPods: 1 };
  const fitting = fc.tuple(budget, fc.constantFrom(1, 2, 2)).map(([found, minAvailable]): BudgetFacts => ({
    ...without(found, "unhealthyPodEvictionPolicy"),
    namespace: vmi.namespace,
    name: budgetName(vmi),
    selector,
    owners,
    minAvailable,
    managedByUs: true,
    deleting: false,
    generation: 2,
    status: { ...counts, observedGeneration: 2, desiredHealthy: minAvailable },
  }));
  return almost(fitting, budget);
}

export function launcherFactsOf(pod: PodFacts, vmi: VmiFacts): fc.Arbitrary<LauncherFacts> {
  const { namespace, name, uid, phase, deleting, nodeName } = pod;
  return any.launcher.map((found) => ({
    ...without(found, "nodeName"),
    namespace,
    name,
    uid,
    phase,
    deleting,
    vmiUID: vmi.uid,
    ...(nodeName !== undefined && { nodeName }),
  }));
}

export function slotsOf(vmis: readonly VmiFacts[]): readonly Slot[] {
  return vmis.flatMap((one) => (one.record === undefined ? [] : [slotFor({ vmi: one, record: one.record })]));
}
