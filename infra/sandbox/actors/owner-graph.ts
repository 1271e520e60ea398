/** Records the owners and the dependents of the objects of all kinds. */
import type { Actor, ActorOptions } from "./actor.ts";
import { discoverAll, type DiscoveredResource } from "./discovery.ts";
import { startInformer, type Informer } from "./informer.ts";
import type { KubeObject, Metadata } from "./resources.ts";

export interface Item {
  readonly resource: DiscoveredResource;
  readonly object: KubeObject;
}

export interface OwnerGraph extends Actor {
  find(uid: string): Item | undefined;
  dependentsOf(uid: string): readonly Item[];
  resourceOf(apiVersion: string, kind: string): DiscoveredResource | undefined;
  onChange(listener: (object: KubeObject) => void): void;
  readonly synced: Promise<void>;
}

const REDISCOVER_MS = 30_000;
/**
 * The garbage collector ignores Events, as in a real cluster. Events have no owners, and there are too many of them to
 * watch.
 */
const IGNORED = ["events"];

export function startOwnerGraph(options: ActorOptions): OwnerGraph {
  const { client, clock, onError } = options;
  const informers = new Map<
    string,
    { readonly resource: DiscoveredResource; readonly informer: Informer<KubeObject> }
  >();
  const listeners: ((object: KubeObject) => void)[] = [];
  let cancel: (() => void) | undefined;
  let stopped = false;

  const discover = async () => {
    for (const resource of await discoverAll(client)) {
      const id = `${resource.apiVersion}/${resource.plural}`;
      if (stopped || informers.has(id) || !isCollectable(resource)) continue;
      const indexes = {
        uid: ({ metadata }: KubeObject) => [metadata.uid],
        owner: ({ metadata }: KubeObject) => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
      };
      const informer = startInformer<KubeObject>({ ...options, resource, indexes, project: metadataOnly });
      informer.onChange((object, previous) => {
        if (sameBonds(object, previous)) return;
        for (const state of [previous, object])
          if (state !== undefined) listeners.forEach((listener) => listener(state));
      });
      informers.set(id, { resource, informer });
    }
    await Promise.all([...informers.values()].map(({ informer }) => informer.synced));
  };
  const keepDiscovering = async (): Promise<void> => {
    await discover().catch((error: unknown) => onError?.(error, "discovery"));
    if (!stopped) cancel = clock.setTimer(REDISCOVER_MS, () => void (discovering = keepDiscovering()));
  };
  let discovering = keepDiscovering();

  const lookup = (index: string, uid: string): Item[] =>
    [...informers.values()].flatMap(({ resource, informer }) =>
      informer.byIndex(index, uid).map((object) => ({ resource, object })),
    );

  return {
    find: (uid) => lookup("uid", uid)[0],
    dependentsOf: (uid) => lookup("owner", uid),
    resourceOf: (apiVersion, kind) =>
      [...informers.values()].map(({ resource }) => resource).find((resource) => matches(resource, apiVersion, kind)),
    onChange: (listener) => void listeners.push(listener),
    synced: discovering,
    async stop() {
      stopped = true;
      cancel?.();
      await Promise.all([...informers.values()].map(({ informer }) => informer.stop()));
      await discovering;
    },
  };
}

function sameBonds(object: KubeObject | undefined, previous: KubeObject | undefined): boolean {
  if (object === undefined || previous === undefined) return false;
  const [now, before] = [object, previous].map(({ metadata }) => JSON.stringify({ ...metadata, resourceVersion: "" }));
  return now === before;
}

function isCollectable({ verbs, plural }: DiscoveredResource): boolean {
  return ["list", "watch", "delete"].every((verb) => verbs.includes(verb)) && !IGNORED.includes(plural);
}

/** Returns whether the reference is to this kind, in any version of the same group. */
function matches(resource: DiscoveredResource, apiVersion: string, kind: string): boolean {
  return resource.kind === kind && groupOf(resource.apiVersion) === groupOf(apiVersion);
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

const UNUSED = ["labels", "annotations", "managedFields", "generation", "generateName", "deletionGracePeriodSeconds"];

function metadataOnly({ metadata }: KubeObject): KubeObject {
  const kept = Object.entries(metadata).filter(([field]) => !UNUSED.includes(field));
  return { metadata: Object.fromEntries(kept) as unknown as Metadata };
}
