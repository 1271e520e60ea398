/**
 * What every descheduling cycle keeps to, whatever the cluster, the policy and what becomes of its steps: it ends, it asks only for pods
 * that are there, each once, and within its limits.
 */
import { deepStrictEqual } from "node:assert/strict";
import * as fc from "fast-check";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";
import { type CycleReport, type CycleWorld, runCycle } from "../../../shared/descheduling/cycle/cycle.ts";
import type { DeschedulerPolicy } from "../../../shared/descheduling/cycle/policy.ts";
import { CYCLE_ENDS, interpretAnswer } from "../../../shared/descheduling/cycle/request.ts";
import { DESCHEDULER_POLICY } from "../../support/generators/clusters.ts";
import { mutated } from "../../support/generators/json.ts";
import { cycleWorld } from "../../support/generators/worlds.ts";
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
  fileWith({ podProtections: { extraEnabled: ["PodsWithPVC"] } }, { maxNoOfPodsEvacuationsPerNode: 1 }),
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
const MOST_REQUESTS = 500;

interface Course {
  /** UIDs of the pods that are written to, and of those that are asked to go. */
  readonly written: readonly string[];
  readonly asked: readonly string[];
  readonly report: CycleReport;
}

async function course(given: CycleWorld, { acts, evicts, looks, seconds }: Fates): Promise<Course> {
  const written: string[] = [];
  const asked: string[] = [];
  let requests = 0;
  const next = <T>(outcomes: readonly T[], otherwise: T): T => {
    requests += 1;
    expect(requests < MOST_REQUESTS, "a cycle without an end");
    return outcomes[requests % outcomes.length] ?? otherwise;
  };
  const report = await runCycle(given, {
    now: () => new Date(given.now.getTime() + requests * seconds * 1000),
    act: async (action) => {
      if (action.verb === "CreateEvacuation") asked.push(action.evacuation.spec.pod?.uid ?? "");
      if (action.verb === "AnnotatePod") written.push(action.pod.uid);
      return next(acts, "Done");
    },
    withdraw: async () => next(acts, "Done"),
    evacuationsOf: async () => {
      const look = next(looks, "Nothing");
      if (look === "Failed") return undefined;
      return look === "Known" ? given.evacuations : [];
    },
    evict: async ({ pod }) => {
      asked.push(pod.uid);
      return next(evicts, "Gone");
    },
  });
  return { written, asked, report };
}

export const DESCHEDULING_PROPERTIES: readonly Property[] = [
  property(
    "a descheduling cycle ends, and asks for what is there, once",
    fc.tuple(cycleWorld, policy, fates),
    async ([found, policy, how]) => {
      const given = { ...found, policy };
      frozen([given.nodes, given.pods, given.vmis, given.evacuations]);
      const { written, asked, report } = await course(given, how);
      deepStrictEqual(await course(given, how), { written, asked, report });
      expect(CYCLE_ENDS.includes(report.ended), report.ended);
      const known = new Set(given.pods.map(({ uid }) => uid));
      expect(
        [...written, ...asked].every((uid) => known.has(uid)),
        "a pod that is not there",
      );
      expect(new Set(asked).size === asked.length, "a pod is asked for twice");
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
