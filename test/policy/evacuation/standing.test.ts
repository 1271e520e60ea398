/** Where an Evacuation stands: which facts mean what, and which rule wins where two apply. */
import { describe, expect, test } from "vitest";
import { type Standing, type StandingFacts, standingOf } from "../../../shared/policy/evacuation/standing.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  MARK_SEEN,
  marked,
  migration,
  MOBILITY,
  newborn,
  NODE,
  node,
  NOW,
  pod,
  POD_UID,
  settings,
  time,
  vmi,
  without,
} from "../fixtures.ts";

/** Marked, looked at once, KubeVirt's time for a migration of its own is over. */
function standing(tweak: Partial<StandingFacts> = {}): Standing {
  const { evacuation: subject = evacuation(), ...rest } = tweak;
  const around = { siblings: [subject], migrations: [], launchers: [pod()], node: node(), vmiIsNewer: true };
  return standingOf({ vmi: marked(), ...around, settings: settings(), now: NOW, ...rest, evacuation: subject });
}

function inShort(found: Standing): string {
  const detail = "by" in found ? ` by ${found.by}` : "reason" in found ? ` ${found.reason}` : "";
  return found.standing + detail;
}

const DRAIN = { key: "kubevirt.io/drain", effect: "NoSchedule" };
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const tainted = node({ taints: [DRAIN] });
const pinned = { liveMigratable: MOBILITY.pinned };
const external = { evictionStrategy: "External" };
const byTaint = evacuation({ spec: { cause: "DrainTaint" }, status: { conditions: [] } });
const byNoExecute = evacuation({ spec: { cause: "NoExecuteTaint" } });
const byHand = evacuation({ spec: { cause: "Operator" }, status: { conditions: [] } });
const unseen = evacuation({ status: { conditions: [] } });
const pending = migration({ phase: "Pending" });
const failed = migration({ phase: "Failed" });
const succeeded = migration({ phase: "Succeeded", targetNode: "node02" });
const counted = { attempts: 1, lastFailedMigration: { name: failed.name, uid: failed.uid } };
const moved = marked({ nodeName: "node02", activePods: { [POD_UID]: NODE, other: "node02" } });
const cameBack = marked({ activePods: { other: NODE } });
const older = newborn({ name: "by-hand", uid: "older", createdAt: at(-90).getTime() });
const exhausted = evacuation({ status: { ...counted, attempts: 5, phase: "BackingOff", message: "no room" } });
const inherited = evacuation({ spec: { inherited: { attempts: 5, notBefore: time(9) } }, status: { attempts: 5 } });
const quota = { type: "migrationRejectedByResourceQuota", message: "exceeded quota" };
const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });

type Row = readonly [what: string, tweak: Partial<StandingFacts>, expected: string];

// prettier-ignore
const rows: readonly Row[] = [
  // The VM has ended
  ["made anew under its name",                 { vmi: marked({ uid: "made-anew" }) },                                "Gone"],
  ["being deleted",                            { vmi: marked({ deleting: true }) },                                  "Gone"],
  ["final",                                    { vmi: marked({ phase: "Failed" }) },                                 "Gone"],
  ["… though it has moved",                    { vmi: { ...moved, phase: "Succeeded" } },                            "Gone"],
  // It has left its pod
  ["on another node",                          { vmi: moved },                                                       "Moved"],
  ["… before the first look",                  { vmi: moved, evacuation: newborn() },                                "Moved"],
  ["… withdrawn too late",                     { vmi: moved, evacuation: withdrawn },                                "Moved"],
  ["… beside an older one",                    { vmi: moved, siblings: [older, evacuation()] },                      "Moved"],
  ["back on its node, in another pod",         { vmi: cameBack },                                                    "Moved"],
  ["… and KubeVirt lists the old one as well", { vmi: marked({ activePods: { [POD_UID]: NODE, other: NODE } }), migrations: [succeeded] }, "Moved"],
  ["a migration succeeded, the VMI lags",      { migrations: [succeeded] },                                          "Migrating"],
  ["… withdrawn too late",                     { evacuation: withdrawn, migrations: [succeeded] },                   "Migrating"],
  ["an earlier migration succeeded",           { migrations: [{ ...succeeded, createdAt: at(-61).getTime() }] },     "Ready"],
  ["KubeVirt lists no pods",                   { vmi: marked({ activePods: {} }) },                                  "Ready"],
  // Of two for one pod the older goes on
  ["an older one, named by a person",          { siblings: [older, evacuation()] },                                  "Duplicate"],
  ["… withdrawn itself",                       { siblings: [older, withdrawn], evacuation: withdrawn },              "Duplicate"],
  ["a younger one",                            { siblings: [{ ...older, createdAt: NOW.getTime() }, evacuation()] }, "Ready"],
  ["an older one that has ended",              { siblings: [endedEvacuation("Withdrawn", older), evacuation()] },    "Ready"],
  ["an older one of another pod",              { siblings: [{ ...older, spec: { ...older.spec, pod: { uid: "other" } } }, evacuation()] }, "Ready"],
  ["an older one of an earlier VMI",           { siblings: [{ ...older, status: { ...older.status, virtualMachineInstanceUID: "old" } }, evacuation()] }, "Ready"],
  // The request was taken back
  ["spec.intent",                              { evacuation: withdrawn },                                            "Withdrawn by Intent"],
  ["… while a migration runs",                 { evacuation: withdrawn, migrations: [migration()] },                 "Withdrawn by Intent"],
  ["the drain taint is gone",                  { evacuation: byTaint, vmi: vmi() },                                  "Withdrawn by Taint"],
  ["… but it was marked since: a drain joined", { evacuation: byTaint },                                             "Ready"],
  ["… only another node was read",             { evacuation: byTaint, vmi: vmi(), node: node({ name: "node02" }) },  "Ready"],
  ["the NoExecute taint is gone",              { evacuation: byNoExecute },                                          "Withdrawn by Taint"],
  ["… is still there",                         { evacuation: byNoExecute, node: node({ taints: [MAINTENANCE] }) },   "Ready"],
  ["… and the node is down",                   { evacuation: byNoExecute, node: node({ ready: false }) },            "Ready"],
  ["… the pod was not read",                   { evacuation: byNoExecute, launchers: [] },                           "Ready"],
  ["the mark was removed",                     { vmi: vmi() },                                                       "Withdrawn by Mark"],
  ["… a migration waits",                      { vmi: vmi(), migrations: [pending] },                                "Withdrawn by Mark"],
  ["… a migration runs",                       { vmi: vmi(), migrations: [migration()] },                            "Migrating"],
  ["… in a VMI read before the Evacuation",    { vmi: vmi(), vmiIsNewer: false },                                    "Unclear"],
  ["… the last attempt had failed",            { vmi: vmi(), evacuation: exhausted },                                "GivenUp"],
  ["no mark was seen yet",                     { vmi: vmi(), evacuation: unseen },                                   "Unmarked"],
  ["… in a VMI read before the Evacuation",    { vmi: vmi(), evacuation: unseen, vmiIsNewer: false },                "Unmarked"],
  ["… marked for a node it has left: KubeVirt's leftover", { vmi: marked({ evacuationNodeName: "node00" }), evacuation: unseen }, "Unmarked"],
  // It is hopeless
  ["five attempts",                            { evacuation: exhausted },                                            "GivenUp"],
  ["… and another migration waits",            { evacuation: exhausted, migrations: [pending] },                     "GivenUp"],
  ["five attempts, inherited",                 { evacuation: inherited },                                            "BackingOff"],
  ["… and one of its own",                     { evacuation: { ...inherited, status: { ...inherited.status, attempts: 6 } } }, "GivenUp"],
  ["strategy None",                            { vmi: marked({ evictionStrategy: "None" }) },                        "Impossible StrategyNone"],
  ["a strategy that KubeVirt does not know",   { vmi: marked({ evictionStrategy: "Odd" }) },                         "Impossible UnknownStrategy"],
  ["by hand, pinned",                          { evacuation: byHand, vmi: vmi(pinned) },                             "Impossible DisksNotLiveMigratable"],
  ["… without a reason",                       { evacuation: byHand, vmi: vmi({ liveMigratable: { migratable: false, reason: "" } }) }, "Impossible NotLiveMigratable"],
  ["… External: its owner may move it",        { evacuation: byHand, vmi: vmi({ ...pinned, ...external }) },         "Unmarked"],
  ["… a migration runs: pinned by that",       { evacuation: byHand, vmi: vmi(pinned), migrations: [migration()] },  "Migrating"],
  // An attempt
  ["a migration failed",                       { migrations: [failed] },                                             "AttemptFailed"],
  ["… and the next one waits",                 { migrations: [failed, migration({ uid: "next" })] },                 "AttemptFailed"],
  ["… is counted already",                     { evacuation: evacuation({ status: counted }), migrations: [failed] }, "Ready"],
  ["… before this evacuation",                 { migrations: [{ ...failed, createdAt: at(-61).getTime() }] },        "Ready"],
  ["… is being deleted: counted or unwanted",  { migrations: [{ ...failed, deleting: true }] },                      "Ready"],
  ["… External: its owner's to try again",     { vmi: marked(external), migrations: [failed] },                      "WaitingForOwner"],
  ["it waits in KubeVirt's queue",             { migrations: [pending] },                                            "Migrating"],
  ["it runs",                                  { migrations: [migration()] },                                        "Migrating"],
  ["it exceeds a quota",                       { migrations: [{ ...pending, blockedBy: quota }] },                   "Stuck"],
  ["… but runs",                               { migrations: [migration({ blockedBy: quota })] },                    "Migrating"],
  ["… External",                               { vmi: marked(external), migrations: [{ ...pending, blockedBy: quota }] }, "Migrating"],
  ["… made anew by KubeVirt while we wait",    { evacuation: evacuation({ status: { attempts: 1, nextAttemptTime: time(9) } }), migrations: [{ ...pending, blockedBy: quota }] }, "BackingOff"],
  ["… is being deleted",                       { migrations: [{ ...pending, blockedBy: quota, deleting: true }] },   "Migrating"],
  ["… for which we wait",                      { evacuation: evacuation({ status: { attempts: 1, nextAttemptTime: time(9) } }), migrations: [{ ...pending, deleting: true }] }, "BackingOff"],
  // Nothing runs
  ["on no node",                               { vmi: without(vmi({ activePods: {} }), "nodeName"), evacuation: newborn() }, "Blocked NotScheduled"],
  ["… External",                               { vmi: without(vmi({ ...external, activePods: {} }), "nodeName"), evacuation: newborn() }, "Blocked NotScheduled"],
  ["pinned",                                   { vmi: marked(pinned) },                                              "Blocked DisksNotLiveMigratable"],
  ["pinned, not marked",                       { vmi: vmi(pinned), evacuation: unseen },                             "Blocked DisksNotLiveMigratable"],
  ["External",                                 { vmi: marked(external) },                                            "WaitingForOwner"],
  ["External, pinned",                         { vmi: marked({ ...external, ...pinned }) },                          "WaitingForOwner"],
  ["between two attempts",                     { evacuation: evacuation({ status: { ...counted, nextAttemptTime: time(1) } }) }, "BackingOff"],
  ["… inherited from the one before",          { evacuation: newborn({ spec: { inherited: { attempts: 1, notBefore: time(1) } } }) }, "BackingOff"],
  ["… over, and KubeVirt's turn again",        { evacuation: evacuation({ status: { ...counted, nextAttemptTime: time(-4) } }) }, "LeftToKubeVirt"],
  ["… over, and KubeVirt has had its time",    { evacuation: evacuation({ status: { ...counted, nextAttemptTime: time(-5) } }) }, "Ready"],
  ["KubeVirt has time left",                   { evacuation: evacuation({ createdAt: at(-4).getTime() }) },         "LeftToKubeVirt"],
  ["… none: adoptSeconds is 0",                { evacuation: evacuation({ createdAt: NOW.getTime() }), settings: settings({ evacuation: { adoptSeconds: 0 } }) }, "Ready"],
  ["the drain taint: needs no mark",           { evacuation: byTaint, vmi: vmi(), node: tainted },                   "Ready"],
  ["the KubeVirt CR's strategy counts",        { vmi: without(marked(), "evictionStrategy"), settings: settings({ clusterStrategy: "LiveMigrateIfPossible" }) }, "Ready"],
];

const ALL: Record<Standing["standing"], true> = {
  Gone: true,
  Duplicate: true,
  Moved: true,
  Withdrawn: true,
  GivenUp: true,
  Impossible: true,
  AttemptFailed: true,
  Stuck: true,
  Migrating: true,
  Unmarked: true,
  Unclear: true,
  WaitingForOwner: true,
  Blocked: true,
  BackingOff: true,
  LeftToKubeVirt: true,
  Ready: true,
};

describe("standing", () => {
  test.each(rows)("%s", (_, tweak, expected) => expect(inShort(standing(tweak))).toBe(expected));

  test("the rows show every standing", () => {
    const shown = new Set(rows.map(([, , expected]) => expected.replace(/ .*/, "")));
    expect([...shown].toSorted()).toEqual(Object.keys(ALL).toSorted());
  });

  test("a mark that was told as False, or another condition, is no mark that was seen", () => {
    for (const condition of [
      { ...MARK_SEEN, status: "False" },
      { ...MARK_SEEN, type: "Stalled" },
    ] as const) {
      const subject = evacuation({ status: { conditions: [condition] } });
      expect(standing({ vmi: vmi(), evacuation: subject }).standing).toBe("Unmarked");
    }
  });
});
