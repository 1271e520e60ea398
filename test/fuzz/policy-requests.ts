/**
 * What the doors are asked: to let a pod be evicted, to let one be deleted.
 * Owns: generating the facts of such a request. Does not own: the objects (policy-facts.ts, policy-fitting.ts).
 */
import * as fc from "fast-check";
import type { DeletionFacts } from "../../shared/policy/guard/deletion.ts";
import type { EvictionFacts } from "../../shared/policy/eviction/eviction.ts";
import { FEATURE_GATES } from "../../shared/policy/settings.ts";
import { mostly } from "../mostly.ts";
import { evacuation } from "./policy-evacuations.ts";
import * as any from "./policy-facts.ts";
import { chosen, evacuationOf, hotplugOf, migrationOf, resident } from "./policy-fitting.ts";
import { settings } from "./policy-settings.ts";
import { facts, now } from "./policy-words.ts";

const list = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 4 });

const request = fc.record({
  username: fc.string(),
  cause: fc.constantFrom("ApiEviction" as const, "Descheduler" as const),
});

const anyEviction: fc.Arbitrary<EvictionFacts> = facts(
  { request, evacuations: list(evacuation), settings, now },
  {
    pod: any.pod,
    launcher: any.pod,
    vmi: any.vmi,
    raced: fc.boolean(),
    migrations: list(any.migration),
  },
);

const one = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { minLength: 1, maxLength: 1 });

/** Of the launcher pod of a VM, or of a pod that holds a volume for it. */
const fittingEviction: fc.Arbitrary<EvictionFacts> = resident.chain(({ vmi, pod }) => {
  const evacuations = fc.array(evacuationOf(vmi), { maxLength: 2 });
  const asked = { request, evacuations, settings, now, vmi: fc.constant(vmi) };
  const answers = {
    raced: fc.constantFrom(false, false, true),
    migrations: one(migrationOf(vmi)),
  };
  return fc.oneof(
    { weight: 6, arbitrary: facts({ ...asked, pod: fc.constant(pod) }, answers) },
    { weight: 1, arbitrary: facts({ ...asked, pod: hotplugOf(pod), launcher: fc.constant(pod) }, answers) },
  );
});

export const evictionFacts = mostly(fittingEviction, anyEviction);

const patienceSeconds = fc.double({ min: 0, max: 30, noNaN: true });

const anyDeletion: fc.Arbitrary<DeletionFacts> = facts(
  {
    pod: any.pod,
    neighbours: list(any.pod),
    evacuations: list(evacuation),
    active: list(evacuation),
    requester: fc.constantFrom("scheduler", "scheduler", "", "somebody"),
    patienceSeconds,
    settings,
    now,
  },
  { launcher: any.pod, vmi: any.vmi, node: any.node },
);

/** A VM whose pod somebody who does not ask has chosen. */
const victim = fc
  .tuple(resident, chosen)
  .map(([{ vmi, pod }, disruptionTarget]) => ({ vmi, pod: { ...pod, disruptionTarget } }));

type Victim = typeof victim extends fc.Arbitrary<infer T> ? T : never;

function hotplugOfVictim({ vmi, pod: launcher }: Victim) {
  const { disruptionTarget } = launcher;
  return hotplugOf(launcher).map((pod) => ({ vmi, launcher, pod: { ...pod, disruptionTarget } }));
}

/** By the scheduler or the taint manager, of a pod of a VM, on a node that is up, among others like it. */
const fittingDeletion: fc.Arbitrary<DeletionFacts> = victim.chain((own) =>
  fc
    .record({
      deleted: fc.oneof({ weight: 6, arbitrary: fc.constant(own) }, { weight: 1, arbitrary: hotplugOfVictim(own) }),
      others: list(victim),
      node: any.node.map((found) => ({ ...found, ready: true, taints: [] })),
      evacuations: fc.array(evacuationOf(own.vmi), { maxLength: 2 }),
      active: list(evacuation),
      requester: fc.constant("scheduler"),
      patienceSeconds,
      settings: settings.map((found) => ({ ...found, featureGates: [...FEATURE_GATES] })),
      now,
    })
    .map(({ deleted, others, ...rest }) => ({
      ...rest,
      ...deleted,
      neighbours: [own, ...others].map(({ pod }) => pod),
    })),
);

export const deletionFacts = mostly(fittingDeletion, anyDeletion);
