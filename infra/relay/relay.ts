/** The relay: connects watches to deliveries. */
import type { KubeConfig } from "@kubernetes/client-node";
import { renderOpenMetrics } from "../../shared/metrics/open-metrics.ts";
import type { Random } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { startDelivery } from "./deliver.ts";
import { eventOf, type Lane, LANE_OF, type Told } from "./event.ts";
import type { Log } from "./log.ts";
import { createCounters, memoryMetric, outboxMetrics, syncedMetric } from "./metrics.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { createSend, type Fetch } from "./send.ts";
import type { Probed } from "./server.ts";
import { createSigner } from "./sign.ts";
import { startWatch, type Watched } from "./watch.ts";
import { EVACUATIONS } from "./watched/evacuations.ts";
import { type KubeletEventFacts, kubeletEvents, killingOf } from "./watched/kubelet-events.ts";
import { noticeOf, type Seen, type WatchedKind } from "./watched/kind.ts";
import { MIGRATIONS } from "./watched/migrations.ts";
import { NODES } from "./watched/nodes.ts";
import { PODS, type PodFacts } from "./watched/pods.ts";
import { VIRTUAL_MACHINE_INSTANCES } from "./watched/virtual-machine-instances.ts";

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
  const { kubeConfig, clock, random, log } = options;
  const counters = createCounters();
  const outboxes: Record<Lane, Outbox> = { urgent: createOutbox(), routine: createOutbox() };
  const send = createSend({ ...options, sign: createSigner(options.secret) });
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

  const tell = (told: Told | undefined) => {
    if (told === undefined) return;
    counters.events.add([told.notice.type]);
    deliveries[LANE_OF[told.notice.type]].put(eventOf(told, clock.now()));
  };

  const watches = new Map<string, Pick<Watched<unknown>, "isSynced" | "stop">>();
  let stopped = false;
  const watch = <Facts>(kind: WatchedKind<Facts>, onChange = tellChangesOf(kind, tell)): Watched<Facts> => {
    const onFailure = () => counters.failures.add([kind.name]);
    const watched = startWatch(kind, { kubeConfig, clock, random, log, onChange, onFailure });
    watches.set(kind.name, watched);
    return watched;
  };

  /** Pods are listed first: an Event of the kubelet counts only for a pod that we know. */
  let said: readonly Watched<KubeletEventFacts>[] = [];
  const tellPod = tellChangesOf(PODS, tell);
  const pods = watch(PODS, (now, before) => {
    tellPod(now, before);
    if (now === undefined || now.metadata.uid === before?.metadata.uid) return;
    for (const event of eventsAbout(now, said)) tell(killingTold(event, now, clock.now()));
  });
  watch(VIRTUAL_MACHINE_INSTANCES);
  watch(MIGRATIONS);
  watch(EVACUATIONS);
  watch(NODES);
  const watchKubelets = async () => {
    await pods.synced;
    if (stopped) return;
    const kinds = kubeletEvents(
      (namespace, name) => pods.get(namespace, name),
      () => clock.now(),
    );
    said = kinds.map((kind) => watch(kind));
  };
  void watchKubelets();

  const isReady = () => said.length > 0 && [...watches.values()].every((watched) => watched.isSynced());
  return {
    isReady,
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

function tellChangesOf<Facts>(kind: WatchedKind<Facts>, tell: (told: Told | undefined) => void) {
  return (now: Seen<Facts> | undefined, before: Seen<Facts> | undefined) => tell(noticeOf(kind, now, before));
}

function eventsAbout({ metadata }: Seen<PodFacts>, said: readonly Watched<KubeletEventFacts>[]) {
  return said.flatMap((watched) =>
    watched.list(metadata.namespace ?? "").filter(({ facts }) => facts.podUid === metadata.uid),
  );
}

function killingTold(event: Seen<KubeletEventFacts>, pod: Seen<PodFacts>, now: Date): Told | undefined {
  const notice = killingOf(event.facts, pod, now);
  return notice && { object: event.metadata, gone: false, notice };
}
