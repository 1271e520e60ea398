/**
 * How evacuations end, as their phases tell.
 * Owns: following them. Does not own: watching (observer.ts).
 */
import { endingOf, type Ending } from "../tools/evacuations.ts";
import type { Listener } from "./observer.ts";

export interface Endings extends Pick<Listener, "evacuationChanged"> {
  /** By the Evacuation's UID. */
  readonly all: ReadonlyMap<string, Ending>;
  /** UIDs of VMs of which an evacuation was abandoned. */
  readonly abandoned: ReadonlySet<string>;
}

export function createEndings(): Endings {
  const all = new Map<string, Ending>();
  const abandoned = new Set<string>();
  return {
    all,
    abandoned,
    evacuationChanged(now) {
      const ending = now && endingOf(now);
      if (now === undefined || ending === undefined) return;
      all.set(now.metadata.uid, ending);
      if (ending === "Abandoned") abandoned.add(now.status?.virtualMachineInstanceUID ?? "");
    },
  };
}
