/**
 * Node pressure in a simulated cluster: who lives on the nodes under it, and which other node has room.
 * Owns: what a pass observes of it (shared/reconcilers/pressure-world.ts). Does not own: the choice (shared/policy/pressure.ts).
 */
import { keyOf, type NodeFacts, type PodFacts, type VmiFacts } from "../../../shared/policy/facts.ts";
import { isLauncher, isListedBy, vmiNameOf } from "../../../shared/policy/pod-kind.ts";
import type { PressureWorld, Resident } from "../../../shared/policy/pressure.ts";
import { node } from "../disruptions.ts";
import type { SimulatedCluster } from "./cluster.ts";

export type Pressure = Pick<PressureWorld, "pressured" | "takers" | "signals">;

const NONE: Pressure = { pressured: [], takers: [], signals: [] };

/** Where migrations go to: it never runs out. */
const TAKER = { node: node({ name: "node09" }), freeMemory: 2 ** 40 };

/** `ending`: VMIs whose guest is being ended by its kubelet, as somebody has said. */
export function pressureOf(
  { vmis, pods, settings }: SimulatedCluster,
  nodes: readonly NodeFacts[],
  ending: readonly VmiFacts[],
): Pressure {
  if (!settings.featureGates.includes("NodePressureEvictionLiveMigration")) return NONE;
  const pressing = nodes.filter(({ pressures }) => pressures.length > 0);
  const pressured = pressing.map((one) => {
    const on = pods.all().filter((pod) => pod.nodeName === one.name && isLauncher(pod));
    const [here, elsewhere] = [true, false].map((is) =>
      [...vmis.values()].filter(({ nodeName }) => (nodeName === one.name) === is),
    );
    const departing = residents(on, elsewhere).filter(({ vmi, pod }) => isListedBy(vmi, pod)).length;
    return { node: one, residents: residents(on, here), departing };
  });
  const domain = { status: "Running", gracefulShutdown: true };
  const signals = ending
    .filter(({ nodeName }) => pressing.some(({ name }) => name === nodeName))
    .flatMap((vmi) => pods.of(vmi).map(({ uid }) => ({ vmi, podUID: uid, domain, by: "kubelet: Evicted" })));
  return { pressured, signals, takers: pressured.length === 0 ? [] : [TAKER] };
}

function residents(on: readonly PodFacts[], vmis: readonly VmiFacts[] = []): readonly Resident[] {
  const byKey = new Map(vmis.map((vmi) => [keyOf(vmi), vmi]));
  return on.flatMap((pod) => {
    const vmi = byKey.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
    return vmi === undefined ? [] : [{ vmi, pod }];
  });
}
