/**
 * Preemption, as observed on Kubernetes 1.36: what the scheduler says and asks, and what it does when it is refused.
 */
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { events, pods, type Pod } from "../../../infra/sandbox/actors/resources.ts";
import { createTransport } from "../../../infra/sandbox/actors/transport.ts";
import { createNode } from "../../../infra/sandbox/fleet.ts";
import { createPod, createPriorityClass, type PlainPod } from "../../../infra/sandbox/workloads.ts";
import { useSandbox } from "../with-sandbox.ts";
import { disruptionTarget, startGate, type Gate } from "./gate.ts";

const namespace = "default";
const MESSAGE = "default-scheduler: preempting to accommodate a higher priority pod";
const GRACE = 7;
const world = useSandbox({ terminationSeconds: GRACE });
let gate: Gate;

beforeAll(async () => {
  const { client } = world.sandbox;
  await createNode(client, "full", { memory: "12Gi" });
  await createNode(client, "roomy");
  await Promise.all([
    createPriorityClass(client, "low", 10),
    createPriorityClass(client, "middle", 20),
    createPriorityClass(client, "high", 30),
    createPriorityClass(client, "polite", 30, { preemptionPolicy: "Never" }),
  ]);
  gate = await startGate(world);
});
afterAll(() => gate.stop());

/** Nothing of one test is there for the next. */
afterEach(async () => {
  const { client } = world.sandbox;
  gate.answer("allow");
  gate.release("allow");
  const names = () => client.list(pods, namespace).then(({ items }) => items.map(({ metadata }) => metadata.name));
  for (const name of await names()) await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
  await world.pass(async () => (await names()).length === 0);
  gate.forget();
});

const get = (name: string) => world.sandbox.client.get(pods, { namespace, name });
const until = (name: string, condition: (pod: Pod) => boolean) => world.until(pods, { namespace, name }, condition);
const isRunning = ({ status }: Pod) => status?.phase === "Running";

function place(node: string, pod: Omit<PlainPod, "nodeSelector"> & { memory: string }) {
  const { memory, ...rest } = pod;
  const nodeSelector = { "kubernetes.io/hostname": node };
  return createPod(world.sandbox.client, { graceSeconds: GRACE, ...rest, nodeSelector, requests: { memory } });
}

const saying = (text: string) => (pod: Pod) => pod.status?.conditions?.[0]?.message?.endsWith(text) ?? false;

/** The node is full of them. */
async function fill(...victims: readonly (readonly [name: string, priorityClassName: string])[]) {
  const memory = `${12 / victims.length}Gi`;
  for (const [name, priorityClassName] of victims) {
    await place("full", { name, priorityClassName, memory });
    await until(name, isRunning);
  }
}

describe("a pod that fits nowhere", () => {
  test("is nominated, its victim told why, deleted and waited for", async () => {
    await fill(["victim", "low"]);
    gate.answer("hold");
    const { metadata } = await place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await expect.poll(() => gate.held()).toBe(1);
    const [asked] = gate.asked();
    expect(asked).toMatchObject({
      user: "system:kube-scheduler",
      name: "victim",
      object: null,
      options: { gracePeriodSeconds: GRACE },
    });
    expect(disruptionTarget(asked?.oldObject)).toMatchObject({
      status: "True",
      reason: "PreemptionByScheduler",
      message: MESSAGE,
    });
    await until("important", ({ status }) => status?.nominatedNodeName === "full");

    gate.release("allow");
    await until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await until("important", saying("preemption: not eligible due to a terminating pod on the nominated node."));
    expect((await get("important"))?.status).toMatchObject({ phase: "Pending", nominatedNodeName: "full" });
    world.clock.advance(GRACE * 1_000);
    const bound = await until("important", isRunning);
    expect(bound.spec?.nodeName).toBe("full");
    expect(bound.status).not.toHaveProperty("nominatedNodeName");
    expect(gate.asked()).toHaveLength(1);

    const fieldSelector = "involvedObject.name=victim,reason=Preempted";
    const { items } = await world.sandbox.client.list(events, namespace, { fieldSelector });
    const message = `Preempted by pod ${metadata.uid} on node full`;
    expect(items).toEqual([expect.objectContaining({ type: "Normal", message, count: 1 })]);
  });

  test("of the same priority, or with preemptionPolicy Never, it only waits", async () => {
    await fill(["equal", "high"]);
    await place("full", { name: "another", priorityClassName: "high", memory: "1Gi" });
    await place("full", { name: "polite", priorityClassName: "polite", memory: "1Gi" });
    const futile =
      "0/2 nodes are available: 1 Insufficient memory, 1 node(s) didn't match Pod's node affinity/selector. " +
      "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, " +
      "1 Preemption is not helpful for scheduling.";
    const another = await until("another", saying(futile));
    const polite = await until("polite", saying("preemption: not eligible due to preemptionPolicy=Never."));
    for (const { status } of [another, polite]) expect(status).not.toHaveProperty("nominatedNodeName");
    expect(gate.asked()).toEqual([]);
  });

  test("the room made for it is not given to a less important one", async () => {
    await fill(["victim", "low"]);
    await place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await place("full", { name: "greedy", priorityClassName: "middle", memory: "8Gi" });
    await until("greedy", ({ status }) => status?.conditions?.[0]?.reason === "Unschedulable");
    world.clock.advance(GRACE * 1_000);
    await until("important", isRunning);
    expect((await get("greedy"))?.status?.phase).toBe("Pending");
  });
});

test("a more important pod takes over what was nominated to another", async () => {
  await fill(["victim", "low"]);
  gate.answer("hold");
  await place("full", { name: "first", priorityClassName: "middle", memory: "8Gi" });
  await until("first", ({ status }) => status?.nominatedNodeName === "full");
  await place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
  await until("important", ({ status }) => status?.nominatedNodeName === "full");
  await until("first", ({ status }) => status?.nominatedNodeName === undefined);
  await expect.poll(() => gate.held()).toBe(2);
  gate.answer("allow");
  gate.release("allow");
  await until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await until("important", saying("not eligible due to a terminating pod on the nominated node."));
  world.clock.advance(GRACE * 1_000);
  await until("important", isRunning);
  expect((await get("first"))?.status?.phase).toBe("Pending");
});

describe("several victims", () => {
  test("go one after another, the most important first, and one denial spares the rest", async () => {
    await fill(["a", "middle"], ["b", "low"], ["c", "low"]);
    gate.answer((name) => (name === "a" ? "allow" : "deny"));
    await place("full", { name: "important", priorityClassName: "high", memory: "12Gi" });
    await expect.poll(() => gate.asked().map(({ name }) => name)).toEqual(["a", "b"]);
    await until("important", saying("not eligible due to a terminating pod on the nominated node."));
    expect(gate.asked().map(({ name }) => name)).toEqual(["a", "b"]);
    expect(disruptionTarget(await get("c"))).toBeUndefined();
    expect((await get("b"))?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe("a denied deletion", () => {
  const perSecond = 50;
  const burst = 100;

  test("is tried again without back-off, at the client's rate limit, until there is nobody to make room for", async () => {
    await fill(["victim", "low"]);
    gate.answer("deny");
    await place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    const tries = () => gate.asked("victim").length;
    // A few requests of the burst are needed to set the condition.
    await expect.poll(tries, { timeout: 10_000 }).toBeGreaterThan(burst - 10);
    const since = disruptionTarget(await get("victim"))?.lastTransitionTime;
    for (const seconds of [2, 4]) {
      world.clock.advance(2_000);
      await expect.poll(tries, { timeout: 10_000 }).toBeGreaterThan(burst + seconds * perSecond - 10);
      expect(tries()).toBeLessThanOrEqual(burst + seconds * perSecond);
    }
    await place("roomy", { name: "bystander", memory: "1Gi" });
    await until("bystander", isRunning);
    const victim = await get("victim");
    expect(victim?.metadata).not.toHaveProperty("deletionTimestamp");
    expect(disruptionTarget(victim)).toMatchObject({ status: "True", lastTransitionTime: since });
    expect((await get("important"))?.status).toMatchObject({ phase: "Pending", nominatedNodeName: "full" });

    await world.sandbox.client.delete(pods, { namespace, name: "important" });
    world.clock.advance(20);
    await expect.poll(async () => get("important")).toBeUndefined();
    const before = tries();
    world.clock.advance(10_000);
    await place("roomy", { name: "later", memory: "1Gi" });
    await until("later", isRunning);
    expect(tries()).toBeLessThanOrEqual(before + 1);
  });
});

describe("a held deletion", () => {
  test("is one attempt however long it takes, and others are scheduled meanwhile", async () => {
    await fill(["victim", "low"]);
    gate.answer("hold");
    await place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    for (const attempt of [1, 2, 3]) {
      await expect.poll(() => gate.held()).toBe(1);
      world.clock.advance(8_000);
      await place("roomy", { name: `bystander-${attempt}`, memory: "1Gi" });
      await until(`bystander-${attempt}`, isRunning);
      expect(gate.asked("victim")).toHaveLength(attempt);
      gate.release("deny");
    }
  });

  test("after 120 s the condition is taken back; the next attempt sets it again, with a new time", async () => {
    await fill(["victim", "low"]);
    gate.answer("hold");
    await place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await expect.poll(() => gate.held()).toBe(1);
    const first = disruptionTarget(await get("victim"));
    world.clock.advance(119_000);
    expect(disruptionTarget(await get("victim"))).toMatchObject({ status: "True" });
    world.clock.advance(1_000);
    const reset = await until("victim", (pod) => disruptionTarget(pod)?.status === "False");
    expect(disruptionTarget(reset)).not.toHaveProperty("reason");
    world.clock.advance(5_000);
    gate.release("deny");
    const again = await until("victim", (pod) => disruptionTarget(pod)?.status === "True");
    expect(disruptionTarget(again)).toMatchObject({ reason: "PreemptionByScheduler", message: MESSAGE });
    const [before, after] = [first, disruptionTarget(again)].map((one) => Date.parse(one?.lastTransitionTime ?? ""));
    expect((after ?? 0) - (before ?? 0)).toBe(125_000);
  });

  test("that is not answered in time goes through", async () => {
    await fill(["victim", "low"]);
    gate.answer("hold");
    await gate.setTimeout(1);
    await place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(gate.asked("victim")).toHaveLength(1);
    await gate.setTimeout(30);
  });

  test("whose client goes away leaves the pod alone", async () => {
    await fill(["victim", "low"]);
    gate.answer("hold");
    const config = new KubeConfig();
    config.loadFromString(world.sandbox.kubeconfig);
    const transport = createTransport(config);
    const gone = new AbortController();
    const headers = { "impersonate-user": "system:kube-scheduler" };
    const path = `/api/v1/namespaces/${namespace}/pods/victim`;
    const deletion = transport.send({ method: "DELETE", path, headers }, gone.signal);
    await expect.poll(() => gate.held()).toBe(1);
    gone.abort();
    await expect(deletion).rejects.toThrow();
    await expect.poll(() => gate.held()).toBe(0);
    transport.close();
    await place("roomy", { name: "bystander", memory: "1Gi" });
    await until("bystander", isRunning);
    expect((await get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
  });
});
