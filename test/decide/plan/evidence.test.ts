/** Classes of VMs, and the evidence of finished migrations about them. */
import { describe, expect, test } from "vitest";
import type { PlanFacts, PlanMigration, PlanPod, PlanVmi } from "../../../shared/plan/facts.ts";
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

const unplaced = (name: string, minutesAgo: number, tweak: Partial<PlanMigration> = {}) => {
  const { targetNode: _, failureReason: __, ...rest } = failed(name, minutesAgo);
  const since = rest.createdAt + 1000;
  return { ...rest, schedulingSince: since, failedAt: since + 5 * 60_000, ...tweak };
};

test("a migration whose target pod had no node is no evidence about its VM", () => {
  expect(evidenceOf(fleet([moved, unplaced("a", 30)])).classes[0]?.proof).toBe("Proven");
});

test.each<[string, PlanMigration, readonly PlanPod[], string]>([
  [
    "ended before it was ready",
    unplaced("a", 30, { uid: "job-a" }),
    [{ ...source("target"), labels: { ...vm("a").pod.labels, "kubevirt.io/migrationJobUID": "job-a" } }],
    "its target pod ended before it was ready",
  ],
  [
    "had a node and was not ready after 15 minutes",
    unplaced("a", 30, { failedAt: at(30) + 15.1 * 60_000 }),
    [],
    "its target pod was not ready after 15 minutes",
  ],
])("a class fails if a target pod %s", (_, migration_, more, reason) => {
  const f = fleet([moved, migration_]);
  const pods = [...f.pods, ...more.map((pod) => ({ ...pod, image: IMAGE }))];
  expect(evidenceOf({ ...f, pods }).classes[0]).toMatchObject({ proof: "Failing", failed: { vm: "apps/a", reason } });
});

test("after a failed search for a place the next VM is the canary, even if only the first was offered", () => {
  const f = fleet([unplaced("lent", 30)], [old("lent", { vmi: { isCanary: true } })]);
  expect(proofs(f)[0]?.[3]).toBe("apps/a");
  const all = fleet(
    [unplaced("lent", 30), unplaced("a", 30), unplaced("b", 30)],
    [old("lent", { vmi: { isCanary: true } })],
  );
  expect(proofs(all)[0]?.[3]).toBe("apps/lent");
});

test.each<[string, Partial<PlanVmi>]>([
  ["that does not run yet", { phase: "Scheduled" }],
  ["whose disk has failed", { pausedByIoError: true }],
])("a VM %s is no canary", (_, vmi) => {
  expect(proofs(fleet([], [old("lent", { vmi: { isCanary: true, ...vmi } })]))[0]?.[3]).toBe("apps/a");
});

test("a cancelled migration, and a migration to a launcher that KubeVirt no longer uses, are no evidence", () => {
  const cancelled = { ...failed("a", 30), isCancelled: true as const };
  expect(evidenceOf(fleet([moved, cancelled])).classes[0]?.proof).toBe("Proven");
  const toOld = { ...failed("a", 90), targetPod: "source-moved" };
  expect(evidenceOf(fleet([toOld])).classes[0]?.proof).toBe("Unproven");
});

test("a failed migration from before the VM's last start is no evidence", () => {
  const f = fleet(
    [moved, failed("again", 30)],
    [old("again", { pod: { createdAt: at(20) }, vmi: { isOutdated: true } })],
  );
  expect(evidenceOf(f).classes.find(({ vms }) => vms.includes("apps/again"))?.proof).toBe("Proven");
});

test("a migration that was deleted, or may not be listed, is evidence if its VMI still names it", () => {
  const f = fleet([]);
  const known = (name: string, lastFinished: PlanMigration) =>
    evidenceOf({ ...f, vmis: f.vmis.map((vmi) => (vmi.name === name ? { ...vmi, lastFinished } : vmi)) }).classes[0];
  expect(known("moved", moved)?.proof).toBe("Proven");
  expect(known("a", failed("a", 30))).toMatchObject({ proof: "Failing", failed: { times: 1 } });
});

test("KubeVirt writes the reason of a failure into the VMI first", () => {
  const { failureReason: _, ...silent } = failed("a", 30);
  const f = fleet([silent]);
  const vmis = f.vmis.map((vmi) => (vmi.name === "a" ? { ...vmi, lastFinished: failed("a", 30) } : vmi));
  expect(evidenceOf({ ...f, vmis }).classes[0]?.failed?.reason).toBe("guest CPU doesn't match specification");
});

/** Old VMs that started 9000 and 8000 minutes ago. `moved` started at some time, and has moved. */
function proofWithoutSource(startedAt: number | undefined, earlier: readonly PlanMigration[] = []) {
  const f = fleet([...earlier, moved], [old("later", { pod: { createdAt: at(8000) } })]);
  const vmis = f.vmis.map((vmi) =>
    vmi.name === "moved" && startedAt !== undefined ? { ...vmi, startedAt: at(startedAt) } : vmi,
  );
  return evidenceOf({ ...f, vmis, pods: f.pods.filter(({ name }) => name !== "source-moved") }).classes[0]?.proof;
}
const createdBy = (minutesAgo: number) =>
  attempt("moved", minutesAgo, { targetPod: "source-moved", schedulingSince: at(minutesAgo) });

describe("without its source pod, which a drain deletes, a migration is evidence", () => {
  test("if the VM started between two pods with one launcher", () => {
    expect([proofWithoutSource(8500), proofWithoutSource(9000)]).toEqual(["Proven", "Proven"]);
  });
  test("if an earlier migration created that pod between two such pods", () => {
    expect([proofWithoutSource(99_000, [createdBy(8500)]), proofWithoutSource(99_000, [createdBy(9500)])]).toEqual([
      "Proven",
      "Unproven",
    ]);
  });
  test("not if the launcher of that time is unknown, or the VM has moved before", () => {
    expect([proofWithoutSource(9001), proofWithoutSource(7999), proofWithoutSource(undefined)]).toEqual([
      "Unproven",
      "Unproven",
      "Unproven",
    ]);
    expect(proofWithoutSource(8500, [attempt("moved", 8400, {})])).toBe("Unproven");
  });
  test("not if KubeVirt may have deleted older migrations", () => {
    const older = [1, 2, 3, 4].map((number) => failed("moved", 70 + number));
    expect([proofWithoutSource(8500, older.slice(1)), proofWithoutSource(8500, older)]).toEqual(["Proven", "Unproven"]);
  });
});

test("a VM that has moved keeps the CPU model of its first node", () => {
  const placement = { nodeSelector: { "cpu-model-migration.node.kubevirt.io/Broadwell": "true" } };
  const f = fleet([], [old("elder", { pod: { placement } })]);
  expect(evidenceOf(f).classes.find(({ vms }) => vms.includes("apps/elder"))?.cpu).toBe("host-model Broadwell");
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
