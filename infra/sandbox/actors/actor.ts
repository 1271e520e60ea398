/** The interface of an actor. An actor simulates a component of a cluster, such as a kubelet or a controller. */
import type { Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";

export interface ActorOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Called with each error after which the actor retries. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Actor {
  stop(): Promise<void>;
}

/**
 * Combines groups of actors into one actor. Its `stop` stops the groups one after another, in the given order. Most
 * callers put controllers before the informers that the controllers read.
 */
export function actorOf(...groups: readonly (readonly Actor[])[]): Actor {
  return {
    async stop() {
      for (const group of groups) await Promise.all(group.map((actor) => actor.stop()));
    },
  };
}
