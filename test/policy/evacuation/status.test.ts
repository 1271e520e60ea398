/** What the status of an Evacuation says, how attempts are counted in it, and what Events tell. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/policy/action.ts";
import { planEvacuations } from "../../../shared/policy/evacuation/evacuation.ts";
import { refusedMigration } from "../../../shared/policy/evacuation/ends.ts";
import type { EvacuationWorld } from "../../../shared/policy/evacuation/world.ts";
import type { EvacuationFacts, EvacuationStatus, MigrationFacts } from "../../../shared/policy/facts.ts";
import {
  at,
  evacuation,
  MARK_SEEN,
  marked,
  migration,
  MOBILITY,
  newborn,
  NODE,
  node,
  only,
  pod,
  POD_NAME,
  POD_UID,
  settings,
  time,
  verbs,
  vmi,
  VMI_UID,
} from "../fixtures.ts";
import { plannedEvacuations, statusAfter, world } from "../worlds.ts";

function planned(subject: EvacuationFacts, tweak: Partial<EvacuationWorld> = {}): readonly Action[] {
  return plannedEvacuations({ evacuations: [subject], ...tweak });
}

function told(subject: EvacuationFacts, tweak: Partial<EvacuationWorld> = {}): readonly string[] {
  return only("Event", planned(subject, tweak)).map(({ reason, message }) => `${reason}: ${message}`);
}

const young = { createdAt: at(-4).getTime() };
const pending = migration({ phase: "Pending" });
const kubevirts = migration({ phase: "Pending", evacuates: NODE });
const failed = migration({ phase: "Failed", failureReason: "no room" });
const quota = { type: "migrationRejectedByResourceQuota", message: "exceeded quota" };
const stuck = { ...pending, blockedBy: quota };
const pinned = { liveMigratable: MOBILITY.pinned };
const resting = { attempts: 2, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
const exhausted = evacuation({ status: { ...resting, attempts: 5 } });
const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const byTaint = evacuation({ spec: { cause: "NoExecuteTaint" } });
const untainted = { nodes: [node()], pods: [pod()] };

function stalled({ conditions }: EvacuationStatus): readonly string[] {
  const told = conditions.filter(({ type }) => type === "Stalled");
  return told.map(({ status, lastTransitionTime }) => `${status} ${lastTransitionTime}`);
}

describe("the status", () => {
  const seen = {
    virtualMachineInstanceUID: VMI_UID,
    podName: POD_NAME,
    podUID: POD_UID,
    sourceNode: NODE,
    startTime: time(0),
    conditions: [{ ...MARK_SEEN, lastTransitionTime: time(0) }],
  };

  test("is resolved with the first look", () => {
    expect(statusAfter(newborn(young))).toMatchObject({ ...seen, attempts: 0 });
  });

  test("… of one that a person made: the pod that the VM runs in", () => {
    const { pod: _, ...spec } = newborn().spec;
    const { podName: _name, ...rest } = seen;
    expect(statusAfter({ ...newborn(young), spec })).toMatchObject(rest);
    expect(statusAfter({ ...newborn(young), spec })).not.toHaveProperty("podName");
  });

  test("… and then kept", () => {
    const { podUID, sourceNode } = statusAfter(evacuation(), {
      vmis: [vmi({ nodeName: "node02", activePods: { x: "node02" } })],
    });
    expect([podUID, sourceNode]).toEqual([POD_UID, NODE]);
  });

  test("a mark that was seen stays told", () => {
    const { conditions } = statusAfter(evacuation(), { vmis: [vmi({ nodeName: "node02" })] });
    expect(conditions).toContainEqual(MARK_SEEN);
  });

  test("an end has its time, its conditions, and no next attempt but its own back-off", () => {
    const subject = evacuation({ status: { ...resting, nextAttemptTime: time(40) } });
    const moved = statusAfter(subject, { vmis: [vmi({ nodeName: "node02" })] });
    expect(moved).toMatchObject({ completionTime: time(0), targetNode: "node02", attempts: 2 });
    expect(moved).not.toHaveProperty("nextAttemptTime");
  });

  // prettier-ignore
  test.each<[string, EvacuationFacts, Partial<EvacuationWorld>, readonly string[], string | undefined]>([
    ["Moved",            evacuation(), { vmis: [vmi({ nodeName: "node02" })] }, ["Evacuated True", "Marked True"],                 undefined],
    ["Abandoned",        exhausted,    {},                                      ["Evacuated False", "Failed True", "Marked True"], time(320)],
    ["impossible",       evacuation({ spec: { cause: "Operator" }, status: { conditions: [] } }), { vmis: [vmi(pinned)] }, ["Evacuated False", "Failed True"], undefined],
    ["cancelled",        withdrawn,    {},                                      ["Evacuated False", "Marked True"],                time(20)],
    ["the mark removed", evacuation({ status: { attempts: 2 } }), { vmis: [vmi()] }, ["Evacuated False", "Marked True"],           time(40)],
    ["the taint gone",   byTaint,      untainted,                               ["Evacuated False", "Marked True"],                time(0)],
    ["Gone",             evacuation(), { vmis: [] },                            ["Evacuated False", "Marked True"],                undefined],
  ])("%s: conditions, and when the next one may begin", (...[, subject, tweak, conditions, next]) => {
    const status = statusAfter(subject, tweak);
    expect(status.conditions.map((one) => `${one.type} ${one.status}`)).toEqual(conditions);
    expect(status.nextAttemptTime).toBe(next);
  });

  test("a migration that does not begin is stalled from the first look that finds it so, until one finds it queued", () => {
    const old = { ...pending, createdAt: at(-200).getTime() };
    const look = (subject: EvacuationFacts, running: number) =>
      statusAfter(subject, { migrations: [old], queues: new Map([[NODE, { running, leaving: 1 }]]) });
    const subject = evacuation({ createdAt: at(-300).getTime() });
    expect(stalled(look(subject, 5))).toEqual([]);
    const found = { ...subject, status: look(subject, 4) };
    expect(stalled(found.status)).toEqual([`True ${time(0)}`]);
    const later = { ...old, createdAt: at(-20).getTime() };
    expect(stalled(statusAfter(found, { migrations: [later] }))).toEqual([`False ${time(0)}`]);
    expect(stalled(look(found, 5))).toEqual([`False ${time(0)}`]);
    const stuckAt = (seconds: number) =>
      planned(found, { migrations: [old], queues: new Map([[NODE, { running: 4, leaving: 1 }]]), now: at(seconds) });
    expect(verbs(stuckAt(179))).toEqual([]);
    expect(verbs(stuckAt(180))).toEqual(["DeleteMigration", "WriteStatus", "Event"]);
  });

  test("words are cut to what the CRD's schema allows", () => {
    const long = { ...failed, failureReason: "x".repeat(9999) };
    expect(statusAfter(evacuation(), { migrations: [long] }).message).toHaveLength(1024);
  });
});

function isLookedAtAgain(tweak: Partial<EvacuationWorld>): boolean | undefined {
  return planEvacuations(world(tweak)).again;
}

describe("a failed attempt", () => {
  test.each([
    [0, 1, 20],
    [1, 2, 40],
    [4, 5, 320],
    [9, 10, 320],
  ])("after %d: it is number %d, and the next one waits for %d s", (before, attempts, seconds) => {
    const subject = evacuation({ status: { attempts: before }, spec: { inherited: { attempts: before } } });
    expect(statusAfter(subject, { migrations: [failed] })).toMatchObject({
      attempts,
      nextAttemptTime: time(seconds),
      message: "no room",
      lastFailedMigration: { name: failed.name, uid: failed.uid },
    });
  });

  test("several at once count each", () => {
    const second = { ...failed, name: "second", uid: "second", createdAt: failed.createdAt + 1000 };
    expect(statusAfter(evacuation(), { migrations: [failed, second] })).toMatchObject({
      attempts: 2,
      lastFailedMigration: { uid: "second" },
    });
  });

  test("one that was deleted because it was stuck is not counted again, nor those before it", () => {
    const before = evacuation({ status: { attempts: 1, lastFailedMigration: { name: failed.name, uid: failed.uid } } });
    const second: MigrationFacts = { ...stuck, name: "second", uid: "second", createdAt: at(-20).getTime() };
    const status = statusAfter(before, { migrations: [failed, second] });
    expect(status).toMatchObject({ attempts: 2, lastFailedMigration: { uid: failed.uid } });
    for (const phase of ["Pending", "Failed"]) {
      const migrations = [failed, { ...second, phase, deleting: true }];
      expect(planned({ ...before, status }, { migrations })).toEqual([]);
    }
  });

  test("is looked at again at once, as is a new Evacuation", () => {
    expect(isLookedAtAgain({ evacuations: [evacuation()], migrations: [failed] })).toBe(true);
    expect(isLookedAtAgain({})).toBe(true);
    expect(isLookedAtAgain({ evacuations: [evacuation(young)] })).toBe(false);
  });

  test("the create call was refused: counted as one, unless the Evacuation is gone", () => {
    const subject = newborn({ spec: { inherited: { attempts: 2 } } });
    const [write, event] = refusedMigration(subject, marked(), world({ evacuations: [subject] }));
    expect(write).toMatchObject({
      status: { phase: "BackingOff", reason: "MigrationRefused", attempts: 3, nextAttemptTime: time(80) },
    });
    expect(event).toMatchObject({ reason: "MigrationRefused", type: "Warning" });
    expect(refusedMigration(subject, marked(), world())).toEqual([]);
  });
});

function migrationAfter(attempts: number): string | undefined {
  const many = settings({ evacuation: { maxAttempts: 99 } });
  return only("CreateMigration", planned(evacuation({ status: { attempts } }), { settings: many }))[0]?.name;
}

test("a migration of ours has a name that every function derives alike, for each attempt another one", () => {
  expect(migrationAfter(0)).toMatch(/^lifeboat-web-[0-9a-f]{8}-1$/);
  expect(migrationAfter(0)).toBe(migrationAfter(0));
  expect(migrationAfter(1)).toMatch(/-2$/);
});

describe("what is told", () => {
  // prettier-ignore
  test.each<[EvacuationFacts, Partial<EvacuationWorld>, string]>([
    [evacuation(), { migrations: [kubevirts] },             "MigrationAdopted: migration migration moves the VM off node node01 (cause ApiEviction)"],
    [evacuation(), { migrations: [failed] },                "MigrationFailed: attempt 1 of 5 to move the VM off node node01 failed: no room"],
    [evacuation(), { vmis: [marked(pinned)] },              "NotMigratable: cannot leave node node01: the VM is not live-migratable: the disk is not shared"],
    [evacuation(), { vmis: [vmi({ nodeName: "node02" })] }, "Evacuated: moved from node node01 to node node02 (cause ApiEviction)"],
    [withdrawn,    {},                                      "EvacuationCancelled: evacuation from node node01 ends: spec.intent is Withdrawn"],
    [exhausted,    {},                                      "EvacuationAbandoned: evacuation from node node01 is abandoned: 5 attempts have failed; the last one: no room"],
  ])("%#", (subject, tweak, expected) => expect(told(subject, tweak)).toEqual([expected]));

  test("every failure is an occasion of its own", () => {
    const occasions = [0, 1].map((attempts) => {
      return only("Event", planned(evacuation({ status: { attempts } }), { migrations: [failed] }))[0]?.occasion;
    });
    expect(new Set(occasions).size).toBe(2);
  });
});
