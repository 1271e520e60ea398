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
import { budget, NOW, owner, record, time, vmi, without } from "../fixtures.ts";
import { SimulatedCluster } from "./cluster.ts";
import { launcherOn } from "./pods.ts";
import { anySettings } from "./storm.ts";

const NODES = ["node01", "node02"] as const;
const NAMES = ["a", "b", "c"] as const;
const node = fc.constantFrom(...NODES);
const maybeNode = fc.option(node, { nil: undefined });
const id = fc.constantFrom("0000000a", "0000000b");
const phase = fc.constantFrom("", "Pending", "Running", "Succeeded", "Failed");
const moment = fc.constantFrom(-1000, -1, 0, 1, 300, 1e9).map(time);

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

/** Every name once; several of each kind of oddity. */
const anyVmis: fc.Arbitrary<readonly VmiFacts[]> = fc.uniqueArray(
  fc
    .record({
      name: fc.constantFrom(...NAMES),
      evictionStrategy: fc.constantFrom("None", "LiveMigrate", "LiveMigrateIfPossible", "External", "Odd"),
      migratable: fc.boolean(),
      deleting: fc.constantFrom(false, false, false, true),
      phase: fc.constantFrom("Running", "Running", "Failed"),
      nodeName: fc.option(node, { nil: undefined, freq: 9 }),
      mark: maybeNode,
      kept: fc.option(anyRecord, { nil: undefined }),
      label: fc.boolean(),
    })
    .map(({ migratable, nodeName, mark, kept, label, ...v }) =>
      vmi({
        ...without(vmi(), "nodeName"),
        ...v,
        uid: `uid-${v.name}`,
        liveMigratable: { migratable },
        activePods: {},
        ...(nodeName && { nodeName }),
        ...(mark && { evacuationNodeName: mark }),
        ...(kept && { record: kept, recordText: JSON.stringify(kept) }),
        ...(label && { evacuationLabel: "normal" }),
      }),
    ),
  { selector: (v) => v.name, maxLength: 3 },
);

const anyMigrations = fc.array(
  fc.record({
    vmiName: fc.constantFrom(...NAMES),
    phase,
    deleting: fc.boolean(),
    sourceNode: node,
    evacuates: maybeNode,
    evacuationId: fc.option(id, { nil: undefined }),
    attempt: fc.constantFrom(1, 2, 5, 1000),
  }),
  { maxLength: 4 },
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
  reserved: fc.boolean(),
  pods: fc.constantFrom(1, 1, 2),
  tainted: fc.subarray([...NODES]),
  settings: anySettings,
});

type Facts = typeof anyCluster extends fc.Arbitrary<infer T> ? T : never;

export function clusterOf(facts: Facts): SimulatedCluster {
  const cluster = new SimulatedCluster(facts.settings, NOW);
  for (const v of facts.vmis) {
    cluster.add(v);
    if (facts.pods === 2) cluster.pods.put(launcherOn(v, `second-pod-${v.uid}`, v.nodeName));
  }
  for (const [i, m] of facts.migrations.entries()) addMigration(cluster, `m${i}`, m);
  for (const [i, b] of facts.sizes.entries()) addBudget(cluster, i, b);
  for (const tainted of facts.tainted) cluster.tainted.add(tainted);
  if (facts.reserved) cluster.register = { resourceVersion: "1", slots: slotsFor(facts.vmis) };
  return cluster;
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

function addBudget(cluster: SimulatedCluster, i: number, b: Facts["sizes"][number]): void {
  const { minAvailable, managedByUs, controller, owned, observedGeneration } = b;
  const of = vmi({ name: b.of, uid: `uid-${b.of}` });
  const added = budget({
    // Under that name nobody else makes one.
    name: managedByUs && b.named ? budgetName(of) : `budget-${i}`,
    uid: `budget-${i}`,
    minAvailable,
    generation: 2,
    managedByUs,
    owners: owned ? [owner({ name: of.name, uid: of.uid, controller: controller && !managedByUs })] : [],
    selector: { matchLabels: { "kubevirt.io/created-by": of.uid }, matchExpressions: [] },
    status: { observedGeneration, desiredHealthy: minAvailable },
  });
  cluster.budgets.set(keyOf(added), added);
}
