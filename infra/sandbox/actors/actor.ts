/**
 * The interface of an actor: a part of the sandbox that simulates a component of a cluster, such as a kubelet or a
 * controller.
 */
import type { Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";

export interface ActorOptions {
  /** The client that the actor uses. Requests of the client have the actor's own identity. */
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Called with each error that makes the actor retry. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Actor {
  stop(): Promise<void>;
}

/**
 * Returns an actor that stops groups of actors one after another. Callers put controllers before the informers that the
 * controllers read.
 */
export function actorOf(...groups: readonly (readonly Actor[])[]): Actor {
  return {
    async stop() {
      for (const group of groups) await Promise.all(group.map((actor) => actor.stop()));
    },
  };
}
