/** Tests the status of an Evacuation, its number of attempts, and its Events. */
import { describe, expect, test } from "vitest";
import { EVACUATION_MESSAGES as MESSAGES } from "../../../shared/evacuation/messages.ts";
import { planEvacuations } from "../../../shared/evacuation/plan.ts";
import type { EvacuationFacts, EvacuationStatus } from "../../../shared/kube/evacuation.ts";
import { disrupted } from "../../support/guard/disruptions.ts";
import {
  at,
  evacuation,
  MARK_SEEN,
  migration,
  newborn,
  NODE,
  node,
  only,
  PINNED,
  pod,
  POD_NAME,
  POD_UID,
  settings,
  time,
  verbs,
  vmi,
  VMI_UID,
  without,
} from "../../support/fixtures.ts";
import { type Around, planned, statusAfter, world } from "../../support/worlds.ts";

const young = newborn({ createdAt: at(-4).getTime() });
const failed = migration({ phase: "Failed", failureReason: "no room" });
const counted = { lastFailedMigration: { name: failed.name, uid: failed.uid } };
const old = migration({ phase: "Pending", evacuates: NODE, createdAt: at(-200).getTime() });
const resting = { attempts: 2, phase: "BackingOff", message: "no room", nextAttemptTime: time(40) } as const;
const exhausted = evacuation({ status: { ...resting, attempts: 5 } });
const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const byTaint = disrupted("NoExecuteTaint", 60, { status: { nextAttemptTime: time(9) } });
const impossible = evacuation({ spec: { cause: "Operator" }, status: { conditions: [] } });
const moved = { vmis: [vmi({ nodeName: "node02", activePods: { x: "node02" } })] };

describe("the status of an Evacuation", () => {
  const seen = {
    virtualMachineInstanceUID: VMI_UID,
    podUID: POD_UID,
    sourceNode: NODE,
    startTime: time(0),
    attempts: 0,
    conditions: [{ ...MARK_SEEN, lastTransitionTime: time(0) }],
  };

  test("names VMI, pod and node from the first reconcile on, and keeps them", () => {
    expect(statusAfter(young)).toMatchObject({ ...seen, podName: POD_NAME });
    expect(statusAfter(evacuation(), moved)).toMatchObject({ podUID: POD_UID, sourceNode: NODE });
  });

  test("names no pod of the VM if the given UID is a property of every object", () => {
    const byName = { ...young, spec: { ...young.spec, pod: { uid: "__proto__" } } };
    expect(statusAfter(byName)).toMatchObject({ podUID: "__proto__", phase: "Moved" });
    expect(statusAfter(byName).sourceNode).toBeUndefined();
  });

  test("counts attempts only up to the API's limit", () => {
    const most = 2 ** 31 - 1;
    const patient = settings({ evacuation: { maxAttempts: most } });
    const e = evacuation({ status: { attempts: most - 1 } });
    expect(statusAfter(e, { migrations: [failed, failed], settings: patient }).attempts).toBeLessThanOrEqual(most);
  });

  test("names the pod that the VM runs in if a person created it", () => {
    const status = statusAfter({ ...young, spec: without(young.spec, "pod") });
    expect(status).toMatchObject(seen);
    expect(status.podName).toBeUndefined();
  });

  // prettier-ignore
  test.each<[string, EvacuationFacts, Partial<Around>, readonly string[], next: string | undefined]>([
    ["when the VM has moved",      evacuation({ status: resting }), moved,                ["Evacuated True", "Marked True", "Released True"],                 undefined],
    ["when abandoned",             exhausted,    {},                                      ["Evacuated False", "Failed True", "Marked True", "Released False"], time(320)],
    ["when the VM cannot migrate", impossible,   { vmis: [vmi(PINNED)] },                 ["Evacuated False", "Failed True", "Released True"],                undefined],
    ["when cancelled",             withdrawn,    {},                                      ["Evacuated False", "Marked True", "Released False"],                time(20)],
    ["when the mark was removed",  evacuation({ status: resting }), { vmis: [vmi()] },    ["Evacuated False", "Marked True", "Released True"],                time(40)],
    ["when the taint was removed", byTaint,      { nodes: [node()], pods: [pod()] },      ["Evacuated False", "Marked True", "Released False"],                time(0)],
  ])("%s has its conditions, its completion time, and the next attempt's time", (...[, subject, tweak, conditions, next]) => {
    const status = statusAfter(subject, tweak);
    expect(status.conditions.map((one) => `${one.type} ${one.status}`)).toEqual(conditions);
    expect(status).toMatchObject({ completionTime: time(0), attempts: subject.status.attempts });
    expect(status.nextAttemptTime).toBe(next);
  });

  test("names the VM's current node, and an inherited back-off", () => {
    expect(statusAfter(evacuation(), moved).targetNode).toBe("node02");
    const inherited = { attempts: 1, notBefore: time(9) };
    expect(statusAfter(newborn({ spec: { inherited } }))).toMatchObject({ attempts: 1, nextAttemptTime: time(9) });
  });

  test.each([
    ["if the migration has succeeded", migration({ phase: "Succeeded", targetNode: "node02" }), undefined],
    ["if the migration does not show its success yet", migration({ phase: "Running" }), "migration-uid"],
    ["if the migration is older than the Evacuation", migration({ phase: "Succeeded", createdAt: 0 }), "migration-uid"],
  ])("names the migration that moved the VM, even if no earlier status named it: %s", (_, made, last) => {
    const vmis = moved.vmis.map((one) => (last === undefined ? one : { ...one, lastMigration: { uid: last } }));
    const named = { migration: { name: made.name, uid: made.uid }, targetNode: "node02" };
    const others = [
      migration({ uid: "other", phase: "Running" }),
      migration({ uid: "failed", phase: "Failed", createdAt: 0 }),
    ];
    expect(statusAfter(evacuation(), { vmis, migrations: [...others, made] })).toMatchObject(named);
  });

  test("names no migration if the VMI's last migration has failed", () => {
    const vmis = moved.vmis.map((one) => ({ ...one, lastMigration: { uid: failed.uid } }));
    const status = statusAfter(evacuation(), { vmis, migrations: [failed] });
    expect([status.phase, status.migration]).toEqual(["Moved", undefined]);
  });

  // prettier-ignore
  test.each<[string, Partial<Around>["vmis"], Parameters<typeof migration>[0], string | undefined]>([
    ["is the migration's if the VM has moved on",            [vmi({ nodeName: "node03", activePods: { third: "node03" } })], { targetNode: "node02" }, "node02"],
    ["is the VM's if the migration shows no node",           moved.vmis,                                                     {},                       "node02"],
  ])("names a target node that %s", (_, vmis = [], tweak, expected) => {
    const made = migration({ phase: "Succeeded", ...tweak });
    expect(statusAfter(evacuation(), { vmis, migrations: [made] }).targetNode).toBe(expected);
  });

  test.each(["x".repeat(2), "🛟"])(
    "cuts the message of a condition to the length of the CRD's schema, too: %s",
    (end) => {
      const start = "x".repeat(1023 - MESSAGES.exhausted(5, "").length);
      const long = evacuation({ status: { ...resting, attempts: 5, message: `${start}${end}` } });
      const found = statusAfter(long).conditions.find(({ type }) => type === "Failed");
      expect([found?.message.length, found?.message.isWellFormed()]).toEqual([1024, true]);
    },
  );

  test.each([
    ["x".repeat(9999), "x".repeat(1024)],
    [`${"x".repeat(1023)}🛟`, `${"x".repeat(1023)}\uFFFD`],
  ])("cuts its texts to the lengths of the CRD's schema, without broken characters", (why, expected) => {
    const long = { ...failed, failureReason: why };
    expect(statusAfter(evacuation(), { migrations: [long] }).message).toBe(expected);
  });
});

function stalled({ conditions }: EvacuationStatus): readonly string[] {
  const reported = conditions.filter(({ type }) => type === "Stalled");
  return reported.map(({ status, lastTransitionTime }) => `${status} ${lastTransitionTime}`);
}

test("a migration that does not start is Stalled from the first reconcile until it is queued again", () => {
  const running = (count: number) => ({ migrations: [old], queue: { running: count, leaving: 1 }, events: [] });
  const subject = evacuation({ createdAt: at(-300).getTime() });
  expect(stalled(statusAfter(subject, running(5)))).toEqual([]);
  const found = { ...subject, status: statusAfter(subject, running(4)) };
  expect(stalled(found.status)).toEqual([`True ${time(0)}`]);
  expect(stalled(statusAfter(found, { ...running(5), now: at(9) }))).toEqual([`False ${time(9)}`]);
  expect(stalled(statusAfter(found, moved))).toEqual([`True ${time(0)}`]);
  expect(stalled(statusAfter(found, { migrations: [{ ...old, createdAt: at(-20).getTime() }] }))).toEqual([
    `False ${time(0)}`,
  ]);
  expect(planned(found, { ...running(4), now: at(179) })).toEqual([]);
  expect(verbs(planned(found, { ...running(4), now: at(180) }))).toEqual(["DeleteMigration", "WriteStatus", "Event"]);
});

describe("a failed attempt", () => {
  test.each([
    [0, 1, 20],
    [9, 10, 320],
  ])("after %d attempts is number %d, and the next waits for %d s", (before, attempts, seconds) => {
    const subject = evacuation({ status: { attempts: before }, spec: { inherited: { attempts: before } } });
    const expected = { attempts, nextAttemptTime: time(seconds), message: "no room", ...counted };
    expect(statusAfter(subject, { migrations: [failed] })).toMatchObject(expected);
  });

  test("counts once for each of several failed migrations", () => {
    const second = { ...failed, uid: "second", createdAt: failed.createdAt + 1000 };
    const expected = { attempts: 2, lastFailedMigration: { uid: "second" } };
    expect(statusAfter(evacuation(), { migrations: [failed, second] })).toMatchObject(expected);
  });

  test("is not counted again when its stuck migration is deleted", () => {
    const before = evacuation({ status: { attempts: 1, ...counted } });
    const blockedBy = { type: "migrationRejectedByResourceQuota" };
    const second = migration({
      phase: "Pending",
      uid: "second",
      evacuates: NODE,
      createdAt: at(-220).getTime(),
      blockedBy,
    });
    const status = statusAfter(before, { migrations: [failed, second] });
    expect(status).toMatchObject({ attempts: 2, ...counted });
    for (const phase of ["Pending", "Failed"]) {
      const migrations = [failed, { ...second, phase, deleting: true }];
      expect(planned({ ...before, status }, { migrations })).toEqual([]);
    }
  });

  test.each<[boolean, string, Partial<Around>]>([
    [true, "a failed attempt", { evacuations: [evacuation()], migrations: [failed] }],
    [true, "a new Evacuation", {}],
    [false, "a mark", { evacuations: [young] }],
    [false, "no change", { evacuations: [evacuation({ createdAt: young.createdAt })] }],
  ])("or a new Evacuation makes the plan repeat at once: %s after %s", (expected, _, tweak) => {
    const { chains, again } = planEvacuations(world(tweak));
    expect([again, chains.filter((chain) => chain.length === 0)]).toEqual([expected, []]);
  });

  test("is counted if the API server refuses the migration", () => {
    const [create] = only("CreateMigration", planned(newborn({ spec: { inherited: { attempts: 2 } } })));
    const status = { phase: "BackingOff", reason: "MigrationRefused", attempts: 3, nextAttemptTime: time(80) };
    expect(create?.ifRefused).toMatchObject([{ status }, { reason: "MigrationRefused", type: "Warning" }]);
  });
});

test("a migration of Lifeboat's has a name that every function derives equally, another for each attempt", () => {
  const many = settings({ evacuation: { maxAttempts: 99 } });
  const names = [0, 0, 1].map((attempts) => {
    return only("CreateMigration", planned(evacuation({ status: { attempts } }), { settings: many }))[0]?.name ?? "";
  });
  expect(names[0]).toMatch(/^lifeboat-web-[0-9a-f]{8}-1$/);
  expect(names).toEqual([names[0], names[0], names[0]?.replace(/1$/, "2")]);
});
