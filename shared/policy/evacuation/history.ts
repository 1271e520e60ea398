/** Evacuations that have ended stay for a while, as history. */
import { byAge, podUIDOf } from "./identity.ts";
import type { EvacuationWorld } from "./world.ts";
import type { EvacuationFacts } from "../facts.ts";
import { isUnfinished } from "./phase.ts";
import type { Plan } from "../action.ts";

/** Removes what ended long ago. The newest one of a pod that still exists stays: the name of the next one counts on from it. */
export function planHistory({ evacuations, vmis, settings, now }: EvacuationWorld): Plan {
  const old = now.getTime() - settings.evacuation.historySeconds * 1000;
  const expired = evacuations.filter((e) => !isUnfinished(e) && Date.parse(e.status.completionTime ?? "") < old);
  const living = new Set(vmis.flatMap((vmi) => Object.keys(vmi.activePods)));
  const newest = new Set<string>();
  for (const ofPod of Map.groupBy(evacuations, podUIDOf).values()) {
    const last = ofPod.toSorted(byAge).at(-1);
    if (last !== undefined && isLiving(last, living)) newest.add(last.uid);
  }
  const removed = expired.filter(({ uid }) => !newest.has(uid));
  return { chains: removed.map((evacuation) => [{ verb: "DeleteEvacuation", evacuation } as const]) };
}

function isLiving(evacuation: EvacuationFacts, living: ReadonlySet<string>): boolean {
  return living.has(podUIDOf(evacuation) ?? "");
}
