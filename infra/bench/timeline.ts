/**
 * When what happened to the VMs of a cluster: seen by watching, as anybody could.
 * Owns: the moments of mark, migration and arrival. Does not own: causing them.
 */
import type { KubeClient } from "../sandbox/actors/client.ts";
import * as kubevirt from "../sandbox/kubevirt/resources.ts";

export interface Moments {
  marked?: number;
  migration?: number;
  /** On another node, and nothing of the evacuation is left on it. */
  settled?: number;
}

export interface Timeline {
  readonly of: ReadonlyMap<string, Moments>;
  /** Resolves once a VM has settled elsewhere. */
  settled(name: string): Promise<void>;
  stop(): void;
}

/** Of the VMs that are there; all of one namespace. */
export async function startTimeline(client: KubeClient): Promise<Timeline> {
  const over = new AbortController();
  const moments = new Map<string, Moments>();
  const nodes = new Map<string, string | undefined>();
  const arrivals = new Map<string, PromiseWithResolvers<void>>();
  const { items, metadata } = await client.list(kubevirt.virtualMachineInstances);
  for (const vmi of items) {
    moments.set(vmi.metadata.name, {});
    nodes.set(vmi.metadata.name, vmi.status?.nodeName);
    arrivals.set(vmi.metadata.name, Promise.withResolvers());
  }
  const query = { resourceVersion: metadata.resourceVersion };
  const followVmis = async () => {
    for await (const { object } of client.watch(kubevirt.virtualMachineInstances, query, over.signal)) {
      const of = moments.get(object.metadata.name);
      if (of === undefined) continue;
      if (object.status?.evacuationNodeName !== undefined) of.marked ??= performance.now();
      if (!hasSettled(object, nodes.get(object.metadata.name))) continue;
      of.settled ??= performance.now();
      arrivals.get(object.metadata.name)?.resolve();
    }
  };
  const followMigrations = async () => {
    for await (const { object } of client.watch(kubevirt.migrations, query, over.signal)) {
      const of = moments.get(object.spec.vmiName);
      if (of !== undefined) of.migration ??= performance.now();
    }
  };
  const broken = Promise.withResolvers<void>();
  broken.promise.catch(() => undefined);
  for (const follow of [followVmis, followMigrations]) {
    follow().catch((error: unknown) => {
      if (!over.signal.aborted) broken.reject(error);
    });
  }
  return {
    of: moments,
    settled: (name) => Promise.race([arrivals.get(name)?.promise ?? Promise.resolve(), broken.promise]),
    stop: () => over.abort(),
  };
}

function hasSettled({ metadata, status }: kubevirt.VirtualMachineInstance, from: string | undefined): boolean {
  return (
    status?.nodeName !== from &&
    status?.evacuationNodeName === undefined &&
    metadata.labels?.["lifeboat.dev/evacuation"] === undefined
  );
}
