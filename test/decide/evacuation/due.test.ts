/** Tests whether a reconcile can change something for an Evacuation. Only the Evacuation and its VMI decide this. */
import { expect, test } from "vitest";
import { isPodDecisive, mayBeOver } from "../../../shared/evacuation/world.ts";
import { isDue } from "../../../shared/evacuation/attempts.ts";
import type { EvacuationFacts, EvacuationStatus } from "../../../shared/kube/evacuation.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  MARK_SEEN,
  marked,
  NOW,
  PINNED,
  settings,
  time,
  vmi,
} from "../../support/fixtures.ts";

const given = (status: Partial<EvacuationStatus>) => evacuation({ status });
const young = (seconds: number) => evacuation({ createdAt: at(-seconds).getTime(), status: { phase: "Pending" } });
const running = given({ phase: "Migrating", reason: "Running" });
const queued = given({ phase: "Migrating", reason: "Queued" });
const STALLED = { ...MARK_SEEN, type: "Stalled" } as const;
const moving = marked({ isMigrating: true });
const unreleased = {
  type: "Released",
  status: "False",
  reason: "x",
  message: "",
  lastTransitionTime: time(0),
} as const;

// prettier-ignore
test.each<[string, EvacuationFacts, VmiFacts, boolean]>([
  ["whose migration runs",                       running,                                                           moving,                                   false],
  ["whose migration has ended",                  running,                                                           marked(),                                 true],
  ["whose migration waits",                      queued,                                                            marked(),                                 false],
  ["whose migration no longer waits",            queued,                                                            moving,                                   true],
  ["that is withdrawn",                          { ...running, spec: { ...running.spec, intent: "Withdrawn" } },    moving,                                   true],
  ["that a person retries",                      { ...running, spec: { ...running.spec, retryAt: time(0) } },       moving,                                   true],
  ["whose VM has moved",                         running,                                                           marked({ ...moving, nodeName: "node02", evacuationNodeName: "node02" }), true],
  ["whose VM has lost its mark",                 running,                                                           vmi({ isMigrating: true }),               true],
  ["whose VM has no mark, as before",            given({ ...running.status, conditions: [STALLED] }),               vmi({ isMigrating: true }),               false],
  ["with another condition, as before",          given({ ...running.status, conditions: [MARK_SEEN, STALLED] }),    moving,                                   false],
  ["whose VM is being deleted",                  running,                                                           { ...moving, deleting: true },            true],
  ["whose VM has ended",                         running,                                                           { ...moving, phase: "Failed" },           true],
  ["4 s old without a migration",                young(4),                                                          marked(),                                 false],
  ["5 s old without a migration",                young(5),                                                          marked(),                                 true],
  ["4 s old with a migration",                   young(4),                                                          moving,                                   true],
  ["before the end of its back-off",             given({ phase: "BackingOff", nextAttemptTime: time(1) }),          marked(),                                 false],
  ["at the end of its back-off",                 given({ phase: "BackingOff", nextAttemptTime: time(0) }),          marked(),                                 true],
  ["blocked, whose VM cannot migrate",           given({ phase: "Blocked" }),                                       marked(PINNED),                           false],
  ["blocked, whose VM can migrate",              given({ phase: "Blocked" }),                                       marked(),                                 true],
  ["that waits for an external controller",      given({ phase: "WaitingForExternalController" }),                  marked(),                                 true],
  ["that has ended",                             endedEvacuation("Moved"),                                          vmi({ nodeName: "node02" }),              false],
  ["that has ended and is not cleaned up",       endedEvacuation("Moved", { status: { conditions: [unreleased] } }), vmi({ nodeName: "node02" }),             true],
])("an Evacuation %s is due: $3", (_, e, subject, due) => {
  expect(isDue(e, subject, { settings: settings(), now: NOW })).toBe(due);
});

// prettier-ignore
test.each([
  // cause            the cause may disappear   the pod decides   30 s after the deadline
  ["ApiEviction",     false,                    false,            false],
  ["DrainTaint",      true,                     false,            false],
  ["NoExecuteTaint",  true,                     true,             true],
  ["Preemption",      true,                     false,            true],
] as const)("the cause %s may disappear: %s; the pod's conditions decide: %s; after the deadline, too: %s", (cause, ...expected) => {
  const e = evacuation({ spec: { cause, deadline: time(0) } });
  expect([mayBeOver(e), isPodDecisive(e, at(29)), isPodDecisive(e, at(30))]).toEqual(expected);
});
