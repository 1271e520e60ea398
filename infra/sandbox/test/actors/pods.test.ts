/** Tests how the scheduler chooses a pod's node, and which status the kubelet reports. */
import { beforeAll, describe, expect, test } from "vitest";
import { events, nodes, persistentVolumeClaims, persistentVolumes, pods, type Pod } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "default";
const world = useSandbox({ terminationSeconds: 5 });

const TAINTED = [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }];

beforeAll(async () => {
  const { client } = world.sandbox;
  await Promise.all(["a", "b", "c"].map((name) => createNode(client, name)));
  await client.patch(nodes, { name: "b" }, { type: "merge", body: { spec: { unschedulable: true } } });
  await client.patch(nodes, { name: "c" }, { type: "merge", body: { spec: { taints: TAINTED } } });
});

const containers = [{ name: "c", image: "i" }];

function createPod(name: string, spec: object = {}, labels: Record<string, string> = {}) {
  return world.sandbox.client.create(pods, {
    metadata: { namespace: NAMESPACE, name, labels },
    spec: { containers, ...spec },
  });
}

const settled = (name: string) =>
  world.until(
    pods,
    { namespace: NAMESPACE, name },
    ({ status }) =>
      status?.phase === "Running" || status?.conditions?.some(({ reason }) => reason === "Unschedulable") === true,
  );

const beside = (app: string) => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app } } },
    ],
  },
});

const onNode = (name: string) => ({
  matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }],
});

test("a pod with scheduling gates gets a node when its last gate is removed", async () => {
  const key = { namespace: NAMESPACE, name: "gated" };
  await createPod(key.name, { schedulingGates: [{ name: "example.com/wait" }] });
  await createPod("beside");
  expect((await settled("beside")).spec?.nodeName).toBe("a");
  expect((await world.sandbox.client.get(pods, key))?.spec?.nodeName).toBeUndefined();
  const body = [{ op: "remove", path: "/spec/schedulingGates/0" }];
  await world.sandbox.client.patch(pods, key, { type: "json", body });
  expect((await settled(key.name)).spec?.nodeName).toBe("a");
});

describe("a pod", () => {
  const gpu = { key: "dedicated", operator: "Equal", value: "gpu" };
  // prettier-ignore
  const rows: readonly (readonly [what: string, spec: object, node: string | undefined])[] = [
    ["gets neither a cordoned nor a tainted node",         {},                                                                       "a"],
    ["gets a tainted node that it tolerates and selects",  { tolerations: [gpu], nodeSelector: { "kubernetes.io/hostname": "c" } },  "c"],
    ["does not tolerate a taint with another value",       { tolerations: [{ ...gpu, value: "x" }], nodeSelector: { "kubernetes.io/hostname": "c" } }, undefined],
    ["may tolerate all taints",                            { tolerations: [{ operator: "Exists" }], nodeSelector: { "kubernetes.io/hostname": "b" } }, "b"],
    ["waits for a selected node that does not exist",      { nodeSelector: { "kubernetes.io/hostname": "z" } },                      undefined],
    ["waits for a required node that is cordoned",         { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [onNode("b")] } } } }, undefined],
    ["gets the preferred node",                            { tolerations: [gpu], affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: onNode("c") }] } } }, "c"],
    ["gets another node if its preferred node is cordoned", { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: onNode("b") }] } } }, "a"],
    ["needs no scheduling if its spec names a node",       { nodeName: "b" },                                                        "b"],
  ];
  test.each(rows)("%s", async (what, spec, node) => {
    const name = what.replaceAll(/[^a-z]+/g, "-");
    await createPod(name, spec);
    expect((await settled(name)).spec?.nodeName).toBe(node);
  });

  test("is never placed on a node with another pod if the anti-affinity of either pod excludes the other pod", async () => {
    await createPod("hermit", { affinity: beside("hermit") }, { app: "hermit" });
    expect((await settled("hermit")).spec?.nodeName).toBe("a");
    await createPod("visitor", {}, { app: "hermit" });
    expect((await settled("visitor")).spec?.nodeName).toBeUndefined();
  });

  test("waits until a node can use its volume, and gets this node", async () => {
    const { client } = world.sandbox;
    const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: ["e"] }];
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
    await client.create(persistentVolumes, { metadata: { name: "disk" }, spec: { nodeAffinity } });
    const metadata = { namespace: NAMESPACE, name: "disk" };
    await client.create(persistentVolumeClaims, { metadata, spec: { volumeName: "disk" } });
    await createPod("stored", { volumes: [{ name: "disk", persistentVolumeClaim: { claimName: "disk" } }] });
    const { message } = (await settled("stored")).status?.conditions?.find(({ type }) => type === "PodScheduled") ?? {};
    expect(message).toContain("1 node(s) didn't match PersistentVolume's node affinity");
    await createNode(client, "e");
    expect((await world.until(pods, { namespace: NAMESPACE, name: "stored" }, isRunning)).spec?.nodeName).toBe("e");
    await client.delete(pods, { namespace: NAMESPACE, name: "stored" }, { gracePeriodSeconds: 0 });
    await client.delete(nodes, { name: "e" });
  });

  test("waits if its topology spread leaves no usable node", async () => {
    const constraint = { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule" };
    const topologySpreadConstraints = [{ ...constraint, labelSelector: { matchLabels: { app: "spread" } } }];
    const tolerations = [{ key: "dedicated", operator: "Exists" }];
    for (const name of ["spread-1", "spread-2", "spread-3"]) {
      await createPod(name, { topologySpreadConstraints, tolerations }, { app: "spread" });
      await settled(name);
    }
    const found = await Promise.all(["spread-1", "spread-2", "spread-3"].map(settled));
    // Node b is cordoned, so the third pod has no node.
    expect(found.map(({ spec }) => spec?.nodeName ?? "none").toSorted()).toEqual(["a", "c", "none"]);
    const { message } = found[2]?.status?.conditions?.find(({ type }) => type === "PodScheduled") ?? {};
    expect(message).toContain("2 node(s) didn't match pod topology spread constraints");
    for (const { metadata } of found) await world.sandbox.client.delete(pods, metadata, { gracePeriodSeconds: 0 });
  });

  test("that fits no node gets a condition, and is scheduled as soon as a new node fits", async () => {
    const nodeSelector = { "kubernetes.io/hostname": "d" };
    await createPod("patient", { nodeSelector });
    const waiting = await settled("patient");
    const message =
      "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable." +
      " preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
    expect(waiting.status).toMatchObject({ phase: "Pending" });
    expect(waiting.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "PodScheduled", status: "False", reason: "Unschedulable", message }),
    );
    const fieldSelector = "involvedObject.name=patient";
    const { items } = await world.sandbox.client.list(events, NAMESPACE, { fieldSelector });
    expect(items.map(({ reason, message }) => ({ reason, message }))).toEqual([
      { reason: "FailedScheduling", message },
    ]);
    await createNode(world.sandbox.client, "d");
    expect((await world.until(pods, { namespace: NAMESPACE, name: "patient" }, isRunning)).spec?.nodeName).toBe("d");
  });
});

const isRunning = ({ status }: Pod) => status?.phase === "Running";

describe("the kubelet", () => {
  test("does not run the pods of its node until the node exists", async () => {
    await createPod("early", { nodeName: "e" });
    await createPod("on-time", { nodeName: "a" });
    await settled("on-time");
    const early = await world.sandbox.client.get(pods, { namespace: NAMESPACE, name: "early" });
    expect(early?.status?.phase).toBe("Pending");
    await createNode(world.sandbox.client, "e");
    await world.until(pods, { namespace: NAMESPACE, name: "early" }, isRunning);
  });

  test("waits until the containers of a deleted pod have ended, and then removes the pod", async () => {
    const key = { namespace: NAMESPACE, name: "worker" };
    await createPod("worker");
    await settled("worker");
    await world.sandbox.client.delete(pods, key);
    const terminating = await world.until(pods, key, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(terminating.status?.phase).toBe("Running");
    const before = world.clock.now().getTime();
    await world.pass(async () => (await world.sandbox.client.get(pods, key)) === undefined);
    expect((world.clock.now().getTime() - before) / 1_000).toBeGreaterThanOrEqual(4);
  });

  test("kills a pod when its grace period is over", async () => {
    const key = { namespace: NAMESPACE, name: "short" };
    await createPod("short");
    await settled("short");
    await world.sandbox.client.delete(pods, key, { gracePeriodSeconds: 1 });
    const ended = world.until(pods, key, ({ status }) => status?.phase === "Failed");
    await world.pass(async () => (await world.sandbox.client.get(pods, key)) === undefined);
    expect((await ended).status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137 });
  });
});
