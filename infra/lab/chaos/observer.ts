/** Watches the cluster with a separate client, which Lifeboat does not use. */
import {
  type Informer,
  type KubeClient,
  kubevirt,
  type Pod,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  pods,
  startInformer,
  systemClock,
} from "../../sandbox/index.ts";
import {
  evacuations,
  type Evacuation,
  type NodeEvacuation,
  nodeEvacuations,
  type RollingMaintenance,
  rollingMaintenances,
} from "../stage/evacuations.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export interface Listener {
  /**
   * Called for each change of a VMI. `now` is undefined if the VMI is gone. `before` is undefined if the VMI is new.
   */
  vmiChanged(now: Vmi | undefined, before: Vmi | undefined): void;
  migrationChanged(now: Migration | undefined, before: Migration | undefined): void;
  evacuationChanged(now: Evacuation | undefined): void;
  nodeEvacuationChanged(now: NodeEvacuation | undefined): void;
  budgetChanged(now: PodDisruptionBudget | undefined, before: PodDisruptionBudget | undefined): void;
}

export interface Observer {
  readonly vmis: Pick<Informer<Vmi>, "get" | "list">;
  readonly pods: Pick<Informer<Pod>, "get" | "list">;
  readonly migrations: Pick<Informer<Migration>, "get" | "list">;
  readonly evacuations: Pick<Informer<Evacuation>, "get" | "list">;
  readonly nodeEvacuations: Pick<Informer<NodeEvacuation>, "get" | "list">;
  readonly rollingMaintenances: Pick<Informer<RollingMaintenance>, "get" | "list">;
  readonly budgets: Pick<Informer<PodDisruptionBudget>, "get" | "list">;
  listen(...listeners: readonly Partial<Listener>[]): void;
  stop(): Promise<void>;
}

export async function startObserver(client: KubeClient): Promise<Observer> {
  const options = { client, clock: systemClock };
  const seen = {
    vmis: startInformer({ ...options, resource: kubevirt.virtualMachineInstances }),
    pods: startInformer({ ...options, resource: pods }),
    migrations: startInformer({ ...options, resource: kubevirt.migrations }),
    evacuations: startInformer({ ...options, resource: evacuations }),
    nodeEvacuations: startInformer({ ...options, resource: nodeEvacuations }),
    rollingMaintenances: startInformer({ ...options, resource: rollingMaintenances }),
    budgets: startInformer({ ...options, resource: podDisruptionBudgets }),
  };
  let listeners: readonly Partial<Listener>[] = [];
  seen.vmis.onChange((now, before) => listeners.forEach((one) => one.vmiChanged?.(now, before)));
  seen.migrations.onChange((now, before) => listeners.forEach((one) => one.migrationChanged?.(now, before)));
  seen.evacuations.onChange((now) => listeners.forEach((one) => one.evacuationChanged?.(now)));
  seen.nodeEvacuations.onChange((now) => listeners.forEach((one) => one.nodeEvacuationChanged?.(now)));
  seen.budgets.onChange((now, before) => listeners.forEach((one) => one.budgetChanged?.(now, before)));
  const informers = Object.values(seen);
  await Promise.all(informers.map(({ synced }) => synced));
  return {
    ...seen,
    listen(...next) {
      listeners = next;
    },
    stop: async () => void (await Promise.all(informers.map((informer) => informer.stop()))),
  };
}
