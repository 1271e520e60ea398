/**
 * The scene of one run: its nodes, its namespace, its VMs, its settings; and clearing it away.
 * Does not own: what stays over many runs (arena.ts), what happens (happen.ts).
 */
import { inParallel } from "../../tools/in-parallel.ts";
import {
  configMaps,
  leases,
  namespaces,
  nodes,
  type KubeObject,
  type Resource,
} from "../../sandbox/actors/resources.ts";
import { isAlreadyExists } from "../../sandbox/actors/status-error.ts";
import { createNode, type VirtualMachine } from "../../sandbox/fleet.ts";
import { KUBEVIRT } from "../../sandbox/kubevirt/manifests.ts";
import { kubeVirts, virtualMachineInstances } from "../../sandbox/kubevirt/resources.ts";
import { isSimulated } from "../../sandbox/sandbox.ts";
import { createPriorityClass } from "../../sandbox/workloads.ts";
import { configureLifeboat } from "../stage/apply.ts";
import { createVms } from "../stage/scene.ts";
import type { Arena } from "./arena.ts";
import type { CastMember, Place } from "./cast.ts";
import { DESCHEDULER_POLICY } from "./descheduler-policy.ts";
import { persist } from "./persist.ts";
import type { Plan } from "./plan.ts";
import { namespaceOf, settleTenant } from "./tenant.ts";
import { until } from "./until.ts";
import { WIRE } from "./wire.ts";

export interface Scene {
  readonly namespace: string;
  /** The node each VM begins on. */
  readonly nodeOf: Readonly<Record<Place, string>>;
  readonly nodes: readonly string[];
}

const PRIORITY_CLASS = "chaos-urgent";
/** Room for three small VMs and nothing else: a preemptor has to take theirs. */
const NARROW = { memory: "4Gi" };
const VM_MEMORY = "1Gi";
export const PREEMPTOR = { name: "preemptor", priorityClassName: PRIORITY_CLASS, requests: { memory: "3584Mi" } };
const ROOM = { cpu: "100", memory: "256Gi", pods: "500", "devices.kubevirt.io/kvm": "1k" };
/** `Ending`: longer than the node has left, so that Karpenter deletes at once. `Covered`: of the others it is too short for the shield. */
const GRACE_SECONDS: Partial<Record<Place, number>> = { Ending: 7200, Covered: 600 };
const REMOVED_AT_ONCE = 8;

export async function setScene(arena: Arena, plan: Plan, name: string): Promise<Scene> {
  const { client } = arena.sandbox;
  const nodeOf = {
    Drained: `${name}-drained`,
    Preempted: `${name}-preempted`,
    Tainted: `${name}-tainted`,
    Unsettled: `${name}-unsettled`,
    Ending: `${name}-ending`,
    Pressed: `${name}-pressed`,
    Covered: `${name}-covered`,
    Exposed: `${name}-exposed`,
    Retired: `${name}-retired`,
  };
  const places = new Set<Place>(["Drained", ...plan.vms.map(({ place }) => place)]);
  const others = [`${name}-a`, `${name}-b`, `${name}-c`];
  await configure(arena, plan);
  await client.create(namespaces, { metadata: { name } });
  await Promise.all([
    ...[...places].map((place) => createNode(client, nodeOf[place], place === "Preempted" ? NARROW : ROOM)),
    ...others.map((node) => createNode(client, node, ROOM)),
  ]);
  await createVms(
    client,
    plan.vms.map((member) => vmOf(member, name, nodeOf[member.place])),
  );
  const ground = { drained: nodeOf.Drained, other: `${name}-a` };
  if (plan.faults.includes("Tenant")) await settleTenant(client, name, ground);
  return { namespace: name, nodeOf, nodes: [...[...places].map((place) => nodeOf[place]), ...others] };
}

function vmOf(member: CastMember, namespace: string, node: string): VirtualMachine {
  const { name, strategy, migratable, place } = member;
  const terminationGracePeriodSeconds = GRACE_SECONDS[place];
  const vm = { namespace, name, evictionStrategy: strategy, migratable, node, memory: VM_MEMORY };
  return { ...vm, ...(terminationGracePeriodSeconds !== undefined && { terminationGracePeriodSeconds }) };
}

async function configure(arena: Arena, plan: Plan): Promise<void> {
  const { sandbox } = arena;
  if (isSimulated(sandbox)) {
    sandbox.evacuationController.enabled = true;
    sandbox.deschedulerAnnotations.enabled = false;
  }
  const { client } = sandbox;
  const members = new Map(plan.vms.map((member) => [member.name, member]));
  sandbox.migrations.configure({
    seconds: ({ name }) => (members.get(name)?.migrationMs ?? plan.migrationMs) / 1000,
    outcome: ({ name, attempt }) => (attempt > (members.get(name)?.failures ?? 0) ? "Succeeded" : "Failed"),
  });
  const migrations = {
    parallelMigrationsPerCluster: plan.limits.cluster,
    parallelOutboundMigrationsPerNode: plan.limits.node,
  };
  const spec = { configuration: { migrations } };
  await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: { spec } });
  await configureLifeboat(client, plan.configuration);
  await createUnlessThere(() => client.create(configMaps, DESCHEDULER_POLICY));
  // A cycle that ended with its Worker in the run before keeps it for longer than a run lasts.
  await client.delete(leases, { namespace: WIRE.namespace, name: WIRE.lease });
  await createUnlessThere(() => createPriorityClass(client, PRIORITY_CLASS, 1_000_000));
}

async function createUnlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

const CLEARED_WITHIN_MS = 90_000;

/** Afterwards nothing of it counts for the next run. */
export async function clearScene(arena: Arena, { namespace, nodes: names }: Scene): Promise<void> {
  const { sandbox, observer } = arena;
  const { client } = sandbox;
  const remove = (resource: Resource, key: { namespace?: string; name: string }) =>
    persist(() => client.delete(resource, key));
  const known = [...observer.pods.list()].map(({ metadata }) => metadata.namespace);
  const all = [namespace, namespaceOf(namespace)].filter((one) => one === namespace || known.includes(one));
  const here = ({ metadata }: KubeObject) => all.includes(metadata.namespace ?? "");
  const vmis = [...observer.vmis.list()].filter(here);
  await inParallel(vmis, REMOVED_AT_ONCE, ({ metadata }) => remove(virtualMachineInstances, metadata));
  for (const one of all) await remove(namespaces, { name: one });
  const gone = () => ![...observer.vmis.list(), ...observer.pods.list()].some(here);
  if (!(await until(gone, CLEARED_WITHIN_MS))) throw new Error(`namespace ${namespace} does not become empty`);
  await Promise.all(names.map((name) => remove(nodes, { name })));
}
