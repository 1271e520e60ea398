/** Watches the cluster's objects, and updates a copy of them. */
import {
  type Clock,
  events,
  type KubeClient,
  type KubeObject,
  migrations,
  nodes,
  pods,
  type Resource,
  startInformer,
  virtualMachineInstances,
} from "../../sandbox/index.ts";
import { viewOfEvent, viewOfMigration, viewOfNode, viewOfPod, viewOfVmi, type World } from "./world.ts";

export interface Watched {
  readonly world: World;
  stop(): Promise<void>;
}

/** Resolves when `world` contains all existing objects. Later events of the watches update `world`. */
export async function watchWorld(client: KubeClient, clock: Clock): Promise<Watched> {
  const follow = <T extends KubeObject, V>(resource: Resource<T>, view: (object: T) => V) => {
    const views = new Map<string, V>();
    const informer = startInformer({ client, clock, resource });
    informer.onChange((object, previous) => {
      if (previous !== undefined && previous.metadata.uid !== object?.metadata.uid) views.delete(previous.metadata.uid);
      if (object !== undefined) views.set(object.metadata.uid, view(object));
    });
    return { views, informer };
  };
  const followed = {
    vmis: follow(virtualMachineInstances, viewOfVmi),
    migrations: follow(migrations, viewOfMigration),
    pods: follow(pods, viewOfPod),
    nodes: follow(nodes, viewOfNode),
    events: follow(events, viewOfEvent),
  };
  const informers = Object.values(followed).map(({ informer }) => informer);
  await Promise.all(informers.map(({ synced }) => synced));
  return {
    world: {
      vmis: followed.vmis.views,
      migrations: followed.migrations.views,
      pods: followed.pods.views,
      nodes: followed.nodes.views,
      events: followed.events.views,
    },
    async stop() {
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

/**
 * Reads the cluster's objects from the API server. Reads pods before VMIs. Otherwise a VM that moves between the two
 * reads would appear to have no pod.
 */
export async function readWorld(client: KubeClient): Promise<World> {
  const read = async <T extends KubeObject, V>(resource: Resource<T>, view: (object: T) => V) => {
    const { items } = await client.list(resource);
    return new Map(items.map((object) => [object.metadata.uid, view(object)]));
  };
  const podViews = await read(pods, viewOfPod);
  return {
    pods: podViews,
    vmis: await read(virtualMachineInstances, viewOfVmi),
    migrations: await read(migrations, viewOfMigration),
    nodes: await read(nodes, viewOfNode),
    events: await read(events, viewOfEvent),
  };
}
