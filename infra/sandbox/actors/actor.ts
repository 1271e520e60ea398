/**
 * What every actor is given and gives back.
 * Owns: that contract. Does not own: any behaviour.
 */
import type { Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";

export interface ActorOptions {
  /** The API server, as whom the actor acts. */
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Told about what did not work and will be tried again. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Actor {
  stop(): Promise<void>;
}

/** Stops one group after another: as a rule the controllers before what they read from. */
export function actorOf(...groups: readonly (readonly Actor[])[]): Actor {
  return {
    async stop() {
      for (const group of groups) await Promise.all(group.map((actor) => actor.stop()));
    },
  };
}
