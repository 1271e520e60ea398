/** How evacuations end, as their phases tell. */
import { endingOf, type Ending } from "../stage/evacuations.ts";
import type { Listener } from "./observer.ts";

export interface Endings extends Pick<Listener, "evacuationChanged"> {
  /** By the Evacuation's UID. */
  readonly all: ReadonlyMap<string, Ending>;
  /** Of all, whether they have ended or not, by the Evacuation's UID. */
  readonly causes: ReadonlyMap<string, string>;
  /** UIDs of VMs of which an evacuation was abandoned. */
  readonly abandoned: ReadonlySet<string>;
}

export function createEndings(): Endings {
  const all = new Map<string, Ending>();
  const causes = new Map<string, string>();
  const abandoned = new Set<string>();
  return {
    all,
    causes,
    abandoned,
    evacuationChanged(now) {
      if (now === undefined) return;
      causes.set(now.metadata.uid, now.spec.cause ?? "none");
      const ending = endingOf(now);
      if (ending === undefined) return;
      all.set(now.metadata.uid, ending);
      if (ending === "Abandoned") abandoned.add(now.status?.virtualMachineInstanceUID ?? "");
    },
  };
}
