/** Creates and removes the objects of a run: nodes, namespace, VMs and settings. */
import { inParallel } from "../../in-parallel.ts";
import {
  createNode,
  createPriorityClass,
  isAlreadyExists,
  type KubeObject,
  namespaces,
  nodes,
  type Resource,
  type VirtualMachine,
  virtualMachineInstances,
} from "../../sandbox/index.ts";
import { configureKubeVirt, configureLifeboat } from "../stage/apply.ts";
import { createVms } from "../stage/scene.ts";
import type { Cluster } from "./cluster.ts";
import { type Plan, placesOf } from "./plan.ts";
import { type ChaosVm, PRIORITY_CLASS } from "./vms.ts";
import { persist, until } from "./wait.ts";

export interface Scene {
  readonly namespace: string;
  readonly nodeOf: (place: string) => string;
  readonly nodes: readonly string[];
}

const ROOM = { cpu: "100", memory: "256Gi", pods: "500", "devices.kubevirt.io/kvm": "1k" };
const TARGETS = ["target-a", "target-b", "target-c"];
const REMOVED_AT_ONCE = 8;
const CLEARED_WITHIN_MS = 90_000;

export async function setScene(cluster: Cluster, plan: Plan): Promise<Scene> {
  const { client } = cluster.sandbox;
  const namespace = `run-${plan.run}`;
  const nodeOf = (place: string) => `${namespace}-${place}`;
  const places = placesOf(plan);
  await configure(cluster, plan);
  await client.create(namespaces, { metadata: { name: namespace } });
  await Promise.all([
    ...[...places].map(([place, capacity = ROOM]) => createNode(client, nodeOf(place), capacity)),
    ...TARGETS.map((target) => createNode(client, nodeOf(target), ROOM)),
  ]);
  await createVms(
    client,
    plan.vms.map((vm) => vmOf(vm, namespace, nodeOf(vm.place))),
  );
  return { namespace, nodeOf, nodes: [...places.keys(), ...TARGETS].map(nodeOf) };
}

function vmOf({ name, strategy, migratable, graceSeconds }: ChaosVm, namespace: string, node: string): VirtualMachine {
  const vm = { namespace, name, evictionStrategy: strategy, migratable, node, memory: "1Gi" };
  return { ...vm, ...(graceSeconds !== undefined && { terminationGracePeriodSeconds: graceSeconds }) };
}

async function configure({ sandbox }: Cluster, plan: Plan): Promise<void> {
  const { client } = sandbox;
  const vms = new Map(plan.vms.map((vm) => [vm.name, vm]));
  sandbox.migrations.configure({
    seconds: ({ name }) => (vms.get(name)?.migrationMs ?? plan.migrationMs) / 1000,
    outcome: ({ name, attempt }) => (attempt > (vms.get(name)?.failures ?? 0) ? "Succeeded" : "Failed"),
  });
  const migrations = {
    parallelMigrationsPerCluster: plan.limits.cluster,
    parallelOutboundMigrationsPerNode: plan.limits.node,
  };
  await configureKubeVirt(client, { migrations });
  await configureLifeboat(client, plan.configuration);
  await createPriorityClass(client, PRIORITY_CLASS, 1_000_000).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

export async function clearScene({ sandbox, observer }: Cluster, { namespace, nodes: names }: Scene): Promise<void> {
  const { client } = sandbox;
  const remove = (resource: Resource, key: { namespace?: string; name: string }) =>
    persist(() => client.delete(resource, key));
  const here = ({ metadata }: KubeObject) => metadata.namespace === namespace;
  const vmis = [...observer.vmis.list()].filter(here);
  await inParallel(vmis, REMOVED_AT_ONCE, ({ metadata }) => remove(virtualMachineInstances, metadata));
  await remove(namespaces, { name: namespace });
  const gone = () => ![...observer.vmis.list(), ...observer.pods.list()].some(here);
  if (!(await until(gone, CLEARED_WITHIN_MS)))
    throw new Error(`namespace ${namespace} still contains VMIs or pods after its deletion`);
  await Promise.all(names.map((name) => remove(nodes, { name })));
}
