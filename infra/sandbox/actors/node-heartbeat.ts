/** Updates the status and the Lease of each node, as the node's kubelet does. */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { microTimestamp, timestamp } from "./clock.ts";
import type { KubeClient } from "./client.ts";
import { isTrue, withCondition } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { asNode } from "./kubelet.ts";
import type { Outages } from "./outages.ts";
import { pressureConditions } from "./pressure-conditions.ts";
import { keyOf, leases, nodes, type Node } from "./resources.ts";

const LEASE_NAMESPACE = "kube-node-lease";
const LEASE_SECONDS = 40;
const RENEW_MS = 10_000;

const CAPACITY = {
  cpu: "32",
  memory: "128Gi",
  pods: "110",
  "ephemeral-storage": "500Gi",
  "devices.kubevirt.io/kvm": "1k",
  "devices.kubevirt.io/tun": "1k",
  "devices.kubevirt.io/vhost-net": "1k",
};

const READY = {
  type: "Ready",
  status: "True",
  reason: "KubeletReady",
  message: "kubelet is posting ready status",
};

export interface NodeHeartbeatOptions extends ActorOptions {
  readonly outages: Outages;
}

export function startNodeHeartbeats(options: NodeHeartbeatOptions): Actor {
  const { client, clock, outages } = options;
  const known = startInformer({ ...options, resource: nodes });

  const reconcile = async (name: string): Promise<Result> => {
    const node = known.get(name);
    if (node === undefined) return undefined;
    if (!outages.isDown(name)) {
      const kubelet = asNode(client, name);
      if (!isTrue(node.status?.conditions, "Ready") && !outages.isShuttingDown(name)) await register(kubelet, node);
      await renew(kubelet, node);
    }
    return { requeueAfterMs: RENEW_MS };
  };

  const register = async (kubelet: KubeClient, node: Node) => {
    const now = timestamp(clock);
    let conditions = node.status?.conditions ?? [];
    // A restarted kubelet does not remember pressure, so the pressure conditions become False. The kubelet then
    // measures pressure again.
    for (const condition of [...pressureConditions(() => false), READY])
      conditions = withCondition(conditions, { ...condition, lastHeartbeatTime: now }, now);
    const status = { ...describe(node), conditions };
    await kubelet.update(nodes, { ...node, status }, { subresource: "status" });
  };

  const renew = async (kubelet: KubeClient, node: Node) => {
    const { name, uid } = node.metadata;
    const key = { namespace: LEASE_NAMESPACE, name };
    const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime: microTimestamp(clock) };
    const lease = await kubelet.get(leases, key);
    if (lease === undefined) {
      const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
      await kubelet.create(leases, { metadata: { ...key, ownerReferences }, spec });
    } else await kubelet.update(leases, { ...lease, spec });
  };

  const controller = startController({ name: "node-heartbeat", reconcile, ...options });
  controller.watch(known, (node) => [keyOf(node)]);
  outages.onStart((node) => controller.enqueue(node));
  return actorOf([controller], [known]);
}

function describe(node: Node): Node["status"] & object {
  const capacity = { ...CAPACITY, ...node.status?.capacity };
  return {
    ...node.status,
    capacity,
    allocatable: capacity,
    addresses: [
      { type: "InternalIP", address: "127.0.0.1" },
      { type: "Hostname", address: node.metadata.name },
    ],
    nodeInfo: {
      architecture: "amd64",
      bootID: node.metadata.uid,
      containerRuntimeVersion: "containerd://2.1.0",
      kernelVersion: "6.12.0",
      kubeProxyVersion: "",
      kubeletVersion: "v1.36.2",
      machineID: node.metadata.uid,
      operatingSystem: "linux",
      osImage: "KubeVirt sandbox",
      systemUUID: node.metadata.uid,
    },
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
  };
}
