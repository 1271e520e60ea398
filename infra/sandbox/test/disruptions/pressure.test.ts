/** Tests a kubelet under memory or disk pressure: the node's conditions, and the evicted pods. */
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { events, nodes, pods, type Node, type Pod } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { createPod, createPriorityClass, type PlainPod } from "../../workloads.ts";
import { useSandbox } from "../with-sandbox.ts";
import { disruptionTarget } from "./gate.ts";

const namespace = "default";
const NODE = "small";
const TERMINATION = 5;
const world = useSandbox({
  terminationSeconds: TERMINATION,
  eviction: {
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%", "pid.available": "10%" },
    evictionSoft: { "memory.available": "1Gi" },
    evictionSoftGracePeriod: { "memory.available": "1m30s" },
    evictionMaxPodGracePeriod: 300,
  },
});

beforeAll(async () => {
  await createNode(world.sandbox.client, NODE, { memory: "8Gi" });
  await createPriorityClass(world.sandbox.client, "important", 1_000);
});

afterEach(async () => {
  const { client, stats } = world.sandbox;
  for (const signal of ["memory.available", "nodefs.available", "pid.available"] as const)
    stats.setAvailable(NODE, signal);
  const names = () => client.list(pods, namespace).then(({ items }) => items.map(({ metadata }) => metadata.name));
  for (const name of await names()) await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
  await world.pass(async () => (await names()).length === 0);
  await world.pass(async () => {
    const node = await client.get(nodes, { name: NODE });
    return node !== undefined && taintsOf(node).length === 0;
  });
});

const get = (name: string) => world.sandbox.client.get(pods, { namespace, name });
const until = (name: string, condition: (pod: Pod) => boolean) => world.until(pods, { namespace, name }, condition);

async function untilNode(condition: (node: Node) => boolean): Promise<Node> {
  await world.pass(async () => condition(await getNode()));
  return await getNode();
}

async function getNode(): Promise<Node> {
  const node = await world.sandbox.client.get(nodes, { name: NODE });
  if (node === undefined) throw new Error("no node");
  return node;
}

const conditionOf = (node: Node, type: string) => node.status?.conditions?.find((one) => one.type === type);
const taintsOf = ({ spec }: Node) => (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
const useMemory = (name: string, quantity: string) => world.sandbox.stats.useMemory({ namespace, name }, quantity);

async function run(name: string, pod: Partial<PlainPod> = {}): Promise<Pod> {
  await createPod(world.sandbox.client, { namespace, name, node: NODE, requests: { memory: "1Gi" }, ...pod });
  return until(name, ({ status }) => status?.phase === "Running");
}

async function eventsAbout({ metadata }: Pod | Node): Promise<readonly string[]> {
  const { items } = await world.sandbox.client.list(events, namespace, {
    fieldSelector: `involvedObject.uid=${metadata.uid}`,
  });
  return items.map(({ type, reason }) => `${type} ${reason}`).toSorted();
}

/** Advances the clock until the kubelet evicts the pod. Returns the time in seconds, by the sandbox's clock. */
async function evictedAt({ metadata }: Pod): Promise<number> {
  const fieldSelector = `involvedObject.uid=${metadata.uid},reason=Evicted`;
  const find = async () => (await world.sandbox.client.list(events, namespace, { fieldSelector })).items[0];
  await world.pass(async () => (await find()) !== undefined, 600);
  return Date.parse((await find())?.firstTimestamp ?? "") / 1000;
}

const seconds = () => world.clock.now().getTime() / 1000;

describe("a condition and its taint", () => {
  // prettier-ignore
  const rows = [
    ["memory.available", "50Mi", "MemoryPressure", ["KubeletHasInsufficientMemory", "node.kubernetes.io/memory-pressure:NoSchedule"]],
    ["nodefs.available", "1Gi",  "DiskPressure",   ["KubeletHasDiskPressure",       "node.kubernetes.io/disk-pressure:NoSchedule"  ]],
    ["pid.available",    "100",  "PIDPressure",    ["KubeletHasInsufficientPID",    "node.kubernetes.io/pid-pressure:NoSchedule"   ]],
  ] as const;
  test.each(rows)("follow from %s %s: %s", async (signal, quantity, type, [reason, taint]) => {
    world.sandbox.stats.setAvailable(NODE, signal, quantity);
    const node = await untilNode((one) => taintsOf(one).includes(taint));
    expect(conditionOf(node, type)).toMatchObject({ status: "True", reason });
    expect(taintsOf(node)).toEqual([taint]);
  });

  test("outlast their cause by five minutes", async () => {
    world.sandbox.stats.setAvailable(NODE, "nodefs.available", "1Gi");
    await untilNode((node) => taintsOf(node).length === 1);
    world.sandbox.stats.setAvailable(NODE, "nodefs.available");
    const since = world.clock.now().getTime();
    await world.pass(async () => {
      const node = await world.sandbox.client.get(nodes, { name: NODE });
      return node !== undefined && conditionOf(node, "DiskPressure")?.status === "False";
    });
    const lasted = (world.clock.now().getTime() - since) / 1_000;
    expect(lasted).toBeGreaterThanOrEqual(290);
    expect(lasted).toBeLessThanOrEqual(330);
  });
});

describe("below the soft threshold", () => {
  test("the node has the condition after ten seconds, and no pod is evicted until the grace period ends", async () => {
    const hungry = await run("hungry");
    const since = seconds();
    useMemory("hungry", "7500Mi");
    await untilNode((node) => conditionOf(node, "MemoryPressure")?.status === "True");
    expect(seconds() - since).toBeGreaterThanOrEqual(10);
    expect((await evictedAt(hungry)) - since).toBeGreaterThanOrEqual(90);
    await expect.poll(() => eventsAbout(hungry)).toEqual(["Normal Killing", "Warning Evicted"]);
  });

  test("an evicted pod has its own grace period, up to the configured maximum", async () => {
    const slow = await run("slow", { graceSeconds: 4 });
    useMemory("slow", "7500Mi");
    const endsAt = (await evictedAt(slow)) + 4;
    await expect.poll(() => eventsAbout(slow)).toEqual(["Normal Killing", "Warning Evicted"]);
    world.clock.advance(Math.max((endsAt - seconds()) * 1000 - 1, 0));
    expect((await get("slow"))?.status?.phase).toBe("Running");
    await world.pass(async () => (await get("slow"))?.status?.phase !== "Running");
    // This pod's containers run longer than the grace period.
    const { status } = await until("slow", ({ status }) => status?.phase === "Failed");
    expect(status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
  });

  test("a pod whose containers exit with code 0 is Succeeded, and only its condition shows the eviction", async () => {
    const orderly = await run("orderly", { graceSeconds: 60 });
    useMemory("orderly", "7500Mi");
    await evictedAt(orderly);
    await world.pass(async () => (await get("orderly"))?.status?.phase !== "Running");
    const { status } = (await get("orderly")) ?? {};
    expect([status?.phase, status?.reason, status?.message]).toEqual(["Succeeded", undefined, undefined]);
    const message = expect.stringMatching(/^The node was low on resource: memory/);
    expect(disruptionTarget(await get("orderly"))).toMatchObject({ reason: "TerminationByKubelet", message });
  });

  test("a node whose pressure ends within the grace period evicts no pod", async () => {
    const modest = await run("modest");
    useMemory("modest", "7500Mi");
    await untilNode((node) => conditionOf(node, "MemoryPressure")?.status === "True");
    world.clock.advance(60_000);
    useMemory("modest", "1Gi");
    await run("marker", { requests: {} });
    world.clock.advance(60_000);
    await run("later", { requests: {} });
    expect(await eventsAbout(modest)).toEqual([]);
  });
});

describe("below the hard threshold", () => {
  test("a pod is stopped at once but not deleted, and its status shows the eviction only after its containers have ended", async () => {
    const hungry = await run("hungry");
    useMemory("hungry", "8Gi");
    await expect.poll(() => eventsAbout(hungry)).toEqual(["Normal Killing", "Warning Evicted"]);
    expect(conditionOf(await getNode(), "MemoryPressure")?.status).toBe("False");
    const ending = await get("hungry");
    expect(ending?.status).toMatchObject({ phase: "Running" });
    expect(disruptionTarget(ending)).toBeUndefined();
    expect(ending?.metadata).not.toHaveProperty("deletionTimestamp");

    world.clock.advance(1_000);
    const ended = await until("hungry", ({ status }) => status?.phase === "Failed");
    expect(ended.status).toMatchObject({ reason: "Evicted" });
    expect(ended.status?.message).toMatch(/^The node was low on resource: memory\. Threshold quantity: 102400Ki, /);
    const { message } = ended.status ?? {};
    expect(disruptionTarget(ended)).toMatchObject({ status: "True", reason: "TerminationByKubelet", message });
    expect(ended.metadata).not.toHaveProperty("deletionTimestamp");
  });

  test("pods are evicted one after another, by priority, until enough is free", async () => {
    await run("important", { priorityClassName: "important" });
    const first = await run("first");
    const second = await run("second");
    useMemory("first", "2Gi");
    useMemory("second", "3Gi");
    useMemory("important", "7Gi");
    await expect.poll(() => eventsAbout(second)).toEqual(["Normal Killing", "Warning Evicted"]);
    const node = await getNode();
    await expect.poll(() => eventsAbout(node)).toContain("Warning EvictionThresholdMet");
    expect(await eventsAbout(first)).toEqual([]);
    world.clock.advance(1_000);
    await until("second", ({ status }) => status?.reason === "Evicted");
    await expect.poll(() => eventsAbout(first)).toEqual(["Normal Killing", "Warning Evicted"]);
    world.clock.advance(1_000);
    await until("first", ({ status }) => status?.reason === "Evicted");
    expect((await get("important"))?.status?.phase).toBe("Running");
  });

  test("if disk is scarce, one pod is evicted every ten seconds, and pods without disk requests are evicted first", async () => {
    const requests = { "ephemeral-storage": "50M" };
    const writers = await Promise.all([run("best-effort", { requests: {} }), run("burstable")]);
    await run("modest", { requests });
    world.sandbox.stats.setAvailable(NODE, "nodefs.available", "1Gi");
    const times = (await Promise.all(writers.map(evictedAt))).toSorted((a, b) => a - b);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(10);
    expect((await get("modest"))?.status?.phase).toBe("Running");
  });
});
