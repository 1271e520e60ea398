/** Stops by owners: the shield must delay none. */
import { type Event, keyOf } from "../../sandbox/actors/resources.ts";
import type { Listener } from "./observer.ts";

export interface StopCheck extends Pick<Listener, "vmiChanged"> {
  /** In words, from the namespace's Events. */
  delayedBy(events: readonly Event[]): readonly string[];
}

/** One call of the hook may be under way when the owner deletes: it fails after 2 s, and times are whole seconds. */
const LAST_CALL_SECONDS = 4;

export function createStopCheck(): StopCheck {
  const deletedAt = new Map<string, { readonly key: string; readonly at: number }>();
  return {
    vmiChanged(now) {
      const { uid, deletionTimestamp } = now?.metadata ?? {};
      if (now === undefined || uid === undefined || deletionTimestamp === undefined) return;
      deletedAt.set(uid, { key: keyOf(now), at: Date.parse(deletionTimestamp) });
    },
    delayedBy(events) {
      return events.flatMap(({ reason, involvedObject, lastTimestamp }) => {
        const deleted = reason === "SyncFailed" ? deletedAt.get(involvedObject.uid ?? "") : undefined;
        if (deleted === undefined) return [];
        const seconds = (Date.parse(lastTimestamp ?? "") - deleted.at) / 1000;
        if (seconds <= LAST_CALL_SECONDS) return [];
        return [`${deleted.key} was deleted by its owner, and its shutdown refused ${seconds} s later`];
      });
    },
  };
}
