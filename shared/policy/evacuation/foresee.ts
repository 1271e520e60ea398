/** What would become of an Evacuation that a person creates now. */
import type { EvacuationFacts, VmiFacts } from "../facts.ts";
import { newEvacuation } from "./identity.ts";
import { type Standing, standingOf } from "./standing.ts";
import type { EvacuationWorld } from "./world.ts";

type Known = Pick<EvacuationWorld, "evacuations" | "migrations" | "settings" | "now">;

/** Where it would stand, once the VM is marked where that comes first. */
export function foresee(vmi: VmiFacts, known: Known): Standing {
  const { nodeName } = vmi;
  const first = standingAmong(vmi, known);
  const marked = nodeName === undefined ? vmi : { ...vmi, evacuationNodeName: nodeName };
  return first.standing === "Unmarked" ? standingAmong(marked, known) : first;
}

function standingAmong(vmi: VmiFacts, known: Known): Standing {
  const { evacuations, migrations, now } = known;
  const created = newEvacuation(vmi, { cause: "Operator", requestedBy: "" }, { evacuations, now });
  const e: EvacuationFacts = {
    ...created,
    uid: "",
    resourceVersion: "",
    createdAt: now.getTime(),
    status: { attempts: 0, conditions: [] },
  };
  const nothing = { budgets: [], pods: [], nodes: [], vmisAreNewer: true };
  const w = { ...known, ...nothing, vmis: [vmi], evacuations: [...evacuations, e] };
  return standingOf({ e, vmi, migrations, w });
}
