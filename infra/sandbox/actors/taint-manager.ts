/**
 * kube-controller-manager's taint manager: deletes pods that do not tolerate a NoExecute taint of their node, or no longer.
 * Owns: when, and how often it tries. Does not own: what is tolerated (tolerations.ts), who sets taints (node-lifecycle.ts).
 */
import type { Actor } from "./actor.ts";
import type { Clock } from "./clock.ts";
import { markDisruptionTarget, type Disruption } from "./disruption-target.ts";
import { createEventRecorder } from "./event-recorder.ts";
import type { NodeControllerOptions } from "./node-caches.ts";
import { keyOf, pods, type Node, type Pod } from "./resources.ts";
import { StatusError } from "./status-error.ts";
import { noExecuteTaints, toleratedFor } from "./tolerations.ts";

/** After these it gives up, until the pod's tolerations or the node's taints change. */
const ATTEMPTS = 5;
const BETWEEN_ATTEMPTS_MS = 10;
const DISRUPTION: Disruption = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

interface Work {
  /** Tolerated seconds count from here, also when there are suddenly fewer of them. */
  readonly since: number;
  readonly at: number;
  readonly cancel: () => void;
}

export function startTaintManager(options: NodeControllerOptions): Actor {
  const { client, clock, caches } = options;
  const recorder = createEventRecorder(client, clock, "taint-eviction-controller");
  const planned = new Map<string, Work>();
  const stopped = new AbortController();

  const consider = (pod: Pod, node: Node | undefined): void => {
    const key = keyOf(pod);
    const now = clock.now().getTime();
    const since = planned.get(key)?.since ?? now;
    const at = since + toleratedFor(pod, noExecuteTaints(node)) * 1000;
    if (planned.get(key)?.at === at) return;
    const changed = forget(key);
    if (at <= now) void act(pod);
    else if (Number.isFinite(at))
      planned.set(key, { since, at, cancel: clock.setTimer(at - now, () => void act(pod)) });
    else if (changed) void tell(pod, `Cancelling deletion of Pod ${key}`);
  };

  /** Whether there was something to forget. */
  const forget = (key: string): boolean => {
    planned.get(key)?.cancel();
    return planned.delete(key);
  };

  const act = async (pod: Pod): Promise<void> => {
    planned.delete(keyOf(pod));
    await tell(pod, `Marking for deletion Pod ${keyOf(pod)}`);
    for (let attempt = 1; attempt <= ATTEMPTS && !stopped.signal.aborted; attempt++) {
      try {
        await removeNow(pod);
        return;
      } catch (error) {
        // Being refused is an answer; everything else is a fault.
        if (!(error instanceof StatusError) && !stopped.signal.aborted) options.onError?.(error, keyOf(pod));
        if (attempt < ATTEMPTS) await pause(clock, BETWEEN_ATTEMPTS_MS);
      }
    }
  };

  const removeNow = async ({ metadata }: Pod): Promise<void> => {
    const pod = await client.get(pods, metadata);
    if (pod?.metadata.uid !== metadata.uid) return;
    await markDisruptionTarget(client, clock, pod, DISRUPTION);
    await client.delete(pods, metadata);
  };

  const tell = (pod: Pod, message: string): Promise<void> =>
    recorder.record(pod, pods, { type: "Normal", reason: "TaintManagerEviction", message });

  caches.pods.onChange((pod, previous) => {
    if (pod === undefined) return void (previous && forget(keyOf(previous)));
    if (previous !== undefined && placeOf(previous) === placeOf(pod)) return;
    if (pod.spec?.nodeName !== undefined) consider(pod, caches.nodes.get(pod.spec.nodeName));
  });
  caches.nodes.onChange((node, previous) => {
    const { name } = (node ?? previous)?.metadata ?? { name: "" };
    if (JSON.stringify(noExecuteTaints(node)) === JSON.stringify(noExecuteTaints(previous))) return;
    for (const pod of caches.podsOn(name)) consider(pod, node);
  });
  return {
    async stop() {
      stopped.abort();
      for (const { cancel } of planned.values()) cancel();
    },
  };
}

/** All that the taint manager looks at in a pod. */
function placeOf({ spec }: Pod): string {
  return JSON.stringify([spec?.nodeName, spec?.tolerations]);
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(ms, resolve));
}
