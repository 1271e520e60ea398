/** Descheduling for administrators, rendered as Markdown. */
import { type NominationResult, VERDICT } from "../../../../shared/descheduling/cycle/cycle.ts";
import { type LimitName, LIMITS, VERDICT_AT_LIMIT } from "../../../../shared/descheduling/cycle/limits.ts";
import type { Verdict } from "../../../../shared/descheduling/plugins/plugin.ts";
import { EVICTION_OUTCOMES } from "../../../../shared/descheduling/cycle/eviction-answer.ts";
import { CYCLE_ENDS, type CycleEnd } from "../../../../shared/descheduling/cycle/request.ts";
import { code, renderTable } from "./tables.ts";

const LIMIT_WORDS = {
  evictionsTotal: ["maxNoOfPodsToEvictTotal", "pods evicted in the cycle and evacuations in progress, together"],
  evictionsPerNode: ["maxNoOfPodsToEvictPerNode", "the same, from the pod's node"],
  evictionsPerNamespace: ["maxNoOfPodsToEvictPerNamespace", "the same, of the pod's namespace"],
  evacuationsPerNode: [
    "maxNoOfPodsEvacuationsPerNode",
    "evacuations in progress from the pod's node; binds evacuations only",
  ],
  evacuationsPerNamespace: ["maxNoOfPodsEvacuationsPerNamespace", "the same, of the pod's namespace"],
} as const satisfies Record<LimitName, readonly [key: string, counts: string]>;

const VERDICT_WORDS = {
  Accepted: "counts the pod as gone",
  NodeLimit: "leaves the node alone",
  TotalLimit: "ends",
  Skipped: "continues with the next pod",
} as const satisfies Record<Verdict, string>;

export function limitTable(): string {
  const rows = LIMITS.map((limit) => {
    const [key, counts] = LIMIT_WORDS[limit];
    return [code(key), counts, code(limit), VERDICT_WORDS[VERDICT_AT_LIMIT[limit]]];
  });
  return renderTable([["limit", "counts", "skipped, because", "the plugin"], ...rows]);
}

const RESULTS = [...EVICTION_OUTCOMES, "InProgress", "PodChanged", "BackingOff", "MovedRecently"] as const;

const RESULT_WORDS = {
  Evicted: "the eviction was granted",
  Background: "its Evacuation was created, or a 429 with a known prefix: it is evacuated",
  Refused: "any other answer; the request is withdrawn",
  Gone: "the pod was gone",
  Unknown: "no answer: counts as requested until the request expires",
  InProgress: "its evacuation was in progress: not requested again",
  PodChanged: "another client changed the pod, or was first: the next cycle looks again",
  BackingOff: "its VM's last evacuation ended without a move, and its back-off is not over",
  MovedRecently: "its VM moved less than `evacuation.cooldownSeconds` ago",
} as const satisfies Record<Exclude<NominationResult, LimitName>, string>;

export function resultTable(): string {
  const rows = RESULTS.map((result) => [code(result), RESULT_WORDS[result], VERDICT_WORDS[VERDICT[result]]]);
  return renderTable([["result", "means", "the plugin"], ...rows]);
}

const END_WORDS = {
  Finished: "no plugin nominates another pod",
  AnotherCycle: "another cycle runs at the same time, or died less than 300 s ago; this one gave way",
  ClusterUnavailable: "what must come before a request failed",
  OutOfTime: "a cycle has 220 s; the next one continues",
} as const satisfies Record<CycleEnd, string>;

export function cycleEndTable(): string {
  return renderTable([["ended", "because"], ...CYCLE_ENDS.map((end) => [code(end), END_WORDS[end]])]);
}
