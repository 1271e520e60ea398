/** What a decision is made on: the facts of a cluster, as a pass or a door reads them. */
import * as fc from "fast-check";
import { present } from "../../../shared/kube/schemas/fields.ts";
import type { CycleWorld } from "../../../shared/descheduling/cycle/cycle.ts";
import type { AnnotationWorld } from "../../../shared/annotations/descheduler-annotations.ts";
import type { BudgetWorld } from "../../../shared/budget/budget.ts";
import type { EvacuationWorld } from "../../../shared/evacuation/world.ts";
import { isActive } from "../../../shared/kube/evacuation.ts";
import { ofVmi } from "../../../shared/evacuation/world.ts";
import type { EvictionFacts } from "../../../shared/eviction/decide.ts";
import { keyOf, type PodFacts } from "../../../shared/kube/facts.ts";
import type { DeletionFacts } from "../../../shared/guard/decide.ts";
import type { DisruptionWorld } from "../../../shared/guard/disruption.ts";
import { isLauncher, launcherOfHotplug, vmiNameOf } from "../../../shared/kube/pod-kind.ts";
import { COMPONENT_LABEL } from "../../../shared/kube/names.ts";
import type { PressureWorld } from "../../../shared/pressure/pressure.ts";
import { FEATURE_GATES, type Settings } from "../../../shared/settings/settings.ts";
import { at, pod as aPod } from "../fixtures.ts";
import { cluster } from "./clusters.ts";
import { type ClusterFacts, deschedulingFactsOf, factsOf } from "./facts.ts";
import { oddString } from "./json.ts";
import { NODES } from "./objects.ts";
import { often } from "./often.ts";
import { SCHEDULER, settings } from "./settings.ts";

export type World = EvacuationWorld & BudgetWorld & DisruptionWorld & AnnotationWorld;

export const now = fc.integer({ min: -400, max: 400 }).map(at);
const facts = cluster.map(({ collections }) => factsOf(collections));
/** Most gates are on, most of the time: what is off does nothing. */
const gated = fc.tuple(settings, often(true, false)).map(([found, on]): Settings => {
  return on ? { ...found, featureGates: [...FEATURE_GATES] } : found;
});

const queue = fc.record({ running: fc.nat(6), leaving: fc.nat(3) });
export const world: fc.Arbitrary<World> = fc
  .record({
    facts,
    queues: fc.dictionary(fc.constantFrom(...NODES), queue).map((entries) => new Map(Object.entries(entries))),
    vmisAreNewer: fc.boolean(),
    settings: gated,
    now,
    complete: fc.boolean(),
  })
  .map(({ facts: found, ...rest }) => ({ ...found, ...rest }));

/** A pod, mostly one of a VM and one of `likely`; the launcher that it belongs to, and the VMI, as the doors look them up. */
function subjectOf({ pods, vmis }: ClusterFacts, at: number, isLikely: (pod: PodFacts) => boolean = () => true) {
  const chosen = pods.filter((one) => COMPONENT_LABEL in one.labels && isLikely(one));
  const from = at % 8 > 0 && chosen.length > 0 ? chosen : pods;
  const pod = from[(at >> 3) % Math.max(from.length, 1)];
  const owner = pod && launcherOfHotplug(pod);
  const launcher = owner && pods.find(({ name }) => name === owner.name);
  const subject = launcher ?? pod;
  const vmi = subject && vmis.find((one) => one.name === vmiNameOf(subject) && one.namespace === subject.namespace);
  return present({ pod, launcher, vmi });
}

const which = fc.noBias(fc.nat());

export const evictionFacts: fc.Arbitrary<EvictionFacts> = fc
  .record({
    facts,
    which,
    request: fc.record({ username: oddString, cause: fc.constantFrom("ApiEviction" as const, "Descheduler" as const) }),
    settings: gated,
    now,
    isGone: often(false, true),
  })
  .map(({ facts: found, which: at, isGone, ...rest }) => {
    const { pod, ...subject } = subjectOf(found, at);
    const { evacuations, migrations } = found;
    const { vmi } = subject;
    return {
      ...rest,
      ...subject,
      ...(pod && !isGone && { pod }),
      evacuations: vmi ? ofVmi(evacuations, vmi) : evacuations,
      migrations: vmi ? migrations.filter(({ vmiName }) => vmiName === vmi.name) : migrations,
    };
  });

/** Of a pod that the scheduler or the taint manager has chosen, or another one. */
export const deletionFacts: fc.Arbitrary<DeletionFacts> = fc
  .record({
    facts,
    which,
    requester: often(SCHEDULER, "", "somebody"),
    settings: gated,
    now,
  })
  .map(({ facts: found, which: at, ...rest }) => {
    const { nodes, evacuations } = found;
    const { pod = aPod(), ...subject } = subjectOf(found, at, ({ disruptionTarget }) => disruptionTarget !== undefined);
    const node = nodes.find(({ name }) => name === pod.nodeName);
    return {
      ...rest,
      pod,
      ...subject,
      ...(node && { node }),
      evacuations: subject.vmi ? ofVmi(evacuations, subject.vmi) : evacuations,
    };
  });

function residentsOn(node: string, { pods, vmis }: ClusterFacts) {
  return pods.filter(isLauncher).flatMap((pod) => {
    const vmi = vmis.find(({ name }) => name === vmiNameOf(pod));
    const asked = { requests: { memory: 2 ** 30 }, placement: { nodeSelector: {} } };
    return vmi && pod.nodeName === node ? [{ vmi, pod: { ...pod, ...asked } }] : [];
  });
}

export const pressureWorld: fc.Arbitrary<PressureWorld> = fc
  .record({
    facts,
    ending: fc.constantFrom(0, 0, 1, 2),
    settings: gated,
    now,
    freeMemory: fc.constantFrom(0, 1e9, 2 ** 40),
  })
  .map(({ facts: found, ending, freeMemory, ...rest }) => {
    const allocatable = { memory: freeMemory, pods: 110 };
    const pressed = found.nodes.filter(({ pressures }) => pressures.length > 0);
    const residents = found.nodes.flatMap(({ name }) => residentsOn(name, found));
    return {
      ...rest,
      pressured: pressed.map((node) => ({
        node,
        residents: residentsOn(node.name, found),
        evacuations: found.evacuations.filter(({ status }) => status.sourceNode === node.name),
      })),
      takers: found.nodes
        .filter(({ pressures }) => pressures.length === 0)
        .map((node) => ({ node: { ...node, labels: {}, allocatable }, room: new Map(Object.entries(allocatable)) })),
      signals: residents.slice(0, ending).map(({ vmi, pod }) => ({ vmi, pod, by: "kubelet" })),
      evacuations: found.evacuations,
    };
  });

/** All that a descheduling cycle finds, but for its policy. */
export const cycleWorld: fc.Arbitrary<Omit<CycleWorld, "policy">> = fc
  .record({
    cluster,
    settings: gated,
    inBackground: fc.boolean(),
    now,
    until: now,
  })
  .map(({ cluster: { collections }, ...rest }) => {
    const { vmis, evacuations } = factsOf(collections);
    return {
      ...rest,
      ...deschedulingFactsOf(collections),
      vmis: new Map(vmis.map((vmi) => [keyOf(vmi), vmi])),
      evacuations: evacuations.filter(isActive),
    };
  });
