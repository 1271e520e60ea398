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

interface Stoppable {
  stop(): Promise<void>;
}

/** Stops the controllers before what they read from. */
export function actorOf(controllers: readonly Stoppable[], informers: readonly Stoppable[]): Actor {
  return {
    async stop() {
      await Promise.all(controllers.map((controller) => controller.stop()));
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}
