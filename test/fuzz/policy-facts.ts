/**
 * Facts of every kind that parsing lets through, likely or not.
 * Owns: generating them. Does not own: facts that fit together (policy-fitting.ts), what must hold.
 */
import * as fc from "fast-check";
import type {
  LauncherFacts,
  MigrationFacts,
  NodeFacts,
  OwnerReference,
  PodFacts,
  VmiFacts,
} from "../../shared/policy/facts.ts";
import { createdAt } from "./policy-evacuations.ts";
import {
  anyText,
  bytes,
  facts,
  few,
  key,
  namespace,
  nodeName,
  number,
  phase,
  strategy,
  uid,
  vmiName,
} from "./policy-words.ts";

export const labels = fc.oneof(
  fc.constantFrom<Readonly<Record<string, string>>>(
    { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "uid-1" },
    { "kubevirt.io": "hotplug-disk" },
    {},
  ),
  fc.dictionary(key, fc.string(), { maxKeys: 3 }),
);
const annotations = fc.oneof(
  vmiName.map((name): Readonly<Record<string, string>> => ({ "kubevirt.io/domain": name })),
  fc.dictionary(key, fc.string(), { maxKeys: 2 }),
);
const owner: fc.Arbitrary<OwnerReference> = fc.record({
  kind: few("VirtualMachineInstance", "Pod"),
  name: vmiName,
  uid,
  controller: fc.boolean(),
});
export const owners = fc.array(owner, { maxLength: 2 });

const toleration = fc.record(
  {
    key,
    operator: few("Exists", "Equal"),
    value: fc.string(),
    effect: few("NoExecute", "NoSchedule"),
    tolerationSeconds: number,
  },
  { requiredKeys: [] },
);

export const pod: fc.Arbitrary<PodFacts> = facts(
  {
    namespace,
    name: few("virt-launcher-web-abcde", "virt-launcher-db-abcde"),
    uid,
    phase,
    ready: fc.boolean(),
    deleting: fc.boolean(),
    labels,
    annotations,
    owners,
  },
  {
    nodeName,
    unschedulable: fc.string(),
    disruptionTarget: facts(
      { active: fc.boolean(), since: anyText },
      { reason: few("PreemptionByScheduler", "DeletionByTaintManager", "constructor") },
    ),
    tolerations: fc.array(toleration, { maxLength: 2 }),
    priority: number,
    memoryRequest: bytes,
  },
);

export const launcher: fc.Arbitrary<LauncherFacts> = facts(
  {
    namespace,
    name: few("virt-launcher-web-abcde", "virt-launcher-db-abcde"),
    uid,
    resourceVersion: fc.string(),
    phase,
    deleting: fc.boolean(),
    annotations: fc.dictionary(
      few(
        "descheduler.alpha.kubernetes.io/eviction-in-progress",
        "descheduler.alpha.kubernetes.io/request-evict-only",
        "lifeboat.dev/evacuation-requested",
      ),
      fc.string(),
      { maxKeys: 3 },
    ),
    hasAnnotations: fc.boolean(),
    vmiUID: uid,
    createdAt,
  },
  { nodeName },
);

export const vmi: fc.Arbitrary<VmiFacts> = facts(
  {
    namespace,
    name: vmiName,
    uid,
    resourceVersion: fc.string(),
    deleting: fc.boolean(),
    phase,
    liveMigratable: facts({ migratable: fc.boolean() }, { reason: fc.string(), message: fc.string() }),
    activePods: fc.dictionary(uid, nodeName, { maxKeys: 2 }),
    hasLabels: fc.boolean(),
    isMigrating: fc.boolean(),
  },
  {
    evictionStrategy: strategy,
    nodeName,
    evacuationNodeName: nodeName,
    evictionSource: few("descheduler"),
    guestOnTarget: fc.boolean(),
    failure: fc.record({ migrationUID: uid, reason: fc.string() }),
    guestMemory: bytes,
    evacuationLabel: few("normal", "urgent"),
  },
);

export const migration: fc.Arbitrary<MigrationFacts> = facts(
  {
    namespace,
    name: few("m-1", "m-2"),
    uid,
    resourceVersion: fc.string(),
    vmiName,
    phase,
    deleting: fc.boolean(),
    createdAt,
  },
  {
    evacuates: nodeName,
    cause: few("Preemption"),
    sourceNode: nodeName,
    targetNode: nodeName,
    targetPod: fc.string(),
    failureReason: fc.string(),
    blockedBy: facts({ type: few("migrationRejectedByResourceQuota") }, { reason: fc.string(), message: fc.string() }),
  },
);

const taint = facts(
  { key: few("kubevirt.io/drain", "node.kubernetes.io/unreachable", "a"), effect: few("NoSchedule", "NoExecute") },
  { value: fc.string() },
);

export const node: fc.Arbitrary<NodeFacts> = fc.record({
  name: nodeName,
  ready: fc.boolean(),
  unschedulable: fc.boolean(),
  taints: fc.array(taint, { maxLength: 2 }),
  pressures: fc.subarray(["MemoryPressure", "DiskPressure", "PIDPressure"]),
  allocatableMemory: bytes,
});
