/**
 * Karpenter's node termination. It drains a node before a given time, at which the node is terminated. Upstream:
 * karpenter 1.14 `pkg/controllers/node/termination/controller.go` (`awaitDrain`, `Register`) and
 * `terminator/terminator.go` (`DeleteExpiringPods`), `terminator/eviction.go`. In versions after 1.14.1, Karpenter's
 * eviction queue also deletes pods. The sandbox does not simulate these deletions.
 */
import type { Actor, ActorOptions } from "./actor.ts";
import { pause } from "./clock.ts";
import { nodes, pods, type Pod } from "./resources.ts";
import { StatusError } from "./status-error.ts";

export interface NodeTermination extends ActorOptions {
  /** A client with Karpenter's identity: `client.as(USERS.karpenter.user, …)`. */
  readonly client: ActorOptions["client"];
  readonly node: string;
  readonly endsAt: Date;
}

const TAINT = { key: "karpenter.sh/disrupted", effect: "NoSchedule" };
const POLL_MS = 1_000;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 10_000;
/** The minimum grace period, in seconds. With 0, the API server would remove a pod whose containers still run. */
const LEAST_GRACE_SECONDS = 1;

export function terminateNode({ clock, onError, node, endsAt, ...options }: NodeTermination): Actor {
  const stopped = new AbortController();
  const { signal } = stopped;
  const client = options.client.withRetryAfter({ clock, signal });
  const queued = new Map<string, Promise<void>>();
  const leftMs = () => endsAt.getTime() - clock.now().getTime();

  const taint = async (): Promise<void> => {
    const found = await client.get(nodes, { name: node });
    const taints = [...(found?.spec?.taints ?? []).filter(({ key }) => key !== TAINT.key), TAINT];
    await client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } });
  };

  const isForced = ({ spec, metadata }: Pod): boolean => {
    // A terminating pod is deleted again only if it would outlast the node. The second deletion shortens the grace
    // period.
    if (metadata.deletionTimestamp !== undefined) return Date.parse(metadata.deletionTimestamp) > endsAt.getTime();
    return leftMs() < (spec?.terminationGracePeriodSeconds ?? 0) * 1000;
  };

  /**
   * Deletes a pod. The grace period is the time until the node's termination. A repeated request therefore does not end
   * the pod earlier.
   */
  const remove = async ({ metadata }: Pod): Promise<void> => {
    const gracePeriodSeconds = Math.max(Math.floor(leftMs() / 1000), LEAST_GRACE_SECONDS);
    await client.delete(pods, metadata, { gracePeriodSeconds });
  };

  const evict = async ({ metadata }: Pod): Promise<void> => {
    const { name, namespace, uid } = metadata;
    await client.post(pods, metadata, "eviction", {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    });
  };

  const report = (error: unknown): void => {
    if (!(error instanceof StatusError && error.code === 429) && !signal.aborted) onError?.(error, node);
  };

  const insist = async (pod: Pod): Promise<void> => {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return await evict(pod);
      } catch (error) {
        if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return;
        report(error);
      }
      await pause(clock, backoffMs(failures), signal);
    }
  };

  /** Deletes and evicts the pods that are due. If a deletion fails, the remaining pods wait for the next round. */
  const drain = async (): Promise<void> => {
    await taint();
    const { items } = await client.list(pods, undefined, { fieldSelector: `spec.nodeName=${node}` });
    const waiting = items.filter((pod) => !isFinished(pod) && !isOfDaemon(pod));
    const removed = new Set<Pod>();
    for (const pod of waiting) {
      if (!isForced(pod)) continue;
      await remove(pod);
      removed.add(pod);
    }
    for (const pod of waiting) {
      const { uid, deletionTimestamp } = pod.metadata;
      if (removed.has(pod) || deletionTimestamp !== undefined || queued.has(uid)) continue;
      queued.set(
        uid,
        insist(pod).finally(() => queued.delete(uid)),
      );
    }
  };

  const running = (async () => {
    let failures = 0;
    while (!signal.aborted) {
      try {
        await drain();
        failures = 0;
        await pause(clock, POLL_MS, signal);
      } catch (error) {
        report(error);
        await pause(clock, backoffMs(failures++), signal);
      }
    }
  })();
  return {
    async stop() {
      stopped.abort();
      await Promise.all([running, ...queued.values()]);
    },
  };
}

function backoffMs(failures: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** failures, LONGEST_BACKOFF_MS);
}

function isFinished({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function isOfDaemon({ metadata }: Pod): boolean {
  return (metadata.ownerReferences ?? []).some(({ kind }) => kind === "DaemonSet" || kind === "Node");
}
