/**
 * Karpenter's node termination, as far as pods meet it: it empties a node that has to end at a given time.
 * Owns: the taint, evictions, and deletions past every budget once less is left than a pod's grace period. Does not own: NodeClaims
 * and machines; the node itself stays.
 * Upstream: karpenter `pkg/controllers/node/termination/terminator`.
 */
import type { Actor, ActorOptions } from "./actor.ts";
import { pause } from "./clock.ts";
import { nodes, pods, type Pod } from "./resources.ts";
import { StatusError } from "./status-error.ts";

export interface NodeTermination extends ActorOptions {
  /** With Karpenter's own identity: `client.as(USERS.karpenter.user, …)`. */
  readonly client: ActorOptions["client"];
  readonly node: string;
  readonly endsAt: Date;
}

const TAINT = { key: "karpenter.sh/disrupted", effect: "NoSchedule" };
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 10_000;
/** Less would remove the pod from the API server while it still runs. */
const LEAST_GRACE_SECONDS = 1;

/** Until it is stopped; a pod that is refused is asked for again after 0.1 to 10 s. */
export function terminateNode({ client, clock, onError, node, endsAt }: NodeTermination): Actor {
  const stopped = new AbortController();
  const queued = new Map<string, Promise<void>>();
  const leftMs = () => endsAt.getTime() - clock.now().getTime();

  const taint = async (): Promise<void> => {
    const found = await client.get(nodes, { name: node });
    const taints = [...(found?.spec?.taints ?? []).filter(({ key }) => key !== TAINT.key), TAINT];
    await client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } });
  };

  const isForced = ({ spec, metadata }: Pod): boolean => {
    // One that terminates already is only told to be quicker.
    if (metadata.deletionTimestamp !== undefined) return Date.parse(metadata.deletionTimestamp) > endsAt.getTime();
    return leftMs() < (spec?.terminationGracePeriodSeconds ?? 0) * 1000;
  };

  const remove = async (pod: Pod): Promise<void> => {
    const preconditions = { uid: pod.metadata.uid };
    if (isForced(pod)) {
      const gracePeriodSeconds = Math.max(Math.floor(leftMs() / 1000), LEAST_GRACE_SECONDS);
      await client.delete(pods, pod.metadata, { gracePeriodSeconds, preconditions });
    } else if (pod.metadata.deletionTimestamp === undefined) {
      const { name, namespace } = pod.metadata;
      const deleteOptions = { preconditions };
      await client.post(pods, pod.metadata, "eviction", {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name, namespace },
        deleteOptions,
      });
    }
  };

  const insist = async (pod: Pod): Promise<void> => {
    for (let ms = FIRST_BACKOFF_MS; !stopped.signal.aborted; ms = Math.min(ms * 2, LONGEST_BACKOFF_MS)) {
      try {
        return await remove(pod);
      } catch (error) {
        if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return;
        if (!(error instanceof StatusError) && !stopped.signal.aborted) onError?.(error, node);
      }
      await pause(clock, ms, stopped.signal);
    }
  };

  const drain = async (): Promise<void> => {
    await taint();
    const { items } = await client.list(pods, undefined, { fieldSelector: `spec.nodeName=${node}` });
    for (const pod of items) {
      const { uid } = pod.metadata;
      if (isFinished(pod) || isOfDaemon(pod) || queued.has(uid)) continue;
      queued.set(
        uid,
        insist(pod).finally(() => queued.delete(uid)),
      );
    }
  };

  const running = (async () => {
    while (!stopped.signal.aborted) {
      await drain().catch((error: unknown) => stopped.signal.aborted || onError?.(error, node));
      await pause(clock, 1000, stopped.signal);
    }
  })();
  return {
    async stop() {
      stopped.abort();
      await Promise.all([running, ...queued.values()]);
    },
  };
}

function isFinished({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function isOfDaemon({ metadata }: Pod): boolean {
  return (metadata.ownerReferences ?? []).some(({ kind }) => kind === "DaemonSet" || kind === "Node");
}
