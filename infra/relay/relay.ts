/** The relay: connects watches to deliveries. */
import type { KubeConfig } from "@kubernetes/client-node";
import { renderOpenMetrics } from "../../shared/metrics/open-metrics.ts";
import type { Clock, Random } from "./clock.ts";
import { startDelivery } from "./deliver.ts";
import { eventOf, type Lane, LANE_OF, noticeOf, type Noticed } from "./event.ts";
import * as kinds from "./kinds.ts";
import * as kubelets from "./kubelet-events.ts";
import type { Log } from "./log.ts";
import { createCounters, memoryMetric, outboxMetrics, syncedMetric } from "./metrics.ts";
import { createOutbox } from "./outbox.ts";
import type { Probed } from "./probes.ts";
import { createSend, type Fetch } from "./send.ts";
import { startWatch, type Watched } from "./watch.ts";

export interface RelayOptions {
  readonly kubeConfig: KubeConfig;
  /** Of the Worker, for events of this cluster. */
  readonly endpoint: URL;
  readonly secret: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly fetch: Fetch;
  readonly log: Log;
}

export interface Relay extends Probed {
  metrics(): string;
  stop(): Promise<void>;
}

export function startRelay(options: RelayOptions): Relay {
  const { clock, random, log } = options;
  const counters = createCounters();
  const outboxes = { urgent: createOutbox(), routine: createOutbox() };
  const send = createSend(options);
  const deliveryOf = (lane: Lane) =>
    startDelivery({
      outbox: outboxes[lane],
      send,
      clock,
      random,
      log: (level, message, details) => log(level, message, { lane, ...details }),
      onResult: (result, events) => {
        counters.deliveries.add([lane, result]);
        if (result === "accepted") counters.delivered.add([lane], events.length);
      },
    });
  const deliveries = { urgent: deliveryOf("urgent"), routine: deliveryOf("routine") };

  const report = (noticed: Noticed | undefined) => {
    if (noticed === undefined) return;
    const { type } = noticed.notice;
    counters.events.add([type]);
    deliveries[LANE_OF[type]].put(eventOf(noticed, clock.now()));
  };

  const watches = new Map<string, Pick<Watched<unknown>, "isSynced" | "stop">>();
  const watch = <Facts>(kind: kinds.WatchedKind<Facts>, onSeen?: (now: kinds.Seen<Facts>) => void): Watched<Facts> => {
    const onFailure = () => counters.failures.add([kind.name]);
    const onChange = (now: kinds.Seen<Facts> | undefined, before: kinds.Seen<Facts> | undefined) => {
      report(noticeOf(kind, now, before));
      if (now !== undefined && now.metadata.uid !== before?.metadata.uid) onSeen?.(now);
    };
    const watched = startWatch(kind, { ...options, onChange, onFailure });
    watches.set(kind.name, watched);
    return watched;
  };

  let stopped = false;
  let watchedEvents: readonly Watched<kubelets.KubeletEventFacts>[] = [];
  const pods = watch(kinds.PODS, (pod) => {
    const events = watchedEvents.flatMap((watched) => [...watched.all()]);
    for (const { facts, metadata } of events) {
      const notice = facts.podUid === pod.metadata.uid ? kubelets.killingOf(facts, pod, clock.now()) : undefined;
      report(notice && { object: metadata, gone: false, notice });
    }
  });
  watch(kinds.VIRTUAL_MACHINE_INSTANCES);
  watch(kinds.MIGRATIONS);
  watch(kinds.EVACUATIONS);
  watch(kinds.NODE_EVACUATIONS);
  watch(kinds.NODES);
  // Pods are listed first: an Event of the kubelet counts only for a pod that is known.
  const watchKubelets = async () => {
    await pods.synced;
    const podOf = (namespace: string, name: string) => pods.get(namespace, name);
    if (!stopped) watchedEvents = kubelets.kubeletEvents(podOf, () => clock.now()).map((kind) => watch(kind));
  };
  void watchKubelets();

  return {
    isReady: () => watchedEvents.length > 0 && [...watches.values()].every((watched) => watched.isSynced()),
    metrics: () =>
      renderOpenMetrics([
        ...Object.values(counters).map((counter) => counter.metric()),
        ...outboxMetrics(outboxes, clock.now()),
        syncedMetric(watches),
        memoryMetric(),
      ]),
    async stop() {
      stopped = true;
      for (const watched of watches.values()) watched.stop();
      await Promise.all(Object.values(deliveries).map((delivery) => delivery.stop()));
    },
  };
}
