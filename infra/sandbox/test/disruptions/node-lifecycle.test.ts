/** Tests the pods on nodes without heartbeats and on nodes with the out-of-service taint. */
import { beforeAll, describe, expect, test } from "vitest";
import { nodes, pods, type Node, type Pod } from "../../actors/resources.ts";
import { taintsFor } from "../../actors/node-taints.ts";
import { createNode } from "../../fleet.ts";
import { createPod } from "../../workloads.ts";
import { useSandbox } from "../with-sandbox.ts";

const namespace = "default";
const world = useSandbox({ terminationSeconds: 1 });

beforeAll(async () => {
  for (const name of ["alive", "silent", "lost"]) await createNode(world.sandbox.client, name);
});

const getNode = async (name: string) => {
  const node = await world.sandbox.client.get(nodes, { name });
  if (node === undefined) throw new Error(`no node ${name}`);
  return node;
};
const getPod = (name: string) => world.sandbox.client.get(pods, { namespace, name });
const conditionOf = (object: Node | Pod | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type);
const taintsOf = (node: Node) => (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).toSorted();

async function run(name: string, node: string): Promise<void> {
  await createPod(world.sandbox.client, { namespace, name, node });
  await world.until(pods, { namespace, name }, ({ status }) => status?.phase === "Running");
}

async function secondsUntil(condition: () => Promise<boolean>): Promise<number> {
  const since = world.clock.now().getTime();
  await world.pass(condition);
  return (world.clock.now().getTime() - since) / 1000;
}

describe("the taints of a node", () => {
  // prettier-ignore
  const rows: readonly (readonly [type: string, status: string, taints: readonly string[]])[] = [
    ["Ready",              "True",    []],
    ["Ready",              "False",   ["node.kubernetes.io/not-ready:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"]],
    ["Ready",              "Unknown", ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]],
    ["MemoryPressure",     "True",    ["node.kubernetes.io/memory-pressure:NoSchedule"]],
    ["MemoryPressure",     "Unknown", []],
    ["DiskPressure",       "True",    ["node.kubernetes.io/disk-pressure:NoSchedule"]],
    ["PIDPressure",        "True",    ["node.kubernetes.io/pid-pressure:NoSchedule"]],
    ["NetworkUnavailable", "True",    ["node.kubernetes.io/network-unavailable:NoSchedule"]],
  ];
  test.each(rows)("follow from its condition %s=%s", (type, status, expected) => {
    const metadata = { name: "node", uid: "1", resourceVersion: "1", creationTimestamp: "" };
    const [now, foreign] = ["2026-01-01T00:00:00Z", { key: "mine", effect: "NoExecute" }];
    const stale = {
      key: "node.kubernetes.io/memory-pressure",
      effect: "NoSchedule",
      timeAdded: "2025-01-01T00:00:00Z",
    };
    const node = { metadata, spec: { taints: [foreign, stale] }, status: { conditions: [{ type, status }] } };
    const taints = taintsFor(node, now) ?? node.spec.taints;
    expect(taints.map(({ key, effect }) => `${key}:${effect}`)).toEqual(["mine:NoExecute", ...expected]);
  });

  test("include a taint while the node is cordoned", async () => {
    const cordon = (unschedulable: boolean) =>
      world.sandbox.client.patch(nodes, { name: "alive" }, { type: "merge", body: { spec: { unschedulable } } });
    const unschedulable = "node.kubernetes.io/unschedulable:NoSchedule";
    await cordon(true);
    await world.until(nodes, { name: "alive" }, (node) => taintsOf(node).includes(unschedulable));
    await cordon(false);
    await world.until(nodes, { name: "alive" }, (node) => taintsOf(node).length === 0);
  });
});

describe("a node whose kubelet is silent", () => {
  test("is Unknown with unready pods after about 50 s, and recovers when its kubelet reports again", async () => {
    const { sandbox } = world;
    await run("waiting", "silent");
    sandbox.kubelets.stop("silent");
    const seconds = await secondsUntil(async () => conditionOf(await getNode("silent"), "Ready")?.status === "Unknown");
    expect(seconds).toBeGreaterThanOrEqual(40);
    expect(seconds).toBeLessThanOrEqual(75);
    const node = await world.until(nodes, { name: "silent" }, (one) => taintsOf(one).length === 2);
    expect(taintsOf(node)).toEqual([
      "node.kubernetes.io/unreachable:NoExecute",
      "node.kubernetes.io/unreachable:NoSchedule",
    ]);
    expect(conditionOf(node, "MemoryPressure")).toMatchObject({ status: "Unknown", reason: "NodeStatusUnknown" });
    const isReady = (pod: Pod) => conditionOf(pod, "Ready")?.status === "True";
    const pod = await world.until(pods, { namespace, name: "waiting" }, (one) => !isReady(one));
    expect(pod.status?.phase).toBe("Running");
    // A kubelet always sets a reason. An admission rule detects pods of unreachable nodes by the missing reason.
    expect(conditionOf(pod, "Ready")).not.toHaveProperty("reason");
    expect(taintsOf(await getNode("alive"))).toEqual([]);

    sandbox.kubelets.start("silent");
    await world.until(nodes, { name: "silent" }, (one) => taintsOf(one).length === 0);
    const back = await world.until(pods, { namespace, name: "waiting" }, isReady);
    expect(back.status?.startTime).toBe(pod.status?.startTime);
  });

  test("keeps its pods for five minutes; then they terminate, but remain until the node has the out-of-service taint", async () => {
    const { sandbox } = world;
    await run("stranded", "lost");
    sandbox.kubelets.stop("lost");
    await world.pass(async () => taintsOf(await getNode("lost")).length === 2);
    const isDeleted = async () => (await getPod("stranded"))?.metadata.deletionTimestamp !== undefined;
    const seconds = await secondsUntil(isDeleted);
    expect(seconds).toBeGreaterThanOrEqual(295);
    // The bound is loose: each poll advances the clock by 1 s, even while the controllers have not finished their work.
    expect(seconds).toBeLessThanOrEqual(400);
    world.clock.advance(600_000);
    await run("elsewhere", "alive");
    expect((await getPod("stranded"))?.status?.phase).toBe("Running");

    const taints = [
      ...((await getNode("lost")).spec?.taints ?? []),
      { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" },
    ];
    await sandbox.client.patch(nodes, { name: "lost" }, { type: "merge", body: { spec: { taints } } });
    expect(await secondsUntil(async () => (await getPod("stranded")) === undefined)).toBeLessThanOrEqual(25);
  });
});

test("a jump of the clock does not make a node silent", async () => {
  for (let hour = 0; hour < 12; hour++) {
    world.clock.advance(3_600_000);
    await run(`hour-${hour}`, "alive");
  }
  expect(conditionOf(await getNode("alive"), "Ready")).toMatchObject({ status: "True" });
});
