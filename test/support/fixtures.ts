/** Creates minimal valid facts, changed by a test: `vmi({ evictionStrategy: "External" })`. */
import { PLAIN } from "../../shared/kube/guest.ts";
import type { Action } from "../../shared/kube/action.ts";
import { budgetName } from "../../shared/budget/budget.ts";
import type {
  BudgetFacts,
  LiveMigratable,
  MigrationFacts,
  NodeFacts,
  OwnerReference,
  PodFacts,
  VmiFacts,
} from "../../shared/kube/facts.ts";
import type {
  EndPhase,
  EvacuationCondition,
  EvacuationFacts,
  EvacuationSpec,
  EvacuationStatus,
} from "../../shared/kube/evacuation.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../shared/settings/settings.ts";
import { hash8 } from "../../shared/kube/objects.ts";
import type { Mobility } from "../../shared/eviction/table.ts";

export const NOW = new Date("2026-03-01T12:00:00.000Z");

export function at(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1000);
}

export function time(seconds: number): string {
  return at(seconds).toISOString();
}

export const NODE = "node01";
export const VMI_UID = "vmi-uid";
export const POD_UID = "pod-uid";
export const POD_NAME = "virt-launcher-web-x7k2p";

export const MOBILITY: Readonly<Record<Mobility, LiveMigratable>> = {
  migratable: { migratable: true },
  pinned: { migratable: false, reason: "DisksNotLiveMigratable", message: "the disk is not shared" },
};

export const PINNED = { liveMigratable: MOBILITY.pinned };
export const EXTERNAL = { evictionStrategy: "External" };

export function vmi(tweak: Partial<VmiFacts> = {}): VmiFacts {
  return {
    namespace: "apps",
    name: "web",
    uid: VMI_UID,
    resourceVersion: "1",
    deleting: false,
    phase: "Running",
    evictionStrategy: "LiveMigrate",
    nodeName: NODE,
    liveMigratable: MOBILITY.migratable,
    activePods: { [POD_UID]: NODE },
    isMigrating: false,
    asks: PLAIN,
    hasLabels: true,
    hasAnnotations: true,
    ...tweak,
  };
}

/** Returns the object without these fields. */
export function without<T extends object, K extends keyof T>(object: T, ...keys: readonly K[]): Omit<T, K> {
  const copy = { ...object };
  for (const key of keys) delete copy[key];
  return copy;
}

export function marked(tweak: Partial<VmiFacts> = {}): VmiFacts {
  return vmi({ evacuationNodeName: NODE, ...tweak });
}

export const MARK_SEEN: EvacuationCondition = {
  type: "Marked",
  status: "True",
  reason: "Marked",
  message: `status.evacuationNodeName of the VMI is ${NODE}`,
  lastTransitionTime: time(-60),
};

type EvacuationTweak = Omit<Partial<EvacuationFacts>, "spec" | "status"> & {
  readonly spec?: Partial<EvacuationSpec>;
  readonly status?: Partial<EvacuationStatus>;
};

/**
 * Returns the first Evacuation of the VMI's pod. An eviction created it a minute ago, and Lifeboat has not handled it
 * yet.
 */
export function newborn({ spec, status, ...tweak }: EvacuationTweak = {}): EvacuationFacts {
  return {
    namespace: "apps",
    name: `web-${hash8(POD_UID)}-1`,
    uid: "evacuation-uid",
    resourceVersion: "1",
    createdAt: at(-60).getTime(),
    ...tweak,
    spec: {
      vmiName: "web",
      cause: "ApiEviction",
      requestedBy: "admin",
      intent: "Evacuate",
      pod: { name: POD_NAME, uid: POD_UID },
      ...spec,
    },
    status: { attempts: 0, conditions: [], ...status },
  };
}

/** Returns an Evacuation that Lifeboat has handled once. Lifeboat has also seen evacuationNodeName. */
export function evacuation({ status, ...tweak }: EvacuationTweak = {}): EvacuationFacts {
  const seen = {
    virtualMachineInstanceUID: VMI_UID,
    podName: POD_NAME,
    podUID: POD_UID,
    sourceNode: NODE,
    phase: "Pending",
    reason: "Pending",
    message: "KubeVirt's evacuation controller migrates the VM",
    startTime: time(-60),
    conditions: [MARK_SEEN],
  } as const;
  return newborn({ ...tweak, status: { ...seen, ...status } });
}

/** Returns an Evacuation that has just reached this final phase. */
export function endedEvacuation(phase: EndPhase, { status, ...tweak }: EvacuationTweak = {}): EvacuationFacts {
  return evacuation({ ...tweak, status: { phase, reason: phase, completionTime: time(0), ...status } });
}

export function owner(tweak: Partial<OwnerReference> = {}): OwnerReference {
  return { kind: "VirtualMachineInstance", name: "web", uid: VMI_UID, controller: true, ...tweak };
}

/** Returns the VMI's launcher pod, which is ready on node01. */
export function pod(tweak: Partial<PodFacts> = {}): PodFacts {
  return {
    namespace: "apps",
    name: POD_NAME,
    uid: POD_UID,
    phase: "Running",
    nodeName: NODE,
    ready: true,
    deleting: false,
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": VMI_UID },
    annotations: { "kubevirt.io/domain": "web" },
    owners: [owner()],
    ...tweak,
  };
}

/** Returns a hotplug pod with a volume of the VMI. */
export function hotplug(tweak: Partial<PodFacts> = {}): PodFacts {
  return pod({
    name: "hp-volume-7c9qd",
    uid: "hotplug-uid",
    labels: { "kubevirt.io": "hotplug-disk" },
    annotations: {},
    owners: [owner({ kind: "Pod", name: POD_NAME, uid: POD_UID })],
    ...tweak,
  });
}

type BudgetTweak = Omit<Partial<BudgetFacts>, "status"> & { readonly status?: Partial<BudgetFacts["status"]> };

const SEEN = { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 };

/** Returns Lifeboat's PodDisruptionBudget for the VMI, which allows no disruption. */
export function budget({ status, ...tweak }: BudgetTweak = {}): BudgetFacts {
  return {
    namespace: "apps",
    name: budgetName(vmi()),
    uid: "budget-uid",
    resourceVersion: "1",
    generation: 1,
    deleting: false,
    managedByUs: true,
    owners: [owner({ controller: false })],
    minAvailable: 2,
    selector: { matchLabels: { "kubevirt.io/created-by": VMI_UID }, matchExpressions: [] },
    ...tweak,
    status: { ...SEEN, ...status },
  };
}

export function migration(tweak: Partial<MigrationFacts> = {}): MigrationFacts {
  return {
    namespace: "apps",
    name: "migration",
    uid: "migration-uid",
    resourceVersion: "1",
    vmiName: "web",
    phase: "Running",
    deleting: false,
    createdAt: at(-30).getTime(),
    sourceNode: NODE,
    ...tweak,
  };
}

/** Returns the VMI's node, which is ready and healthy. */
export function node(tweak: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name: NODE,
    ready: true,
    unschedulable: false,
    taints: [],
    pressures: [],
    ...tweak,
  };
}

type SettingsTweak = Omit<Partial<Settings>, "limits" | "evacuation"> & {
  readonly limits?: Partial<Settings["limits"]>;
  readonly evacuation?: Partial<Settings["evacuation"]>;
};

export function settings({ limits, evacuation, ...tweak }: SettingsTweak = {}): Settings {
  return {
    ...DEFAULT_SETTINGS,
    ...tweak,
    limits: { ...DEFAULT_SETTINGS.limits, ...limits },
    evacuation: { ...DEFAULT_SETTINGS.evacuation, adoptSeconds: 5, ...evacuation },
  };
}

export function only<V extends Action["verb"]>(verb: V, actions: readonly Action[]): Extract<Action, { verb: V }>[] {
  return actions.filter((action): action is Extract<Action, { verb: V }> => action.verb === verb);
}

export function verbs(actions: readonly Action[]): readonly Action["verb"][] {
  return actions.map((action) => action.verb);
}
