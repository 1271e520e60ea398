/** The policy as a document for administrators: its tables, rendered as Markdown. */
import { EVENT_TYPES } from "../../../../shared/policy/action.ts";
import { type Posture, WHEN_BLIND } from "../../../../shared/policy/blind.ts";
import { isMadeUrgent } from "../../../../shared/policy/evacuation/mark.ts";
import { desiredBudget } from "../../../../shared/policy/budget/budget.ts";
import { CAUSE, type Cause, CAUSES } from "../../../../shared/policy/cause.ts";
import {
  EVICTION_STRATEGIES,
  type EvictionStrategy,
  FIRST_REQUEST,
  type FirstAnswer,
  LATER_REQUEST,
  type LaterAnswer,
  type Mobility,
} from "../../../../shared/policy/eviction/eviction-table.ts";
import type { VmiFacts } from "../../../../shared/policy/facts.ts";
import { MESSAGE } from "../../../../shared/policy/eviction/messages.ts";
import type { Phase } from "../../../../shared/policy/evacuation/phase.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/policy/settings.ts";

type Table = readonly (readonly string[])[];

/** First row: the head. */
export function renderTable([head = [], ...rows]: Table): string {
  const line = (row: readonly string[]) => `| ${head.map((_, at) => row[at] ?? "").join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const MOBILITIES = ["migratable", "pinned"] as const satisfies readonly Mobility[];
export const CAN_MIGRATE = { migratable: "yes", pinned: "no" } as const satisfies Record<Mobility, string>;

export const CELLS = EVICTION_STRATEGIES.flatMap((strategy) => MOBILITIES.map((mobility) => ({ strategy, mobility })));

export function code(text: string): string {
  return `\`${text}\``;
}

export function sample(strategy: EvictionStrategy, mobility: Mobility): VmiFacts {
  return {
    namespace: "ns",
    name: "name",
    uid: "uid",
    resourceVersion: "1",
    deleting: false,
    phase: "Running",
    evictionStrategy: strategy,
    nodeName: "node",
    liveMigratable: mobility === "migratable" ? { migratable: true } : { migratable: false, reason: "<reason>" },
    activePods: {},
    isMigrating: false,
    hasLabels: true,
    hasAnnotations: true,
  };
}

const FIRST_WORDS = {
  allow: () => ["no", "allowed"],
  evacuate: (vmi) => ["yes", `429 ${code(MESSAGE.EvacuationTriggered(vmi))}`],
  refuse: (vmi) => ["no", `429 ${code(MESSAGE.NotMigratable(vmi, vmi.evictionStrategy ?? ""))}`],
  shutdown: (vmi) => ["no", `allowed, with the warning ${code(MESSAGE.ShutdownByStrategy(vmi))}`],
} as const satisfies Record<FirstAnswer, (vmi: VmiFacts) => readonly [mark: string, answer: string]>;

const MARK_WORDS = {
  OfRequest: "KubeVirt's webhook, of itself: it reviews the same request",
  Asked: "KubeVirt's webhook, on the eviction that Lifeboat asks for",
  NotNeeded: "none: KubeVirt migrates every VM off such a node",
} as const satisfies Record<(typeof CAUSE)[Cause]["mark"], string>;

export function marksTable(): string {
  return renderTable([["cause", "who marks"], ...CAUSES.map((cause) => [cause, MARK_WORDS[CAUSE[cause].mark]])]);
}

export function firstRequestTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    const words = FIRST_WORDS[FIRST_REQUEST[strategy][mobility]](sample(strategy, mobility));
    return [strategy, CAN_MIGRATE[mobility], ...words];
  });
  return renderTable([["strategy", "can migrate", "evacuated", "answer"], ...rows]);
}

const IN_PROGRESS = `429 ${code(MESSAGE.EvacuationInProgress(sample("LiveMigrate", "migratable")))}`;

const LATER_WORDS = {
  first: "as a first request",
  inProgress: IN_PROGRESS,
  unlessMigrating: `while a migration is unfinished ${IN_PROGRESS}; else unmarked, and as a first request`,
} as const satisfies Record<LaterAnswer, string>;

export function laterRequestTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    return [strategy, CAN_MIGRATE[mobility], LATER_WORDS[LATER_REQUEST[strategy][mobility]]];
  });
  return renderTable([["strategy", "can migrate", "answer"], ...rows]);
}

/** Strategy External. */
export function ownerTable(): string {
  const { WaitsForOwner: waits } = MESSAGE;
  const budget = "creates none and deletes none; where budgets are made, the VM's is 2";
  return renderTable([
    ["its external controller", "the Evacuation", "the answer adds", "Lifeboat"],
    ["has done nothing yet", "WaitingForOwner", code(`; ${waits}`), "waits for as long as the mark is there"],
    ["has created a migration", "Migrating; which one, Queued or Running", code("; migration NAME …"), budget],
    [
      "tried in vain",
      "WaitingForOwner, and why",
      code(`; ${waits}; migration NAME has failed: …`),
      "counts no attempt, gives nothing up",
    ],
    ["has moved it, or shut it down", "Moved, or Gone", "as a first request, or allowed", "as after any evacuation"],
  ]);
}

export function budgetTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    const sizes = [false, true].map((is) => desiredBudget(sample(strategy, mobility), is, DEFAULT_SETTINGS));
    return [strategy, CAN_MIGRATE[mobility], ...sizes.map((size) => String(size ?? "none"))];
  });
  return renderTable([["strategy", "can migrate", "at rest", "an evacuation or a migration is unfinished"], ...rows]);
}

export const PHASE_WORDS = {
  Pending: "the VM is marked, or about to be; its migration has not begun",
  Migrating:
    "a migration of the VM is unfinished; `reason` says whether it waits in KubeVirt's queue, waits for virt-controller, or runs",
  BackingOff: "an attempt has failed; the next one begins at `nextAttemptTime`",
  WaitingForOwner: "the eviction strategy is External: the VM is marked, and its owner moves it",
  Blocked: "the VM cannot be migrated; `reason` is KubeVirt's",
  Moved: "the VM has left the pod; `targetNode` says where it runs now",
  Abandoned: "every attempt has failed, or the VM cannot be moved at all; the mark has been removed",
  Withdrawn: "the request was withdrawn: `spec.intent`, the mark, or the taint that it was for",
  Duplicate: "an older Evacuation of the same pod is active",
  Gone: "the VM has ended, or there is none of that name",
} as const satisfies Record<Phase, string>;

export function phaseTable(phases: readonly Phase[]): string {
  return renderTable([["phase", "means"], ...phases.map((phase) => [phase, PHASE_WORDS[phase]])]);
}

const CAUSE_WORDS = {
  ApiEviction: "an eviction of the pod was asked for, as `kubectl drain` does",
  Descheduler: "a descheduler asked to evict the pod",
  Preemption: "the scheduler deletes the pod for one of higher priority",
  NoExecuteTaint: "the taint manager deletes the pod from a tainted node",
  NodePressure: "the node runs out of memory, disk or processes",
  DrainTaint: "the node carries the drain taint of the KubeVirt CR",
  Operator: "a person or a program created the Evacuation, or asked Lifeboat to",
  NodeTermination: "the node is about to end: Karpenter, or what is configured like it, deletes the pod",
} as const satisfies Record<Cause, string>;

export function causeTable(): string {
  return renderTable([
    ["cause", "because", "urgency"],
    ...CAUSES.map((cause) => [cause, CAUSE_WORDS[cause], CAUSE[cause].urgency]),
  ]);
}

const POSTURE_WORDS = {
  refuse: "429: the caller tries again",
  fail: "503, without `Retry-After`",
  allow: "allowed",
} as const satisfies Record<Posture, string>;

const BLIND_WORDS = {
  evictionOfLivePod: [
    "eviction of a pod that has just been read: a launcher pod that has not ended, or a hotplug pod",
    WHEN_BLIND.evictionOfLivePod,
    "a guest runs in it, and only what else matters could not be learnt",
  ],
  evictionOfLivePodForGood: [
    "the same, and what else matters cannot be learnt at all: Lifeboat lacks a permission (403), or the API server serves no such kind (404)",
    WHEN_BLIND.evictionOfLivePodForGood,
    "tried again it would be refused for ever, also a pod that may go",
  ],
  evictionOfOtherPod: [
    "eviction of a pod that has just been read, and that has ended or is none of KubeVirt's",
    WHEN_BLIND.evictionOfOtherPod,
    "no guest runs in it, whatever else is so",
  ],
  evictionOfUnknownPod: [
    "eviction of a pod that could not be read",
    WHEN_BLIND.evictionOfUnknownPod,
    "the webhook's own `failurePolicy` decides, as when Lifeboat is down; KubeVirt's webhook and the budgets go on",
  ],
  deletionBeforeDeadline: [
    "deletion of a pod whose deadline, as the request itself shows it, is yet to come",
    WHEN_BLIND.deletionBeforeDeadline,
    "the scheduler and the taint manager ask no budget: only the guard stands between them and the VM",
  ],
  deletionOtherwise: [
    "any other deletion",
    WHEN_BLIND.deletionOtherwise,
    "a pod of higher priority never waits longer than the deadline",
  ],
  delivery: ["what the relay delivers", WHEN_BLIND.delivery, "the relay sends all of it again"],
} as const satisfies Record<keyof typeof WHEN_BLIND, readonly [request: string, posture: Posture, because: string]>;

export function blindTable(): string {
  const rows = Object.values(BLIND_WORDS).map(([request, posture, because]) => {
    return [request, POSTURE_WORDS[posture], because];
  });
  return renderTable([["request", "answer", "because"], ...rows]);
}

export function eventTable(): string {
  return renderTable([["reason", "type"], ...Object.entries(EVENT_TYPES)]);
}

export function convergenceTable(): string {
  const vmi = sample("LiveMigrate", "migratable");
  const { maxAttempts } = DEFAULT_SETTINGS.evacuation;
  const rows = [false, true].map((isGentle) => {
    const after = (attempts: number) =>
      isMadeUrgent({ ...vmi, isGentle }, attempts, DEFAULT_SETTINGS) ? "urgent" : "as before";
    return [isGentle ? "`convergence: gentle`" : "any other", after(1), after(maxAttempts - 1)];
  });
  return renderTable([["VM", "the first has failed", "the last but one has"], ...rows]);
}
