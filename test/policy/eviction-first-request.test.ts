/** The first request to evict the launcher pod of a VM that is not marked: strategy × migratable, cell by cell. */
import { describe, expect, test } from "vitest";
import { decideEviction } from "../../shared/policy/eviction.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy, type Mobility } from "../../shared/policy/strategy.ts";
import { eviction, MOBILITY, NAMED, only, POD_UID, settings, time, vmi, without } from "./fixtures.ts";

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

function answerTo(facts: Parameters<typeof decideEviction>[0]): Answer {
  const decision = decideEviction(facts);
  if (decision.verdict === "Ask") throw new Error(`asks for ${decision.question}`);
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
    expect(answerTo(facts)).toEqual(expected(row));
  });

  test.each(rows)("%s, %s: the same when the KubeVirt CR says so and the VM nothing", (...row) => {
    const [clusterStrategy, mobility] = row;
    const silent = without(vmi({ liveMigratable: MOBILITY[mobility] }), "evictionStrategy");
    expect(answerTo(eviction({ vmi: silent, settings: settings({ clusterStrategy }) }))).toEqual(expected(row));
  });

  test.each(rows)("%s, %s: the same under DeschedulerSupport", (...row) => {
    const [evictionStrategy, mobility] = row;
    const facts = eviction({
      vmi: vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] }),
      settings: settings({ featureGates: ["DeschedulerSupport"] }),
    });
    expect(answerTo(facts)).toEqual(expected(row));
  });

  test.each(rows)("%s, %s: a mark for a node that the VM has left is no mark", (...row) => {
    const [evictionStrategy, mobility] = row;
    const stale = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility], evacuationNodeName: "node00" });
    expect(answerTo(eviction({ vmi: stale }))).toEqual(expected(row));
  });

  test("the rows cover every cell of the table", () => {
    const cells = EVICTION_STRATEGIES.flatMap((s) => Object.keys(MOBILITY).map((m) => `${s}/${m}`));
    expect(rows.map(([s, m]) => `${s}/${m}`).toSorted()).toEqual(cells.toSorted());
  });

  test.each(["migratable", "pinned"] as const)("a strategy that nobody knows, %s: 429 naming field and value", (m) => {
    const odd = vmi({ evictionStrategy: "LiveMigrat", liveMigratable: MOBILITY[m] });
    expect(answerTo(eviction({ vmi: odd }))).toEqual({
      verdict: "Deny",
      mark: false,
      reason: "UnknownStrategy",
      text: `${NAMED}: spec.evictionStrategy is "LiveMigrat", expected None, LiveMigrate, LiveMigrateIfPossible or External`,
    });
  });

  test("a strategy that nobody knows in the KubeVirt CR: 429 naming that field", () => {
    const silent = without(vmi(), "evictionStrategy");
    const { text } = answerTo(eviction({ vmi: silent, settings: settings({ clusterStrategy: "Move" }) }));
    expect(text).toContain('spec.configuration.evictionStrategy of the KubeVirt CR is "Move"');
  });

  test("without the LiveMigratable condition a VM counts as pinned, and that is the reason given", () => {
    const { text } = answerTo(eviction({ vmi: vmi({ liveMigratable: { migratable: false } }) }));
    expect(text).toMatch(/: no LiveMigratable condition$/);
  });
});

function markOf(facts: Parameters<typeof decideEviction>[0]) {
  const decision = decideEviction(facts);
  return decision.verdict === "Ask" ? undefined : only("Mark", decision.actions)[0];
}

function markRecord() {
  const { record } = markOf(eviction()) ?? {};
  if (record === undefined) throw new Error("no mark");
  return record;
}

describe("the mark", () => {
  test("is conditional on the VMI as observed, and carries the record", () => {
    const observed = vmi({ evacuationNodeName: "node00", nodeName: "node01" });
    expect(markOf(eviction({ vmi: observed }))).toEqual({
      verb: "Mark",
      vmi: observed,
      urgency: "normal",
      record: {
        id: expect.stringMatching(/^[0-9a-f]{8}$/),
        cause: "ApiEviction",
        requestedBy: "admin",
        node: "node01",
        podUID: POD_UID,
        since: time(0),
        attempts: 0,
      },
    });
  });

  test("names the descheduler as the cause where it asks", () => {
    const request = { username: "system:serviceaccount:kube-system:descheduler", cause: "Descheduler" } as const;
    expect(markOf(eviction({ request }))?.record).toMatchObject({
      cause: "Descheduler",
      requestedBy: request.username,
    });
  });

  test("replaces a record of another node", () => {
    const moved = vmi({ record: { ...markRecord(), node: "node00", attempts: 3, notBefore: time(200) } });
    expect(markOf(eviction({ vmi: moved }))?.record).toMatchObject({ node: "node01", attempts: 0, since: time(0) });
  });

  test("joins an evacuation that the drain taint began: same id, cause and attempts", () => {
    const begun = { ...markRecord(), cause: "DrainTaint", attempts: 2 } as const;
    const decision = markOf(eviction({ vmi: vmi({ record: begun }) }));
    expect(decision?.record).toEqual(begun);
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
    const decision = decideEviction(eviction({ vmi: about }));
    const events = decision.verdict === "Ask" ? [] : only("Event", decision.story);
    expect(events).toMatchObject([{ reason, type, about: { kind: "VirtualMachineInstance", uid: about.uid } }]);
  });

  test("a refused eviction that is repeated is told once: the occasion is the pod", () => {
    const occasions = [0, 5].map((seconds) => {
      const now = new Date(Date.UTC(2026, 2, 1, 12, 0, seconds));
      const decision = decideEviction(eviction({ vmi: vmi({ liveMigratable: MOBILITY.pinned }), now }));
      return decision.verdict === "Ask" ? undefined : only("Event", decision.story)[0]?.occasion;
    });
    expect(occasions).toEqual([POD_UID, POD_UID]);
  });

  test.each([
    ["LiveMigrate", "evacuating the VM from node"],
    ["External", "it waits for its owner to move it"],
  ])("%s: who is to act is said", (evictionStrategy, words) => {
    const decision = decideEviction(eviction({ vmi: vmi({ evictionStrategy }) }));
    const [event] = decision.verdict === "Ask" ? [] : only("Event", decision.story);
    expect(event?.message).toContain(words);
  });
});
