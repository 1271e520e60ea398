/** Tests the status of PodDisruptionBudgets, and the removal of old DisruptionTarget conditions. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  events,
  namespaces,
  podDisruptionBudgets,
  pods,
  replicaSets,
  type KubeObject,
  type Resource,
} from "../../actors/resources.ts";
import { timestamp } from "../../actors/clock.ts";
import { useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "apps";
const world = useSandbox({ empty: true });

beforeAll(async () => {
  await world.sandbox.client.create(namespaces, { metadata: { name: NAMESPACE } });
});

type Owner = { apiVersion: string; kind: string; name: string; uid: string; controller: boolean };

async function createPod(name: string, app: string, more: { ready?: boolean; owner?: Owner | undefined } = {}) {
  const { ready = true, owner } = more;
  const { client } = world.sandbox;
  const pod = await client.create(pods, {
    metadata: { namespace: NAMESPACE, name, labels: { app }, ...(owner && { ownerReferences: [owner] }) },
    spec: { nodeName: "node", containers: [{ name: "c", image: "i" }] },
  });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] };
  return client.patch(pods, pod.metadata, { type: "merge", body: { status } }, { subresource: "status" });
}

async function createReplicaSet(name: string, replicas: number): Promise<Owner> {
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const { metadata } = await world.sandbox.client.create(replicaSets, {
    metadata: { namespace: NAMESPACE, name },
    spec: { replicas, selector: { matchLabels: { app: name } }, template },
  });
  return { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: metadata.uid, controller: true };
}

const selecting = (app: string) => ({ selector: { matchLabels: { app } } });

describe("the status of a budget", () => {
  type Numbers = readonly [
    currentHealthy: number,
    desiredHealthy: number,
    disruptionsAllowed: number,
    expectedPods: number,
  ];
  type Row = readonly [
    what: string,
    spec: object,
    ready: number,
    unready: number,
    replicas: number | undefined,
    numbers: Numbers,
  ];
  // prettier-ignore
  const rows: readonly Row[] = [
    // budget                                                                spec                        ready unready replicas     healthy desired allowed expected
    ["minAvailable 1 of one pod allows none",                                { minAvailable: 1 },        1,    0,      undefined,   [1,     1,      0,      1]],
    ["minAvailable 1 of two pods allows one",                                { minAvailable: 1 },        2,    0,      undefined,   [2,     1,      1,      2]],
    ["minAvailable 2 of one pod allows none",                                { minAvailable: 2 },        1,    0,      undefined,   [1,     2,      0,      1]],
    ["an unready pod does not count",                                        { minAvailable: 1 },        1,    1,      undefined,   [1,     1,      0,      2]],
    ["a budget without pods allows none",                                    { minAvailable: 1 },        0,    0,      undefined,   [0,     1,      0,      0]],
    ["minAvailable 50% counts the three wanted pods",                        { minAvailable: "50%" },    3,    0,      3,           [3,     2,      1,      3]],
    ["minAvailable 50% counts wanted pods, not only existing ones",           { minAvailable: "50%" },    2,    0,      4,           [2,     2,      0,      4]],
    ["maxUnavailable 1 of three pods allows one",                            { maxUnavailable: 1 },      3,    0,      3,           [3,     2,      1,      3]],
    ["maxUnavailable 30% of five pods rounds up",                            { maxUnavailable: "30%" },  5,    0,      5,           [5,     3,      2,      5]],
  ];
  test.each(rows)("%s", async (...[what, spec, ready, unready, replicas, numbers]) => {
    const app = what.replaceAll(/[^a-z0-9]+/g, "-");
    const owner = replicas === undefined ? undefined : await createReplicaSet(app, replicas);
    for (let i = 0; i < ready; i++) await createPod(`${app}-${i}`, app, { owner });
    for (let i = 0; i < unready; i++) await createPod(`${app}-unready-${i}`, app, { owner, ready: false });
    const metadata = { namespace: NAMESPACE, name: app };
    await world.sandbox.client.create(podDisruptionBudgets, { metadata, spec: { ...selecting(app), ...spec } });
    const [currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods] = numbers;
    const pdb = await world.until(
      podDisruptionBudgets,
      metadata,
      ({ status }) => status?.observedGeneration === 1 && status.currentHealthy === currentHealthy,
    );
    const [status, reason] = disruptionsAllowed > 0 ? ["True", "SufficientPods"] : ["False", "InsufficientPods"];
    expect(pdb.status).toMatchObject({
      currentHealthy,
      desiredHealthy,
      disruptionsAllowed,
      expectedPods,
      observedGeneration: 1,
    });
    expect(pdb.status?.conditions).toEqual([
      expect.objectContaining({ type: "DisruptionAllowed", status, reason, observedGeneration: 1 }),
    ]);
  });

  test("follows the budget's spec, and its pods' readiness", async () => {
    const key = { namespace: NAMESPACE, name: "follows" };
    await createPod("follows-0", "follows");
    await world.sandbox.client.create(podDisruptionBudgets, {
      metadata: key,
      spec: { minAvailable: 1, ...selecting("follows") },
    });
    await world.until(podDisruptionBudgets, key, ({ status }) => status?.currentHealthy === 1);
    await createPod("follows-1", "follows");
    await world.until(podDisruptionBudgets, key, ({ status }) => status?.disruptionsAllowed === 1);
    await world.sandbox.client.patch(podDisruptionBudgets, key, { type: "merge", body: { spec: { minAvailable: 2 } } });
    const grown = await world.until(podDisruptionBudgets, key, ({ status }) => status?.observedGeneration === 2);
    expect(grown.status).toMatchObject({ desiredHealthy: 2, disruptionsAllowed: 0 });
    await world.sandbox.client.delete(pods, { namespace: NAMESPACE, name: "follows-1" });
    await world.until(podDisruptionBudgets, key, ({ status }) => status?.currentHealthy === 1);
  });

  test("that cannot be computed allows no disruption, and its condition has a reason", async () => {
    const vmi: Resource<KubeObject & { spec: unknown }> = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstance",
      plural: "virtualmachineinstances",
      namespaced: true,
    };
    const { metadata } = await world.sandbox.client.create(vmi, {
      metadata: { namespace: NAMESPACE, name: "vm" },
      spec: { domain: { devices: {} } },
    });
    const owner = { apiVersion: vmi.apiVersion, kind: vmi.kind, name: "vm", uid: metadata.uid, controller: true };
    await createPod("of-a-vm", "vm", { owner });
    const key = { namespace: NAMESPACE, name: "vm" };
    await world.sandbox.client.create(podDisruptionBudgets, {
      metadata: key,
      spec: { maxUnavailable: 0, ...selecting("vm") },
    });
    const pdb = await world.until(
      podDisruptionBudgets,
      key,
      ({ status }) => status?.conditions?.[0]?.reason === "SyncFailed",
    );
    const message = "virtualmachineinstances.kubevirt.io does not implement the scale subresource";
    expect(pdb.status).toMatchObject({ disruptionsAllowed: 0, conditions: [{ status: "False", message }] });
    expect(pdb.status?.conditions?.[0]).not.toHaveProperty("observedGeneration");
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "of-a-vm" } };
    const evicted = { namespace: NAMESPACE, name: "of-a-vm" };
    await expect(world.sandbox.client.post(pods, evicted, "eviction", body)).rejects.toMatchObject({ code: 429 });
    const warnings = (await world.sandbox.client.list(events, NAMESPACE)).items.filter(
      ({ involvedObject }) => involvedObject.name === "vm",
    );
    expect(warnings.map(({ reason }) => reason)).toContain("CalculateExpectedPodCountFailed");
  });
});

describe("granted evictions", () => {
  test("count as disruptions until the pod is gone, but for at most two minutes", async () => {
    const key = { namespace: NAMESPACE, name: "granted" };
    for (const name of ["granted-0", "granted-1"]) await createPod(name, "granted");
    await world.sandbox.client.create(podDisruptionBudgets, {
      metadata: key,
      spec: { minAvailable: 1, ...selecting("granted") },
    });
    const pdb = await world.until(podDisruptionBudgets, key, ({ status }) => status?.disruptionsAllowed === 1);
    const since = now();
    const status = { ...pdb.status, disruptionsAllowed: 0, disruptedPods: { "granted-0": since } };
    await world.sandbox.client.update(podDisruptionBudgets, { ...pdb, status }, { subresource: "status" });
    const held = await world.until(podDisruptionBudgets, key, ({ status }) => status?.currentHealthy === 1);
    expect(held.status).toMatchObject({ disruptionsAllowed: 0, disruptedPods: { "granted-0": since } });
    world.clock.advance(119_000);
    expect((await world.sandbox.client.get(podDisruptionBudgets, key))?.status?.currentHealthy).toBe(1);
    await world.pass(
      async () => (await world.sandbox.client.get(podDisruptionBudgets, key))?.status?.currentHealthy === 2,
    );
    const after = await world.sandbox.client.get(podDisruptionBudgets, key);
    expect(after?.status).toMatchObject({ disruptionsAllowed: 1 });
    expect(after?.status).not.toHaveProperty("disruptedPods");
  });
});

describe("the condition DisruptionTarget", () => {
  test("becomes False when the pod still exists after two minutes", async () => {
    const { metadata } = await createPod("threatened", "threatened");
    const body = { status: { conditions: [disruptionTarget(now())] } };
    await world.sandbox.client.patch(pods, metadata, { type: "strategic", body }, { subresource: "status" });
    world.clock.advance(119_000);
    const early = await world.sandbox.client.get(pods, metadata);
    expect(early?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", status: "True" }),
    );
    const isStale = async () => {
      const pod = await world.sandbox.client.get(pods, metadata);
      return pod?.status?.conditions?.find(({ type }) => type === "DisruptionTarget")?.status === "False";
    };
    await world.pass(isStale);
    const pod = await world.sandbox.client.get(pods, metadata);
    const condition = pod?.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    expect(condition).toMatchObject({ status: "False", observedGeneration: 1 });
    expect(condition).not.toHaveProperty("reason");
    expect(pod?.status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
  });
});

function now(): string {
  return timestamp(world.clock);
}

function disruptionTarget(lastTransitionTime: string) {
  return {
    type: "DisruptionTarget",
    status: "True",
    reason: "PreemptionByScheduler",
    message: "m",
    lastTransitionTime,
  };
}
