/** Uncordoning a node: what a drain of it asked for is withdrawn, and nothing else is. */
import { describe, expect, test } from "vitest";
import { endedBy } from "../../../shared/policy/evacuation/uncordon.ts";
import type { EvacuationWorld } from "../../../shared/policy/evacuation/world.ts";
import type { EvacuationFacts } from "../../../shared/policy/facts.ts";
import { disrupted } from "../guard/disruptions.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  EXTERNAL,
  MARK_SEEN,
  marked,
  migration,
  NODE,
  node,
  only,
  pod,
  settings,
  time,
  verbs,
  vmi,
} from "../fixtures.ts";
import { course, planned, statusAfter } from "../worlds.ts";

const ON = settings({ evacuation: { withdrawOnUncordon: true } });
const DRAIN_TAINT = { key: "kubevirt.io/drain", effect: "NoSchedule" };
const CORDONED = { ...MARK_SEEN, type: "Cordoned" } as const;
const cordoned = node({ unschedulable: true });

function drained(tweak: NonNullable<Parameters<typeof evacuation>[0]> = {}): EvacuationFacts {
  return evacuation({ ...tweak, status: { conditions: [CORDONED, MARK_SEEN], ...tweak.status } });
}

const kubevirts = migration({ phase: "Pending", evacuates: NODE });
const duplicate = (cause: "NoExecuteTaint" | "Preemption") =>
  disrupted(cause, 60, { createdAt: at(-30).getTime(), status: { phase: "Duplicate" } });
const besides = (other: EvacuationFacts) => ({ evacuations: [drained(), other] });
const tried = { attempts: 2, phase: "BackingOff", nextAttemptTime: time(9) } as const;

type Row = readonly [what: string, EvacuationFacts, Partial<EvacuationWorld>, withdrawn: boolean];

// prettier-ignore
const rows: readonly Row[] = [
  ["a drain's",                                       drained(),                                    {},                                                           true ],
  ["… of an External VM",                             drained(),                                    { vmis: [marked(EXTERNAL)] },                                 true ],
  ["… whose migration waits in KubeVirt's queue",     drained(),                                    { migrations: [kubevirts] },                                  true ],
  ["… whose migration is being prepared",             drained(),                                    { migrations: [{ ...kubevirts, phase: "Scheduled" }] },       true ],
  ["… whose migration runs",                          drained(),                                    { migrations: [{ ...kubevirts, phase: "Running" }] },         false],
  ["… whose migrations have failed",                  drained({ status: tried }),                   { migrations: [{ ...kubevirts, phase: "Failed" }] },          true ],
  ["the node is cordoned still",                      drained(),                                    { nodes: [cordoned] },                                        false],
  ["… was not read",                                  drained(),                                    { nodes: [] },                                                false],
  ["… carries the drain taint",                       drained(),                                    { nodes: [node({ taints: [DRAIN_TAINT] })] },                 false],
  ["an eviction from a node that was never cordoned", evacuation(),                                 {},                                                           false],
  ["the drain taint, and it is gone",                 drained({ spec: { cause: "DrainTaint" } }),   {},                                                           true ],
  ["a descheduler's",                                 drained({ spec: { cause: "Descheduler" } }),  {},                                                           false],
  ["a person's",                                      drained({ spec: { cause: "Operator" } }),     {},                                                           false],
  ["a VM that has to leave for a taint besides",      drained(),                                    besides(duplicate("NoExecuteTaint")),                         false],
  ["… for a preemption besides",                      drained(),                                    besides(duplicate("Preemption")),                             false],
  ["… had to, before",                                drained(),                                    besides({ ...duplicate("Preemption"), createdAt: at(-99).getTime() }), true ],
  ["… in another pod",                                drained(),                                    besides({ ...duplicate("Preemption"), status: { ...duplicate("Preemption").status, podUID: "former" } }), true ],
  ["drained twice at once",                           drained(),                                    besides(drained({ uid: "second", createdAt: at(-9).getTime(), status: { phase: "Duplicate" } })), true ],
];

describe("the node has been uncordoned", () => {
  test.each(rows)("%s", (_, subject, tweak, expected) => {
    const given = { nodes: [node()], settings: ON, ...tweak };
    const reasons = only("WriteStatus", planned(subject, given)).map(({ status }) => status.reason);
    expect(reasons.includes("UncordonWithdrawn")).toBe(expected);
    // As the default is.
    expect(verbs(planned(subject, { ...given, settings: settings() }))).not.toContain("Count");
  });

  test("the mark goes, KubeVirt's pending migration with it, and the next drain begins at once", () => {
    const actions = planned(drained({ status: tried }), { nodes: [node()], settings: ON, migrations: [kubevirts] });
    expect(verbs(actions)).toEqual(["WriteStatus", "Count", "Event"]);
    expect(only("WriteStatus", actions)[0]?.status).toMatchObject({
      phase: "Withdrawn",
      message: `node ${NODE} has been uncordoned`,
      nextAttemptTime: time(0),
    });
    const given = { nodes: [node()], settings: ON, migrations: [kubevirts] };
    expect(course(drained({ status: tried }), given)).toMatch(/; Unmark, DeleteMigration, Released$/);
  });

  test("a migration that a person created is left", () => {
    const given = { nodes: [node()], settings: ON, migrations: [migration({ phase: "Pending" })] };
    expect(course(drained(), given)).toMatch(/; Unmark, Released$/);
  });
});

// prettier-ignore
test.each<[string, cause: "NoExecuteTaint" | "Operator" | "ApiEviction", withdrawn: boolean]>([
  ["no one",   "NoExecuteTaint", true ],
  ["a person", "Operator",       false],
  ["a drain",  "ApiEviction",    false],
])("a taint is gone, and %s asked besides", (_, cause, withdrawn) => {
  const e = disrupted("NoExecuteTaint", 60);
  const other = endedEvacuation("Duplicate", { uid: "besides", createdAt: at(-30).getTime(), spec: { cause } });
  const actions = planned(e, { evacuations: [e, other], nodes: [node()], pods: [pod()] });
  expect(only("WriteStatus", actions).map(({ status }) => status.reason)).toEqual([withdrawn ? "TaintWithdrawn" : "Pending"]);
});

describe("that it was cordoned is remembered", () => {
  // prettier-ignore
  test.each<[string, EvacuationFacts, Partial<EvacuationWorld>, boolean]>([
    ["a drain's, on a cordoned node",     evacuation(),                                   { nodes: [cordoned] },                         true ],
    ["… on one that is not",              evacuation(),                                   { nodes: [node()] },                           false],
    ["… of another node",                 evacuation(),                                   { nodes: [{ ...cordoned, name: "node02" }] },  false],
    ["a person's",                        evacuation({ spec: { cause: "Operator" } }),    { nodes: [cordoned] },                         false],
    ["unless it is to be",                evacuation(),                                   { nodes: [cordoned], settings: settings() },   false],
  ])("%s", (_, subject, tweak, expected) => {
    const { conditions } = statusAfter(subject, { settings: ON, migrations: [kubevirts], ...tweak });
    expect(conditions.some(({ type, status }) => type === "Cordoned" && status === "True")).toBe(expected);
  });
});

// prettier-ignore
test.each<[string, EvacuationFacts, ReturnType<typeof node>, boolean]>([
  ["uncordoned",                 drained(),                                          node(),                        true ],
  ["cordoned still",             drained(),                                          cordoned,                      false],
  ["another node",               drained(),                                          node({ name: "node02" }),      false],
  ["it has ended",               drained({ status: { phase: "Moved" } }),            node(),                        false],
  ["never cordoned",             evacuation(),                                       node(),                        false],
])("a look at the node looks at its evacuations, %s: %s", (_, subject, seen, expected) => {
  expect(endedBy([seen], [subject], ON)).toEqual(expected ? [subject] : []);
  expect(endedBy([seen], [subject], settings())).toEqual([]);
});

test("unmarked by hand, on an uncordoned node: the mark's removal is what ends it", () => {
  const actions = planned(evacuation(), { vmis: [vmi()], nodes: [node()], settings: ON });
  expect(only("WriteStatus", actions)[0]?.status.reason).toBe("MarkWithdrawn");
});
