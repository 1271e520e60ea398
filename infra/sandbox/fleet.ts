/** Creates nodes and virtual machines through the API. */
import type { KubeClient } from "./actors/client.ts";
import { isTrue } from "./actors/conditions.ts";
import { namespaces, nodes, type Key, type Node } from "./actors/resources.ts";
import { isAlreadyExists } from "./actors/status-error.ts";
import { waitFor } from "./actors/wait-for.ts";
import * as kubevirt from "./kubevirt/resources.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const HOSTNAME = "kubernetes.io/hostname";

/** The resources of a node. Defaults to 32 CPUs and 128Gi of memory. */
export type Capacity = Readonly<Record<string, string>>;

/**
 * Creates a node. Resolves when pods and VMs can run on the node. If `labels` describe another CPU than virt-handler's
 * default, virt-handler adds no CPU labels.
 */
export async function createNode(
  client: KubeClient,
  name: string,
  capacity: Capacity = {},
  labels: Readonly<Record<string, string>> = {},
): Promise<Node> {
  const own = { [HOSTNAME]: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" };
  await client.create(nodes, {
    metadata: { name, labels: { ...own, ...labels } },
    spec: {},
    status: { capacity },
  });
  return waitFor(client, {
    resource: nodes,
    key: { name },
    what: "ready and schedulable for virtual machines",
    until: ({ metadata, spec, status }) =>
      isTrue(status?.conditions, "Ready") &&
      metadata.labels?.[kubevirt.LABEL.schedulable] === "true" &&
      !spec?.taints?.some(({ key }) => key === NOT_READY),
  });
}

export interface VirtualMachine {
  readonly namespace: string;
  readonly name: string;
  readonly evictionStrategy?: string;
  readonly labels?: Record<string, string>;
  /**
   * Whether the VM can migrate. If false, `reason` determines what prevents migrations. The default of
   * `reason` is DisksNotLiveMigratable, and the VM's disk then prevents migrations.
   */
  readonly migratable?: boolean;
  readonly reason?: string;
  /** The node on which the VM starts, if the VM fits. */
  readonly node?: string;
  /** The guest's memory, which is also the launcher's memory request. */
  readonly memory?: string;
  readonly priorityClassName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly tolerations?: NonNullable<Spec["tolerations"]>;
  /** A CPU model, or `host-model` (KubeVirt's default). */
  readonly cpuModel?: string;
  readonly architecture?: string;
  /**
   * The image of the VM's disk. If it is set, the kubelet records so many Events about the launcher pod that the
   * client's spam filter drops the following Events.
   */
  readonly image?: string;
}

type Spec = kubevirt.VirtualMachineInstanceSpec;

interface Obstacle {
  readonly volumes?: NonNullable<Spec["volumes"]>;
  readonly devices?: NonNullable<Spec["domain"]["devices"]>;
}

/** Network interfaces that permit migrations. KubeVirt's default interface is a bridge, which prevents migrations. */
const INTERFACES = [{ name: "default", masquerade: {} }];
const NETWORKS = [{ name: "default", pod: {} }];

/** Maps KubeVirt's reason to the part of a VMI's spec that prevents migrations. */
const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  DisksNotLiveMigratable: {
    volumes: [{ name: "disk", hostDisk: { path: "/var/disk.img", type: "DiskOrCreate", capacity: "1Gi" } }],
    devices: { disks: [{ name: "disk" }] },
  },
  HostDeviceNotLiveMigratable: { devices: { hostDevices: [{ name: "gpu", deviceName: "example.com/gpu" }] } },
  InterfaceNotLiveMigratable: { devices: { interfaces: [{ name: "default", bridge: {} }] } },
};

/** Creates a VMI. Resolves when the VMI is running and its launcher pod is ready. */
export async function createVirtualMachineInstance(
  client: KubeClient,
  vm: VirtualMachine,
): Promise<kubevirt.VirtualMachineInstance> {
  const { namespace, name, labels } = vm;
  await ensureNamespace(client, namespace);
  await client.create(kubevirt.virtualMachineInstances, {
    metadata: { namespace, name, ...(labels && { labels }) },
    spec: specOf(vm),
  });
  return untilReady(client, { namespace, name });
}

async function start(client: KubeClient, { namespace, name }: Key): Promise<void> {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${namespace}/virtualmachines/${name}/start`;
  const { code } = await client.raw({ method: "PUT", path });
  if (code >= 300) throw new Error(`virt-api refused to start the VM ${namespace}/${name}: HTTP ${code}`);
}

function untilReady(client: KubeClient, key: Key): Promise<kubevirt.VirtualMachineInstance> {
  return waitFor(client, {
    resource: kubevirt.virtualMachineInstances,
    key,
    what: "running and ready",
    until: ({ status }) => status?.phase === "Running" && isTrue(status.conditions, "Ready"),
  });
}

/**
 * Creates a VirtualMachine. Resolves when KubeVirt has created its VMI and the VMI is running. Never resolves if the
 * run strategy, for example Halted, does not start the VM.
 */
export async function createVirtualMachine(
  client: KubeClient,
  runStrategy: string,
  vm: VirtualMachine,
): Promise<kubevirt.VirtualMachine> {
  const { namespace, name, labels } = vm;
  await ensureNamespace(client, namespace);
  const created = await client.create(kubevirt.virtualMachines, {
    metadata: { namespace, name },
    spec: { runStrategy, template: { spec: specOf(vm), ...(labels && { metadata: { labels } }) } },
  });
  if (runStrategy === "Manual") await start(client, { namespace, name });
  await untilReady(client, { namespace, name });
  return created;
}

function specOf(vm: VirtualMachine): Spec {
  const { evictionStrategy, migratable = true, reason, memory = "1Gi" } = vm;
  const { volumes, devices } = migratable ? {} : obstacleFor(reason ?? "DisksNotLiveMigratable");
  return {
    domain: {
      memory: { guest: memory },
      cpu: { model: vm.cpuModel ?? "host-model" },
      devices: { interfaces: INTERFACES, ...devices },
    },
    networks: NETWORKS,
    ...(volumes && { volumes }),
    ...(vm.image !== undefined && {
      volumes: [{ name: "root", containerDisk: { image: vm.image } }, ...(volumes ?? [])],
    }),
    ...(evictionStrategy !== undefined && { evictionStrategy }),
    ...placementOf(vm),
  };
}

function placementOf({
  architecture,
  node,
  priorityClassName,
  tolerations,
  terminationGracePeriodSeconds,
}: VirtualMachine): Partial<Spec> {
  const preference = node && { matchExpressions: [{ key: HOSTNAME, operator: "In", values: [node] }] };
  return {
    ...(architecture !== undefined && { architecture }),
    ...(priorityClassName !== undefined && { priorityClassName }),
    ...(tolerations && { tolerations }),
    ...(terminationGracePeriodSeconds !== undefined && { terminationGracePeriodSeconds }),
    ...(preference && {
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] } },
    }),
  };
}

function obstacleFor(reason: string): Obstacle {
  const obstacle = OBSTACLES[reason];
  if (obstacle === undefined)
    throw new Error(
      `unsupported reason ${reason} for migratable=false. Use one of: ${Object.keys(OBSTACLES).join(", ")}`,
    );
  return obstacle;
}

async function ensureNamespace(client: KubeClient, name: string): Promise<void> {
  if ((await client.get(namespaces, { name })) !== undefined) return;
  try {
    await client.create(namespaces, { metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
