/** A tenant who does its worst: it may write what it likes in a namespace of its own, and nothing elsewhere. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import {
  configMaps,
  events,
  namespaces,
  type Pod,
  podDisruptionBudgets,
  pods,
} from "../../sandbox/actors/resources.ts";
import { createVirtualMachineInstance } from "../../sandbox/fleet.ts";
import { applyManifests } from "../../sandbox/manifests.ts";
import {
  LABEL,
  migrations,
  virtualMachineInstances,
  type VirtualMachineInstance,
} from "../../sandbox/kubevirt/resources.ts";
import { endingOf, evacuations } from "../stage/evacuations.ts";
import { inParallel } from "../../tools/in-parallel.ts";
import type { VmHappening } from "./moment.ts";
import type { Stage } from "./stage.ts";
import { WIRE } from "./wire.ts";

export type TenantAct = Extract<VmHappening["does"], "forge" | "flood" | "reach out">;

interface Key {
  readonly namespace: string;
  readonly name: string;
}

/** Where the tenant's pods and its VM are. */
export interface Ground {
  readonly drained: string;
  readonly other: string;
}

export const TENANT = "tenant";
const OWN_VM = "own";
/** Of each kind. */
const JUNK = 50;
const AT_ONCE = 8;
/** By what the tenant owns, so that a drain takes them for managed pods. */
const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "owner", controller: true } as const;

export function namespaceOf(namespace: string): string {
  return `${namespace}-tenant`;
}

export async function settleTenant(client: KubeClient, others: string, ground: Ground): Promise<void> {
  const namespace = namespaceOf(others);
  await client.create(namespaces, { metadata: { name: namespace } });
  await applyManifests(client, rolesIn(namespace));
  const vm = { namespace, name: OWN_VM, evictionStrategy: "LiveMigrate", migratable: true, node: ground.other };
  await createVirtualMachineInstance(client, { ...vm, memory: "1Gi" });
  const victims = (await client.list(virtualMachineInstances, others)).items;
  const tenant = client.as(TENANT);
  const { metadata } = await tenant.create(configMaps, { metadata: { namespace, name: OWNER.name } });
  const owner = { ...OWNER, uid: metadata.uid };
  const numbers = Array.from({ length: JUNK }, (_, i) => i);
  await inParallel(numbers, AT_ONCE, async (number) => {
    const victim = victims[number % victims.length];
    if (victim !== undefined) await tenant.create(pods, forgedLauncher(number, victim, { namespace, owner, ground }));
  });
}

/** As an administrator gives a namespace away: its stock role, and that for VMs. */
function rolesIn(namespace: string) {
  const metadata = { name: TENANT, namespace };
  const api = "rbac.authorization.k8s.io";
  const resources = [virtualMachineInstances.plural, migrations.plural];
  const subjects = [{ apiGroup: api, kind: "User", name: TENANT }];
  const binding = (kind: string, name: string, role: string) => ({
    apiVersion: `${api}/v1`,
    kind: "RoleBinding",
    metadata: { ...metadata, name },
    roleRef: { apiGroup: api, kind, name: role },
    subjects,
  });
  const rules = [{ apiGroups: ["kubevirt.io"], resources, verbs: ["*"] }];
  return [
    { apiVersion: `${api}/v1`, kind: "Role", metadata, rules },
    binding("Role", "vms", TENANT),
    binding("ClusterRole", "admin", "admin"),
  ];
}

interface Forged {
  readonly namespace: string;
  readonly owner: typeof OWNER & { readonly uid: string };
  readonly ground: Ground;
}

/**
 * It claims to be another tenant's launcher, and to be leaving. Half of them are on the node that is drained; these name no VM, for
 * KubeVirt's webhook refuses to evict a launcher of a VM that is not there.
 */
function forgedLauncher(number: number, victim: VirtualMachineInstance, { namespace, owner, ground }: Forged) {
  const labels = { [LABEL.createdBy]: victim.metadata.uid, "kubevirt.io": "virt-launcher", [WIRE.urgentLabel]: "Now" };
  const isDrained = number % 2 === 0;
  const annotations = { [WIRE.inProgress]: "true", ...(!isDrained && { "kubevirt.io/domain": victim.metadata.name }) };
  const name = `virt-launcher-${victim.metadata.name}-${number}`;
  return {
    metadata: { namespace, name, labels, annotations, ownerReferences: [owner] },
    spec: {
      nodeName: isDrained ? ground.drained : ground.other,
      containers: [{ name: "compute", image: "registry.k8s.io/pause:3.10" }],
      terminationGracePeriodSeconds: 1,
    },
  } satisfies { metadata: object; spec: Pod["spec"] };
}

/** As much of a stage as it needs. */
interface Around extends Pick<Stage, "report"> {
  readonly arena: { readonly sandbox: { readonly client: KubeClient } };
}

/** Resolves to whether any of it was done. */
export async function actAsTenant(does: TenantAct, victim: Key, { arena, report }: Around): Promise<boolean> {
  const { client } = arena.sandbox;
  const tenant = client.as(TENANT);
  const namespace = namespaceOf(victim.namespace);
  const vmi = await client.get(virtualMachineInstances, victim);
  if (vmi === undefined) return false;
  switch (does) {
    case "forge":
      return await forge(tenant, namespace, report);
    case "flood":
      return await flood(tenant, namespace, vmi);
    case "reach out": {
      const all = await client.list(evacuations, victim.namespace);
      const found = all.items.find((one) => endingOf(one) === undefined);
      const done = await whatIsDone(ATTEMPTS, {
        tenant,
        namespace,
        victim,
        evacuation: found?.metadata.name ?? "none",
      });
      done.forEach((what) => report(`a tenant could ${what}`));
      return done.length > 0;
    }
  }
}

/** On the tenant's own VM: labels that it may write, and a mark that it may not. */
async function forge(tenant: KubeClient, namespace: string, report: (what: string) => void): Promise<boolean> {
  const key = { namespace, name: OWN_VM };
  const labels = { [WIRE.urgentLabel]: "NodePressure", [WIRE.shieldLabel]: "NodePressure" };
  const status = { evacuationNodeName: "forged" };
  const body = { metadata: { labels }, status };
  const { status: after } = await tenant.patch(virtualMachineInstances, key, { type: "merge", body });
  if (after?.evacuationNodeName === status.evacuationNodeName) report("a tenant could mark its own VM");
  return true;
}

/** Budgets that pass for Lifeboat's, Events that pass for the kubelet's, migrations. */
async function flood(tenant: KubeClient, namespace: string, { metadata }: VirtualMachineInstance): Promise<boolean> {
  const numbers = Array.from({ length: JUNK }, (_, i) => i);
  await inParallel(numbers, AT_ONCE, async (number) => {
    const own = { namespace, labels: { [WIRE.managedByLabel]: WIRE.managedBy } };
    // It selects no pod: one that the drain could not evict would be the tenant's own affair.
    const selector = { matchLabels: { [LABEL.createdBy]: metadata.uid, forged: "budget" } };
    const involvedObject = {
      kind: "Pod",
      namespace,
      name: `virt-launcher-${metadata.name}-${number}`,
      uid: metadata.uid,
    };
    await tenant.create(podDisruptionBudgets, {
      metadata: { ...own, generateName: `lifeboat-${metadata.name}-` },
      spec: { minAvailable: 1, selector },
    });
    await tenant.create(events, {
      metadata: { ...own, generateName: "killing-" },
      involvedObject,
      reason: "Killing",
      type: "Normal",
      message: "Stopping container compute",
    });
  });
  await tenant.create(migrations, { metadata: { generateName: "own-", namespace }, spec: { vmiName: OWN_VM } });
  return true;
}

interface Reach {
  readonly tenant: KubeClient;
  /** The tenant's. */
  readonly namespace: string;
  readonly victim: Key;
  /** Name of an Evacuation of the victim's namespace. */
  readonly evacuation: string;
}

type Attempts = Readonly<Record<string, (reach: Reach) => Promise<unknown>>>;

const NOW = { labels: { [WIRE.urgentLabel]: "Now" } };

/** Each has to be refused. */
const ATTEMPTS: Attempts = {
  "create an Evacuation in its namespace": ({ tenant, namespace }) =>
    tenant.create(evacuations, {
      metadata: { generateName: "forged-", namespace },
      spec: { virtualMachineInstance: { name: OWN_VM } },
    }),
  "create an Evacuation of another tenant's VM": ({ tenant, victim: { namespace, name } }) =>
    tenant.create(evacuations, {
      metadata: { generateName: "forged-", namespace },
      spec: { virtualMachineInstance: { name } },
    }),
  "withdraw another tenant's Evacuation": ({ tenant, victim: { namespace }, evacuation: name }) => {
    const body = { spec: { intent: "Withdrawn" } };
    return tenant.patch(evacuations, { namespace, name }, { type: "merge", body });
  },
  "end another tenant's Evacuation": ({ tenant, victim: { namespace }, evacuation: name }) => {
    const body = { status: { phase: "Moved" } };
    return tenant.patch(evacuations, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  },
  "delete another tenant's Evacuations": ({ tenant, victim: { namespace } }) =>
    tenant.deleteAll(evacuations, namespace),
  "label another tenant's VM": ({ tenant, victim }) =>
    tenant.patch(virtualMachineInstances, victim, { type: "merge", body: { metadata: NOW } }),
  "create a budget in another namespace": ({ tenant, victim: { namespace } }) =>
    tenant.create(podDisruptionBudgets, {
      metadata: { generateName: "forged-", namespace },
      spec: { minAvailable: 9 },
    }),
  "migrate another tenant's VM": ({ tenant, victim: { namespace, name } }) =>
    tenant.create(migrations, { metadata: { generateName: "forged-", namespace }, spec: { vmiName: name } }),
};

/** In words: what was not refused. */
async function whatIsDone(attempts: Attempts, reach: Reach): Promise<readonly string[]> {
  const tried = Object.entries(attempts).map(async ([what, attempt]) => {
    const isDone = await attempt(reach).then(
      () => true,
      () => false,
    );
    return isDone ? [what] : [];
  });
  return (await Promise.all(tried)).flat();
}
