/** Fills a cluster with nodes, VMs, launcher pods, PodDisruptionBudgets, and other pods. */
import { core, type KubeClient, kubevirt } from "../../sandbox/index.ts";
import { inParallel, numbered } from "../../in-parallel.ts";
import { derivedName, hash8 } from "../../../shared/kube/objects.ts";

const CONCURRENCY = 16;
const VMS_PER_NODE = 100;
export const VMS_PER_NAMESPACE = 34;

export interface Vm {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly uid: string;
}

type PlannedVm = Omit<Vm, "uid">;

const digits = (value: number, width: number) => String(value).padStart(width, "0");

export function planVm(index: number): PlannedVm {
  return {
    namespace: `tenant-${digits(Math.floor(index / VMS_PER_NAMESPACE), 3)}`,
    name: `vm-${digits(index, 5)}`,
    node: `node-${digits(Math.floor(index / VMS_PER_NODE), 3)}`,
  };
}

/**
 * Creates the nodes and namespaces of the VMs with the numbers `from` to `to`. Skips the nodes and namespaces that VMs
 * with lower numbers already use.
 */
export async function createPlaces(client: KubeClient, from: number, to: number): Promise<void> {
  const planned = numbered(to).map(planVm);
  const before = planned.slice(0, from);
  const added = <K extends keyof PlannedVm>(key: K) => {
    const known = new Set(before.map((vm) => vm[key]));
    return [...new Set(planned.map((vm) => vm[key]))].filter((value) => !known.has(value));
  };
  await inParallel(added("namespace"), CONCURRENCY, (name) => client.create(core.namespaces, { metadata: { name } }));
  await inParallel(added("node"), CONCURRENCY, (name) => client.create(core.nodes, nodeOf(name)));
}

function nodeOf(name: string): core.Draft<core.Node> {
  const labels = { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubevirt.io/schedulable": "true" };
  const allocatable = { cpu: "64", memory: "512Gi", pods: "250" };
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
  return { metadata: { name, labels }, spec: {}, status: { capacity: allocatable, allocatable, conditions: [ready] } };
}

/** Creates running VMIs. The nodes and namespaces of the VMIs must exist. */
export function createVms(client: KubeClient, from: number, to: number): Promise<readonly Vm[]> {
  return inParallel(numbered(to).slice(from).map(planVm), CONCURRENCY, async (vm) => {
    const { metadata } = await client.create(kubevirt.virtualMachineInstances, vmiOf(vm));
    return { ...vm, uid: metadata.uid };
  });
}

function vmiOf({ namespace, name, node }: PlannedVm): core.Draft<kubevirt.VirtualMachineInstance> {
  const interfaces = [{ name: "default", masquerade: {} }];
  const conditions = ["Ready", "LiveMigratable", "StorageLiveMigratable", "AgentConnected"];
  return {
    metadata: {
      namespace,
      name,
      labels: { app: name, "kubevirt.io/nodeName": node, "vm.kubevirt.io/name": name },
      finalizers: [kubevirt.FINALIZER.vmi],
    },
    spec: {
      evictionStrategy: "LiveMigrate",
      terminationGracePeriodSeconds: 180,
      domain: { memory: { guest: "4Gi" }, devices: { disks: [{ name: "root" }], interfaces } },
      networks: [{ name: "default", pod: {} }],
      volumes: [{ name: "root", containerDisk: {} }],
    },
    status: {
      phase: "Running",
      nodeName: node,
      migrationMethod: "BlockMigration",
      interfaces: [{ name: "default", ipAddress: "10.244.1.17" }],
      conditions: conditions.map((type) => ({ type, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" })),
    },
  };
}

function launcherName({ name }: Pick<Vm, "name">): string {
  return `virt-launcher-${name}-abcde`;
}

export function vmNameOf(launcher: string): string {
  return launcher.slice("virt-launcher-".length, -"-abcde".length);
}

const CONTAINER = {
  name: "compute",
  image: "quay.io/kubevirt/virt-launcher:v1.9.0",
  command: ["/usr/bin/virt-launcher-monitor", "--qemu-timeout", "300s", "--name", "vm", "--uid", "uid"],
  resources: { requests: { cpu: "500m", memory: "4312Mi", "devices.kubevirt.io/kvm": "1" } },
};

export function createLaunchers(client: KubeClient, vms: readonly Vm[]): Promise<readonly core.Pod[]> {
  return inParallel(vms, CONCURRENCY, (vm) =>
    client.create(core.pods, {
      metadata: {
        namespace: vm.namespace,
        name: launcherName(vm),
        labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vm.uid, "vm.kubevirt.io/name": vm.name },
        annotations: { "kubevirt.io/domain": vm.name, "kubectl.kubernetes.io/default-container": "compute" },
        ownerReferences: [ownerOf(vm, true)],
      },
      spec: { nodeName: vm.node, containers: [CONTAINER], terminationGracePeriodSeconds: 210 },
    }),
  );
}

/** Creates the PodDisruptionBudget of each VM as Lifeboat does. The budgets have no status. */
export function createBudgets(client: KubeClient, vms: readonly Vm[]): Promise<readonly core.PodDisruptionBudget[]> {
  return inParallel(vms, CONCURRENCY, (vm) =>
    client.create(core.podDisruptionBudgets, {
      metadata: {
        namespace: vm.namespace,
        name: derivedName("lifeboat-", vm.name, hash8(vm.uid)),
        labels: { "app.kubernetes.io/managed-by": "lifeboat" },
        ownerReferences: [ownerOf(vm)],
      },
      spec: { minAvailable: 2, selector: { matchLabels: { "kubevirt.io/created-by": vm.uid } } },
    }),
  );
}

const FINISHED_PER_VM = 5;

export async function createFinishedMigrations(client: KubeClient, vms: readonly PlannedVm[]): Promise<void> {
  await inParallel(vms, CONCURRENCY, async ({ namespace, name }) => {
    for (const index of numbered(FINISHED_PER_VM)) {
      await client.create(kubevirt.migrations, {
        metadata: { namespace, name: `${name}-${index}`, labels: { [kubevirt.LABEL.vmiName]: name } },
        spec: { vmiName: name },
        status: {
          phase: "Succeeded",
          migrationState: { sourceNode: "node-000", targetNode: "node-001", completed: true },
        },
      });
    }
  });
}

function ownerOf({ name, uid }: Vm, controller?: boolean) {
  const { apiVersion, kind } = kubevirt.virtualMachineInstances;
  return { apiVersion, kind, name, uid, ...(controller && { controller, blockOwnerDeletion: true }) };
}
