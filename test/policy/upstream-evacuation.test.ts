/**
 * The situations of KubeVirt's own unit tests of its evacuation controller, then and now, decided by the policy.
 * Where then and now differ, or the rules here are others, the row says so.
 */
import { describe, expect, test } from "vitest";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { at, migration, MOBILITY, NODE, NOW, settings, vmi, without } from "./fixtures.ts";
import { SimulatedCluster } from "./simulation/cluster.ts";
import { reckon } from "./simulation/control-plane.ts";
import { passAtOnce } from "./simulation/pass.ts";
import { launcherOn } from "./simulation/pods.ts";

interface Situation {
  readonly vmis: readonly VmiFacts[];
  readonly migrations?: readonly MigrationFacts[];
  readonly tainted?: readonly string[];
  readonly limits?: readonly [cluster: number, node: number];
  readonly clusterStrategy?: string;
  readonly pods?: number;
}

/** Names of the VMs for which migrations are created, once nothing is left to be done. */
function migrated(s: Situation): readonly string[] {
  const [parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode] = s.limits ?? [5, 2];
  const limits = { parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode };
  const strategy = s.clusterStrategy === undefined ? {} : { clusterStrategy: s.clusterStrategy };
  const cluster = new SimulatedCluster(settings({ limits, evacuation: { adoptSeconds: 0 }, ...strategy }), NOW);
  for (const v of s.vmis) {
    cluster.add(v);
    if (s.pods === 2) cluster.pods.put(launcherOn(v, "second-pod", v.nodeName));
  }
  for (const m of s.migrations ?? []) cluster.migrations.set(m.name, m);
  for (const node of s.tainted ?? []) cluster.tainted.add(node);
  for (let i = 0; i < 8; i++) {
    passAtOnce(cluster);
    reckon(cluster);
    cluster.now = at(i);
  }
  return [...cluster.migrations.values()].filter((m) => m.evacuationId !== undefined).map((m) => m.vmiName);
}

function vm(name: string, tweak: Partial<VmiFacts> = {}): VmiFacts {
  return vmi({ name, uid: name, ...tweak });
}

function marked(name: string, tweak: Partial<VmiFacts> = {}): VmiFacts {
  return vm(name, { evacuationNodeName: tweak.nodeName ?? NODE, ...tweak });
}

function foreign(count: number, vmiName: string, tweak: Partial<MigrationFacts> = {}): readonly MigrationFacts[] {
  return Array.from({ length: count }, (_, i) => {
    const name = `foreign-${vmiName}-${i}`;
    return migration({ name, uid: name, vmiName, ...tweak });
  });
}

function many(count: number): readonly VmiFacts[] {
  return Array.from({ length: count }, (_, i) => marked(`vm${i}`));
}

const plain = without(vm("web"), "evictionStrategy");
const tainted = [NODE];
const pinned = { liveMigratable: MOBILITY.pinned };

// prettier-ignore
const rows: readonly (readonly [what: string, Situation, expected: readonly string[]])[] = [
  ["a VM without a strategy, no taint",                { vmis: [plain] },                                            []],
  ["another node is tainted",                          { vmis: [vm("web")], tainted: ["node02"] },                   []],
  ["tainted, LiveMigrate",                             { vmis: [vm("web")], tainted },                               ["web"]],
  ["tainted, LiveMigrateIfPossible",                   { vmis: [vm("web", { evictionStrategy: "LiveMigrateIfPossible" })], tainted }, ["web"]],
  ["tainted, External",                                { vmis: [vm("web", { evictionStrategy: "External" })], tainted }, []],
  ["tainted, LiveMigratable False; and without it",    { vmis: [vm("a", pinned), vm("b", { liveMigratable: { migratable: false } })], tainted }, []],
  ["tainted, one of two has five migrations running: counted against the limits, whoever made them",
    { vmis: [vm("a"), vm("b")], tainted, migrations: foreign(5, "a") },                                              []],
  ["… and from other nodes: a place is left",
    { vmis: [vm("a"), vm("b")], tainted, migrations: foreign(1, "a", { sourceNode: "node02" }) },                    ["b"]],
  ["one of five has succeeded: its place is free",
    { vmis: [vm("b")], tainted, limits: [5, 5], migrations: [...foreign(4, "a"), ...foreign(1, "x", { phase: "Succeeded" })] }, ["b"]],
  ["marked, LiveMigrate",                              { vmis: [marked("web")] },                                    ["web"]],
  ["marked, not migratable",                           { vmis: [marked("web", pinned)] },                            []],
  ["marked, as many migrations as there may be",       { vmis: [marked("web")], migrations: foreign(5, "a", { sourceNode: "node02" }) }, []],
  ["ten marked, each migrating, limits 2 and 1",
    { vmis: many(10), limits: [2, 1], migrations: many(10).flatMap((v) => foreign(1, v.name)) },                     []],
  ["marked, its own migration runs",                   { vmis: [marked("web")], migrations: foreign(1, "web") },     []],
  ["tainted, one active pod beside ended ones",        { vmis: [vm("web")], tainted, pods: 1 },                      ["web"]],
  ["tainted, a second active pod",                     { vmis: [vm("web")], tainted, pods: 2 },                      []],
  ["LiveMigrate by the KubeVirt CR",                   { vmis: [plain], tainted, clusterStrategy: "LiveMigrate" },   ["web"]],
  ["… but the VM says None",                           { vmis: [vm("web", { evictionStrategy: "None" })], tainted, clusterStrategy: "LiveMigrate" }, []],
  ["limits 10 and 5, four running from the node, four candidates",
    { vmis: many(4), limits: [10, 5], migrations: foreign(4, "x") },                                                 ["vm0"]],
  ["limits 10 and 10, ten pending, one candidate: pending ones count here, not there",
    { vmis: many(1), limits: [10, 10], migrations: foreign(10, "x", { phase: "Pending" }) },                         []],
  ["marked for another node than the one it is on",    { vmis: [marked("web", { evacuationNodeName: "node02" })] },  []],
  ["final",                                            { vmis: [marked("web", { phase: "Succeeded" })] },            []],
  ["being deleted",                                    { vmis: [marked("web", { deleting: true })] },                []],
  ["of the same name in another namespace, migrating", { vmis: [marked("web")], limits: [5, 1], migrations: foreign(1, "web", { namespace: "other", sourceNode: "node02" }) }, ["web"]],
];

describe("as in KubeVirt's evacuation controller", () => {
  test.each(rows)("%s", (_, situation, expected) => expect(migrated(situation)).toEqual(expected));
});
