/** Tests nodes whose drain does not start, because their verdict does not satisfy `startIf`. */
import { expect, test } from "vitest";
import { printPlan } from "../../../infra/cli/plan/table.ts";
import { jsonOf, rollingMaintenanceOf } from "../../../infra/cli/plan/data.ts";
import { exitOf } from "../../../infra/cli/plan/plan.ts";
import { quietHost } from "../../../infra/lab/stage/host.ts";
import type { PlanFacts, PlanOptions } from "../../../shared/plan/facts.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { NOW } from "../../support/fixtures.ts";
import { cluster, options, type Resident, vm } from "../../support/plan/clusters.ts";

const moving = vm("moving", 2);
const ending = vm("ending", 2, { vmi: { evictionStrategy: "None" } });
const pinned = vm("pinned", 2, {
  vmi: { liveMigratable: { migratable: false, reason: "DisksNotLiveMigratable" } },
});
const large = vm("large", 15);
const odd = vm("odd", 2, { pod: { unchecked: ["hostPort"] } });

type StartIf = PlanOptions["template"]["startIf"];

function asked(f: PlanFacts, startIf: StartIf, tweak: Partial<PlanOptions> = {}): PlanOptions {
  const plain = options(f, tweak);
  return { ...plain, template: { ...plain.template, startIf } };
}

const plan = (f: PlanFacts, startIf: StartIf, tweak: Partial<PlanOptions> = {}) => planOf(f, asked(f, startIf, tweak));

/** Returns a cluster with these pods on node01. node02 has 14 GiB of free memory. */
const beside = (residents: readonly Resident[], tweak: Partial<PlanFacts> = {}) =>
  cluster({ node01: residents, node02: [vm("there", 2)] }, tweak);

// prettier-ignore
test.each<readonly [StartIf, string, readonly Resident[], boolean]>([
  ["Always",                   "WillSucceed",              [moving],          false],
  ["Always",                   "WillSucceedWithShutdowns", [moving, ending],  false],
  ["Always",                   "NoRoom",                   [large],           false],
  ["Always",                   "WillBlock",                [pinned],          false],
  ["Always",                   "Unknown",                  [moving, odd],     false],
  ["WillSucceedWithShutdowns", "WillSucceed",              [moving],          false],
  ["WillSucceedWithShutdowns", "WillSucceedWithShutdowns", [moving, ending],  false],
  ["WillSucceedWithShutdowns", "NoRoom",                   [large],           true],
  ["WillSucceedWithShutdowns", "WillBlock",                [pinned],          true],
  ["WillSucceedWithShutdowns", "Unknown",                  [moving, odd],     true],
  ["WillSucceed",              "WillSucceed",              [moving],          false],
  ["WillSucceed",              "WillSucceedWithShutdowns", [moving, ending],  true],
  ["WillSucceed",              "NoRoom",                   [large],           true],
  ["WillSucceed",              "WillBlock",                [pinned],          true],
  ["WillSucceed",              "Unknown",                  [moving, odd],     true],
])("with startIf %s and verdict %s", (startIf, verdict, residents, isRefused) => {
  const made = plan(beside(residents), startIf, { nodes: ["node01"] });
  const [node] = made.nodes;
  expect(node?.verdict).toBe(verdict);
  const message = `startIf is ${startIf}, and the verdict is ${verdict}: ${node?.summary}`;
  expect(node?.refusal).toBe(isRefused ? message : undefined);
  if (!isRefused) return;
  expect(node).toMatchObject({ moves: 0, restarts: 0, shutdowns: 0, waiting: 0, powerOff: ["it is not drained"] });
  expect(exitOf(made)).toBe(3);
});

test("a node that does not start keeps its VMs, and does not come back empty for later nodes", () => {
  const f = cluster({ node01: [vm("a", 9), ending], node02: [vm("b", 9)], node03: [] });
  const rooms = (startIf: StartIf) =>
    plan(f, startIf, { nodes: ["node01", "node02"] }).nodes.flatMap(({ pods }) =>
      pods.flatMap(({ vmi, room }) => (vmi === "b" ? [room?.node] : [])),
    );
  expect(rooms("Always")).toEqual(["node01"]);
  expect(rooms("WillSucceed")).toEqual(["node03"]);
});

test("a planned order drains no node that does not start", () => {
  const f = cluster({ node01: [vm("a", 9), ending], node02: [vm("b", 9)], node03: [] });
  const { nodes, stuck } = plan(f, "WillSucceed", { order: "planned" });
  expect(nodes.flatMap(({ node, refusal }) => (refusal === undefined ? [] : [node]))).toEqual(["node01"]);
  expect(stuck).toEqual([]);
});

test("a plan says nothing about the start if the person may not read everything that the server reads", () => {
  const f = beside([moving], { unread: ["whether quotas refuse target pods: you may not list resourcequotas"] });
  const made = plan(f, "WillSucceed");
  expect(made.nodes.map(({ refusal }) => refusal)).toEqual([undefined, undefined]);
  expect(new Set(made.nodes.flatMap(({ unknown }) => unknown))).toContain(
    "whether drains start: startIf is WillSucceed, and the verdict is Unknown",
  );
  expect(exitOf(made)).toBe(4);
});

test("a plan does not promise the start of a node that starts only with some choices of kube-scheduler", () => {
  // If the smallest VMs leave first, both small VMs can use the memory that the large VM needs.
  const f = cluster({
    node01: [vm("s1", 5), vm("s2", 5), vm("large", 12)],
    node02: [vm("x", 2)],
    node03: [vm("y", 4)],
  });
  const [node] = plan(f, "WillSucceed", { nodes: ["node01"] }).nodes;
  expect(node?.refusal).toBeUndefined();
  expect(node?.unknown).toContainEqual(
    expect.stringMatching(/^whether the drain of node01 starts: .* NoRoom, and startIf WillSucceed refuses the drain$/),
  );
});

function printed(f: PlanFacts, startIf: StartIf, tweak: Partial<PlanOptions> = {}): readonly string[] {
  const said: string[] = [];
  const host = quietHost((text) => said.push(text));
  printPlan(plan(f, startIf, tweak), false, host);
  return said.join("").split("\n");
}

test("the output names the node, the reason why the node does not start, and the consequences", () => {
  const f = cluster({ node01: [ending], node02: [vm("a")] });
  const lines = printed(f, "WillSucceed");
  expect(lines[0]).toBe(
    "2 nodes, 2 VMs: the plan is not complete, because of node01; 1 migration, 0 restarts, 0 shutdowns",
  );
  expect(lines.find((line) => /^ *node01 /.test(line))).toMatch(/^node01 +refused +1 +0 +WillSucceedWithShutdowns$/);
  const at = lines.findIndex((line) =>
    line.startsWith("× the drain of node01 does not start: startIf is WillSucceed, and the verdict is"),
  );
  expect(lines[at + 1]).toBe("    because of this, Lifeboat drains no later node, except with whenNodeFails: Continue");
  expect(lines.join("\n")).not.toContain("powered off");
});

test("JSON has the refusal and no end; the RollingMaintenance has startIf", () => {
  const f = cluster({ node01: [ending], node02: [vm("a")] });
  const what = asked(f, "WillSucceed");
  const made = planOf(f, what);
  const { nodes, takes } = jsonOf(made);
  expect(takes).toBeUndefined();
  expect(nodes[0]).toMatchObject({ refusal: expect.stringContaining("startIf is WillSucceed") });
  expect(nodes[0]).not.toHaveProperty("ends");
  const { spec } = rollingMaintenanceOf(made, { ...what, at: NOW }, false);
  expect(spec.template).toMatchObject({ startIf: "WillSucceed" });
});
