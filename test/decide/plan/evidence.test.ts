/** Classes of VMs, and the evidence of finished migrations about them. */
import { expect, test } from "vitest";
import type { PlanFacts, PlanMigration, PlanPod } from "../../../shared/plan/facts.ts";
import { evidenceOf } from "../../../shared/plan/evidence.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { migration, NOW } from "../../support/fixtures.ts";
import { cluster, IMAGE, options, type Resident, vm } from "../../support/plan/clusters.ts";

const OLD = "virt-launcher:v1.8.0";
const at = (minutes: number) => NOW.getTime() - minutes * 60_000;

/** A VM whose launcher pod is old. */
const old = (name: string, tweak: Parameters<typeof vm>[2] = {}): Resident =>
  vm(name, 2, { ...tweak, pod: { image: OLD, createdAt: at(9000), ...tweak.pod } });

const attempt = (name: string, minutesAgo: number, tweak: Partial<PlanMigration>): PlanMigration => ({
  ...migration({ name: `m-${name}-${minutesAgo}`, uid: `m-${name}-${minutesAgo}`, vmiName: name, phase: "Succeeded" }),
  createdAt: at(minutesAgo),
  sourceNode: "node01",
  targetNode: "node02",
  ...tweak,
});

/** The pod that the VM had before its last migration. */
const source = (name: string): PlanPod => ({
  ...old(name).pod,
  name: `source-${name}`,
  uid: `source-${name}`,
  nodeName: "node01",
  phase: "Succeeded",
});

const moved = attempt("moved", 60, { sourcePod: "source-moved", targetPod: "virt-launcher-moved-x7k2p" });
const failed = (name: string, minutesAgo: number) =>
  attempt(name, minutesAgo, { phase: "Failed", failureReason: "guest CPU doesn't match specification" });

/** One VM that has migrated from the old launcher version, and two that have not. */
function fleet(migrations: readonly PlanMigration[], more: readonly Resident[] = []): PlanFacts {
  const f = cluster({ node01: [old("a"), old("b"), ...more], node02: [vm("moved")], node03: [] }, { migrations });
  return { ...f, pods: [...f.pods, source("moved")] };
}

const proofs = (f: PlanFacts) =>
  evidenceOf(f).classes.map(({ launcher, vms, proof, canary }) => [launcher, vms.join(" "), proof, canary]);

test("a migration to the current launcher version is evidence for the VM's former class only", () => {
  expect(proofs(fleet([moved]))).toEqual([
    [OLD, "apps/a apps/b", "Proven", undefined],
    [IMAGE, "apps/moved", "Unproven", "apps/moved"],
  ]);
});

test("after an update of KubeVirt no pod has today's launcher yet: nothing is proven", () => {
  const f = fleet([moved]);
  const vmis = f.vmis.map((vmi) => ({ ...vmi, isOutdated: true as const }));
  expect(evidenceOf({ ...f, vmis }).launcher).toBeUndefined();
  expect(new Set(evidenceOf({ ...f, vmis }).classes.map(({ proof }) => proof))).toEqual(new Set(["Unproven"]));
});

test("without its source pod, a migration is evidence for no class", () => {
  const f = fleet([moved]);
  expect(proofs({ ...f, pods: f.pods.filter(({ name }) => name !== "source-moved") })[0]).toEqual([
    OLD,
    "apps/a apps/b",
    "Unproven",
    "apps/a",
  ]);
});

test("a canary is chosen before other VMs", () => {
  expect(proofs(fleet([], [old("lent", { vmi: { isCanary: true } })]))[0]?.[3]).toBe("apps/lent");
});

// prettier-ignore
test.each<[string, Partial<Resident["vmi"] & object>]>([
  ["machine type",    { kind: { machine: "pc-q35-rhel9", architecture: "amd64", cpuModel: "host-model", storage: "block/RWX" } }],
  ["CPU model",       { kind: { machine: "q35", architecture: "amd64", cpuModel: "Haswell", storage: "block/RWX" } }],
  ["kind of storage", { kind: { machine: "q35", architecture: "amd64", cpuModel: "host-model", storage: "filesystem/RWX" } }],
  ["architecture",    { kind: { machine: "q35", architecture: "arm64", cpuModel: "host-model", storage: "block/RWX" } }],
])("VMs of different %s are of different classes", (_, vmi) => {
  expect(proofs(fleet([moved], [old("other", { vmi })])).filter(([, vms]) => vms === "apps/other")).toEqual([
    [OLD, "apps/other", "Unproven", "apps/other"],
  ]);
});

test("a class fails from its last failed attempts until a migration succeeds", () => {
  const [oldest] = evidenceOf(fleet([moved, failed("a", 30), failed("b", 20)])).classes;
  expect(oldest).toMatchObject({
    proof: "Failing",
    failed: { times: 2, vm: "apps/b", reason: "guest CPU doesn't match specification" },
  });
  expect(evidenceOf(fleet([failed("a", 90), moved])).classes[0]?.proof).toBe("Proven");
});

test("a migration that never had a target is no evidence about its VM", () => {
  const { targetNode: _, failureReason: __, ...withdrawn } = failed("a", 30);
  expect(evidenceOf(fleet([moved, withdrawn])).classes[0]?.proof).toBe("Proven");
});

function firstOf(f: PlanFacts) {
  return planOf(f, options(f, { nodes: ["node01"] })).nodes[0];
}

test("a node with a VM of a failing class is Unknown at best, and unproven VMs are counted", () => {
  expect(firstOf(fleet([moved]))).toMatchObject({ verdict: "WillSucceed", unproven: 0, failing: 0 });
  expect(firstOf(fleet([]))).toMatchObject({ verdict: "WillSucceed", unproven: 2, failing: 0 });
  expect(firstOf(fleet([moved, failed("a", 30)]))).toMatchObject({
    verdict: "Unknown",
    failing: 2,
    unknown: [
      "whether VM apps/a moves: the last migration of VMs of its kind failed: guest CPU doesn't match specification",
      "whether VM apps/b moves: the last migration of VMs of its kind failed: guest CPU doesn't match specification",
    ],
  });
});
