/** Generates a VM and its objects: VMI, launcher and hotplug pods, Evacuations, migration and PodDisruptionBudget. */
import * as fc from "fast-check";
import { budgetName } from "../../../shared/budget/budget.ts";
import { ACTIVE_PHASES, CAUSES, END_PHASES, isEnd } from "../../../shared/kube/evacuation.ts";
import * as names from "../../../shared/kube/names.ts";
import { NODE, time } from "../fixtures.ts";
import type { JsonObject } from "../json.ts";
import { anyPod, deleted, launcherOf, maybeMoment, moment, NAMESPACE, object, podOf, uidOf } from "./objects.ts";
import { often } from "./often.ts";
import { anyMigration, SENT } from "./migrations.ts";
import { hash8 } from "../../../shared/kube/objects.ts";

const evacuation = fc.record({
  phase: fc.constantFrom(undefined, ...ACTIVE_PHASES, ...END_PHASES),
  cause: fc.constantFrom(...CAUSES, "Preemption" as const, "NoExecuteTaint" as const),
  requestedBy: often("admin", ""),
  intent: often("Evacuate", "Withdrawn"),
  created: moment,
  about: often("Launcher", "Another", "None"),
  deadline: maybeMoment,
  inherited: fc.option(fc.record({ attempts: fc.constantFrom(0, 4, 1000), notBefore: moment }), {
    nil: undefined,
    freq: 2,
  }),
  attempts: fc.constantFrom(0, 0, 1, 4, 5, 2 ** 31 - 1),
  nextAttemptTime: maybeMoment,
  completionTime: moment,
  marked: fc.boolean(),
  stalled: often(false, true),
  migration: fc.boolean(),
  failed: fc.boolean(),
  left: fc.boolean(),
});

export const anyBudget = fc.record({
  minAvailable: fc.constantFrom<number | string>(1, 1, 2, 2, "100%"),
  healthy: often(1, 0, 2),
  seen: often(true, false),
  ours: often(true, false),
  deleting: often(false, true),
});

const vmi = {
  strategy: fc.constantFrom(
    "LiveMigrate",
    "LiveMigrate",
    "LiveMigrateIfPossible",
    "LiveMigrateIfPossible",
    "External",
    "None",
    "Odd",
    undefined,
  ),
  migratable: fc.constantFrom("True", "True", "False"),
  phase: often("Running", "Succeeded", "Scheduling"),
  node: often<string | undefined>(NODE, "node02", undefined, undefined),
  mark: fc.constantFrom(undefined, undefined, NODE, NODE, "node02"),
  deleting: often(false, true),
  isThere: often(true, false),
  label: fc.constantFrom(undefined, "normal", "urgent"),
  hasLabels: often(true, false),
  evictionSource: often<string | undefined>(undefined, "descheduler"),
  guest: fc.constantFrom("1Gi", "4Gi", 2 ** 30, undefined),
  state: often<object | undefined>(
    undefined,
    { mode: "PostCopy", targetNode: "node02" },
    { startTimestamp: time(-9), targetNodeDomainReadyTimestamp: time(-1) },
    { migrationUid: uidOf("m-web"), failed: true, failureReason: "no room", endTimestamp: time(-1) },
    { migrationUid: uidOf("m-web"), completed: true, sourceNode: "node02", targetNode: NODE, endTimestamp: time(-60) },
  ),
  launcherIs: often("Listed", "Unlisted", "Unlisted", "Target", "Another's", "Plain"),
};

const anyVm = fc.record({
  ...vmi,
  launcher: anyPod,
  hotplug: fc.option(anyPod, { nil: undefined }),
  evacuations: fc.array(evacuation, { maxLength: 2 }),
  migration: fc.option(anyMigration, { nil: undefined, freq: 2 }),
  budget: fc.option(anyBudget, { nil: undefined, freq: 4 }),
});

export type Vm = typeof anyVm extends fc.Arbitrary<infer T> ? T : never;
type BesideVmi = "launcher" | "hotplug" | "evacuations" | "migration" | "budget";
type Evacuation = Vm["evacuations"][number];

/** Rare combinations of facts. In each of them, the VM runs and an Evacuation is in progress. */
const TELLING: readonly ((e: Evacuation) => Partial<Vm>)[] = [
  // The VM has an evacuationNodeName, but can no longer migrate.
  () => ({ strategy: "LiveMigrateIfPossible", migratable: "False", mark: NODE, evacuations: [] }),
  () => ({ ...SENT, evacuations: [] }),
  // The VM has an evacuationNodeName, but no migration has started for hours.
  (e) => ({ mark: NODE, migration: undefined, evacuations: [{ ...e, created: time(-9999) }] }),
  // The taint manager no longer retries the deletion.
  (e) => ({ evacuations: [{ ...e, cause: "NoExecuteTaint", deadline: time(-300) }] }),
  () => ({ mark: undefined, evacuations: [], migration: undefined }),
  // Lifeboat cancelled the Evacuation, but stopped before it removed evacuationNodeName.
  (e) => ({ mark: NODE, evacuations: [{ ...e, phase: "Withdrawn", left: true }] }),
  // The eviction strategy is External, so the owner must move the VM. KubeVirt cannot migrate the VM.
  (e) => ({ strategy: "External", migratable: "False", mark: undefined, evacuations: e.failed ? [e] : [] }),
];

const tellingVm = fc.tuple(anyVm, evacuation, fc.constantFrom(...TELLING)).map(([found, e, telling]): Vm => {
  const goingOn: Evacuation = { ...e, phase: "Pending", intent: "Evacuate", about: "Launcher" };
  const running = { phase: "Running", node: NODE, deleting: false, isThere: true, launcherIs: "Listed" } as const;
  return { ...found, ...running, strategy: "LiveMigrate", migratable: "True", ...telling(goingOn) };
});

export const vm = fc.oneof({ weight: 4, arbitrary: anyVm }, { weight: 1, arbitrary: tellingVm });

export function vmiOf(v: Omit<Vm, BesideVmi>, name: string): JsonObject {
  const podUID = uidOf(launcherOf(name));
  const labels = v.hasLabels || v.label ? { app: name, [names.EVACUATION_LABEL]: v.label } : undefined;
  const annotations = { [names.EVICTION_SOURCE_ANNOTATION]: v.evictionSource };
  const listed = v.launcherIs === "Unlisted" ? "another-pod" : podUID;
  const active = { [listed]: v.node, ...(v.launcherIs === "Target" && { [podUID]: "node03", source: v.node }) };
  const condition = { type: "LiveMigratable", status: v.migratable, reason: "DisksNotLiveMigratable" };
  return object(
    "VirtualMachineInstance",
    { namespace: NAMESPACE, name, labels, annotations, deletionTimestamp: deleted(v.deleting) },
    {
      spec: { evictionStrategy: v.strategy, domain: { memory: { guest: v.guest } } },
      status: {
        phase: v.phase,
        nodeName: v.node,
        evacuationNodeName: v.mark,
        activePods: v.node === undefined ? undefined : active,
        conditions: [condition],
        migrationState: v.state,
      },
    },
  );
}

export function podsOf(v: Vm, name: string): readonly JsonObject[] {
  const uid = v.launcherIs === "Another's" ? "uid-of-another" : uidOf(name);
  const launcher = launcherOf(name);
  const component = v.launcherIs === "Plain" ? {} : { [names.COMPONENT_LABEL]: names.LAUNCHER_COMPONENT };
  const owner = { kind: "VirtualMachineInstance", name, uid, controller: true };
  const metadata = {
    name: launcher,
    labels: { ...component, [names.CREATED_BY_LABEL]: uid },
    annotations: { ...v.launcher.annotations, [names.DOMAIN_ANNOTATION]: name },
    ownerReferences: [owner],
  };
  const pod = podOf(v.launcher, { metadata, nodeName: v.launcherIs === "Target" ? "node03" : v.node });
  if (v.hotplug === undefined) return [pod];
  const labels = { [names.COMPONENT_LABEL]: names.HOTPLUG_COMPONENT };
  const ownerReferences = [{ kind: "Pod", name: launcher, uid: uidOf(launcher), controller: true }];
  return [pod, podOf(v.hotplug, { metadata: { name: `hp-${name}`, labels, ownerReferences }, nodeName: v.node })];
}

function conditionsOf(e: Evacuation): readonly JsonObject[] {
  const isLeft = e.left && e.phase !== undefined && isEnd(e.phase);
  const types = [...(e.marked ? ["Marked"] : []), ...(e.stalled ? ["Stalled"] : []), ...(isLeft ? ["Released"] : [])];
  return types.map((type) => {
    const status = type === "Released" ? "False" : "True";
    return { type, status, reason: type, message: "", lastTransitionTime: time(-60) };
  });
}

export function evacuationsOf({ evacuations, node }: Vm, name: string): readonly JsonObject[] {
  const podUID = uidOf(launcherOf(name));
  const migrated = { name: `m-${name}`, uid: uidOf(`m-${name}`) };
  return evacuations.map((e, i) => {
    const uid = e.about === "Another" ? "uid-of-another-pod" : podUID;
    const seen = e.phase && { virtualMachineInstanceUID: uidOf(name), podUID: uid, sourceNode: node, phase: e.phase };
    return object(
      "Evacuation",
      { namespace: NAMESPACE, name: `${name}-${hash8(uid)}-${i + 1}`, creationTimestamp: e.created },
      {
        spec: {
          virtualMachineInstance: { name },
          cause: e.cause,
          requestedBy: e.requestedBy,
          intent: e.intent,
          deadline: e.deadline,
          pod: e.about === "None" ? undefined : { uid },
          inherited: e.inherited,
        },
        status: {
          ...seen,
          attempts: e.attempts,
          nextAttemptTime: e.nextAttemptTime,
          completionTime: e.phase && isEnd(e.phase) ? e.completionTime : undefined,
          migration: e.migration ? migrated : undefined,
          lastFailedMigration: e.failed ? migrated : undefined,
          conditions: conditionsOf(e),
        },
      },
    );
  });
}

export function migrationsOf(
  { migration: m, node }: Pick<Vm, "migration" | "node">,
  name: string,
): readonly JsonObject[] {
  if (m === undefined) return [];
  const written = {
    KubeVirt: { [names.EVACUATION_MIGRATION_ANNOTATION]: node },
    Lifeboat: { [names.CAUSE_ANNOTATION]: "Preemption" },
    Person: {},
  }[m.by];
  const conditions = m.blocked ? [{ type: m.blocked, status: "True", reason: "Blocked" }] : [];
  const migrationState = {
    sourceNode: node,
    targetNode: "node03",
    targetPod: m.targetPod,
    failureReason: m.failureReason,
  };
  const annotations = m.hasAnnotations ? written : undefined;
  const times = { creationTimestamp: m.created, deletionTimestamp: deleted(m.deleting) };
  const labels = { [names.VMI_NAME_LABEL]: name };
  const metadata = { namespace: NAMESPACE, name: `m-${name}`, labels, annotations, ...times };
  const rest = { spec: { vmiName: name }, status: { phase: m.phase, conditions, migrationState } };
  return [object("VirtualMachineInstanceMigration", metadata, rest)];
}

export function budgetsOf({ budget: b }: Pick<Vm, "budget">, name: string): readonly JsonObject[] {
  if (b === undefined) return [];
  const uid = uidOf(name);
  const labels = { [names.MANAGED_BY_LABEL]: b.ours ? names.MANAGED_BY : "helm" };
  const ownerReferences = [{ kind: "VirtualMachineInstance", name, uid, controller: false }];
  const desiredHealthy = b.minAvailable === 2 ? 2 : 1;
  const counts = { disruptionsAllowed: b.healthy - desiredHealthy, currentHealthy: b.healthy, desiredHealthy };
  const metadata = { namespace: NAMESPACE, name: budgetName({ name, uid }), generation: 2, labels, ownerReferences };
  const rest = {
    spec: { minAvailable: b.minAvailable, selector: { matchLabels: { [names.CREATED_BY_LABEL]: uid } } },
    status: { observedGeneration: b.seen ? 2 : 1, expectedPods: 1, ...counts },
  };
  return [object("PodDisruptionBudget", { ...metadata, deletionTimestamp: deleted(b.deleting) }, rest)];
}
