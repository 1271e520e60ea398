/** Until when a deletion is held: what the deadline counts from, who shares it, and what blindness makes of it. */
import { describe, expect, test } from "vitest";
import { blindHoldSeconds, decideDeletion } from "../../shared/policy/deletion.ts";
import type { GuardCause } from "../../shared/policy/disruption-cause.ts";
import {
  answerTo,
  condition,
  deletion,
  guarded,
  held,
  heldCalled,
  markedBy,
  REQUESTER,
  SCHEDULER,
  target,
} from "./disruptions.ts";
import { at, hotplug, marked, NOW, only, pod, record, time, vmi } from "./fixtures.ts";

const preempted = (since: number, more = {}) => marked({}, { cause: "Preemption", since: time(since), ...more });
const RESET = pod({ disruptionTarget: { active: false, since: time(0) } });
/** Longer than any deadline, so that the hold shows what is left. */
const PATIENT = { patienceSeconds: 10_000 };

function left(cause: GuardCause, tweak: Parameters<typeof held>[0]): number {
  return held({ ...PATIENT, requester: REQUESTER[cause], ...tweak }).holdSeconds;
}

describe("the first sighting", () => {
  test("needs the True condition", () => {
    expect(answerTo({ pod: RESET })).toBe("NotADisruption");
    expect(answerTo({ pod: target("Preemption") })).toBe("Hold");
  });

  test("afterwards the record counts: kube-controller-manager resets the condition after 120 s", () => {
    const settings = guarded({ deadlineSeconds: { Preemption: 600, NoExecuteTaint: 600 } });
    const first = decideDeletion(deletion({ settings }));
    const [mark] = first.verdict === "Hold" ? only("Mark", first.actions) : [];
    const then = { vmi: marked({}, mark?.record), pod: RESET, settings };
    expect(answerTo({ ...then, now: at(121) })).toBe("Hold");
    expect(held({ ...then, now: at(121) }).actions).toEqual([]);
    expect(answerTo({ ...then, now: at(600) })).toBe("DeadlinePassed");
  });

  test("set anew after the reset, the condition does not move the deadline", () => {
    const anew = { vmi: preempted(0), pod: target("Preemption", 119), now: at(119) };
    expect(left("Preemption", anew)).toBe(1);
    expect(answerTo({ ...anew, now: at(120) })).toBe("DeadlinePassed");
  });
});

describe("the deadline", () => {
  // prettier-ignore
  test.each([
    // cause              condition  record  left
    ["Preemption",        0,         0,      120],
    ["Preemption",        -50,       -20,    70],
    ["Preemption",        -20,       -50,    70],
    ["Preemption",        500,       -20,    100],
    ["Preemption",        -20,       20,     100],
    ["Preemption",        500,       500,    120],
    ["NoExecuteTaint",    0,         0,      300],
    ["NoExecuteTaint",    -50,       -250,   50],
    ["NoExecuteTaint",    500,       -250,   50],
  ] as const)("%s: condition at %i s, record at %i s: %i s left", (cause, ofCondition, ofRecord, seconds) => {
    const subject = marked({}, { cause, since: time(ofRecord) });
    expect(left(cause, { pod: target(cause, ofCondition), vmi: subject })).toBe(seconds);
  });

  test("does not depend on a condition without a time", () => {
    const timeless = pod({ disruptionTarget: condition("Preemption", { since: "" }) });
    expect(left("Preemption", { pod: timeless })).toBe(120);
    expect(left("Preemption", { pod: timeless, vmi: preempted(-20) })).toBe(100);
  });

  test("is the cause's at work now: what began as a taint may be a preemption by now", () => {
    const tainted = marked({}, { cause: "NoExecuteTaint", since: time(-119) });
    expect(left("Preemption", { pod: target("Preemption"), vmi: tainted })).toBe(1);
  });

  test("first seen late, the record says when it began, so that a reset changes nothing", () => {
    const written = markedBy({ pod: target("Preemption", -60) });
    expect(written?.since).toBe(time(-60));
    expect(left("Preemption", { vmi: marked({}, written), pod: RESET })).toBe(60);
  });

  test("a record from the future is replaced by one that ends", () => {
    const forged = preempted(1e6);
    const [action] = held({ vmi: forged }).actions;
    expect(action).toMatchObject({ verb: "Record", record: { since: time(0) } });
  });

  test("an evacuation that ended without a move does not extend it, and is not begun again before it has rested", () => {
    const ended = { outcome: "Cancelled", notBefore: time(30) } as const;
    const given = { vmi: vmi({ record: preempted(-60, ended).record ?? record() }), pod: target("Preemption", 0) };
    expect(left("Preemption", given)).toBe(60);
    expect(held(given).actions).toEqual([]);
    expect(markedBy({ ...given, now: at(31) })).toMatchObject({ since: time(0), attempts: 0 });
  });

  test("… nor does it end it early, when the condition is reset meanwhile", () => {
    const ended = { outcome: "Abandoned", notBefore: time(30) } as const;
    const given = { vmi: vmi({ record: preempted(-60, ended).record ?? record() }), pod: RESET };
    expect(left("Preemption", given)).toBe(60);
    expect(answerTo({ ...given, now: at(31) })).toBe("NotADisruption");
  });

  test("long after, the same pod may be preempted again", () => {
    const ended = { outcome: "Abandoned", notBefore: time(-1) } as const;
    expect(left("Preemption", { vmi: vmi({ record: preempted(-9999, ended).record ?? record() }) })).toBe(120);
  });
});

describe("victims of one node", () => {
  const first = target("Preemption", -100, { name: "virt-launcher-db-aaaaa", uid: "pod-db" });
  const evacuating = [heldCalled("db", 100), heldCalled("c", 10)];

  test("share the earliest start", () => {
    expect(left("Preemption", { evacuating, neighbours: [first, target("Preemption", -10, { uid: "pod-c" })] })).toBe(
      20,
    );
    expect(markedBy({ evacuating, neighbours: [first] })?.since).toBe(time(-100));
  });

  test("past it the next one goes at once: the preemptor does not wait for the sum", () => {
    expect(answerTo({ evacuating, neighbours: [first], now: at(20) })).toBe("DeadlinePassed");
  });

  test("but only just past it: a victim that takes its time to end does not unprotect the node meanwhile", () => {
    const ending = { evacuating, neighbours: [{ ...first, deleting: true }] };
    expect(answerTo({ ...ending, now: at(50) })).toBe("DeadlinePassed");
    expect(answerTo({ ...ending, now: at(51), pod: target("Preemption", 51) })).toBe("Hold");
  });

  // prettier-ignore
  test.each([
    ["a neighbour under no disruption",    pod({ uid: "pod-db" })],
    ["a condition that is False",          pod({ uid: "pod-db", disruptionTarget: condition("Preemption", { active: false, since: time(-100) }) })],
    ["one for a taint",                    target("NoExecuteTaint", -100, { uid: "pod-db" })],
    ["one from the future",                target("Preemption", 100, { uid: "pod-db" })],
    ["one without a time",                 pod({ uid: "pod-db", disruptionTarget: condition("Preemption", { since: "" }) })],
    ["a pod that only looks like a VM's",  target("Preemption", -100, { uid: "impostor" })],
    ["a VM's pod, in another namespace",   target("Preemption", -100, { uid: "pod-db", namespace: "other" })],
  ])("%s does not count", (_, neighbour) => {
    expect(left("Preemption", { evacuating, neighbours: [neighbour] })).toBe(120);
  });

  test("NoExecute is each one's own", () => {
    const neighbours = [first, target("NoExecuteTaint", -100, { uid: "c" })];
    expect(left("NoExecuteTaint", { pod: target("NoExecuteTaint"), evacuating, neighbours })).toBe(300);
  });
});

type Seen = Partial<Parameters<typeof blindHoldSeconds>[0]>;

function seconds(tweak: Seen = {}, guard = guarded()): number | undefined {
  return blindHoldSeconds({ pod: target("Preemption", -50), requester: SCHEDULER, ...tweak }, guard, NOW);
}

describe("blind", () => {
  test("held as long as the request itself shows", () => {
    expect(seconds()).toBe(70);
    expect(seconds({ pod: target("NoExecuteTaint", -50) })).toBe(250);
    expect(seconds({ pod: hotplug({ disruptionTarget: condition("Preemption") }) })).toBe(120);
  });

  test("a time in the future does not extend it", () => expect(seconds({ pod: target("Preemption", 900) })).toBe(120));

  test("mode Deny denies at once, as ever", () => expect(seconds({}, guarded({ mode: "Deny" }))).toBe(0));

  // prettier-ignore
  test.each([
    ["past the deadline",       { pod: target("Preemption", -120) }],
    ["no time to count from",   { pod: pod({ disruptionTarget: condition("Preemption", { since: "" }) }) }],
    ["another requester",       { requester: "admin" }],
    ["a plain deletion",        { pod: pod() }],
    ["the condition reset",     { pod: RESET }],
    ["a completed pod",         { pod: target("Preemption", 0, { phase: "Succeeded" }) }],
    ["not a VM's pod",          { pod: target("Preemption", 0, { labels: {} }) }],
  ])("%s: goes", (_, tweak) => expect(seconds(tweak)).toBeUndefined());

  test.each([guarded({ mode: "Off" }), guarded({}, { featureGates: ["NoExecuteTaintEvictionLiveMigration"] })])(
    "guard or gate off: goes",
    (off) => expect(seconds({}, off)).toBeUndefined(),
  );
});
