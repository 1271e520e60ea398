/**
 * Tests what finished migrations prove about a class of VMs, and which VM of the class migrates first as a canary. VMs
 * of a class have the same launcher version, machine type, architecture, CPU model and kind of storage.
 */
import { expect, test } from "vitest";
import type { PlanFacts, PlanVmi } from "../../../shared/plan/facts.ts";
import { evidenceOf } from "../../../shared/plan/evidence.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { IMAGE, options, type Resident } from "../../support/plan/clusters.ts";
import { failed, fleet, moved, OLD, old, proofs, unplaced } from "../../support/plan/launcher-versions.ts";

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

test("a VM with the annotation for canaries is chosen before other VMs", () => {
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

test("a class counts as failing from its last failed attempts until a migration succeeds", () => {
  const [oldest] = evidenceOf(fleet([moved, failed("a", 30), failed("b", 20)])).classes;
  expect(oldest).toMatchObject({
    proof: "Failing",
    failed: { times: 2, vm: "apps/b", reason: "guest CPU doesn't match specification" },
  });
  expect(evidenceOf(fleet([failed("a", 90), moved])).classes[0]?.proof).toBe("Proven");
});

test("if a canary finds no node, the next VM of the class is the canary, even without an annotation", () => {
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

test("a VM that has moved keeps the CPU model of its first node", () => {
  const placement = { nodeSelector: { "cpu-model-migration.node.kubevirt.io/Broadwell": "true" } };
  const f = fleet([], [old("elder", { pod: { placement } })]);
  expect(evidenceOf(f).classes.find(({ vms }) => vms.includes("apps/elder"))?.cpu).toBe("host-model Broadwell");
});

test.each([
  [
    "has not been seen to migrate",
    [moved],
    1,
    { unproven: [0, 1], failing: [0, 0], verdicts: ["WillSucceed", "WillSucceed"] },
  ],
  [
    "fails",
    [moved, failed("moved", 30)],
    1,
    { unproven: [0, 0], failing: [0, 1], verdicts: ["WillSucceed", "Unknown"] },
  ],
  [
    "fails, with both nodes drained at once",
    [moved, failed("moved", 30)],
    2,
    { unproven: [0, 0], failing: [0, 0], verdicts: ["WillSucceed", "WillSucceed"] },
  ],
])(
  "a VM that moves twice has the current launcher version at the second move, and %s",
  (_, migrations, parallel, expected) => {
    const f = fleet(migrations);
    const { nodes } = planOf(f, options(f, { nodes: ["node01", "node03"], parallel }));
    const of = <T>(value: (node: (typeof nodes)[number]) => T) => nodes.map(value);
    expect({
      unproven: of((node) => node.unproven),
      failing: of((node) => node.failing),
      verdicts: of((node) => node.verdict),
    }).toEqual(expected);
  },
);

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
      "whether VM apps/a moves: in its class (same launcher image, machine type, CPU, architecture and kinds of storage), the last migration failed: guest CPU doesn't match specification",
      "whether VM apps/b moves: in its class (same launcher image, machine type, CPU, architecture and kinds of storage), the last migration failed: guest CPU doesn't match specification",
    ],
  });
});
