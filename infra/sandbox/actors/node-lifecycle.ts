/** kube-controller-manager's node controller. It detects nodes without heartbeats, and sets the taints of all nodes. */
import type { Actor } from "./actor.ts";
import { timestamp } from "./clock.ts";
import { findCondition, isTrue, withCondition, type Condition } from "./conditions.ts";
import { startController, type Result } from "./controller.ts";
import { createEventRecorder } from "./event-recorder.ts";
import type { NodeControllerOptions } from "./node-caches.ts";
import { taintsFor } from "./node-taints.ts";
import { keyOf, nodes, pods, type Node, type Pod } from "./resources.ts";

const POLL_MS = 5_000;
/**
 * A node is silent after ten checks (50 s) without a heartbeat. The controller counts checks and does not measure the
 * time, because a test can advance the clock by minutes at once.
 */
const SILENT_CHECKS = 10;
const LEASES = "kube-node-lease";
const REPORTED = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

interface Heartbeat {
  readonly renewed: string | undefined;
  readonly checks: number;
  readonly nextCheck: number;
}

export function startNodeLifecycle(options: NodeControllerOptions): Actor {
  const { client, clock, caches } = options;
  const recorder = createEventRecorder(client, clock, "node-controller");
  const heard = new Map<string, Heartbeat>();

  const reconcile = async (name: string): Promise<Result> => {
    await caches.synced;
    const node = caches.nodes.get(name);
    if (node === undefined) {
      heard.delete(name);
      return undefined;
    }
    const { checks, nextCheck } = listen(name);
    if (checks >= SILENT_CHECKS) await declareSilent(node);
    await taint(node);
    return { requeueAfterMs: nextCheck - clock.now().getTime() };
  };

  /**
   * Counts successive checks without a heartbeat. If several checks happen within `POLL_MS`, only the first is counted.
   */
  const listen = (name: string): Heartbeat => {
    const now = clock.now().getTime();
    const renewed = caches.leases.get(`${LEASES}/${name}`)?.spec?.renewTime;
    const before = heard.get(name);
    if (before !== undefined && before.renewed === renewed && now < before.nextCheck) return before;
    const checks = before?.renewed === renewed ? (before?.checks ?? 0) + 1 : 0;
    const heartbeat = { renewed, checks, nextCheck: now + POLL_MS };
    heard.set(name, heartbeat);
    return heartbeat;
  };

  const declareSilent = async (node: Node): Promise<void> => {
    if (findCondition(node.status?.conditions, "Ready")?.status === "Unknown") return;
    const now = timestamp(clock);
    const unknown = { status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
    let conditions: readonly Condition[] = node.status?.conditions ?? [];
    for (const type of REPORTED) conditions = withCondition(conditions, { type, ...unknown }, now);
    const body = { metadata: { uid: node.metadata.uid }, status: { conditions } };
    await client.patch(nodes, node.metadata, { type: "strategic", body }, { subresource: "status" });
    for (const pod of caches.podsOn(node.metadata.name)) await markNotReady(pod);
  };

  const markNotReady = async (pod: Pod): Promise<void> => {
    if (!isTrue(pod.status?.conditions, "Ready")) return;
    const ready = { type: "Ready", status: "False", lastTransitionTime: timestamp(clock) };
    const body = { metadata: { uid: pod.metadata.uid }, status: { conditions: [ready] } };
    await client.patch(pods, pod.metadata, { type: "strategic", body }, { subresource: "status" });
    await recorder.record(pod, pods, { type: "Warning", reason: "NodeNotReady", message: "Node is not ready" });
  };

  const taint = async (node: Node): Promise<void> => {
    const taints = taintsFor(node, timestamp(clock));
    if (taints === undefined) return;
    // The patch replaces the list of taints. With the resourceVersion, the patch fails if another client has added a
    // taint since the node was read.
    const { resourceVersion } = node.metadata;
    await client.patch(nodes, node.metadata, {
      type: "merge",
      body: { metadata: { resourceVersion }, spec: { taints } },
    });
  };

  const controller = startController({ name: "node-lifecycle", reconcile, ...options });
  controller.watch(caches.nodes, (node) => [keyOf(node)]);
  return controller;
}
