/** The contract between an actor and the code that starts it. */
import type { Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";

export interface ActorOptions {
  /** A client of the API server, with the actor's own identity. */
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Gets each error that the actor will retry. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Actor {
  stop(): Promise<void>;
}

/** Stops one group after another: usually the controllers before the informers they read from. */
export function actorOf(...groups: readonly (readonly Actor[])[]): Actor {
  return {
    async stop() {
      for (const group of groups) await Promise.all(group.map((actor) => actor.stop()));
    },
  };
}
