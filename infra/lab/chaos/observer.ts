/** The cluster, watched by a client that is not Lifeboat. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { systemClock } from "../../sandbox/actors/clock.ts";
import { type Informer, startInformer } from "../../sandbox/actors/informer.ts";
import {
  leases,
  podDisruptionBudgets,
  pods,
  type Lease,
  type Pod,
  type PodDisruptionBudget,
} from "../../sandbox/actors/resources.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { evacuations, type Evacuation } from "../stage/evacuations.ts";
import { WIRE } from "./wire.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export interface Listener {
  /** Undefined: it is gone, or was not there before. */
  vmiChanged(now: Vmi | undefined, before: Vmi | undefined): void;
  migrationChanged(now: Migration | undefined, before: Migration | undefined): void;
  evacuationChanged(now: Evacuation | undefined, before: Evacuation | undefined): void;
  podChanged(now: Pod | undefined, before: Pod | undefined): void;
  budgetChanged(now: PodDisruptionBudget | undefined, before: PodDisruptionBudget | undefined): void;
}

export interface Observer {
  readonly vmis: Pick<Informer<Vmi>, "get" | "list">;
  readonly pods: Pick<Informer<Pod>, "get" | "list">;
  readonly migrations: Pick<Informer<Migration>, "get" | "list">;
  readonly evacuations: Pick<Informer<Evacuation>, "get" | "list">;
  readonly budgets: Pick<Informer<PodDisruptionBudget>, "get" | "list">;
  /** The Lease of descheduling cycles, wherever there is one. */
  readonly leases: Pick<Informer<Lease>, "list">;
  /** Instead of those who listened before. */
  listen(...listeners: readonly Partial<Listener>[]): void;
  stop(): Promise<void>;
}

export async function startObserver(client: KubeClient): Promise<Observer> {
  const options = { client, clock: systemClock };
  const vmis = startInformer({ ...options, resource: kubevirt.virtualMachineInstances });
  const migrations = startInformer({ ...options, resource: kubevirt.migrations });
  const departures = startInformer({ ...options, resource: evacuations });
  const budgets = startInformer({ ...options, resource: podDisruptionBudgets });
  const known = startInformer({ ...options, resource: pods });
  const selectors = { fieldSelector: `metadata.name=${WIRE.lease}` };
  const held = startInformer({ ...options, resource: leases, selectors });
  const seen = { vmis, migrations, budgets, leases: held, evacuations: departures, pods: known };
  let current: readonly Partial<Listener>[] = [];
  vmis.onChange((now, before) => current.forEach((listener) => listener.vmiChanged?.(now, before)));
  migrations.onChange((now, before) => current.forEach((listener) => listener.migrationChanged?.(now, before)));
  departures.onChange((now, before) => current.forEach((listener) => listener.evacuationChanged?.(now, before)));
  known.onChange((now, before) => current.forEach((listener) => listener.podChanged?.(now, before)));
  budgets.onChange((now, before) => current.forEach((listener) => listener.budgetChanged?.(now, before)));
  const informers = Object.values(seen);
  await Promise.all(informers.map(({ synced }) => synced));
  return {
    ...seen,
    listen(...listeners) {
      current = listeners;
    },
    async stop() {
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}
