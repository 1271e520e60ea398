/**
 * The interface of an actor: a part of the sandbox that plays a component of a cluster, such as a kubelet or a
 * controller.
 */
import type { Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";

export interface ActorOptions {
  /** A client of the API server, with the actor's own identity. */
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Called with each error after which the actor tries again. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Actor {
  stop(): Promise<void>;
}

/** Stops one group of actors after another: usually the controllers before the informers that they read from. */
export function actorOf(...groups: readonly (readonly Actor[])[]): Actor {
  return {
    async stop() {
      for (const group of groups) await Promise.all(group.map((actor) => actor.stop()));
    },
  };
}
