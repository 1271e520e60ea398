/** A kubelet under pressure: its reports, when it evicts, and that it sends no eviction request. */
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
const untilNode = (condition: (node: Node) => boolean) => world.until(nodes, { name: NODE }, condition);
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

describe("a condition and its taint", () => {
  // prettier-ignore
  const rows = [
    ["memory.available", "50Mi", "MemoryPressure", ["KubeletHasInsufficientMemory", "node.kubernetes.io/memory-pressure:NoSchedule"]],
    ["nodefs.available", "1Gi",  "DiskPressure",   ["KubeletHasDiskPressure",       "node.kubernetes.io/disk-pressure:NoSchedule"  ]],
    ["pid.available",    "100",  "PIDPressure",    ["KubeletHasInsufficientPID",    "node.kubernetes.io/pid-pressure:NoSchedule"   ]],
  ] as const;
  test.each(rows)("%s %s: %s", async (signal, quantity, type, [reason, taint]) => {
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
    const seconds = (world.clock.now().getTime() - since) / 1_000;
    expect(seconds).toBeGreaterThanOrEqual(290);
    expect(seconds).toBeLessThanOrEqual(320);
  });
});

describe("below the soft threshold", () => {
  test("the condition comes at once, and no pod is evicted before the grace period", async () => {
    const hungry = await run("hungry");
    useMemory("hungry", "7500Mi");
    await untilNode((node) => conditionOf(node, "MemoryPressure")?.status === "True");
    world.clock.advance(89_000);
    await run("marker", { requests: {}, tolerations: [{ operator: "Exists" }] });
    expect(await eventsAbout(hungry)).toEqual([]);
    world.clock.advance(1_000);
    await expect.poll(() => eventsAbout(hungry)).toEqual(["Normal Killing", "Warning Evicted"]);
  });

  test("who is evicted has the time it asked for, up to the configured maximum", async () => {
    const slow = await run("slow", { graceSeconds: 3 });
    useMemory("slow", "7500Mi");
    await untilNode((node) => conditionOf(node, "MemoryPressure")?.status === "True");
    world.clock.advance(90_000);
    await expect.poll(() => eventsAbout(slow)).toEqual(["Normal Killing", "Warning Evicted"]);
    world.clock.advance(2_999);
    expect((await get("slow"))?.status?.phase).toBe("Running");
    world.clock.advance(1);
    // The processes need longer than the grace period.
    const { status } = await until("slow", ({ status }) => status?.phase === "Failed");
    expect(status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
  });

  test("relieved in time, no pod is evicted", async () => {
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
  test("a pod ends at once; its status says so only when it has ended, and it is not deleted", async () => {
    const hungry = await run("hungry");
    useMemory("hungry", "8Gi");
    await expect.poll(() => eventsAbout(hungry)).toEqual(["Normal Killing", "Warning Evicted"]);
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

  test("one after another goes, the least important first, until it is enough", async () => {
    await run("important", { priorityClassName: "important" });
    const first = await run("first");
    const second = await run("second");
    useMemory("first", "2Gi");
    useMemory("second", "3Gi");
    useMemory("important", "7Gi");
    await expect.poll(() => eventsAbout(second)).toEqual(["Normal Killing", "Warning Evicted"]);
    const node = await untilNode((one) => conditionOf(one, "MemoryPressure")?.status === "True");
    await expect.poll(() => eventsAbout(node)).toContain("Warning EvictionThresholdMet");
    expect(await eventsAbout(first)).toEqual([]);
    world.clock.advance(1_000);
    await until("second", ({ status }) => status?.reason === "Evicted");
    await expect.poll(() => eventsAbout(first)).toEqual(["Normal Killing", "Warning Evicted"]);
    world.clock.advance(1_000);
    await until("first", ({ status }) => status?.reason === "Evicted");
    expect((await get("important"))?.status?.phase).toBe("Running");
  });
});
