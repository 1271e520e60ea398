/**
 * What every descheduling cycle keeps to, whatever the cluster, the policy and what becomes of its steps: it ends, it asks
 * only for pods that are there, each once, and within its limits.
 * Owns: that. Does not own: whether a nomination is right (test/policy/descheduling).
 */
import { deepStrictEqual } from "node:assert/strict";
import * as fc from "fast-check";
import { parseDeschedulerPolicy } from "../../shared/descheduling/policy-file/parse-descheduler-policy.ts";
import { type CycleReport, type CycleWorld, runCycle } from "../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulerPolicy } from "../../shared/descheduling/cycle/policy.ts";
import { interpretAnswer } from "../../shared/descheduling/cycle/eviction-answer.ts";
import { isDue } from "../../shared/descheduling/cycle/register.ts";
import { CYCLE_ENDS } from "../../shared/descheduling/cycle/request.ts";
import type { Step, StepResult } from "../../shared/descheduling/cycle/step.ts";
import { keyOf } from "../../shared/policy/facts.ts";
import { DESCHEDULER_POLICY } from "./corpus.ts";
import { node, pod, register } from "./descheduling-facts.ts";
import { expect } from "./expectations.ts";
import { mutated } from "./json-mutations.ts";
import { budget } from "./policy-budgets.ts";
import * as any from "./policy-facts.ts";
import { frozen, type Property, property } from "./property.ts";
import { now, number } from "./policy-words.ts";
import { Random } from "./random.ts";

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
const CHANGED = Array.from({ length: 200 }, (_, seed) => {
  return JSON.stringify(mutated(DESCHEDULER_POLICY, new Random(seed), seed === 0 ? 0 : 1));
});
const [known, changed] = await Promise.all(
  [FILES, CHANGED].map(async (texts) => (await Promise.all(texts.map(parsed))).flat()),
);
const policy = fc.oneof(fc.constantFrom(...(known ?? [])), fc.constantFrom(...(changed ?? [])));

const byKey = <T>(arbitrary: fc.Arbitrary<T>, keys: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...keys), arbitrary, { maxKeys: 2 }).map((found) => new Map(Object.entries(found)));

const world = fc.record({
  policy,
  nodes: fc.uniqueArray(node, { maxLength: 4, selector: ({ name }) => name }),
  pods: fc.uniqueArray(pod, { maxLength: 6, selector: ({ uid }) => uid }),
  vmis: fc.array(any.vmi, { maxLength: 3 }).map((vmis) => new Map(vmis.map((vmi) => [keyOf(vmi), vmi]))),
  namespaces: byKey(any.labels, ["vms", "apps"]),
  budgets: byKey(fc.array(budget, { maxLength: 2 }), ["vms", "apps"]),
  storageClasses: byKey(fc.string(), ["vms/disk", "apps/disk"]),
  priorityClasses: byKey(number, ["high"]),
  register,
  inBackground: fc.boolean(),
  claimed: fc.boolean(),
  now,
  until: now,
});

/** What becomes of the steps, again and again. */
const fates = fc.record({
  acts: fc.array(fc.constantFrom("Done", "Done", "Done", "Done", "Conflict", "Refused", "Failed"), {
    minLength: 1,
    maxLength: 9,
  }),
  evicts: fc.array(fc.constantFrom("Background", "Background", "Evicted", "Gone", "Refused", "Unknown"), {
    minLength: 1,
    maxLength: 9,
  }),
  reads: fc.array(fc.option(register, { nil: undefined }), { minLength: 1, maxLength: 3 }),
  seconds: fc.constantFrom(0, 0, 1, 600),
});

type Fates = typeof fates extends fc.Arbitrary<infer T> ? T : never;

/** No cycle over six pods takes more. */
const MOST_STEPS = 500;

function fateOf(step: Step, i: number, { acts, evicts, reads }: Fates, now: Date): StepResult {
  switch (step.step) {
    case "Write":
    case "Act":
      return { step: step.step, outcome: acts[i % acts.length] ?? "Done", now };
    case "Evict":
      return { step: "Evict", outcome: evicts[i % evicts.length] ?? "Gone", now };
    case "Read": {
      const found = reads[i % reads.length];
      return { step: "Read", now, ...(found === undefined ? {} : { register: found }) };
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
    next = cycle.next(fateOf(next.value, steps.length, how, now));
  }
  return { steps, report: next.value };
}

/** Whom a step is about. */
function uidOf(step: Step): string | undefined {
  if (step.step === "Evict") return step.nominated.pod.uid;
  return step.step === "Act" && step.action.verb === "AnnotatePod" ? step.action.pod.uid : undefined;
}

export const DESCHEDULING_PROPERTIES: readonly Property[] = [
  property("a descheduling cycle ends, and asks for what is there, once", fc.tuple(world, fates), ([given, how]) => {
    frozen([given.nodes, given.pods, given.vmis, given.register, given.budgets]);
    const { steps, report } = course(given, how);
    deepStrictEqual(course(given, how), { steps, report });
    expect(CYCLE_ENDS.includes(report.ended), report.ended);
    const known = new Set(given.pods.map(({ uid }) => uid));
    expect(
      steps.flatMap((step) => uidOf(step) ?? []).every((uid) => known.has(uid)),
      "a pod that is not there",
    );
    const asked = steps.flatMap((step) => (step.step === "Evict" ? [step.nominated.pod.uid] : []));
    expect(new Set(asked).size === asked.length, "a pod is asked for twice");
    const accepted = report.nominations.filter(({ result }) => result === "Evicted" || result === "Background");
    expect(accepted.length <= (given.policy.limits.evictionsTotal ?? Infinity), "more than the limit");
  }),
  property(
    "an answer to an eviction means something",
    fc.tuple(fc.integer({ min: 200, max: 599 }), fc.string(), fc.array(fc.string())),
    ([code, message, prefixes]) => {
      const outcome = interpretAnswer({ code, message }, prefixes);
      expect(["Evicted", "Background", "Gone", "Refused", "Unknown"].includes(outcome), outcome);
    },
  ),
  property(
    "a cycle is due or not",
    fc.tuple(register, fc.double({ min: 0, max: 604_800, noNaN: true }), now),
    ([found, seconds, now]) => {
      expect(!isDue(found, 0, now), "due though it never is");
      expect(typeof isDue(found, seconds, now) === "boolean", "neither");
    },
  ),
];
