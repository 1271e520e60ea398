/** `lifeboat explain node` where each eviction by itself would go well and the drain would not end: what it says comes true. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  podDisruptionBudgets,
  pods,
  replicaSets,
  type Resource,
} from "../../../infra/sandbox/actors/resources.ts";
import { NAMESPACE, type Stage, startStage } from "../stage.ts";
import { createVm, evict } from "../vm.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

const quotas: Resource = { apiVersion: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true };
const CONTAINERS = [{ name: "main", image: "registry.k8s.io/pause:3.10" }];

let stage: Stage;
beforeAll(async () => {
  const names = ["node01", "node02", "node03", "node04", "node05"];
  stage = await startStage({ nodes: names, ticking: false, workloads: true });
});
afterAll(() => stage.stop());

const explain = async (words: string, begun = new Date()) => {
  const { code, out } = await lifeboat(`explain node ${words}`, { kubeconfig: stage.sandbox.kubeconfig, begun });
  return { code, verdict: out[0] ?? "", text: out.join("\n") };
};

async function running(key: { readonly namespace: string; readonly name: string }): Promise<Pod> {
  const read = () => stage.client.get(pods, key);
  await expect.poll(async () => (await read())?.status?.phase).toBe("Running");
  const pod = await read();
  if (pod === undefined) throw new Error(`${key.name} is gone`);
  return pod;
}

test("a launcher pod without its VMI blocks, and KubeVirt's webhook refuses its eviction", async () => {
  const key = { namespace: NAMESPACE, name: "virt-launcher-left-abcde" };
  await createVm(stage, "web", { node: "node02" });
  await stage.client.create(pods, {
    metadata: { ...key, labels: { "kubevirt.io": "virt-launcher" }, annotations: { "kubevirt.io/domain": "left" } },
    spec: { nodeName: "node01", containers: CONTAINERS },
  });
  const { code, verdict, text } = await explain("node01");
  expect([code, verdict]).toEqual([3, expect.stringContaining("WillBlock")]);
  expect(text).toContain("its VMI does not exist");
  const refused = { code: 429, message: expect.stringContaining("kubevirt failed getting the vmi") };
  expect(await evict(stage.client, await running(key))).toMatchObject(refused);
});

test("a pod that a finalizer keeps in Terminating blocks, once its time is over", async () => {
  const key = { namespace: "default", name: "kept" };
  const finalizers = ["example.com/backup"];
  await stage.client.create(pods, {
    metadata: { ...key, finalizers },
    spec: { nodeName: "node03", containers: CONTAINERS, terminationGracePeriodSeconds: 1 },
  });
  await running(key);
  await stage.client.delete(pods, key);
  const inAnHour = new Date(Date.now() + 3_600_000);
  expect(await explain("node03 --force", inAnHour)).toMatchObject({
    code: 3,
    text: expect.stringContaining("finalizers example.com/backup"),
  });
  await stage.client.patch(pods, key, { type: "merge", body: { metadata: { finalizers: null } } });
  await expect.poll(() => stage.client.get(pods, key)).toBeUndefined();
  expect(await explain("node03 --force", inAnHour)).toMatchObject({ code: 0 });
});

test("a quota that the target pod exceeds blocks, and the migration does not begin", async () => {
  const namespace = "full";
  await stage.createVm({ name: "full", evictionStrategy: "LiveMigrate", namespace, node: "node04" });
  const key = { namespace, name: "few" };
  const onePod = { metadata: key, spec: { hard: { pods: "1" } } };
  await stage.client.create(quotas, onePod);
  // As the quota's controller counts.
  const body = { status: { hard: { pods: "1" }, used: { pods: "1" } } };
  await stage.client.patch(quotas, key, { type: "merge", body }, { subresource: "status" });
  const { code, text } = await explain("node04");
  expect(code).toBe(3);
  expect(text).toContain("VM full/full: ResourceQuota few refuses its target pod: pods: 1 needed, 0 left");
  expect(text).toContain("the owner of the ResourceQuota:");
});

test("a node with another CPU vendor is no certain target: exit code 4", async () => {
  await createVm(stage, "cpu", { node: "node05" });
  expect(await explain("node05")).toMatchObject({ code: 0 });
  const labels = { "cpu-vendor.node.kubevirt.io/AMD": "true" };
  await stage.client.patch(nodes, { name: "node05" }, { type: "merge", body: { metadata: { labels } } });
  const { code, verdict, text } = await explain("node05");
  expect([code, verdict]).toEqual([4, expect.stringContaining("Unknown")]);
  expect(text).toContain(`not known: whether VM ${NAMESPACE}/cpu finds its CPU on the 4 nodes that have room`);
  await stage.client.patch(nodes, { name: "node02" }, { type: "merge", body: { metadata: { labels } } });
  expect(await explain("node05")).toMatchObject({ code: 0, text: expect.stringMatching(/cpu +Moves +node02/) });
});

test("pods whose volume no other node reaches have no room, and their budget keeps all but the first", async () => {
  const [labels, key] = [{ app: "quorum" }, { namespace: "default", name: "quorum" }];
  const expression = { key: "kubernetes.io/hostname", operator: "In", values: ["node03"] };
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } };
  const volume = { metadata: { name: "local" }, spec: { nodeAffinity, claimRef: key } };
  await stage.client.create(persistentVolumes, volume);
  await stage.client.patch(
    persistentVolumes,
    { name: "local" },
    { type: "merge", body: { status: { phase: "Bound" } } },
    { subresource: "status" },
  );
  await stage.client.create(persistentVolumeClaims, { metadata: key, spec: { volumeName: "local" } });
  const spec = {
    containers: CONTAINERS,
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: key.name } }],
    terminationGracePeriodSeconds: 1,
  };
  await stage.client.create(replicaSets, {
    metadata: key,
    spec: { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  await stage.client.create(podDisruptionBudgets, {
    metadata: key,
    spec: { minAvailable: 2, selector: { matchLabels: labels } },
  });
  const allowed = async () => (await stage.client.get(podDisruptionBudgets, key))?.status?.disruptionsAllowed;
  await expect.poll(allowed).toBe(1);
  const { code, verdict, text } = await explain("node03");
  expect([code, verdict]).toEqual([
    3,
    "× NoRoom: draining node03 will block: no other node has room for the replacements that 2 pods wait for",
  ]);
  expect(text).toContain("PodDisruptionBudget quorum waits for a replacement");

  await stage.client.patch(nodes, { name: "node03" }, { type: "merge", body: { spec: { unschedulable: true } } });
  const { items } = await stage.client.list(pods, "default", { labelSelector: "app=quorum" });
  const codes: number[] = [];
  for (const pod of items) codes.push((await evict(stage.client, pod)).code);
  expect(codes).toEqual([201, 429, 429]);
  const phases = async () => {
    const { items: left } = await stage.client.list(pods, "default", { labelSelector: "app=quorum" });
    return new Set(left.map(({ status }) => status?.phase));
  };
  await expect.poll(phases).toEqual(new Set(["Pending", "Running"]));
  await expect.poll(allowed).toBe(0);
});
