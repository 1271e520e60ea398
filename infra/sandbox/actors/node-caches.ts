/** The caches that all controllers of nodes share. The caches read with kube-controller-manager's account. */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startInformer, type Informer } from "./informer.ts";
import { leases, nodes, pods, type Lease, type Node, type Pod } from "./resources.ts";

export interface NodeCaches extends Actor {
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  /** The Leases of the nodes. Kubelets renew them as heartbeats. */
  readonly leases: Informer<Lease>;
  readonly synced: Promise<unknown>;
  podsOn(node: string): readonly Pod[];
}

export interface NodeControllerOptions extends ActorOptions {
  readonly caches: NodeCaches;
}

export function startNodeCaches(options: ActorOptions): NodeCaches {
  const indexes = { node: (pod: Pod) => [pod.spec?.nodeName ?? ""] };
  const caches = {
    nodes: startInformer({ ...options, resource: nodes }),
    pods: startInformer({ ...options, resource: pods, indexes }),
    leases: startInformer({ ...options, resource: leases }),
  };
  const all = [caches.nodes, caches.pods, caches.leases];
  return {
    ...caches,
    synced: Promise.all(all.map(({ synced }) => synced)),
    podsOn: (node) => caches.pods.byIndex("node", node),
    ...actorOf(all),
  };
}
