/** Generates random drains: a node with VMs and other pods, and the nodes to which the VMs can move. */
import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import {
  core,
  createNode,
  isSimulated,
  kubevirt,
  namespaces,
  nodes,
  podDisruptionBudgets,
  replicaSets,
  waitFor,
} from "../../infra/sandbox/index.ts";
import type { Stage } from "./stage.ts";

const MODELS = ["Haswell", "Icelake"] as const;
const CPUS = ["Haswell", "Icelake", "Icelake", "EPYC"] as const;

const often = <T>(usual: T, weight: number, ...others: readonly T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight }, ...others.map((one) => fc.constant(one)));

const anyVm = fc.record({
  evictionStrategy: often("LiveMigrate", 15, "LiveMigrateIfPossible", "LiveMigrateIfPossible", "None", "External"),
  migratable: often(true, 15, false),
  cpuModel: often("host-model", 4, ...MODELS),
});

const anyWorkload = fc.record({
  replicas: fc.constantFrom(1, 2),
  budgets: often("None", 4, "OneLess", "OneLess", "All", "Two"),
});

const anyTarget = fc.record({
  cpu: fc.constantFrom(...CPUS),
  state: often("Open", 8, "Cordoned", "Tainted", "Full"),
});

export const anyDrain = fc.record({
  cpu: fc.constantFrom("Haswell", "Icelake"),
  vms: fc.array(anyVm, { minLength: 1, maxLength: 3 }),
  workloads: fc.array(anyWorkload, { maxLength: 1 }),
  targets: fc.array(anyTarget, { minLength: 1, maxLength: 3 }),
  /** The number of further pods that a quota allows in the VMs' namespace. If undefined, there is no quota. */
  quota: often<number | undefined>(undefined, 6, 0, 1, 8),
});
export type AnyDrain = typeof anyDrain extends fc.Arbitrary<infer T> ? T : never;

const label = (kind: string, name: string) => ({ [`${kind}.node.kubevirt.io/${name}`]: "true" });

/** Labels as KubeVirt's node labeller sets them. A host of the newer Intel model also supports the older model. */
const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = Object.fromEntries(
  [
    ["Haswell", "Haswell"],
    ["Icelake", "Haswell", "Icelake"],
    ["EPYC", "EPYC"],
  ].map(([cpu = "", ...models]) => [
    cpu,
    Object.assign(
      { ...label("host-model-cpu", cpu), ...label("cpu-vendor", cpu === "EPYC" ? "AMD" : "Intel") },
      ...models.flatMap((model) => [label("cpu-model", model), label("cpu-model-migration", model)]),
    ),
  ]),
);

const OWN = "example.com/drain";

/** Creates the nodes, pods and VMs. Resolves when all pods and VMs run. */
export async function setUp(stage: Stage, name: string, w: AnyDrain): Promise<void> {
  const { client } = stage;
  const add = async (node: string, cpu: string, capacity = {}, more: readonly object[] = []) => {
    await createNode(client, node, capacity, { ...LABELS[cpu], [OWN]: name });
    const taints = [{ key: OWN, value: name, effect: "NoSchedule" }, ...more];
    await client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } });
  };
  await add(name, w.cpu);
  const tolerations = [{ key: OWN, operator: "Equal", value: name, effect: "NoSchedule" }];
  const models = w.cpu === "Haswell" ? ["Haswell"] : MODELS;
  const ofNode = (model: string) => (models.some((one) => one === model) ? model : "host-model");
  await Promise.all([
    ...w.vms.map((vm, index) =>
      stage.createVm({
        ...vm,
        cpuModel: ofNode(vm.cpuModel),
        namespace: name,
        name: `vm-${index}`,
        node: name,
        tolerations,
      }),
    ),
    ...w.workloads.map((one, index) =>
      createWorkload(stage, { ...one, name: `${name}-${index}` }, { nodeSelector: { [OWN]: name }, tolerations }),
    ),
  ]);
  for (const [index, { cpu, state }] of w.targets.entries()) {
    const node = `${name}-to-${index}`;
    const tainted = state === "Tainted" ? [{ key: "example.com/other", effect: "NoSchedule" }] : [];
    await add(node, cpu, state === "Full" ? { memory: "512Mi" } : {}, tainted);
    if (state === "Cordoned")
      await client.patch(nodes, { name: node }, { type: "merge", body: { spec: { unschedulable: true } } });
  }
  if (w.quota !== undefined) await limit(stage, name, w.vms.length + w.quota);
}

async function createWorkload(
  { client }: Stage,
  { name, replicas, budgets }: AnyDrain["workloads"][number] & { readonly name: string },
  place: { readonly nodeSelector: Record<string, string>; readonly tolerations: object[] },
): Promise<void> {
  await client.create(namespaces, { metadata: { name } });
  const metadata = { namespace: name, name: "app" };
  const [labels, requests] = [{ app: name }, { memory: "64Mi" }];
  const selector = { matchLabels: labels };
  const containers = [{ name: "app", image: "example.com/app", resources: { requests } }];
  const template = { metadata: { labels }, spec: { containers, ...place } };
  await client.create(replicaSets, { metadata, spec: { replicas, selector, template } });
  const isRunning = ({ status }: { readonly status?: { readonly readyReplicas?: number } }) =>
    status?.readyReplicas === replicas;
  await waitFor(client, { resource: replicaSets, key: metadata, what: "running", until: isRunning });
  const names = { None: [], OneLess: ["a"], All: ["a"], Two: ["a", "b"] }[budgets] ?? [];
  for (const each of names) {
    const minAvailable = budgets === "All" ? replicas : replicas - 1;
    const key = { namespace: name, name: each };
    await client.create(podDisruptionBudgets, { metadata: key, spec: { minAvailable, selector } });
    const isCounted = ({ status }: core.PodDisruptionBudget) => status?.currentHealthy === replicas;
    await waitFor(client, { resource: podDisruptionBudgets, key, what: "counted", until: isCounted });
  }
}

/** Creates a quota. In a simulated cluster, also sets the quota's status, because no controller updates it. */
async function limit({ client, sandbox }: Stage, namespace: string, pods: number): Promise<void> {
  const key = { namespace, name: "pods" };
  const hard = { pods: String(pods) };
  const used = { pods: String((await client.list(core.pods, namespace)).items.length) };
  await client.create(core.resourceQuotas, { metadata: key, spec: { hard } });
  if (isSimulated(sandbox)) {
    const body = { status: { hard, used } };
    await client.patch(core.resourceQuotas, key, { type: "merge", body }, { subresource: "status" });
  }
  const isCounted = ({ status }: core.ResourceQuota) => status?.used?.["pods"] === used.pods;
  await waitFor(client, { resource: core.resourceQuotas, key, what: "counted", until: isCounted });
}

/** Deletes all objects of the drain. Waits until the pods are gone, because they could affect the next drain. */
export async function tearDown({ client }: Stage, name: string, { workloads, targets }: AnyDrain): Promise<void> {
  const all = [name, ...workloads.map((_, index) => `${name}-${index}`)];
  await client.delete(core.resourceQuotas, { namespace: name, name: "pods" }).catch(() => undefined);
  await client.deleteAll(kubevirt.virtualMachineInstances, name);
  for (const namespace of all.slice(1)) await client.delete(replicaSets, { namespace, name: "app" });
  for (const namespace of all)
    while ((await client.list(core.pods, namespace)).items.length > 0) {
      await client.deleteAll(core.pods, namespace, { gracePeriodSeconds: 0 });
      await delay(200);
    }
  for (const namespace of all) await client.delete(namespaces, { name: namespace });
  for (const node of [name, ...targets.map((_, index) => `${name}-to-${index}`)])
    await client.delete(nodes, { name: node });
}
