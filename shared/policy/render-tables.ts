/**
 * The policy as a document for administrators: its tables, rendered as Markdown.
 * Owns: the words around the cells, and what each cell means. Does not own: the cells; they are read from the tables, or
 * from the functions that decide. POLICY.md is this text: `npx vitest run test/policy -u` writes it.
 */
import { STORY_REASONS, STORY_TYPE } from "./action.ts";
import { WHEN_BLIND } from "./blind.ts";
import { desiredBudget } from "./budget.ts";
import { CAUSES, type Cause, URGENCY } from "./cause.ts";
import { type FirstAnswer, FIRST_REQUEST, IN_PROGRESS, LATER_REQUEST, type LaterAnswer } from "./eviction-table.ts";
import type { VmiFacts } from "./facts.ts";
import { MESSAGE } from "./messages.ts";
import { backoffSeconds } from "./record.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";
import { STAGE_MEANING } from "./stage-meaning.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy, type Mobility } from "./strategy.ts";

type Table = readonly (readonly string[])[];

/** First row: the head. Columns are padded, so that the text reads as well as the page. */
export function renderTable([head = [], ...rows]: Table): string {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => (row[i] ?? "").length)));
  const line = (row: readonly string[]) => `| ${widths.map((w, i) => (row[i] ?? "").padEnd(w)).join(" | ")} |`;
  return [line(head), `| ${widths.map((w) => "-".repeat(w)).join(" | ")} |`, ...rows.map(line)].join("\n");
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
    hasLabels: true,
    hasAnnotations: true,
  };
}

const FIRST_WORDS = {
  allow: () => ["no", "let through"],
  evacuate: (vmi) => ["yes", `429 ${code(MESSAGE.EvacuationTriggered(vmi))}`],
  refuse: (vmi) => ["no", `429 ${code(MESSAGE.NotMigratable(vmi, vmi.evictionStrategy ?? ""))}`],
  shutdown: (vmi) => ["no", `let through, with the warning ${code(MESSAGE.ShutdownByStrategy(vmi))}`],
} as const satisfies Record<FirstAnswer, (vmi: VmiFacts) => readonly [mark: string, answer: string]>;

export function firstRequestTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    const words = FIRST_WORDS[FIRST_REQUEST[strategy][mobility]](sample(strategy, mobility));
    return [strategy, CAN_MIGRATE[mobility], ...words];
  });
  return renderTable([["strategy", "can migrate", "marked", "answer"], ...rows]);
}

const PROGRESS_WORDS = {
  deny: () => `429 ${code(MESSAGE.EvacuationInProgress(sample("LiveMigrate", "migratable")))}`,
  byBudget: () => "let through if a budget refuses it anyway, else 429 as with the gate",
} as const satisfies Record<(typeof IN_PROGRESS)[keyof typeof IN_PROGRESS], () => string>;

function laterWords(answer: LaterAnswer, gate: keyof typeof IN_PROGRESS): string {
  switch (answer) {
    case "first":
      return "as a first request";
    case "inProgress":
      return PROGRESS_WORDS[IN_PROGRESS[gate]]();
    case "unlessMigrating":
      return `while a migration runs: ${PROGRESS_WORDS[IN_PROGRESS[gate]]()}; else unmarked, and as a first request`;
  }
}

export function laterRequestTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    const answer = LATER_REQUEST[strategy][mobility];
    const answers = (["withoutDeschedulerSupport", "DeschedulerSupport"] as const).map((g) => laterWords(answer, g));
    return [strategy, CAN_MIGRATE[mobility], ...answers];
  });
  const head = ["strategy", "can migrate", "without `DeschedulerSupport`", "with `DeschedulerSupport`"];
  return renderTable([head, ...rows]);
}

function budgetSize(vmi: VmiFacts, migrating: boolean): string {
  const given = { tainted: new Set<string>(), settings: DEFAULT_SETTINGS, now: new Date(0) };
  return String(desiredBudget(vmi, migrating, given) ?? "none");
}

export function budgetTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    const vmi = sample(strategy, mobility);
    const marked = { ...vmi, ...(vmi.nodeName !== undefined && { evacuationNodeName: vmi.nodeName }) };
    const sizes = [budgetSize(vmi, false), budgetSize(marked, false), budgetSize(vmi, true)];
    return [strategy, CAN_MIGRATE[mobility], ...sizes];
  });
  return renderTable([["strategy", "can migrate", "at rest", "is to leave its node", "migrating"], ...rows]);
}

export function stageTable(): string {
  const rows = Object.entries(STAGE_MEANING).map(([stage, { means, done }]) => [stage, means, done]);
  return renderTable([["stage", "the VM", "what Lifeboat does"], ...rows]);
}

const CAUSE_WORDS = {
  ApiEviction: "somebody asked to evict the pod, such as `kubectl drain`",
  Descheduler: "the descheduler did",
  Preemption: "the scheduler deletes the pod for one of higher priority",
  NoExecuteTaint: "the taint manager deletes the pod from a tainted node",
  NodePressure: "the node runs out of memory, disk or processes",
  DrainTaint: "the node carries the drain taint of the KubeVirt CR",
  Operator: "an operator of Lifeboat asked for it",
} as const satisfies Record<Cause, string>;

export function causeTable(): string {
  return renderTable([
    ["cause", "because", "urgency"],
    ...CAUSES.map((cause) => [cause, CAUSE_WORDS[cause], URGENCY[cause]]),
  ]);
}

const BLIND_WORDS = {
  deny: "refuses with 429: the caller comes again, and no VM dies of our blindness",
  denyUntilDeadline: "refuses with 429 until the deadline that the request itself shows, then lets go",
  retry: "answers 503: the sender sends all of it again",
  fail: "says what is wrong, with a code that says whose fault it is",
  skip: "does nothing: the next tick looks again",
} as const satisfies Record<(typeof WHEN_BLIND)[keyof typeof WHEN_BLIND], string>;

export function blindTable(): string {
  return renderTable([
    ["door", "when it cannot learn the facts"],
    ...Object.entries(WHEN_BLIND).map(([door, posture]) => [door, BLIND_WORDS[posture]]),
  ]);
}

export function eventTable(): string {
  return renderTable([["reason", "type"], ...STORY_REASONS.map((reason) => [reason, STORY_TYPE[reason]])]);
}

/** "20 s, 40 s, …": what is waited after each failed attempt. */
export function backoffSteps(): string {
  const { maxAttempts } = DEFAULT_SETTINGS.evacuation;
  return Array.from({ length: maxAttempts }, (_, i) => `${backoffSeconds(i + 1, DEFAULT_SETTINGS)} s`).join(", ");
}
