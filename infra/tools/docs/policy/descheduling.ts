/**
 * Descheduling for administrators, rendered as Markdown: the section of POLICY.md.
 * Owns: the words for limits, results and ends of a cycle. Does not own: the cells and lists; they are read from the policy.
 */
import { type NominationResult, VERDICT } from "../../../../shared/descheduling/cycle/cycle.ts";
import { type LimitName, LIMITS, VERDICT_AT_LIMIT } from "../../../../shared/descheduling/cycle/limits.ts";
import type { Verdict } from "../../../../shared/descheduling/plugins/plugin.ts";
import { EVICTION_OUTCOMES } from "../../../../shared/descheduling/cycle/eviction-answer.ts";
import { CYCLE_ENDS, type CycleEnd } from "../../../../shared/descheduling/cycle/request.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/policy/settings.ts";
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
  Skipped: "goes on with the next pod",
} as const satisfies Record<Verdict, string>;

function limitTable(): string {
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

function resultTable(): string {
  const rows = RESULTS.map((result) => [code(result), RESULT_WORDS[result], VERDICT_WORDS[VERDICT[result]]]);
  return renderTable([["result", "means", "the plugin"], ...rows]);
}

const END_WORDS = {
  Finished: "no plugin nominates another pod",
  AnotherCycle: "another cycle runs at the same time, or died less than 300 s ago; this one gave way",
  ClusterUnavailable: "what must come before a request failed",
  OutOfTime: "a cycle has 220 s; the next one goes on",
} as const satisfies Record<CycleEnd, string>;

function cycleEndTable(): string {
  return renderTable([["ended", "because"], ...CYCLE_ENDS.map((end) => [code(end), END_WORDS[end]])]);
}

export function section(): string {
  return `## Descheduling

A cycle of the descheduler, by its own policy file (ConfigMap \`lifeboat-descheduler\`), with the gate \`EvictionsInBackground\`. It asks
for a pod in one of two forms (KEP-1397):

- **A VM that is to move** gets an Evacuation (cause Descheduler). It is in progress as long as one exists that has not ended, whatever
  asked for it. The next cycle withdraws its own ones that have not begun to migrate: those that no plugin wants any more, and those older
  than \`maxEvacuationRequestTTL\`. They count until they have ended.
- **Every other pod** is evicted by the eviction API, a VM that may be shut down too. One with \`request-evict-only\` is in progress from the request on, until the
  pod is gone, the request is refused or \`maxEvacuationRequestTTL\` is over; once \`eviction-in-progress\` on the pod confirms it, until
  that goes.

What is in progress counts from the start of a cycle, is nominated first, and is not requested again. The target of a migration is
never nominated, nor is a launcher pod that has ended. A VM that moved less than ${DEFAULT_SETTINGS.evacuation.cooldownSeconds} s ago (\`evacuation.cooldownSeconds\`), and one whose last evacuation ended without
a move and backs off, is skipped.

${limitTable()}

What becomes of each nomination:

${resultTable()}

How a cycle ends:

${cycleEndTable()}

Of cycles at the same time only one requests: it holds the Lease \`lifeboat-descheduling\` (\`lifeboat-system\`), which lasts longer than
a cycle does. One that dies keeps the others waiting until its Lease expires, five minutes after it began. With the gate off a cycle is the
descheduler's without its own gate: every 429 is a failure, and nothing is in progress.
`;
}
