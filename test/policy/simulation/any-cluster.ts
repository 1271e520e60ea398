/**
 * Any cluster at all: facts that fit together or not, tampered records, slots of nobody.
 * Owns: generating them. Does not own: what must hold (properties.test.ts).
 */
import * as fc from "fast-check";
import { budgetName } from "../../../shared/policy/budget.ts";
import { CAUSES } from "../../../shared/policy/cause.ts";
import { keyOf, type MigrationFacts, type VmiFacts } from "../../../shared/policy/facts.ts";
import type { EvacuationRecord } from "../../../shared/policy/record.ts";
import { type Slot, slotFor } from "../../../shared/policy/slots.ts";
import { mostly } from "../../mostly.ts";
import { budget, NOW, owner, record, time, vmi, without } from "../fixtures.ts";
import { SimulatedCluster } from "./cluster.ts";
import { launcherOn } from "./pods.ts";
import { anySettings } from "./storm.ts";

const NODES = ["node01", "node02"] as const;
const NAMES = ["a", "b", "c", "d"] as const;
const node = fc.constantFrom(...NODES);
const maybeNode = fc.option(node, { nil: undefined });
const id = fc.constantFrom("0000000a", "0000000b");
const phase = fc.constantFrom("", "Pending", "Running", "Succeeded", "Failed");
const moment = fc.constantFrom(-1000, -1, 0, 1, 300, 1e9).map(time);

/** Written as a node, where it is the one that the VMI is on. */
const ITS_OWN = "its own";

const anyRecord: fc.Arbitrary<EvacuationRecord> = fc
  .record({
    id,
    node,
    cause: fc.constantFrom(...CAUSES),
    since: moment,
    attempts: fc.constantFrom(0, 1, 4, 5, 1000),
    notBefore: fc.option(moment, { nil: undefined }),
    outcome: fc.constantFrom(undefined, undefined, "Abandoned" as const, "Cancelled" as const),
  })
  .map(({ notBefore, outcome, ...r }) =>
    record({ ...r, ...(notBefore && { notBefore }), ...(outcome && { outcome }) }),
  );

interface AnyVmi extends Pick<VmiFacts, "name" | "deleting" | "phase"> {
  readonly evictionStrategy: string;
  readonly migratable: boolean;
  readonly nodeName: string | undefined;
  readonly mark: string | undefined;
  readonly kept: EvacuationRecord | undefined;
  readonly label: boolean;
}

/** Several of each kind of oddity. */
const oddVmi: fc.Arbitrary<AnyVmi> = fc.record({
  name: fc.constantFrom(...NAMES),
  evictionStrategy: fc.constantFrom("None", "LiveMigrate", "LiveMigrateIfPossible", "External", "Odd"),
  migratable: fc.boolean(),
  deleting: fc.constantFrom(false, false, false, true),
  phase: fc.constantFrom("Running", "Running", "Failed"),
  nodeName: fc.option(node, { nil: undefined, freq: 9 }),
  mark: maybeNode,
  kept: fc.option(anyRecord, { nil: undefined }),
  label: fc.boolean(),
});

/** Under evacuation, marked and recorded for the node it is on, and free to migrate; or no longer, without having moved. */
const evacuatedVmi: fc.Arbitrary<AnyVmi> = fc
  .record({
    name: fc.constantFrom(...NAMES),
    evictionStrategy: fc.constantFrom("LiveMigrate", "LiveMigrateIfPossible"),
    migratable: fc.constant(true),
    deleting: fc.constant(false),
    phase: fc.constant("Running"),
    nodeName: node,
    id,
    cause: fc.constantFrom(...CAUSES),
    attempts: fc.constantFrom(0, 0, 1, 4),
    ended: fc.constantFrom(...Array<undefined>(3), { outcome: "Cancelled" as const, notBefore: time(20) }),
    label: fc.constant(true),
  })
  .map(({ id, cause, attempts, ended, ...v }) => ({
    ...v,
    mark: ended === undefined ? ITS_OWN : undefined,
    kept: record({ id, cause, attempts, node: ITS_OWN, since: time(-1000), ...ended }),
  }));

function vmiOf({ migratable, nodeName, mark, kept, label, ...v }: AnyVmi): VmiFacts {
  const its = (one: string | undefined) => (one === ITS_OWN ? nodeName : one);
  const marked = its(mark);
  const recorded = kept && { ...kept, node: its(kept.node) ?? NODES[0] };
  return vmi({
    ...without(vmi(), "nodeName"),
    ...v,
    uid: `uid-${v.name}`,
    liveMigratable: { migratable },
    activePods: {},
    ...(nodeName && { nodeName }),
    ...(marked && { evacuationNodeName: marked }),
    ...(recorded && { record: recorded, recordText: JSON.stringify(recorded) }),
    ...(label && { evacuationLabel: "normal" }),
  });
}

/** Every name once. */
const anyVmis: fc.Arbitrary<readonly VmiFacts[]> = fc.uniqueArray(mostly(evacuatedVmi, oddVmi).map(vmiOf), {
  selector: (v) => v.name,
  minLength: 1,
  maxLength: NAMES.length,
  size: "max",
});

const oddMigration = fc.record({
  vmiName: fc.constantFrom(...NAMES),
  phase,
  deleting: fc.boolean(),
  sourceNode: node,
  evacuates: maybeNode,
  evacuationId: fc.option(id, { nil: undefined }),
  attempt: fc.constantFrom(1, 2, 5, 1000),
});
/** Of an evacuation: begun by KubeVirt, or for one of two records. */
const evacuatingMigration = fc.record({
  vmiName: fc.constantFrom(...NAMES),
  phase: fc.constantFrom("Pending", "Pending", "Running", "Failed"),
  deleting: fc.constant(false),
  sourceNode: node,
  evacuates: node,
  evacuationId: fc.option(id, { nil: undefined, freq: 2 }),
  attempt: fc.constantFrom(1, 2, 5),
});
/** Each of them may be in the way of an evacuation. */
const anyMigrations = fc.oneof(
  fc.constant([]),
  fc.array(mostly(evacuatingMigration, oddMigration), { minLength: 1, maxLength: 4 }),
);

const anySizes = fc.array(
  fc.record({
    of: fc.constantFrom(...NAMES),
    minAvailable: fc.constantFrom(0, 1, 2),
    managedByUs: fc.boolean(),
    controller: fc.boolean(),
    owned: fc.boolean(),
    named: fc.boolean(),
    observedGeneration: fc.constantFrom(1, 2),
  }),
  { maxLength: 4 },
);

export const anyCluster = fc.record({
  vmis: anyVmis,
  migrations: anyMigrations,
  sizes: anySizes,
  /** Whose budget stands ready for a migration, and whose slot is reserved. */
  grown: fc.oneof(fc.constant([...NAMES]), fc.subarray([...NAMES])),
  reserved: fc.subarray([...NAMES]),
  pods: fc.constantFrom(1, 1, 2),
  tainted: fc.subarray([...NODES]),
  settings: anySettings,
});

type Facts = typeof anyCluster extends fc.Arbitrary<infer T> ? T : never;
type AnySize = Omit<Facts["sizes"][number], "of"> & { readonly of: string };

export function clusterOf(facts: Facts): SimulatedCluster {
  const cluster = new SimulatedCluster(facts.settings, NOW);
  for (const v of facts.vmis) {
    cluster.add(v);
    if (facts.pods === 2) cluster.pods.put(launcherOn(v, `second-pod-${v.uid}`, v.nodeName));
    if (isAmong(facts.grown, v)) addBudget(cluster, `grown-${v.name}`, { ...GROWN, of: v.name });
  }
  for (const [i, m] of facts.migrations.entries()) addMigration(cluster, `m${i}`, m);
  for (const [i, b] of facts.sizes.entries()) addBudget(cluster, `budget-${i}`, b);
  for (const tainted of facts.tainted) cluster.tainted.add(tainted);
  const slots = slotsFor(facts.vmis.filter((v) => isAmong(facts.reserved, v)));
  if (slots.length > 0) cluster.register = { resourceVersion: "1", slots };
  return cluster;
}

function isAmong(names: readonly string[], { name }: VmiFacts): boolean {
  return names.includes(name);
}

function slotsFor(vmis: readonly VmiFacts[]): readonly Slot[] {
  return vmis.flatMap((v) => (v.record === undefined ? [] : [slotFor({ vmi: v, record: v.record })]));
}

function addMigration(cluster: SimulatedCluster, name: string, m: Facts["migrations"][number]): void {
  const { evacuates, evacuationId, attempt, ...rest } = m;
  const key = { namespace: "apps", name };
  const evacuation = { ...(evacuates && { evacuates }), ...(evacuationId && { evacuationId, attempt }) };
  const migration: MigrationFacts = {
    ...key,
    uid: name,
    resourceVersion: "1",
    hasAnnotations: true,
    ...rest,
    ...evacuation,
  };
  cluster.migrations.set(keyOf(key), migration);
}

const GROWN: Omit<AnySize, "of"> = {
  minAvailable: 2,
  managedByUs: true,
  controller: false,
  owned: true,
  named: true,
  observedGeneration: 2,
};

function addBudget(cluster: SimulatedCluster, uid: string, b: AnySize): void {
  const { minAvailable, managedByUs, controller, owned, observedGeneration } = b;
  const of = vmi({ name: b.of, uid: `uid-${b.of}` });
  const added = budget({
    // Under that name nobody else makes one.
    name: managedByUs && b.named ? budgetName(of) : uid,
    uid,
    minAvailable,
    generation: 2,
    managedByUs,
    owners: owned ? [owner({ name: of.name, uid: of.uid, controller: controller && !managedByUs })] : [],
    selector: { matchLabels: { "kubevirt.io/created-by": of.uid }, matchExpressions: [] },
    status: { observedGeneration, desiredHealthy: minAvailable },
  });
  cluster.budgets.set(keyOf(added), added);
}
