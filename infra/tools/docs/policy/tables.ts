/** Renders the tables of POLICY.md, except the tables about the guard and node pressure. */
import { EVENT_TYPES } from "../../../../shared/kube/action.ts";
import { type Posture, WHEN_UNDECIDED } from "../../../../shared/settings/failure-posture.ts";
import { needsBudget } from "../../../../shared/budget/budget.ts";
import { CAUSE, type Cause, CAUSES } from "../../../../shared/kube/evacuation.ts";
import {
  FIRST_REQUEST,
  type FirstAnswer,
  isToMove,
  LATER_REQUEST,
  type LaterAnswer,
  type Mobility,
} from "../../../../shared/eviction/table.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy } from "../../../../shared/settings/strategy.ts";
import { PLAIN } from "../../../../shared/kube/guest.ts";
import type { VmiFacts } from "../../../../shared/kube/facts.ts";
import { MESSAGE } from "../../../../shared/eviction/messages.ts";
import { shouldEvacuate } from "../../../../shared/pressure/pressure.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/settings/settings.ts";

type Table = readonly (readonly string[])[];

/** Renders a Markdown table. The first row is the table's head. */
export function renderTable([head = [], ...rows]: Table): string {
  const line = (row: readonly string[]) => `| ${head.map((_, at) => row[at] ?? "").join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const MOBILITIES = ["migratable", "pinned"] as const satisfies readonly Mobility[];
const CAN_MIGRATE = { migratable: "yes", pinned: "no" } as const satisfies Record<Mobility, string>;

export function code(text: string): string {
  return `\`${text}\``;
}

function sample(strategy: EvictionStrategy, mobility: Mobility): VmiFacts {
  return {
    namespace: "ns",
    name: "name",
    uid: "uid",
    resourceVersion: "1",
    deleting: false,
    phase: "Running",
    evictionStrategy: strategy,
    nodeName: "node",
    asks: PLAIN,
    liveMigratable: mobility === "migratable" ? { migratable: true } : { migratable: false, reason: "<reason>" },
    activePods: {},
    isMigrating: false,
    hasLabels: true,
    hasAnnotations: true,
  };
}

const MARK_WORDS = {
  OfRequest: "KubeVirt's webhook, which reviews the same eviction",
  Asked: "KubeVirt's webhook, because Lifeboat requests an eviction",
  NotNeeded: "nobody: KubeVirt migrates every VM off a node with the drain taint",
} as const satisfies Record<(typeof CAUSE)[Cause]["mark"], string>;

export function causeTable(): string {
  const rows = Object.entries(MARK_WORDS).map(([mark, words]) => {
    const causes = CAUSES.filter((cause) => CAUSE[cause].mark === mark);
    return [words, causes.map((cause) => (CAUSE[cause].urgency === "urgent" ? `${cause} (urgent)` : cause)).join(", ")];
  });
  return renderTable([["who marks", "causes"], ...rows]);
}

const FIRST_WORDS = {
  allow: "allowed",
  evacuate: "evacuated",
  refuse: "refused",
  shutdown: "shut down",
} as const satisfies Record<FirstAnswer, string>;

const LATER_WORDS = {
  first: "the same",
  inProgress: "in progress",
  unlessMigrating:
    "in progress while a migration is unfinished; otherwise the mark is removed, and the VM is shut down",
} as const satisfies Record<LaterAnswer, string>;

/**
 * Renders a table with Lifeboat's behavior for each eviction strategy. Merges the rows of a strategy if they are equal.
 */
export function strategyTable(): string {
  const rows = EVICTION_STRATEGIES.flatMap((strategy) => {
    const [movable = [], pinned = []] = MOBILITIES.map((mobility) => cellsOf(strategy, mobility));
    if (movable.join() === pinned.join()) return [[strategy, "yes or no", ...movable]];
    return [
      [strategy, CAN_MIGRATE.migratable, ...movable],
      [strategy, CAN_MIGRATE.pinned, ...pinned],
    ];
  });
  const head = ["first eviction", "eviction of a marked VM", "budget", "deletion", "node pressure"];
  return renderTable([["strategy", "VM can migrate", ...head], ...rows]);
}

function cellsOf(strategy: EvictionStrategy, mobility: Mobility): readonly string[] {
  const vmi = sample(strategy, mobility);
  const [always, migrating] = [false, true].map((is) => needsBudget(vmi, is, DEFAULT_SETTINGS));
  return [
    FIRST_WORDS[FIRST_REQUEST[strategy][mobility]],
    LATER_WORDS[LATER_REQUEST[strategy][mobility]],
    always ? "yes" : migrating ? "while a migration is unfinished" : "none",
    isToMove(vmi, DEFAULT_SETTINGS) ? "refused" : "allowed",
    shouldEvacuate(vmi, DEFAULT_SETTINGS) ? "moves" : "stays",
  ];
}

export function answerTable(): string {
  const vmi = sample("LiveMigrate", "migratable");
  const pinned = sample("LiveMigrateIfPossible", "pinned");
  return renderTable([
    ["word above", "answer"],
    ["evacuated", `429 ${code(MESSAGE.EvacuationTriggered(vmi))}`],
    ["in progress", `429 ${code(MESSAGE.EvacuationInProgress(vmi))}`],
    ["refused", `429 ${code(MESSAGE.NotMigratable(sample("LiveMigrate", "pinned"), "LiveMigrate"))}`],
    ["shut down", `allowed, with the warning ${code(MESSAGE.ShutdownByStrategy(pinned))}`],
  ]);
}

const POSTURE_WORDS = {
  refuse: "429: the caller tries again",
  fail: "503",
  allow: "allowed",
} as const satisfies Record<Posture, string>;

const UNDECIDED_WORDS = {
  evictionOfLivePod: ["eviction of a pod in which a guest runs", WHEN_UNDECIDED.evictionOfLivePod],
  evictionOfLivePodForGood: [
    "eviction of a pod in which a guest runs, if Lifeboat lacks a permission (403) or the cluster lacks a kind (404)",
    WHEN_UNDECIDED.evictionOfLivePodForGood,
  ],
  evictionOfOtherPod: [
    "eviction of a pod that has ended, or that is not KubeVirt's",
    WHEN_UNDECIDED.evictionOfOtherPod,
  ],
  evictionOfOddPod: ["eviction of [an odd pod](#odd-objects)", WHEN_UNDECIDED.evictionOfOddPod],
  evictionOfUnknownPod: ["eviction of a pod that could not be read", WHEN_UNDECIDED.evictionOfUnknownPod],
  deletion: ["deletion by the scheduler, a manager of device taints or Karpenter", WHEN_UNDECIDED.deletion],
  delivery: ["a report of the relay (the relay sends it again)", WHEN_UNDECIDED.delivery],
} as const satisfies Record<keyof typeof WHEN_UNDECIDED, readonly [request: string, posture: Posture]>;

export function undecidedTable(): string {
  const rows = Object.values(UNDECIDED_WORDS).map(([request, posture]) => [request, POSTURE_WORDS[posture]]);
  return renderTable([["request", "answer"], ...rows]);
}

export function eventTable(): string {
  const warnings = Object.entries(EVENT_TYPES).flatMap(([reason, type]) => (type === "Warning" ? [code(reason)] : []));
  return renderTable([["reasons of Warning Events"], [warnings.join(", ")]]);
}
