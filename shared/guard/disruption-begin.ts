/** Begins the evacuation of a VM whose pod a scheduler or a taint manager is ending. */
import type { Action } from "../kube/action.ts";
import type { Disruption } from "./disruption-cause.ts";
import { newEvacuation } from "../evacuation/identity.ts";
import type { PodFacts, VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { markActions } from "../evacuation/mark.ts";
import type { Moment } from "../settings/time.ts";

interface Chosen extends Disruption {
  readonly launcher: PodFacts;
  readonly requestedBy: string;
}

/** An evacuation that a drain began before goes on: the new one ends as its Duplicate, and its deadline counts. */
export function beginDisruption(
  vmi: VmiFacts,
  { cause, requestedBy, launcher, deadline }: Chosen,
  /** Every one that names the VMI. */
  evacuations: readonly EvacuationFacts[],
  { settings, now }: Moment,
) {
  const pod = { name: launcher.name, uid: launcher.uid };
  const beginning = { cause, requestedBy, pod, deadline: new Date(deadline).toISOString() };
  const evacuation = newEvacuation(vmi, beginning, { evacuations, now });
  const create: Action = { verb: "CreateEvacuation", evacuation, optional: true };
  return { name: evacuation.name, actions: [create, ...markActions(vmi, cause, settings)] };
}
