/** Many deletions that do not ask, at a time: every VM moves first, and nobody asks more often than the guard says. */
import { afterEach, expect, test } from "vitest";
import * as z from "zod/mini";
import { nodes, pods } from "../../infra/sandbox/actors/resources.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import { createPod, createPriorityClass } from "../../infra/sandbox/workloads.ts";
import { parsedJson } from "../generators/json.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { type Vm, vmOf } from "./vm.ts";

const Review = z.object({
  door: z.literal("admission/deletions"),
  pod: z.string(),
  verdict: z.string(),
});
const PREEMPTOR = { namespace: NAMESPACE, name: "preemptor" };
/** One request at most every five seconds, the two of a round's end, and the last one once more. */
const MOST_A_MINUTE = 14;

let stage: Stage;
let reviews: { readonly pod: string; readonly verdict: string; readonly at: number }[];
afterEach(() => stage.stop());

async function start(guard: object = {}): Promise<void> {
  reviews = [];
  const onLog = (text: string) => {
    for (const line of text.split("\n")) {
      const said = Review.safeParse(parsedJson(line));
      if (said.success) reviews.push({ ...said.data, at: performance.now() });
    }
  };
  const featureGates = { PreemptionEvictionLiveMigration: true, NoExecuteTaintEvictionLiveMigration: true };
  const configuration = { featureGates, guard };
  stage = await startStage({ nodes: [], optional: ["optional/guard/guard.yaml"], configuration, onLog });
  await createNode(stage.client, "full", { memory: "64Gi" });
}

async function createVms(count: number): Promise<readonly Vm[]> {
  const names = Array.from({ length: count }, (_, n) => `vm-${n}`);
  const created = await Promise.all(
    names.map((name) =>
      stage.createVm({ name, evictionStrategy: "LiveMigrate", node: "full", terminationGracePeriodSeconds: 1 }),
    ),
  );
  for (const name of ["empty-1", "empty-2"]) await createNode(stage.client, name, { memory: "64Gi" });
  return created.map((vmi) => vmOf(stage, vmi));
}

/** Needs the whole node. */
async function preempt(): Promise<void> {
  await createPriorityClass(stage.client, "urgent", 100_000);
  const nodeSelector = { "kubernetes.io/hostname": "full" };
  await createPod(stage.client, {
    ...PREEMPTOR,
    priorityClassName: "urgent",
    requests: { memory: "64Gi" },
    nodeSelector,
  });
}

async function untilPreempted(): Promise<void> {
  await waitFor(stage.client, {
    resource: pods,
    key: PREEMPTOR,
    what: "running in their place",
    until: ({ spec, status }) => spec?.nodeName === "full" && status?.phase === "Running",
    timeoutMs: 100_000,
  });
}

function expectFewRequests(): void {
  for (const [pod, all] of Map.groupBy(reviews, (one) => one.pod)) {
    const most = Math.max(
      ...all.map(({ at }) => all.filter((other) => other.at >= at && other.at < at + 60_000).length),
    );
    expect([pod, most <= MOST_A_MINUTE]).toEqual([pod, true]);
  }
}

test("twelve victims of one preemption", async () => {
  await start();
  const vms = await createVms(12);
  stage.sandbox.migrations.configure({ seconds: 1 });
  await preempt();
  await untilPreempted();
  for (const vm of vms) expect((await vm.untilMoved()).status?.phase).toBe("Running");
  expectFewRequests();
}, 120_000);

test("forty VMs of one tainted node", async () => {
  await start();
  const vms = await createVms(40);
  stage.sandbox.migrations.configure({ seconds: 0.2 });
  const taints = [{ key: "maintenance", effect: "NoExecute" }];
  await stage.client.patch(nodes, { name: "full" }, { type: "merge", body: { spec: { taints } } });
  for (const vm of vms) expect((await vm.untilMoved()).status?.phase).toBe("Running");
  expectFewRequests();
}, 120_000);

test("VMs that never move: past the deadline they go, the last one after the others", async () => {
  await start({ deadlineSeconds: { Preemption: 4 } });
  await createVms(3);
  stage.sandbox.migrations.configure({ seconds: 600 });
  await preempt();
  await untilPreempted();
  const released = reviews.filter(({ verdict }) => verdict === "Release");
  expect(new Set(released.map(({ pod }) => pod)).size).toBe(3);
  expectFewRequests();
}, 60_000);
