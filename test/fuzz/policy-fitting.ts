/**
 * Facts that belong together: a VMI that runs, its launcher pod, its Evacuations, migration and budget.
 * Owns: making them so, of facts of every kind. Does not own: how often that is done, and in how many fields not
 * (test/mostly.ts), requests (policy-requests.ts), worlds (policy-worlds.ts).
 */
import * as fc from "fast-check";
import { CAUSES } from "../../shared/policy/cause.ts";
import { budgetName } from "../../shared/policy/budget/identity.ts";
import type {
  BudgetFacts,
  DisruptionTarget,
  EvacuationFacts,
  LauncherFacts,
  MigrationFacts,
  PodFacts,
  VmiFacts,
} from "../../shared/policy/facts.ts";
import { secondsAfter } from "../../shared/policy/evacuation/attempt.ts";
import { ACTIVE_PHASES, END_PHASES } from "../../shared/policy/evacuation/phase.ts";
import { almost } from "../mostly.ts";
import { without } from "../policy/fixtures.ts";
import * as any from "./policy-facts.ts";
import { budget } from "./policy-budgets.ts";
import { evacuation } from "./policy-evacuations.ts";
import { NOON, time } from "./policy-words.ts";

/** A VMI and the pod that its guest runs in. */
export interface Resident {
  readonly vmi: VmiFacts;
  readonly pod: PodFacts;
}

const IF_POSSIBLE = ["LiveMigrateIfPossible", "LiveMigrateIfPossible"] as const;

const standing = fc.record({
  /** Now and then it is not scheduled yet. */
  nodeName: fc.option(fc.constantFrom("node01", "node02"), { nil: undefined, freq: 12 }),
  evictionStrategy: fc.constantFrom("LiveMigrate", "LiveMigrate", ...IF_POSSIBLE, "External", "None", "Sometimes"),
  marked: fc.boolean(),
});

const launcherLabels = (vmi: VmiFacts) => ({ "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vmi.uid });

const fittingVmi = fc.tuple(any.vmi, any.pod, standing).map(([found, pod, s]): VmiFacts => {
  const { nodeName, evictionStrategy, marked } = s;
  return {
    ...without(found, "nodeName", "evacuationNodeName"),
    evictionStrategy,
    phase: "Running",
    deleting: false,
    activePods: nodeName === undefined ? {} : { [pod.uid]: nodeName },
    ...(nodeName && { nodeName, ...(marked && { evacuationNodeName: nodeName }) }),
  };
});

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

const history = fc.record({
  phase: fc.constantFrom(undefined, ...ACTIVE_PHASES, ...END_PHASES, ...END_PHASES),
  restSeconds: fc.nat(400),
  cause: fc.constantFrom(...CAUSES, "Preemption" as const, "NoExecuteTaint" as const, "NoExecuteTaint" as const),
  mark: fc.boolean(),
  ageSeconds: fc.nat(600),
});

/** Of the VMI's pod: going on, or ended a while ago and resting. */
export function evacuationOf(vmi: VmiFacts): fc.Arbitrary<EvacuationFacts> {
  const { namespace, name: vmiName, uid: virtualMachineInstanceUID, nodeName } = vmi;
  const [podUID = "uid-1"] = Object.keys(vmi.activePods);
  const seen = { virtualMachineInstanceUID, podUID, ...(nodeName !== undefined && { sourceNode: nodeName }) };
  const fitting = fc.tuple(evacuation, history).map(([found, h]): EvacuationFacts => {
    const { phase, restSeconds, mark, ageSeconds, cause } = h;
    const since = new Date(NOON.getTime() - ageSeconds * 1000);
    const told = {
      type: "Marked",
      status: "True",
      reason: "Marked",
      message: "",
      lastTransitionTime: NOON.toISOString(),
    } as const;
    return {
      ...found,
      namespace,
      createdAt: since.getTime(),
      spec: { ...found.spec, vmiName, cause, pod: { uid: podUID } },
      status: {
        ...without(found.status, "phase", "nextAttemptTime", "lastFailedMigration"),
        ...(phase && { ...seen, phase }),
        ...(phase && END_PHASES.some((end) => end === phase) && { completionTime: since.toISOString() }),
        ...(restSeconds > 200 && { nextAttemptTime: secondsAfter(NOON, restSeconds - 200) }),
        conditions: mark ? [told] : [],
      },
    };
  });
  return almost(fitting, evacuation);
}

/** KubeVirt's for its mark, or ours, at whatever it has come to. */
export function migrationOf({ namespace, name, nodeName = "" }: VmiFacts): fc.Arbitrary<MigrationFacts> {
  const phase = fc.constantFrom("Pending", "Pending", "Running", "Succeeded", "Failed");
  const fitting = fc.tuple(any.migration, phase, fc.boolean()).map(([found, phase, ours]): MigrationFacts => ({
    ...without(found, "cause", "blockedBy"),
    namespace,
    vmiName: name,
    phase,
    deleting: false,
    createdAt: NOON.getTime(),
    sourceNode: nodeName,
    ...(ours ? { cause: "Preemption" } : { evacuates: nodeName }),
    ...(found.blockedBy && { blockedBy: found.blockedBy }),
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
