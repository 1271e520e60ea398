/** Tests refused deletions: the time of the retry, and the Evacuation that the first refusal creates. */
import { describe, expect, test } from "vitest";
import {
  answerTo,
  askedFor,
  evacuationOf,
  disrupted,
  drained,
  refused,
  REQUESTER,
  SCHEDULER,
  target,
} from "../../support/guard/disruptions.ts";
import { at, marked, NODE, only, pod, POD_UID, time, verbs, vmi } from "../../support/fixtures.ts";

const STARTED = ["CreateEvacuation", "CreateBudget", "Label", "Mark"] as const;
const LABELLED = ["CreateEvacuation", "Label"] as const;

const moving = { vmi: marked({ isMigrating: true }) };

function waiting(ago: number) {
  return { vmi: marked(), evacuations: [disrupted("Preemption", 120 - ago, { createdAt: at(-ago).getTime() })] };
}

// prettier-ignore
test.each<[string, Parameters<typeof refused>[0], seconds: number]>([
  ["waits in KubeVirt's queue",                         waiting(10),                                           15],
  ["migrates",                                          { ...waiting(60), ...moving },                         5],
  ["migrates for another cause at the first request",   moving,                                                5],
  ["waits, while the deadline comes earlier",           waiting(110),                                          10],
  ["waits less than a second before the deadline",      waiting(119.5),                                        1],
])("the deletion of a VM that %s is retried after %d s", (_, tweak, seconds) => expect(refused(tweak).retryAfterSeconds).toBe(seconds));

test("one request and ten retries cover a preemption's deadline within one round of the scheduler", () => {
  let now = 0;
  for (let request = 0; request < 11; request++) {
    if (now >= 120) return;
    now += refused(now === 0 ? {} : waiting(now)).retryAfterSeconds ?? 0;
  }
  expect(now).toBeGreaterThanOrEqual(120);
});

describe("the first refusal of a deletion", () => {
  // prettier-ignore
  test.each([
    // Evacuations of the pod        VMI                                        cause             actions
    ["without an Evacuation creates one and marks",                       [],                              vmi(),    "Preemption",     STARTED],
    ["with KubeVirt's mark and no Evacuation creates and labels",  [],                              marked(), "Preemption",     LABELLED],
    ["with KubeVirt's urgent mark and no Evacuation only creates", [],       marked({ evacuationLabel: "urgent" }), "Preemption", ["CreateEvacuation"]],
    ["beside a drain's Evacuation creates one and labels",                  [drained()],                     marked(), "Preemption",     LABELLED],
    ["beside a drain's Evacuation without a mark creates one and marks",   [drained()],                     vmi(),    "DeviceTaint",    STARTED],
    ["beside a drain's abandoned Evacuation creates one and marks",        [drained({ status: { phase: "Abandoned", nextAttemptTime: time(90) } })], vmi(), "Preemption", STARTED],
    ["of a preemption beside a taint's Evacuation creates one and labels",                [disrupted("NoExecuteTaint", 200)], marked(), "Preemption",  LABELLED],
    ["of a preemption beside a taint's abandoned Evacuation creates none",      [disrupted("NoExecuteTaint", 200, { status: { phase: "Abandoned", nextAttemptTime: time(90) } })], vmi(), "Preemption", []],
    ["beside its own Evacuation after the back-off creates one and marks",            [disrupted("Preemption", 100, { status: { phase: "Abandoned", nextAttemptTime: time(0) } })], vmi(), "Preemption", STARTED],
    ["of a preemption beside a taint's Duplicate of a drain's Evacuation creates one and labels", [drained(), disrupted("NoExecuteTaint", 200, { status: { phase: "Duplicate" } })], marked(), "Preemption", LABELLED],
    ["beside its own Duplicate of a drain's Evacuation creates none", [drained(), disrupted("Preemption", 100, { status: { phase: "Duplicate" } })], marked(), "Preemption", []],
  ] as const)("%s", (...[, evacuations, subject, cause, expected]) => {
    const requester = REQUESTER[cause];
    const { actions, events } = refused({ vmi: subject, evacuations, pod: target(cause), requester });
    expect([verbs(actions), verbs(events)]).toEqual([expected, expected.length > 0 ? ["Event"] : []]);
  });

  test.each([
    ["Preemption", 100],
    ["DeviceTaint", 280],
  ] as const)("of a %s is urgent and names requester, pod and deadline", (cause, seconds) => {
    const requestedBy = REQUESTER[cause];
    const refusal = refused({ pod: target(cause, -20), requester: requestedBy });
    const about = { vmiName: "web", pod: { name: pod().name, uid: POD_UID } };
    const spec = { ...about, cause, requestedBy, intent: "Evacuate", deadline: time(seconds) };
    expect(only("CreateEvacuation", refusal.actions)).toMatchObject([
      { evacuation: { namespace: "apps", spec }, optional: true },
    ]);
    expect([...only("Label", refusal.actions), ...only("Mark", refusal.actions)]).toEqual([
      { verb: "Label", vmi: vmi(), urgency: "urgent" },
      { verb: "Mark", vmi: vmi(), launcher: pod().name },
    ]);
    expect(only("Event", refusal.events)).toMatchObject([{ type: "Normal", reason: "DeletionRefused" }]);
    const reported = `deletion of pod "${pod().name}" (cause ${cause}) waits until VMI "apps/web" has moved, at the latest until ${time(seconds)}`;
    expect(refusal.message).toBe(reported);
  });

  test("inherits no back-off from an abandoned drain, because a disruption does not retry like a drain", () => {
    const ended = drained({ status: { phase: "Abandoned", attempts: 5, nextAttemptTime: time(90) } });
    const started = evacuationOf({ evacuations: [ended] });
    expect(started?.spec).toMatchObject({ requestedBy: REQUESTER.Preemption });
    expect(started?.spec.inherited).toBeUndefined();
  });
});

test("a deletion for a device taint is refused, even if a virt-handler needs the room", () => {
  expect(answerTo({ ...askedFor("DeviceTaint"), makesRoomForHandler: true })).toBe("Refuse");
});

test("the Event of a refusal names requester, pod, node and deadline", () => {
  const message = `${SCHEDULER} deletes pod ${pod().name} (cause Preemption): Lifeboat refuses the deletion until the VM has left node ${NODE}, at the latest until ${time(120)}`;
  expect(refused({}).events).toMatchObject([{ reason: "DeletionRefused", message }]);
});
