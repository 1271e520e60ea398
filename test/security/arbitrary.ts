/**
 * Whatever a tenant can write in a namespace of their own: labels, annotations, owners, names. No Evacuation.
 * Owns: generating it. Does not own: what KubeVirt and Kubernetes alone write (marks, phases, conditions, activePods).
 */
import * as fc from "fast-check";
import type { BudgetFacts, MigrationFacts, OwnerReference, PodFacts, VmiFacts } from "../../shared/policy/facts.ts";
import type { DeschedulerPod } from "../../shared/descheduling/plugins/facts.ts";
import { condition } from "../policy/guard/disruptions.ts";
import * as descheduling from "../descheduling/fixtures.ts";
import { budget, migration, NODE, NOW, pod, POD_UID, time, vmi, VMI_UID } from "../policy/fixtures.ts";

/** The victims live in namespace `apps`; these are their names and UIDs, which a forger may know. */
const NAMESPACE = "tenant";
const anyName = fc.constantFrom("web", "mine", "virt-launcher-web-x7k2p");
const anyUid = fc.constantFrom(VMI_UID, POD_UID, "my-uid", "my-pod");
const anyTime = fc.constantFrom(-1e9, -600, -121, -60, 0, 20, 60, 1e9).map(time);

function optional<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined });
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function present<T extends object>(fields: T): Present<T> {
  const kept: Present<T> = { ...fields };
  for (const key in kept) if (kept[key] === undefined) delete kept[key];
  return kept;
}

const anyOwner: fc.Arbitrary<OwnerReference> = fc.record({
  kind: fc.constantFrom("VirtualMachineInstance", "Pod"),
  name: anyName,
  uid: anyUid,
  controller: fc.boolean(),
});

/** A VMI that runs on the victims' node, and that nobody has marked. */
export const anyVmi: fc.Arbitrary<VmiFacts> = fc
  .record({
    name: fc.constantFrom("web", "mine"),
    evictionStrategy: fc.constantFrom("None", "LiveMigrate", "LiveMigrateIfPossible", "External", "Nonsense"),
    evacuationLabel: optional(fc.constantFrom("normal", "urgent", "x")),
    evictionSource: optional(fc.constantFrom("descheduler", "x")),
  })
  .map(({ evacuationLabel, evictionSource, ...given }) => {
    const written = present({ evacuationLabel, evictionSource });
    return vmi({ namespace: NAMESPACE, uid: "my-uid", activePods: { "my-pod": NODE }, ...given, ...written });
  });

export const anyPod: fc.Arbitrary<PodFacts> = fc
  .record({
    name: anyName,
    uid: fc.constantFrom("my-pod", "other-pod"),
    deleting: fc.boolean(),
    component: fc.constantFrom("virt-launcher", "hotplug-disk"),
    createdBy: anyUid,
    domain: anyName,
    owners: fc.array(anyOwner, { maxLength: 2 }),
    priority: fc.constantFrom(-1e9, 0, 1e9),
    // Only the scheduler and the kubelet write it, but the tenant may have pods of theirs preempted.
    disruptionTarget: optional(anyTime.map((since) => condition("Preemption", { since }))),
  })
  .map(({ component, createdBy, domain, disruptionTarget, ...given }) => {
    const labels = { "kubevirt.io": component, "kubevirt.io/created-by": createdBy };
    return pod({
      namespace: NAMESPACE,
      labels,
      annotations: { "kubevirt.io/domain": domain },
      ...given,
      ...present({ disruptionTarget }),
    });
  });

export const anyBudget: fc.Arbitrary<BudgetFacts> = fc
  .record({
    name: fc.constantFrom("lifeboat-web-00000000", budget().name, "mine"),
    uid: fc.constantFrom("b1", "b2"),
    managedByUs: fc.boolean(),
    owners: fc.array(anyOwner, { maxLength: 2 }),
    minAvailable: fc.constantFrom(0, 1, 2, "100%"),
    touchedAt: optional(fc.constantFrom(0, NOW.getTime(), NOW.getTime() + 1e9)),
  })
  .map(({ touchedAt, ...given }) => budget({ namespace: NAMESPACE, ...given, ...present({ touchedAt }) }));

export const anyMigration: fc.Arbitrary<MigrationFacts> = fc
  .record({
    name: anyName,
    vmiName: anyName,
    phase: fc.constantFrom("", "Pending", "Running", "Failed", "Succeeded"),
    evacuates: optional(fc.constantFrom(NODE, "node02")),
    cause: optional(fc.constantFrom("Preemption", "x")),
    blockedBy: optional(fc.constant({ type: "migrationRejectedByResourceQuota" })),
    createdAt: fc.constantFrom(0, NOW.getTime() - 3_600_000, NOW.getTime()),
  })
  .map(({ evacuates, cause, blockedBy, ...given }) =>
    migration({ namespace: NAMESPACE, uid: "m", ...given, ...present({ evacuates, cause, blockedBy }) }),
  );

const DESCHEDULER = "descheduler.alpha.kubernetes.io";
/** On a node or another, asking for something: what counts of a pod whatever it carries. */
const anyLoad = fc.record({
  nodeName: fc.constantFrom("n0", "n1", "n2", "n3"),
  phase: fc.constantFrom("Running", "Running", "Pending", "Failed"),
  requests: fc.record({ cpu: fc.constantFrom(0, 100, 900), memory: fc.constantFrom(0, 100, 900) }),
});

/** What descheduling reads of a pod that its owner may choose. `owners`: UIDs of controllers that a forger may know. */
const anyWritten = (owners: readonly string[]) =>
  fc.record({
    name: fc.constantFrom("aaa", "virt-launcher-web-x7k2p", "zzz"),
    annotations: fc.dictionary(
      fc.constantFrom(
        `${DESCHEDULER}/request-evict-only`,
        `${DESCHEDULER}/eviction-in-progress`,
        `${DESCHEDULER}/evict`,
        `${DESCHEDULER}/prefer-no-eviction`,
        "kubevirt.io/domain",
        "kubernetes.io/config.mirror",
        "lifeboat.dev/evacuation-requested",
      ),
      fc.oneof(anyTime, fc.constantFrom("", "true", "web", "x")),
      { maxKeys: 4 },
    ),
    labels: fc.dictionary(
      fc.constantFrom("app", "kubevirt.io", "kubevirt.io/created-by"),
      fc.constantFrom("db", "virt-launcher", "vmi-web"),
    ),
    owners: fc.array(
      fc.record({
        kind: fc.constantFrom("ReplicaSet", "DaemonSet", "VirtualMachineInstance"),
        name: fc.constantFrom("web", "mine"),
        uid: fc.constantFrom("mine", ...owners),
        controller: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
    deleting: fc.boolean(),
    priority: fc.constantFrom(-1e9, 0, 1e9),
    qosClass: fc.constantFrom("BestEffort" as const, "Guaranteed" as const),
    tolerations: fc.constantFrom([], [{ operator: "Exists" }]),
    placement: fc.constantFrom(descheduling.ANYWHERE, { nodeSelector: { zone: "b" }, preferred: [] }),
    antiAffinity: fc.constantFrom(
      [],
      [{ topologyKey: "zone", namespaces: ["apps", "shop"], selector: descheduling.labelled({}) }],
    ),
    localStorage: fc.boolean(),
    claims: fc.constantFrom([], ["disk"]),
  });

function numbered(i: number): Partial<DeschedulerPod> {
  return { namespace: NAMESPACE, uid: `mine-${i}`, createdAt: 0 };
}

/** Pods of the tenant's, each with the same pod as nobody has written anything on it. */
export function anyDeschedulerPods(owners: readonly string[]) {
  const anyOne = fc.record({ load: anyLoad, written: anyWritten(owners) });
  return fc.array(anyOne, { maxLength: 5 }).map((pods) => {
    return {
      plain: pods.map(({ load }, i) => descheduling.pod(`plain-${i}`, { ...numbered(i), ...load })),
      forged: pods.map(({ load, written }, i) =>
        descheduling.pod(written.name, { ...numbered(i), ...load, ...written, hasAnnotations: true }),
      ),
    };
  });
}
