/**
 * Beginning the evacuation of a VM whose pod is being ended by a scheduler or a taint manager.
 * Owns: the Evacuation, its deadline and the mark. Does not own: whether to begin one (hold.ts, disruption.ts).
 */
import type { Action } from "../action.ts";
import { CAUSE } from "../cause.ts";
import type { Disruption } from "./disruption-cause.ts";
import { newEvacuation } from "../evacuation/identity.ts";
import type { EvacuationFacts, PodFacts, VmiFacts } from "../facts.ts";
import { isMarked, markActions } from "../evacuation/mark.ts";
import type { Settings } from "../settings.ts";

interface Around {
  /** Every one that names the VMI. */
  readonly evacuations: readonly EvacuationFacts[];
  readonly settings: Settings;
  readonly now: Date;
}

interface Chosen extends Disruption {
  readonly launcher: PodFacts;
  readonly requestedBy: string;
}

/** Where a drain is moving the VM already, that goes on: the new Evacuation ends as its Duplicate, and its deadline counts. */
export function beginDisruption(vmi: VmiFacts, chosen: Chosen, { evacuations, settings, now }: Around) {
  const { cause, requestedBy, launcher, deadline } = chosen;
  const pod = { name: launcher.name, uid: launcher.uid };
  const beginning = { cause, requestedBy, pod, deadline: new Date(deadline).toISOString() };
  const { spec, ...named } = newEvacuation(vmi, beginning, { evacuations, now });
  // There is no time to sit out the back-off of an evacuation that failed before, and no second request to wait for.
  const { inherited: _, ...anew } = spec;
  const evacuation = { ...named, spec: { ...anew, requestedBy } };
  const actions: readonly Action[] = [
    { verb: "CreateEvacuation", evacuation },
    ...(isAsMarked(vmi, cause) ? [] : markActions(vmi, cause, settings)),
  ];
  return { name: evacuation.name, actions };
}

function isAsMarked(vmi: VmiFacts, cause: Disruption["cause"]): boolean {
  const { urgency } = CAUSE[cause];
  return isMarked(vmi) && (urgency === "normal" || vmi.evacuationLabel === urgency);
}
