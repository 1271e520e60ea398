/**
 * Whatever a tenant can write in a namespace of their own: records, labels, annotations, owners, names.
 * Owns: generating it. Does not own: what KubeVirt and Kubernetes alone write (marks, phases, conditions, activePods).
 */
import * as fc from "fast-check";
import { CAUSES } from "../../shared/policy/cause.ts";
import type { BudgetFacts, MigrationFacts, OwnerReference, PodFacts, VmiFacts } from "../../shared/policy/facts.ts";
import type { EvacuationRecord } from "../../shared/policy/record.ts";
import { budget, migration, NODE, pod, POD_UID, time, vmi, VMI_UID } from "../policy/fixtures.ts";

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

export const anyRecord: fc.Arbitrary<EvacuationRecord> = fc
  .record({
    id: fc.constantFrom("0000000a", "0000000b"),
    cause: fc.constantFrom(...CAUSES),
    requestedBy: fc.string(),
    node: fc.constantFrom(NODE, "node02", ""),
    since: anyTime,
    attempts: fc.constantFrom(0, 4, 5, 1e6, Number.MAX_SAFE_INTEGER),
    podUID: optional(anyUid),
    notBefore: optional(anyTime),
    outcome: optional(fc.constantFrom("Abandoned" as const, "Cancelled" as const)),
  })
  .map(({ podUID, notBefore, outcome, ...given }) => ({ ...given, ...present({ podUID, notBefore, outcome }) }));

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
    record: optional(anyRecord),
    evacuationLabel: optional(fc.constantFrom("normal", "urgent", "x")),
    evictionSource: optional(fc.constantFrom("descheduler", "x")),
  })
  .map(({ record, evacuationLabel, evictionSource, ...given }) => {
    const recordText = record && JSON.stringify(record);
    const written = present({ record, recordText, evacuationLabel, evictionSource });
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
  })
  .map(({ component, createdBy, domain, ...given }) => {
    const labels = { "kubevirt.io": component, "kubevirt.io/created-by": createdBy };
    return pod({ namespace: NAMESPACE, labels, annotations: { "kubevirt.io/domain": domain }, ...given });
  });

export const anyBudget: fc.Arbitrary<BudgetFacts> = fc
  .record({
    name: fc.constantFrom("lifeboat-web-00000000", budget().name, "mine"),
    uid: fc.constantFrom("b1", "b2"),
    managedByUs: fc.boolean(),
    owners: fc.array(anyOwner, { maxLength: 2 }),
    minAvailable: fc.constantFrom(0, 1, 2, "100%"),
  })
  .map((given) => budget({ namespace: NAMESPACE, ...given }));

export const anyMigration: fc.Arbitrary<MigrationFacts> = fc
  .record({
    name: anyName,
    vmiName: anyName,
    phase: fc.constantFrom("", "Pending", "Running", "Failed", "Succeeded"),
    evacuates: optional(fc.constantFrom(NODE, "node02")),
    evacuationId: optional(fc.constantFrom("0000000a", "0000000b")),
    attempt: optional(fc.constantFrom(1, 2, 1e6)),
  })
  .map(({ evacuates, evacuationId, attempt, ...given }) =>
    migration({ namespace: NAMESPACE, uid: "m", ...given, ...present({ evacuates, evacuationId, attempt }) }),
  );
