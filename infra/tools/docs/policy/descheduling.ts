/** Descheduling for administrators, rendered as Markdown. */
import { type NominationResult, VERDICT } from "../../../../shared/descheduling/cycle/cycle.ts";
import type { LimitName } from "../../../../shared/descheduling/cycle/limits.ts";
import type { Verdict } from "../../../../shared/descheduling/plugins/plugin.ts";
import { CYCLE_ENDS, type CycleEnd, EVICTION_OUTCOMES } from "../../../../shared/descheduling/cycle/request.ts";
import { code, renderTable } from "./tables.ts";

const VERDICT_WORDS = {
  Accepted: "counts the pod as gone",
  NodeLimit: "leaves the node alone",
  TotalLimit: "ends",
  Skipped: "continues with the next pod",
} as const satisfies Record<Verdict, string>;

const RESULTS = [...EVICTION_OUTCOMES, "InProgress", "PodChanged", "BackingOff", "MovedRecently"] as const;

const RESULT_WORDS = {
  Evicted: "the eviction was granted",
  Background: "its Evacuation was created, or the 429 has a known prefix",
  Refused: "any other answer; the request is withdrawn",
  Gone: "the pod was gone",
  Unknown: "no answer: counts as requested until the request expires",
  InProgress: "its evacuation was in progress; it is not requested again",
  PodChanged: "another client changed the pod: the next cycle reads it again",
  BackingOff: "its VM's last evacuation ended without a move, and its back-off is not over",
  MovedRecently: "its VM moved less than `evacuation.cooldownSeconds` ago",
} as const satisfies Record<Exclude<NominationResult, LimitName>, string>;

export function resultTable(): string {
  const rows = RESULTS.map((result) => [code(result), RESULT_WORDS[result], VERDICT_WORDS[VERDICT[result]]]);
  return renderTable([["result", "means", "the plugin"], ...rows]);
}

const END_WORDS = {
  Finished: "no plugin nominates another pod",
  AnotherCycle: "another cycle runs, or died less than 300 s ago",
  ClusterUnavailable: "a read or write that must come before a request failed",
  OutOfTime: "a cycle has 220 s; the next one continues",
} as const satisfies Record<CycleEnd, string>;

export function cycleEndTable(): string {
  return renderTable([["ended", "because"], ...CYCLE_ENDS.map((end) => [code(end), END_WORDS[end]])]);
}
