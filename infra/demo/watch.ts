/**
 * The world, kept up to date by watches.
 * Owns: one informer per kind, put together. Does not own: what the objects mean (world.ts, story.ts).
 */
import type { Clock } from "../sandbox/actors/clock.ts";
import type { KubeClient } from "../sandbox/actors/client.ts";
import { startInformer } from "../sandbox/actors/informer.ts";
import { events, nodes, pods, type KubeObject, type Resource } from "../sandbox/actors/resources.ts";
import { migrations, virtualMachineInstances } from "../sandbox/kubevirt/resources.ts";
import { parseEvent, parseMigration, parseNode, parsePod, parseVmi, type World } from "./world.ts";

export interface Watched {
  readonly world: World;
  stop(): Promise<void>;
}

/** Resolves once everything that is there has been seen; from then on `world` changes by itself. */
export async function watchWorld(client: KubeClient, clock: Clock): Promise<Watched> {
  const follow = <T extends KubeObject, V>(resource: Resource<T>, parse: (object: T) => V) => {
    const views = new Map<string, V>();
    const informer = startInformer({ client, clock, resource });
    informer.onChange((object, previous) => {
      if (previous !== undefined && previous.metadata.uid !== object?.metadata.uid) views.delete(previous.metadata.uid);
      if (object !== undefined) views.set(object.metadata.uid, parse(object));
    });
    return { views, informer };
  };
  const followed = {
    vmis: follow(virtualMachineInstances, parseVmi),
    migrations: follow(migrations, parseMigration),
    pods: follow(pods, parsePod),
    nodes: follow(nodes, parseNode),
    events: follow(events, parseEvent),
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

/** The world as the API server has it now, for the final judgement. */
export async function readWorld(client: KubeClient): Promise<World> {
  const read = async <T extends KubeObject, V>(resource: Resource<T>, parse: (object: T) => V) => {
    const { items } = await client.list(resource);
    return new Map(items.map((object) => [object.metadata.uid, parse(object)]));
  };
  return {
    vmis: await read(virtualMachineInstances, parseVmi),
    migrations: await read(migrations, parseMigration),
    pods: await read(pods, parsePod),
    nodes: await read(nodes, parseNode),
    events: await read(events, parseEvent),
  };
}
