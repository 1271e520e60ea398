/** Decides what to do about the pressure and taints of nodes for which events have arrived. */
import { planByTaint } from "../evacuation/plan.ts";
import { factsOfNodes } from "../facts/lists.ts";
import { guard } from "../guard/feature.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { carriesDrainTaint } from "../kube/objects.ts";
import { readEvacuationsFrom, readVmisOn } from "../kube/requests.ts";
import { pressure } from "../pressure/feature.ts";
import { isGateOn } from "../settings/guarded.ts";
import type { Observer } from "../settings/load-settings.ts";
import { shield } from "../shield/feature.ts";
import type { Plans } from "../kube/action.ts";
import { type SignalsAsked, readNodes, readPressure } from "./pressure.ts";
import { hasNoExecuteTaint, readLaunchersOn, ofEach, ofThese } from "./taints.ts";

export interface PlansOfNodes {
  readonly plans: Plans;
  readonly evacuations: readonly EvacuationFacts[];
}

export async function decideOnNodes(asked: SignalsAsked, observer: Observer): Promise<PlansOfNodes> {
  const { cluster, settings, now } = observer;
  const names = asked.requests.map((r) => (r.kind === "Node" ? r.name : undefined));
  const nodes = await readNodes(names, cluster);
  const seen = await readPressure({ ...asked, nodes }, observer);
  const pressured = new Set(seen.pressured.map(({ node }) => node.name));
  const isGuarded = isGateOn("NoExecuteTaint", settings);
  const tainted = isGuarded ? nodes.filter(hasNoExecuteTaint) : [];
  const left = nodes.filter((node) => tainted.includes(node) || carriesDrainTaint(node, settings));
  const [there, leaving, launchers] = await Promise.all([
    ofEach(left, ({ name }) => readVmisOn(name, cluster)),
    ofEach(
      (isGuarded ? nodes : left).filter(({ name }) => !pressured.has(name)),
      ({ name }) => readEvacuationsFrom(name, cluster),
    ),
    ofEach(tainted, (node) => readLaunchersOn(node, cluster)),
  ]);
  const vmis = onceEach([...asked.vmis, ...there]);
  const fromPressured = seen.pressured.flatMap((one) => one.evacuations);
  const evacuations = onceEach([...asked.evacuations, ...leaving, ...fromPressured]);
  const pods = ofThese(vmis, launchers);
  const here = vmis.filter(({ nodeName }) => nodes.some(({ name }) => name === nodeName));
  const facts = factsOfNodes(nodes);
  const w = { settings, now, facts, vmis, evacuations };
  const plans = [
    { name: guard.name, ...guard.plan({ ...w, pods }) },
    { name: shield.name, ...shield.plan({ ...w, pressured: seen.pressured, shielded: [] }) },
    { name: pressure.name, ...pressure.plan({ ...w, ...seen }) },
    { name: "new evacuations", ...planByTaint({ ...w, vmis: here }) },
  ];
  return { plans, evacuations };
}

function onceEach<T extends { readonly uid: string }>(objects: readonly T[]): readonly T[] {
  return [...new Map(objects.map((object) => [object.uid, object])).values()];
}
