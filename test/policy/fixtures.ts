/**
 * Minimal valid facts plus one tweak: `vmi({ evictionStrategy: "External" })`.
 * Owns: one VM called web on node01, its pod, budget and migration, and the clock. Does not own: whole worlds (worlds.ts).
 */
import type { Action } from "../../shared/policy/action.ts";
import { budgetName } from "../../shared/policy/budget.ts";
import type { EvictionFacts } from "../../shared/policy/eviction.ts";
import type {
  BudgetFacts,
  LiveMigratable,
  MigrationFacts,
  OwnerReference,
  PodFacts,
  VmiFacts,
} from "../../shared/policy/facts.ts";
import type { EvacuationRecord } from "../../shared/policy/record.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../shared/policy/settings.ts";
import type { Mobility } from "../../shared/policy/strategy.ts";

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
export const NAMED = 'VMI "apps/web"';

export const MOBILITY: Readonly<Record<Mobility, LiveMigratable>> = {
  migratable: { migratable: true },
  pinned: { migratable: false, reason: "DisksNotLiveMigratable", message: "the disk is not shared" },
};

/** Running on node01, migratable, strategy LiveMigrate. */
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
    hasLabels: true,
    hasAnnotations: true,
    ...tweak,
  };
}

/** The same without a field: absent is not undefined here. */
export function without<T extends object, K extends keyof T>(object: T, ...keys: readonly K[]): Omit<T, K> {
  const copy = { ...object };
  for (const key of keys) delete copy[key];
  return copy;
}

export function record(tweak: Partial<EvacuationRecord> = {}): EvacuationRecord {
  return {
    id: "0000000a",
    cause: "ApiEviction",
    requestedBy: "admin",
    node: NODE,
    podUID: POD_UID,
    since: time(-60),
    attempts: 0,
    ...tweak,
  };
}

/** Marked for its node, with its record. */
export function marked(tweak: Partial<VmiFacts> = {}, ofRecord: Partial<EvacuationRecord> = {}): VmiFacts {
  return vmi({
    evacuationNodeName: NODE,
    record: record(ofRecord),
    recordText: "{}",
    evacuationLabel: "normal",
    ...tweak,
  });
}

export function owner(tweak: Partial<OwnerReference> = {}): OwnerReference {
  return { kind: "VirtualMachineInstance", name: "web", uid: VMI_UID, controller: true, ...tweak };
}

/** The launcher pod of the VMI, ready on node01. */
export function pod(tweak: Partial<PodFacts> = {}): PodFacts {
  return {
    namespace: "apps",
    name: "virt-launcher-web-x7k2p",
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

/** A pod that holds a volume plugged into the VMI. */
export function hotplug(tweak: Partial<PodFacts> = {}): PodFacts {
  return pod({
    name: "hp-volume-7c9qd",
    uid: "hotplug-uid",
    labels: { "kubevirt.io": "hotplug-disk" },
    annotations: {},
    owners: [owner({ kind: "Pod", name: "virt-launcher-web-x7k2p", uid: POD_UID })],
    ...tweak,
  });
}

type BudgetTweak = Omit<Partial<BudgetFacts>, "status"> & { readonly status?: Partial<BudgetFacts["status"]> };

/** Ours, of size 1, up to date, allowing nothing. */
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
    minAvailable: 1,
    selector: { matchLabels: { "kubevirt.io/created-by": VMI_UID }, matchExpressions: [] },
    ...tweak,
    status: {
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      ...status,
    },
  };
}

/** Ours at 2, as the disruption controller has seen it. */
export function grownBudget(tweak: BudgetTweak = {}): BudgetFacts {
  const { status, ...rest } = tweak;
  return budget({
    minAvailable: 2,
    generation: 2,
    ...rest,
    status: { observedGeneration: 2, desiredHealthy: 2, ...status },
  });
}

/** KubeVirt's own (1.5 and older): the VMI is its controller. */
export function kubevirtBudget(tweak: BudgetTweak = {}): BudgetFacts {
  return budget({
    name: "kubevirt-disruption-budget-9x2fz",
    uid: "kubevirt-budget-uid",
    managedByUs: false,
    owners: [owner()],
    ...tweak,
  });
}

/** Somebody's migration of the VMI, under way; no evacuation. */
export function migration(tweak: Partial<MigrationFacts> = {}): MigrationFacts {
  return {
    namespace: "apps",
    name: "migration",
    uid: "migration-uid",
    resourceVersion: "1",
    vmiName: "web",
    phase: "Running",
    deleting: false,
    hasAnnotations: true,
    sourceNode: NODE,
    ...tweak,
  };
}

/** The first attempt of the evacuation in `record()`. */
export function attempt(tweak: Partial<MigrationFacts> = {}): MigrationFacts {
  return migration({ name: "first-attempt", evacuates: NODE, evacuationId: "0000000a", attempt: 1, ...tweak });
}

type SettingsTweak = Omit<Partial<Settings>, "limits" | "reconcilers" | "evacuation"> & {
  readonly limits?: Partial<Settings["limits"]>;
  readonly reconcilers?: Partial<Settings["reconcilers"]>;
  readonly evacuation?: Partial<Settings["evacuation"]>;
};

export function settings({ limits, reconcilers, evacuation, ...tweak }: SettingsTweak = {}): Settings {
  return {
    ...DEFAULT_SETTINGS,
    ...tweak,
    limits: { ...DEFAULT_SETTINGS.limits, ...limits },
    reconcilers: { ...DEFAULT_SETTINGS.reconcilers, ...reconcilers },
    evacuation: { ...DEFAULT_SETTINGS.evacuation, adoptSeconds: 5, ...evacuation },
  };
}

export const WITH_GATE = settings({ featureGates: ["DeschedulerSupport"] });

/** A person drains node01: the launcher pod of the VMI is to be evicted. */
export function eviction(tweak: Partial<EvictionFacts> = {}): EvictionFacts {
  return {
    pod: pod(),
    vmi: vmi(),
    request: { username: "admin", cause: "ApiEviction" },
    settings: settings(),
    now: NOW,
    ...tweak,
  };
}

/** The actions of one kind, typed. */
export function only<V extends Action["verb"]>(verb: V, actions: readonly Action[]): Extract<Action, { verb: V }>[] {
  return actions.filter((action): action is Extract<Action, { verb: V }> => action.verb === verb);
}

export function verbs(actions: readonly Action[]): readonly Action["verb"][] {
  return actions.map((action) => action.verb);
}
