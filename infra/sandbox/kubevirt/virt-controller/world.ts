/** virt-controller's caches. */
import { actorOf, type Actor, type ActorOptions } from "../../actors/actor.ts";
import { startInformer, type Informer } from "../../actors/informer.ts";
import {
  controllerOf,
  nodes,
  podDisruptionBudgets,
  pods,
  type KubeObject,
  type Node,
  type Pod,
  type PodDisruptionBudget,
} from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";

type Vm = kubevirt.VirtualMachine;
type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export interface World extends Actor {
  readonly launchers: Informer<Pod>;
  readonly vms: Informer<Vm>;
  readonly vmis: Informer<Vmi>;
  readonly migrations: Informer<Migration>;
  readonly nodes: Informer<Node>;
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly synced: Promise<unknown>;
  podsOf(vmi: Vmi): readonly Pod[];
  vmisOn(node: string): readonly Vmi[];
  migrationsOf(vmiKey: string): readonly Migration[];
  unfinished(): readonly Migration[];
  configuration(): NonNullable<kubevirt.KubeVirt["spec"]["configuration"]>;
  /** Returns the VMI's eviction strategy. Defaults to the KubeVirt object's strategy, and then to None. */
  strategyOf(vmi: Vmi): string;
}

export function startWorld(options: ActorOptions): World {
  const launchers = startInformer({
    ...options,
    resource: pods,
    selectors: { labelSelector: `${kubevirt.LABEL.app}=virt-launcher` },
    indexes: { owner: (pod: Pod) => [controllerOf(pod)?.uid ?? ""] },
  });
  const vms = startInformer({ ...options, resource: kubevirt.virtualMachines });
  const vmis = startInformer({
    ...options,
    resource: kubevirt.virtualMachineInstances,
    indexes: { node: ({ status }: Vmi) => (status?.nodeName === undefined ? [] : [status.nodeName]) },
  });
  const migrations = startInformer({
    ...options,
    resource: kubevirt.migrations,
    indexes: {
      vmi: ({ metadata, spec }: Migration) => [`${metadata.namespace}/${spec.vmiName}`],
      unfinished: ({ status }: Migration) => (kubevirt.isFinal(status) ? [] : ["all"]),
    },
  });
  const kubeVirts = startInformer({ ...options, resource: kubevirt.kubeVirts });
  const allNodes = startInformer({ ...options, resource: nodes });
  const budgets = startInformer({ ...options, resource: podDisruptionBudgets });
  const informers = [launchers, vms, vmis, migrations, kubeVirts, allNodes, budgets];
  const configuration = () => [...kubeVirts.list()][0]?.spec.configuration ?? {};

  return {
    launchers,
    vms,
    vmis,
    migrations,
    nodes: allNodes,
    budgets,
    synced: Promise.all(informers.map((informer) => informer.synced)),
    podsOf: (vmi) => launchers.byIndex("owner", vmi.metadata.uid),
    vmisOn: (node) => vmis.byIndex("node", node),
    migrationsOf: (vmiKey) => migrations.byIndex("vmi", vmiKey),
    unfinished: () => migrations.byIndex("unfinished", "all"),
    configuration,
    strategyOf: (vmi) => vmi.spec.evictionStrategy ?? configuration().evictionStrategy ?? "None",
    ...actorOf(informers),
  };
}

export function isActive({ status }: Pod): boolean {
  return !kubevirt.isFinal(status);
}

/**
 * Returns the launcher on the VMI's node, or any launcher if the VMI has no node. Prefers launchers that have not
 * ended, and then newer launchers.
 */
export function currentPod(vmi: Vmi, launchers: readonly Pod[]): Pod | undefined {
  const { nodeName } = vmi.status ?? {};
  const here = launchers.filter((pod) => nodeName === undefined || pod.spec?.nodeName === nodeName);
  const newest = here.toSorted(newestFirst);
  return newest.find(isActive) ?? newest[0];
}

/** Compares the ages of two objects. If their timestamps are the same, compares their resourceVersions. */
export function newestFirst({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  return (
    b.creationTimestamp.localeCompare(a.creationTimestamp) || Number(b.resourceVersion) - Number(a.resourceVersion)
  );
}
