/** The first request to evict the launcher pod of a VM that is not marked: strategy × migratable, cell by cell. */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../../shared/policy/eviction/eviction.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy, type Mobility } from "../../../shared/policy/strategy.ts";
import { budgetName } from "../../../shared/policy/budget/budget-name.ts";
import type { EvacuationFacts } from "../../../shared/policy/facts.ts";
import { decided, eviction, NAMED } from "./evictions.ts";
import {
  endedEvacuation,
  evacuation,
  MOBILITY,
  newborn,
  only,
  POD_NAME,
  POD_UID,
  settings,
  verbs,
  vmi,
  without,
} from "../fixtures.ts";

const TRIGGERED = `Eviction triggered evacuation of ${NAMED}`;
const PINNED = `${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable`;
const SHUTDOWN = `${NAMED} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: DisksNotLiveMigratable`;

interface Answer {
  readonly verdict: "Allow" | "Deny";
  readonly mark: boolean;
  readonly reason: string;
  /** Message of the refusal, or warning. */
  readonly text: string;
}

type Row = readonly [EvictionStrategy, Mobility, mark: "mark" | "-", "allow" | 429, reason: string, text: string];

// prettier-ignore
const rows: readonly Row[] = [
  // strategy                VMI is        mark?   answer   reason                 message or warning
  ["None",                  "migratable", "-",    "allow", "StrategyNone",        ""],
  ["None",                  "pinned",     "-",    "allow", "StrategyNone",        ""],
  ["LiveMigrate",           "migratable", "mark", 429,     "EvacuationTriggered", TRIGGERED],
  ["LiveMigrate",           "pinned",     "-",    429,     "NotMigratable",       PINNED],
  ["LiveMigrateIfPossible", "migratable", "mark", 429,     "EvacuationTriggered", TRIGGERED],
  ["LiveMigrateIfPossible", "pinned",     "-",    "allow", "ShutdownByStrategy",  SHUTDOWN],
  ["External",              "migratable", "mark", 429,     "EvacuationTriggered", TRIGGERED],
  ["External",              "pinned",     "mark", 429,     "EvacuationTriggered", TRIGGERED],
];

function answered(tweak: Partial<EvictionFacts>): Answer {
  const decision = decided(tweak);
  const text = decision.verdict === "Deny" ? decision.message : decision.warnings.join();
  const mark = only("Mark", decision.actions).length > 0;
  return { verdict: decision.verdict, mark, reason: decision.reason, text };
}

function expected([, , mark, answer, reason, text]: Row): Answer {
  const verdict = answer === "allow" ? "Allow" : "Deny";
  return { verdict, mark: mark === "mark", reason, text };
}

describe("first request", () => {
  test.each(rows)("%s, %s: %s, %s %s", (...row) => {
    const [evictionStrategy, mobility] = row;
    const facts = eviction({ vmi: vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] }) });
    expect(answered(facts)).toEqual(expected(row));
  });

  test.each(rows)("%s, %s: the same when the KubeVirt CR says so and the VM nothing", (...row) => {
    const [clusterStrategy, mobility] = row;
    const silent = without(vmi({ liveMigratable: MOBILITY[mobility] }), "evictionStrategy");
    expect(answered({ vmi: silent, settings: settings({ clusterStrategy }) })).toEqual(expected(row));
  });

  test.each(rows)("%s, %s: a mark for a node that the VM has left is no mark", (...row) => {
    const [evictionStrategy, mobility] = row;
    const stale = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility], evacuationNodeName: "node00" });
    expect(answered({ vmi: stale })).toEqual(expected(row));
  });

  test("the rows cover every cell of the table", () => {
    const cells = EVICTION_STRATEGIES.flatMap((s) => Object.keys(MOBILITY).map((m) => `${s}/${m}`));
    expect(rows.map(([s, m]) => `${s}/${m}`).toSorted()).toEqual(cells.toSorted());
  });

  test.each(["migratable", "pinned"] as const)(
    "a strategy that KubeVirt does not know, %s: 429 naming field and value",
    (m) => {
      const odd = vmi({ evictionStrategy: "LiveMigrat", liveMigratable: MOBILITY[m] });
      expect(answered({ vmi: odd })).toEqual({
        verdict: "Deny",
        mark: false,
        reason: "UnknownStrategy",
        text: `${NAMED}: spec.evictionStrategy is "LiveMigrat", expected None, LiveMigrate, LiveMigrateIfPossible or External`,
      });
    },
  );

  test("a strategy that KubeVirt does not know in the KubeVirt CR: 429 naming that field", () => {
    const silent = without(vmi(), "evictionStrategy");
    const { text } = answered({ vmi: silent, settings: settings({ clusterStrategy: "Move" }) });
    expect(text).toContain('spec.configuration.evictionStrategy of the KubeVirt CR is "Move"');
  });

  test("without the LiveMigratable condition a VM counts as pinned, and that is the reason given", () => {
    const { text } = answered({ vmi: vmi({ liveMigratable: { migratable: false } }) });
    expect(text).toMatch(/: no LiveMigratable condition$/);
  });
});

describe("an evacuation begins", () => {
  const POD = { name: POD_NAME, uid: POD_UID };
  const byTaint = newborn({ spec: { cause: "DrainTaint" }, status: { attempts: 2 } });

  test("with its Evacuation, the budget grown and the mark, each conditional on what was observed", () => {
    const subject = vmi({ evacuationNodeName: "node00" });
    const spec = { vmiName: "web", cause: "ApiEviction", requestedBy: "admin", intent: "Evacuate", pod: POD };
    expect(decided({ vmi: subject }).actions).toEqual([
      { verb: "CreateEvacuation", evacuation: { namespace: "apps", name: newborn().name, spec } },
      { verb: "GrowBudget", vmi: subject, name: budgetName(subject), required: true },
      { verb: "Mark", vmi: subject, urgency: "normal" },
    ]);
  });

  test("of a VM that cannot migrate, with strategy External: its budget need not grow", () => {
    const subject = vmi({ evictionStrategy: "External", liveMigratable: MOBILITY.pinned });
    expect(verbs(decided({ vmi: subject }).actions)).toEqual(["EnsureBudget", "CreateEvacuation", "Mark"]);
  });

  test("the descheduler is told as the cause where it asks", () => {
    const request = { username: "system:serviceaccount:kube-system:descheduler", cause: "Descheduler" } as const;
    expect(only("CreateEvacuation", decided({ request }).actions)).toMatchObject([
      { evacuation: { spec: { cause: "Descheduler", requestedBy: request.username } } },
    ]);
  });

  // prettier-ignore
  test.each<[string, Partial<EvacuationFacts>, readonly string[]]>([
    ["joins one that the drain taint began",       byTaint,                                   ["GrowBudget", "Mark"]],
    ["joins one whose mark was lost",              newborn(),                                 ["GrowBudget", "Mark"]],
    ["joins one that a person named",              { spec: without(newborn().spec, "pod") },  ["GrowBudget", "Mark"]],
    ["not one that has ended",                     endedEvacuation("Withdrawn"),              ["CreateEvacuation", "GrowBudget", "Mark"]],
    ["nor one about the pod that it has left",     { status: { ...evacuation().status, podUID: "old" } }, ["CreateEvacuation", "GrowBudget", "Mark"]],
  ])("%s", (_, tweak, expected) => {
    expect(verbs(decided({ evacuations: [{ ...newborn(), ...tweak }] }).actions)).toEqual(expected);
  });
});

describe("the story", () => {
  test.each([
    ["EvacuationTriggered", "Normal", vmi()],
    ["EvictionRefused", "Warning", vmi({ liveMigratable: MOBILITY.pinned })],
    ["EvictionRefused", "Warning", vmi({ evictionStrategy: "Odd" })],
    [
      "ShutdownByStrategy",
      "Warning",
      vmi({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned }),
    ],
  ] as const)("%s is a %s Event", (reason, type, about) => {
    const events = only("Event", decided({ vmi: about }).story);
    expect(events).toMatchObject([{ reason, type, about: { kind: "VirtualMachineInstance", uid: about.uid } }]);
  });

  test("a refused eviction that is repeated is told once: the occasion is the pod", () => {
    const [event] = only("Event", decided({ vmi: vmi({ liveMigratable: MOBILITY.pinned }) }).story);
    expect(event?.occasion).toBe(POD_UID);
  });

  test.each([
    ["LiveMigrate", "evacuating the VM from node"],
    ["External", "it waits for its owner to move it"],
  ])("%s: who is to act is said", (evictionStrategy, words) => {
    const [event] = only("Event", decided({ vmi: vmi({ evictionStrategy }) }).story);
    expect(event?.message).toContain(words);
  });
});
