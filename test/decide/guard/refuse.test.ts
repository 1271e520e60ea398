/** Refusing: when to ask again, and the Evacuation that the first refusal begins. */
import { describe, expect, test } from "vitest";
import { evacuationOf, disrupted, drained, refused, REQUESTER, target } from "../../support/guard/disruptions.ts";
import { at, marked, only, pod, POD_UID, time, verbs, vmi } from "../../support/fixtures.ts";

const STARTED = ["CreateEvacuation", "CreateBudget", "Label", "Mark"] as const;
const LABELLED = ["CreateEvacuation", "Label"] as const;

const moving = { vmi: marked({ isMigrating: true }) };

/** Its Evacuation was created so many seconds ago. */
function waiting(ago: number) {
  return { vmi: marked(), evacuations: [disrupted("Preemption", 120 - ago, { createdAt: at(-ago).getTime() })] };
}

// prettier-ignore
test.each<[string, Parameters<typeof refused>[0], seconds: number]>([
  ["it waits in KubeVirt's queue",               waiting(10),                                           15],
  ["its migration runs",                         { ...waiting(60), ...moving },                         5],
  ["… the first time: another cause moves it",   moving,                                                5],
  ["it waits, and the deadline comes before",    waiting(110),                                          10],
  ["… in less than a second",                    waiting(119.5),                                        1],
])("asked for again: %s: after %d s", (_, tweak, seconds) => expect(refused(tweak).retryAfterSeconds).toBe(seconds));

test("one request and ten retries cover a preemption's deadline, so that one round of the scheduler does", () => {
  let now = 0;
  for (let request = 0; request < 11; request++) {
    if (now >= 120) return;
    now += refused(now === 0 ? {} : waiting(now)).retryAfterSeconds ?? 0;
  }
  expect(now).toBeGreaterThanOrEqual(120);
});

describe("the Evacuation", () => {
  // prettier-ignore
  test.each([
    // of the same pod             VMI                                        cause             actions
    ["none",                       [],                              vmi(),    "Preemption",     STARTED],
    ["none, KubeVirt has marked",  [],                              marked(), "Preemption",     LABELLED],
    ["… and it is urgent already", [],       marked({ evacuationLabel: "urgent" }), "Preemption", ["CreateEvacuation"]],
    ["a drain's",                  [drained()],                     marked(), "Preemption",     LABELLED],
    ["a drain's, the mark lost",   [drained()],                     vmi(),    "DeviceTaint",    STARTED],
    ["a drain's, given up",        [drained({ status: { phase: "Abandoned", nextAttemptTime: time(90) } })], vmi(), "Preemption", STARTED],
    ["the taint's",                [disrupted("NoExecuteTaint", 200)], marked(), "Preemption",  LABELLED],
    ["the taint's, given up",      [disrupted("NoExecuteTaint", 200, { status: { phase: "Abandoned", nextAttemptTime: time(90) } })], vmi(), "Preemption", []],
    ["its own, rested",            [disrupted("Preemption", 100, { status: { phase: "Abandoned", nextAttemptTime: time(0) } })], vmi(), "Preemption", STARTED],
    ["its own, a drain's Duplicate", [drained(), disrupted("Preemption", 100, { status: { phase: "Duplicate" } })], marked(), "Preemption", []],
  ] as const)("%s", (...[, evacuations, subject, cause, expected]) => {
    const requester = REQUESTER[cause];
    const { actions, events } = refused({ vmi: subject, evacuations, pod: target(cause), requester });
    expect([verbs(actions), verbs(events)]).toEqual([expected, expected.length > 0 ? ["Event"] : []]);
  });

  test.each([
    ["Preemption", 100],
    ["DeviceTaint", 280],
  ] as const)("%s: says who asks, for which pod, until when, and that it is urgent", (cause, seconds) => {
    const requestedBy = REQUESTER[cause];
    const refusal = refused({ pod: target(cause, -20), requester: requestedBy });
    const about = { vmiName: "web", pod: { name: pod().name, uid: POD_UID } };
    const spec = { ...about, cause, requestedBy, intent: "Evacuate", deadline: time(seconds) };
    expect(only("CreateEvacuation", refusal.actions)).toMatchObject([{ evacuation: { namespace: "apps", spec } }]);
    expect([...only("Label", refusal.actions), ...only("Mark", refusal.actions)]).toEqual([
      { verb: "Label", vmi: vmi(), urgency: "urgent" },
      { verb: "Mark", vmi: vmi(), launcher: pod().name },
    ]);
    expect(only("Event", refusal.events)).toMatchObject([{ type: "Normal", reason: "DeletionRefused" }]);
    const reported = `deletion of pod "${pod().name}" (cause ${cause}) waits until VMI "apps/web" has moved, until ${time(seconds)} at the longest`;
    expect(refusal.message).toBe(reported);
  });

  test("begins anew beside one that was given up: a disruption does not come again like a drain does", () => {
    const ended = drained({ status: { phase: "Abandoned", attempts: 5, nextAttemptTime: time(90) } });
    const started = evacuationOf({ evacuations: [ended] });
    expect(started?.spec).toMatchObject({ requestedBy: REQUESTER.Preemption });
    expect(started?.spec.inherited).toBeUndefined();
  });
});
