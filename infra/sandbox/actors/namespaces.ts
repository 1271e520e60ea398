/**
 * kube-controller-manager's namespace controller. It deletes the objects in a deleted namespace, and then removes the
 * namespace's finalizer.
 */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import type { KubeClient } from "./client.ts";
import { startController, type Result } from "./controller.ts";
import { discoverAll, type DiscoveredResource } from "./discovery.ts";
import { startInformer } from "./informer.ts";
import { namespaces, type Namespace } from "./resources.ts";
import { unlessNotFound } from "./status-error.ts";

const FINALIZER = "kubernetes";
/** The pause before the namespace is checked again. Pods with a grace period take time to terminate. */
const RETRY_MS = 1_000;

export interface NamespaceControllerOptions extends ActorOptions {
  /**
   * A client with kube-controller-manager's account. All controllers of kube-controller-manager read with this account.
   */
  readonly reader: KubeClient;
}

export function startNamespaceController(options: NamespaceControllerOptions): Actor {
  const { client, reader } = options;
  const known = startInformer({ ...options, client: reader, resource: namespaces });

  const reconcile = async (name: string): Promise<Result> => {
    const namespace = known.get(name);
    if (namespace?.metadata.deletionTimestamp === undefined || !isHeld(namespace)) return undefined;
    const left = await empty(name);
    if (left > 0) return { requeueAfterMs: RETRY_MS };
    const finalizers = (namespace.spec?.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
    const finalized = { ...namespace, spec: { ...namespace.spec, finalizers } };
    await client.update(namespaces, finalized, { subresource: "finalize" }).catch(unlessNotFound);
  };

  const empty = async (namespace: string): Promise<number> => {
    let left = 0;
    for (const resource of (await discoverAll(client)).filter(isContent)) {
      const { items } = await client.list(resource, namespace, { limit: 1 });
      if (items.length === 0) continue;
      await client.deleteAll(resource, namespace, { propagationPolicy: "Background" });
      left += (await client.list(resource, namespace, { limit: 1 })).items.length;
    }
    return left;
  };

  const controller = startController({ name: "namespace", reconcile, ...options });
  controller.watch(known, ({ metadata }) => [metadata.name]);
  return actorOf([controller], [known]);
}

function isHeld({ spec }: Namespace): boolean {
  return spec?.finalizers?.includes(FINALIZER) ?? false;
}

function isContent({ namespaced, verbs }: DiscoveredResource): boolean {
  return namespaced && ["list", "deletecollection"].every((verb) => verbs.includes(verb));
}
