/** Fills a cluster for the measurement of `lifeboat plan`: nodes, VMs of several kinds, and pods of ReplicaSets. */
import { core, type KubeClient, kubevirt, launcherPod } from "../../sandbox/index.ts";
import { inParallel, numbered } from "../../in-parallel.ts";

const CONCURRENCY = 16;
const HOSTNAME = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";
const ZONES = 3;
const VMS_PER_APP = 5;
const PODS_PER_REPLICA_SET = 20;

export interface PlanSize {
  readonly nodes: number;
  readonly vms: number;
  readonly pods: number;
}

export async function fillForPlan(client: KubeClient, { nodes, vms, pods }: PlanSize): Promise<void> {
  await client.create(core.namespaces, { metadata: { name: NAMESPACE } });
  const nodeAt = (index: number) => `node-${String((index % nodes) + 1).padStart(2, "0")}`;
  await inParallel(numbered(nodes), CONCURRENCY, async (index) => {
    await client.create(core.nodes, nodeOf(nodeAt(index), index));
    // Removes the taint `node.kubernetes.io/not-ready`, which every new node has.
    await client.patch(core.nodes, { name: nodeAt(index) }, { type: "merge", body: { spec: { taints: [] } } });
  });
  await inParallel(numbered(vms), CONCURRENCY, (index) => createVm(client, index, nodeAt(index)));
  await inParallel(numbered(pods - vms), CONCURRENCY, (index) => client.create(core.pods, podOf(index, nodeAt(index))));
}

const NAMESPACE = "plan";
const MODEL = "Cascadelake-Server";

function nodeOf(name: string, index: number): core.Draft<core.Node> {
  const labels = {
    [HOSTNAME]: name,
    [ZONE]: `zone-${index % ZONES}`,
    "kubevirt.io/schedulable": "true",
    [`host-model-cpu.node.kubevirt.io/${MODEL}`]: "true",
    [`cpu-model-migration.node.kubevirt.io/${MODEL}`]: "true",
  };
  const devices = {
    "devices.kubevirt.io/kvm": "1k",
    "devices.kubevirt.io/tun": "1k",
    "devices.kubevirt.io/vhost-net": "1k",
  };
  const allocatable = { cpu: "128", memory: "512Gi", pods: "500", "ephemeral-storage": "1Ti", ...devices };
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
  return { metadata: { name, labels }, spec: {}, status: { capacity: allocatable, allocatable, conditions: [ready] } };
}

const MEMORY = ["2Gi", "4Gi", "8Gi", "16Gi"] as const;

async function createVm(client: KubeClient, index: number, node: string): Promise<void> {
  const vmi = await client.create(kubevirt.virtualMachineInstances, vmiOf(index, node));
  const { metadata, spec } = launcherPod(vmi);
  await client.create(core.pods, {
    metadata: { ...metadata, namespace: NAMESPACE, name: `virt-launcher-vm-${index}` },
    spec: { containers: [], ...spec, nodeName: node },
  });
}

function vmiOf(index: number, node: string): core.Draft<kubevirt.VirtualMachineInstance> {
  const app = `app-${Math.floor(index / VMS_PER_APP)}`;
  const memory = MEMORY[index % MEMORY.length] ?? MEMORY[0];
  const selected = { labelSelector: { matchLabels: { app } } };
  const apart = { topologyKey: HOSTNAME, ...selected };
  const required = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } };
  const evenly = { topologyKey: ZONE, maxSkew: 5, whenUnsatisfiable: "DoNotSchedule", ...selected };
  return {
    metadata: {
      namespace: NAMESPACE,
      name: `vm-${index}`,
      labels: { app, "kubevirt.io/nodeName": node },
    },
    spec: {
      evictionStrategy: "LiveMigrate",
      domain: {
        cpu: { model: "host-model", cores: 2, sockets: 1, threads: 1 },
        memory: { guest: memory },
        resources: { requests: { cpu: "500m", memory } },
        devices: {},
      },
      ...(index % 4 === 0 && { affinity: required }),
      ...(index % 4 === 1 && { topologySpreadConstraints: [evenly] }),
    },
    status: {
      phase: "Running",
      nodeName: node,
      conditions: ["Ready", "LiveMigratable"].map((type) => ({ type, status: "True" })),
    },
  };
}

function podOf(index: number, node: string): core.Draft<core.Pod> {
  const owner = `rs-${Math.floor(index / PODS_PER_REPLICA_SET)}`;
  const controller = { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner, controller: true };
  const resources = { requests: { cpu: "50m", memory: "256Mi" } };
  return {
    metadata: {
      namespace: NAMESPACE,
      name: `pod-${index}`,
      labels: { app: owner },
      ownerReferences: [controller],
    },
    spec: { nodeName: node, containers: [{ name: "c", image: "example.com/app:1", resources }] },
  };
}
