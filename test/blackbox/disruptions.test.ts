/**
 * Preemption, `NoExecute` taints and node pressure as a control plane and its kubelets really do them, with Lifeboat in
 * between: the naive outcome of each is a dead VM.
 */
import { afterEach, expect, test } from "vitest";
import { nodes, type Pod, pods } from "../../infra/sandbox/actors/resources.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import { createPod, createPriorityClass } from "../../infra/sandbox/workloads.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import {
  causesOf,
  getVmi,
  hasSettledAwayFrom,
  launchersOf,
  NAMESPACE,
  type Stage,
  type StageOptions,
  startStage,
  storyOf,
  untilVmi,
} from "./stage.ts";

let stage: Stage;

const isDeleting = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined;

afterEach(() => stage.stop());

async function start(gate: string, options: StageOptions = {}): Promise<void> {
  stage = await startStage({
    nodes: [],
    optional: ["optional/guard.yaml"],
    configuration: {
      featureGates: { [gate]: true },
      evacuation: { adoptSeconds: 0, backoffSeconds: 0.2, maxBackoffSeconds: 60 },
    },
    ...options,
  });
}

test("preemption: the VM moves first, then the preemptor gets its place", async () => {
  await start("PreemptionEvictionLiveMigration");
  await createNode(stage.client, "node01", { memory: "8Gi" });
  await stage.createVm({ name: "victim", evictionStrategy: "LiveMigrate", memory: "5Gi", node: "node01" });
  // Room for the VM, none for who preempts it.
  await createNode(stage.client, "node02", { memory: "6Gi" });
  await stage.reconcile();
  await createPriorityClass(stage.client, "urgent", 100_000);
  const preemptor = { namespace: NAMESPACE, name: "preemptor" };
  await createPod(stage.client, { ...preemptor, priorityClassName: "urgent", requests: { memory: "7Gi" } });
  const moved = await untilVmi(stage.client, "victim", "moved", hasSettledAwayFrom("node01"));
  expect(moved.status?.phase).toBe("Running");
  await expect.poll(() => causesOf(stage.client, "victim")).toEqual(["Preemption"]);
  await waitFor(stage.client, {
    resource: pods,
    key: preemptor,
    what: "running in the VM's place",
    until: ({ spec, status }) => spec?.nodeName === "node01" && status?.phase === "Running",
  });
  await expect.poll(() => storyOf(stage.client, "victim")).toContain("Normal DisruptionHeld");
});

test("a NoExecute taint: the VM moves, what tolerates the taint stays", async () => {
  await start("NoExecuteTaintEvictionLiveMigration", { nodes: ["node01", "node02"] });
  await stage.createVm({ name: "tainted", evictionStrategy: "LiveMigrate", node: "node01" });
  const daemon = { namespace: NAMESPACE, name: "daemon" };
  await createPod(stage.client, {
    ...daemon,
    node: "node01",
    tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }],
  });
  await stage.reconcile();
  const taints = [{ key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" }];
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });
  const moved = await untilVmi(stage.client, "tainted", "moved", hasSettledAwayFrom("node01"));
  expect(moved.status?.phase).toBe("Running");
  await expect.poll(() => causesOf(stage.client, "tainted")).toEqual(["NoExecuteTaint"]);
  expect((await stage.client.get(pods, daemon))?.metadata.deletionTimestamp).toBeUndefined();
});

test("a taint that goes while a deletion is held: the VM stays, unmarked, past the deadline; its neighbour's does not", async () => {
  await start("NoExecuteTaintEvictionLiveMigration", {
    nodes: ["node01", "node02"],
    configuration: {
      featureGates: { NoExecuteTaintEvictionLiveMigration: true },
      evacuation: { adoptSeconds: 0 },
      guard: { deadlineSeconds: { NoExecuteTaint: 10 } },
    },
  });
  const spared = await stage.createVm({ name: "spared", evictionStrategy: "External", node: "node01" });
  const other = await stage.createVm({ name: "other", evictionStrategy: "External", node: "node02" });
  const launcherKey = async (vmi: typeof spared) => ({
    namespace: NAMESPACE,
    name: (await launchersOf(stage.client, vmi))[0]?.metadata.name ?? "",
  });
  const [key, otherKey] = await Promise.all([launcherKey(spared), launcherKey(other)]);
  await stage.reconcile();
  const taint = (name: string, taints: readonly object[]) =>
    stage.client.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });
  const maintenance = { key: "maintenance", effect: "NoExecute" };
  await taint("node01", [maintenance]);
  await untilVmi(stage.client, "spared", "marked", ({ status }) => status?.evacuationNodeName === "node01");
  await taint("node01", []);
  await untilVmi(stage.client, "spared", "unmarked", ({ status }) => !status?.evacuationNodeName);
  await taint("node02", [maintenance]);
  await waitFor(stage.client, {
    resource: pods,
    key: otherKey,
    what: "deleted at its deadline",
    until: isDeleting,
  });
  expect((await stage.client.get(pods, key))?.metadata.deletionTimestamp).toBeUndefined();
  expect(await getVmi(stage.client, "spared")).toMatchObject({ status: { phase: "Running", nodeName: "node01" } });
  expect(await storyOf(stage.client, "spared")).toContain("Normal EvacuationCancelled");
});

test("a taint's deletion that the taint manager gave up on is finished at the deadline", async () => {
  await start("NoExecuteTaintEvictionLiveMigration", {
    nodes: ["node01", "node02"],
    configuration: {
      featureGates: { NoExecuteTaintEvictionLiveMigration: true },
      evacuation: { adoptSeconds: 0 },
      guard: { mode: "Deny", deadlineSeconds: { NoExecuteTaint: 3 } },
    },
  });
  stage.sandbox.migrations.configure({ seconds: 600 });
  const vmi = await stage.createVm({ name: "overdue", evictionStrategy: "LiveMigrate", node: "node01" });
  const [launcher] = await launchersOf(stage.client, vmi);
  await stage.reconcile();
  const taints = [{ key: "maintenance", value: "now", effect: "NoExecute" }];
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });
  const key = { namespace: NAMESPACE, name: launcher?.metadata.name ?? "" };
  await waitFor(stage.client, { resource: pods, key, what: "deleted past the deadline", until: isDeleting });
  await expect.poll(() => storyOf(stage.client, "overdue"), { timeout: 10_000 }).toContain("Warning DeadlineKept");
});

test("memory pressure: VMs leave while the kubelet still has patience, a limited number at once", async () => {
  await start("NodePressureEvictionLiveMigration", {
    eviction: {
      evictionSoft: { "memory.available": "2Gi" },
      evictionSoftGracePeriod: { "memory.available": "90s" },
      evictionMaxPodGracePeriod: 300,
    },
  });
  await createNode(stage.client, "node01", { memory: "16Gi" });
  await createNode(stage.client, "node02", { memory: "16Gi" });
  const names = ["a", "b", "c"];
  for (const name of names) {
    await stage.createVm({ name, evictionStrategy: "LiveMigrate", memory: "2Gi", node: "node01" });
  }
  await stage.reconcile();
  stage.sandbox.stats.setAvailable("node01", "memory.available", "1Gi");
  await waitFor(stage.client, {
    resource: nodes,
    key: { name: "node01" },
    what: "under memory pressure",
    until: ({ status }) => status?.conditions?.some((c) => c.type === "MemoryPressure" && c.status === "True") === true,
  });
  // What the relay would tell; a full scan sees the node's condition as well.
  for (const name of names) await untilVmi(stage.client, name, "moved", hasSettledAwayFrom("node01"));
  for (const name of names) {
    expect((await getVmi(stage.client, name)).status?.phase).toBe("Running");
    await expect.poll(() => causesOf(stage.client, name)).toEqual(["NodePressure"]);
  }
});
