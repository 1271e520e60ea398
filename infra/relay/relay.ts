/** The relay. It watches the cluster and delivers events. */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Stores } from "../../shared/kube/cache.ts";
import { renderOpenMetrics } from "../../shared/metrics/open-metrics.ts";
import { apiServerOf } from "./api-server.ts";
import type { Clock, Random } from "./clock.ts";
import { startDelivery } from "./deliver.ts";
import { eventOf, type Lane, LANE_OF, noticeOf, type Noticed } from "./event.ts";
import * as kinds from "./kinds.ts";
import { NODE_EVACUATIONS, ROLLING_MAINTENANCES } from "./maintenance-kinds.ts";
import * as kubelets from "./kubelet-events.ts";
import type { Log } from "./log.ts";
import { createCounters, memoryMetric, outboxMetrics, watchingMetric } from "./metrics.ts";
import { createOutbox } from "./outbox.ts";
import type { Probed } from "./probes.ts";
import type { Deliver } from "./send.ts";
import { keptOf, storeOf } from "./stores.ts";
import { startWatch, type Watched } from "./watch.ts";

export interface RelayOptions {
  readonly kubeConfig: KubeConfig;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Set if Lifeboat's app runs in the same process and reads from the relay's watches. */
  readonly within?: { readonly isLeader: () => boolean };
}

export interface Relay extends Probed {
  readonly stores: Stores | undefined;
  metrics(): string;
  stop(): Promise<void>;
}

/**
 * The delay of routine events in a replica that is not the leader, in milliseconds. The leader usually does the work in
 * this time.
 */
const FOLLOWING_MS = 10_000;

/**
 * How long the relay collects events for a batch, in milliseconds. KubeVirt changes a VMI and its migration several
 * times within a moment. After this delay, Lifeboat writes one status for all these changes.
 */
const GATHER_MS = { urgent: 0, routine: 1000 } as const;

export function startRelay(options: RelayOptions): Relay {
  const { clock, random, log, within, deliver } = options;
  const api = apiServerOf(options.kubeConfig);
  const counters = createCounters();
  const outboxes = { urgent: createOutbox(), routine: createOutbox() };
  const deliveryOf = (lane: Lane) =>
    startDelivery({
      outbox: outboxes[lane],
      deliver,
      clock,
      random,
      gatherMs: GATHER_MS[lane],
      log: (level, message, details) => log(level, message, { lane, ...details }),
      onResult: (result, events) => {
        counters.deliveries.add([lane, result]);
        if (result === "accepted") counters.delivered.add([lane], events.length);
      },
    });
  const deliveries = { urgent: deliveryOf("urgent"), routine: deliveryOf("routine") };

  let stopped = false;
  const report = (noticed: Noticed | undefined) => {
    if (noticed === undefined) return;
    const { type } = noticed.notice;
    const lane = LANE_OF[type];
    counters.events.add([type]);
    const put = () => {
      if (!stopped) deliveries[lane].put(eventOf(noticed, clock.now()));
    };
    if (lane === "routine" && within?.isLeader() === false) clock.setTimer(FOLLOWING_MS, put);
    else put();
  };

  const watches = new Map<string, Pick<Watched<unknown>, "isSynced" | "isCurrent" | "stop">>();
  const watch = <Facts, View>(
    kind: kinds.WatchedKind<Facts, View>,
    onUpdate?: (
      now: kinds.KeptObject<Facts, View> | undefined,
      before: kinds.KeptObject<Facts, View> | undefined,
    ) => void,
  ): Watched<Facts, View> => {
    const onFailure = () => counters.failures.add([kind.name]);
    const onChange = (
      now: kinds.KeptObject<Facts, View> | undefined,
      before: kinds.KeptObject<Facts, View> | undefined,
    ) => {
      report(noticeOf(kind, now, before));
      onUpdate?.(now, before);
    };
    const watched = startWatch(kind, { ...options, api, onChange, onFailure });
    watches.set(kind.name, watched);
    return watched;
  };

  let watchedEvents: readonly Watched<kubelets.KubeletEventFacts>[] = [];
  const keeps = within !== undefined;
  const nodeEvacuations = watch(NODE_EVACUATIONS);
  type SeenPod = kinds.KeptObject<kinds.WatchedPod, unknown>;
  const reportKilling = (pod: SeenPod) => {
    const events = watchedEvents.flatMap((watched) => [...watched.all()]);
    for (const { facts, metadata } of events) {
      const notice = facts.podUid === pod.metadata.uid ? kubelets.killingOf(facts, pod, clock.now()) : undefined;
      report(notice && { object: metadata, gone: false, notice });
    }
  };
  /**
   * Reports the NodeEvacuations of a node when its last virt-launcher pod has ended or is gone. These NodeEvacuations
   * might be complete.
   */
  const reportEmptied = ({ facts: { node } }: SeenPod) => {
    const open = [...nodeEvacuations.all()].filter(({ facts }) => facts.node === node && !facts.hasEnded);
    const isEmpty = () => [...pods.all()].every(({ facts }) => facts.node !== node || facts.completed);
    for (const { metadata } of open.length > 0 && isEmpty() ? open : []) {
      const notice = { type: "dev.lifeboat.nodeevacuation.changed.v1", data: { name: metadata.name } } as const;
      report({ object: metadata, gone: false, notice });
    }
  };
  const pods = watch(keptOf("pods", kinds.PODS, keeps), (now, before) => {
    if (now !== undefined && now.metadata.uid !== before?.metadata.uid) reportKilling(now);
    if (before !== undefined && now?.facts.completed !== false) reportEmptied(before);
  });
  const vmis = watch(keptOf("virtualmachineinstances", kinds.VIRTUAL_MACHINE_INSTANCES, keeps));
  const migrations = watch(keptOf("virtualmachineinstancemigrations", kinds.MIGRATIONS, keeps));
  const evacuations = watch(keptOf("evacuations", kinds.EVACUATIONS, keeps));
  watch(ROLLING_MAINTENANCES);
  const nodes = watch(keptOf("nodes", kinds.NODES, keeps));
  const stores = within && {
    pods: storeOf(pods),
    nodes: storeOf(nodes),
    poddisruptionbudgets: storeOf(watch(keptOf("poddisruptionbudgets", kinds.WATCHED_BUDGETS, keeps))),
    virtualmachineinstances: storeOf(vmis),
    virtualmachineinstancemigrations: storeOf(migrations),
    evacuations: storeOf(evacuations),
  };
  // Waits for the list of pods before watching Events, because the relay ignores an Event about a pod that it does not
  // know.
  const watchKubelets = async () => {
    await pods.synced;
    const podOf = (namespace: string, name: string) => pods.get(namespace, name);
    if (!stopped) watchedEvents = kubelets.kubeletEvents(podOf, () => clock.now()).map((kind) => watch(kind));
  };
  void watchKubelets();

  return {
    stores,
    isReady: () => watchedEvents.length > 0 && [...watches.values()].every((watched) => watched.isSynced()),
    metrics: () =>
      renderOpenMetrics([
        ...Object.values(counters).map((counter) => counter.metric()),
        ...outboxMetrics(outboxes, clock.now()),
        watchingMetric(watches),
        memoryMetric(),
      ]),
    async stop() {
      stopped = true;
      for (const watched of watches.values()) watched.stop();
      await Promise.all(Object.values(deliveries).map((delivery) => delivery.stop()));
    },
  };
}
