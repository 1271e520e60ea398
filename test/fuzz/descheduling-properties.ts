/**
 * What every descheduling cycle keeps to, whatever the cluster, the policy and what becomes of its steps: it ends, it asks only for pods
 * that are there, each once, and within its limits.
 */
import { deepStrictEqual } from "node:assert/strict";
import * as fc from "fast-check";
import { parseDeschedulerPolicy } from "../../shared/descheduling/policy-file/parse-descheduler-policy.ts";
import { type CycleReport, type CycleWorld, runCycle } from "../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulerPolicy } from "../../shared/descheduling/cycle/policy.ts";
import { interpretAnswer } from "../../shared/descheduling/cycle/eviction-answer.ts";
import { CYCLE_ENDS } from "../../shared/descheduling/cycle/request.ts";
import type { Outcome, Step } from "../../shared/descheduling/cycle/step.ts";
import { DESCHEDULER_POLICY } from "../generators/clusters.ts";
import { mutated } from "../generators/json.ts";
import { cycleWorld } from "../generators/worlds.ts";
import { expect } from "./expectations.ts";
import { frozen, type Property, property } from "./property.ts";

/** With every plugin; the first one lets everything go that may. */
const PLUGINS = [
  { name: "LowNodeUtilization", args: { thresholds: { pods: 1 }, targetThresholds: { pods: 1 } } },
  { name: "RemovePodsViolatingNodeTaints", args: { includePreferNoSchedule: true } },
  {
    name: "RemovePodsViolatingNodeAffinity",
    args: { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] },
  },
  { name: "PodLifeTime", args: { maxPodLifeTimeSeconds: 1 } },
];
const enabled = {
  deschedule: { enabled: ["RemovePodsViolatingNodeTaints", "RemovePodsViolatingNodeAffinity", "PodLifeTime"] },
  balance: { enabled: ["LowNodeUtilization"] },
};

function fileWith(evictor: object, limits: object): string {
  const pluginConfig = [{ name: "DefaultEvictor", args: evictor }, ...PLUGINS];
  const head = { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy" };
  return JSON.stringify({ ...head, ...limits, profiles: [{ name: "p", pluginConfig, plugins: enabled }] });
}

const FILES = [
  fileWith({ podProtections: { defaultDisabled: ["PodsWithLocalStorage"] } }, {}),
  fileWith({ nodeFit: true, minReplicas: 2 }, { maxNoOfPodsToEvictTotal: 1 }),
  fileWith(
    { podProtections: { extraEnabled: ["PodsWithoutPDB", "PodsWithPVC"] } },
    { maxNoOfPodsEvacuationsPerNode: 1 },
  ),
];

async function parsed(text: string): Promise<readonly DeschedulerPolicy[]> {
  const policy = await parseDeschedulerPolicy(text);
  return policy.ok ? [policy.value] : [];
}

/** The shipped one, changed: those that are still policies. */
const CHANGED = fc.sample(mutated(fc.constant(DESCHEDULER_POLICY), [0, 1, 1, 1]), { seed: 1, numRuns: 200 });
const [known = [], changed = []] = await Promise.all(
  [FILES, CHANGED.map((file) => JSON.stringify(file))].map(async (texts) =>
    (await Promise.all(texts.map(parsed))).flat(),
  ),
);
const policy = fc.oneof(fc.constantFrom(...known), fc.constantFrom(...changed));

/** What becomes of the steps, again and again. */
const some = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 9 });
const fates = fc.record({
  acts: some(fc.constantFrom("Done", "Done", "Done", "Done", "Conflict", "Refused", "Failed")),
  evicts: some(fc.constantFrom("Background", "Background", "Evicted", "Gone", "Refused", "Unknown")),
  looks: some(fc.constantFrom("Nothing", "Nothing", "Nothing", "Known", "Failed")),
  seconds: fc.constantFrom(0, 0, 1, 600),
});

type Fates = typeof fates extends fc.Arbitrary<infer T> ? T : never;

/** No cycle over ten pods takes more. */
const MOST_STEPS = 500;

function fateOf(step: Step, i: number, { acts, evicts, looks }: Fates, { evacuations }: CycleWorld): Outcome {
  switch (step.step) {
    case "Act":
    case "Withdraw":
      return { step: step.step, outcome: acts[i % acts.length] ?? "Done" };
    case "Evict":
      return { step: "Evict", outcome: evicts[i % evicts.length] ?? "Gone" };
    case "Look": {
      const look = looks[i % looks.length];
      return look === "Failed" ? { step: "Look" } : { step: "Look", evacuations: look === "Known" ? evacuations : [] };
    }
  }
}

function course(given: CycleWorld, how: Fates): { readonly steps: readonly Step[]; readonly report: CycleReport } {
  const cycle = runCycle(given);
  const steps: Step[] = [];
  let next = cycle.next();
  for (let now = given.now; next.done !== true; now = new Date(now.getTime() + how.seconds * 1000)) {
    expect(steps.length < MOST_STEPS, "a cycle without an end");
    steps.push(next.value);
    next = cycle.next({ ...fateOf(next.value, steps.length, how, given), now });
  }
  return { steps, report: next.value };
}

/** Whom a step is about. */
function uidOf(step: Step): string | undefined {
  if (step.step === "Evict") return step.nominated.pod.uid;
  if (step.step !== "Act") return undefined;
  if (step.action.verb === "CreateEvacuation") return step.action.evacuation.spec.pod?.uid;
  return step.action.verb === "AnnotatePod" ? step.action.pod.uid : undefined;
}

export const DESCHEDULING_PROPERTIES: readonly Property[] = [
  property(
    "a descheduling cycle ends, and asks for what is there, once",
    fc.tuple(cycleWorld, policy, fates),
    ([found, policy, how]) => {
      const given = { ...found, policy };
      frozen([given.nodes, given.pods, given.vmis, given.evacuations, given.budgets]);
      const { steps, report } = course(given, how);
      deepStrictEqual(course(given, how), { steps, report });
      expect(CYCLE_ENDS.includes(report.ended), report.ended);
      const known = new Set(given.pods.map(({ uid }) => uid));
      expect(
        steps.flatMap((step) => uidOf(step) ?? []).every((uid) => known.has(uid)),
        "a pod that is not there",
      );
      const asked = steps.filter((step) => step.step !== "Act" || step.action.verb === "CreateEvacuation");
      const askedFor = asked.flatMap((step) => uidOf(step) ?? []);
      expect(new Set(askedFor).size === askedFor.length, "a pod is asked for twice");
      const accepted = report.nominations.filter(({ result }) => result === "Evicted" || result === "Background");
      expect(accepted.length <= (given.policy.limits.evictionsTotal ?? Infinity), "more than the limit");
      return [report.ended, ...report.nominations.map(({ result }) => result)];
    },
    // Another cycle is met before this one begins.
    [...CYCLE_ENDS.filter((end) => end !== "AnotherCycle"), "Evicted", "Background", "InProgress", "Refused"],
  ),
  property(
    "an answer to an eviction means something",
    fc.tuple(fc.integer({ min: 200, max: 599 }), fc.string(), fc.array(fc.string())),
    ([code, message, prefixes]) => {
      const outcome = interpretAnswer({ code, message }, prefixes);
      expect(["Evicted", "Background", "Gone", "Refused", "Unknown"].includes(outcome), outcome);
    },
  ),
];
