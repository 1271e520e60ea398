/** Every rule for an Evacuation: its facts, its actions, and which rule wins if two apply. */
import { describe, expect, test } from "vitest";
import { planEvacuations } from "../../../shared/evacuation/plan.ts";
import { type EvacuationFacts, type EvacuationStatus, isToBeReleased } from "../../../shared/kube/evacuation.ts";
import { disrupted, MAINTENANCE } from "../../support/guard/disruptions.ts";
import {
  at,
  budget,
  endedEvacuation,
  evacuation,
  EXTERNAL,
  MARK_SEEN,
  marked,
  migration,
  newborn,
  NODE,
  node,
  PINNED,
  pod,
  POD_UID,
  settings,
  time,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { type Around, course, planned, statusAfter, world } from "../../support/worlds.ts";

const DRAIN = { key: "kubevirt.io/drain", effect: "NoSchedule" };
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
const young = newborn({ createdAt: at(-4).getTime() });
const unseen = newborn({ spec: { cause: "Operator" }, createdAt: at(-4).getTime() });
const unseenLong = evacuation({ status: { conditions: [] } });
const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const byDrainTaint = evacuation({ spec: { cause: "DrainTaint" }, status: { conditions: [] } });
const byTaint = disrupted("NoExecuteTaint", 60);
const startedBefore = (seconds: number) => {
  return { ...byTaint, createdAt: at(-seconds).getTime(), status: { ...byTaint.status, conditions: [] } };
};
const byHand = evacuation({ spec: { cause: "Operator" }, status: { conditions: [] } });
const resting = { attempts: 2, phase: "BackingOff", reason: "MigrationFailed", message: "no room" } as const;
const exhausted = evacuation({ status: { ...resting, attempts: 5 } });
const inherited = { spec: { inherited: { attempts: 5, notBefore: time(9) } } };

function retriedIn(seconds: number): EvacuationFacts {
  return evacuation({ status: { attempts: 1, nextAttemptTime: time(seconds) } });
}

const running = migration();
const kubevirts = migration({ phase: "Pending", evacuates: NODE });
const fresh = { ...kubevirts, createdAt: at(-19).getTime() };
const pending = migration({ phase: "Pending" });
const failed = migration({ phase: "Failed" });
const succeeded = { ...running, phase: "Succeeded", targetNode: "node02" };
const stuck = {
  ...running,
  phase: "Pending",
  evacuates: NODE,
  createdAt: at(-200).getTime(),
  blockedBy: { type: "migrationRejectedByResourceQuota" },
};

const sent = migration({ phase: "Synchronizing", decentralized: "Sends" });
const unreachable = { ...sent, blockedBy: { type: "decentralizedMigrationBlocked", message: "connection refused" } };
const arrived = { ...sent, phase: "Succeeded", cause: "ApiEviction", targetNode: "node-of-another-cluster" };
const received = migration({ decentralized: "Receives" });

const moved = vmi({ nodeName: "node02", activePods: { [POD_UID]: NODE, other: "node02" } });
const scheduling = without(vmi({ activePods: {} }), "nodeName");
const external = { vmis: [marked(EXTERNAL)] };
const tainted = { nodes: [node({ taints: [DRAIN] })], vmis: [vmi()] };
const untainted = { nodes: [node()], pods: [pod()] };

const GONE = "Gone VirtualMachineInstanceGone";
const MOVED = "Moved Moved, tell";
const MARKED = "CreateBudget, Mark, Pending Pending";
const CREATED = "CreateMigration, Pending Pending, tell";
const BY_TAINT = "Withdrawn TaintWithdrawn, tell";
const BY_PREEMPTION = "Withdrawn PreemptionWithdrawn, tell";
const BY_MARK = "Withdrawn MarkWithdrawn, tell";
const BY_INTENT = "Withdrawn IntentWithdrawn, tell";
const FAILED = "BackingOff MigrationFailed, tell";

type Row = readonly [what: string, EvacuationFacts, Partial<Around>, expected: string];

// prettier-ignore
const rows: readonly Row[] = [
  // The VM has ended
  ["there is no such VM",                      newborn(),    { vmis: [] },                                              GONE],
  ["made anew under its name",                 evacuation(), { vmis: [vmi({ uid: "made-anew" })] },                     GONE],
  ["being deleted",                            evacuation(), { vmis: [marked({ deleting: true })] },                    GONE],
  ["… though it has moved",                    evacuation(), { vmis: [{ ...moved, phase: "Succeeded" }] },              GONE],
  // It has left its pod
  ["back on its node, in another pod",         evacuation(), { vmis: [vmi({ activePods: { other: NODE } })] },          MOVED],
  ["… and KubeVirt lists the old one as well", evacuation(), { vmis: [vmi({ activePods: { [POD_UID]: NODE, other: NODE } })], migrations: [succeeded] }, MOVED],
  ["a migration succeeded, the VMI lags",      evacuation(), { migrations: [succeeded] },                               "Migrating Succeeded"],
  ["… asked for when the VMI showed the new pod already", evacuation({ status: { podUID: "other" } }), { vmis: [moved], migrations: [succeeded] }, MOVED],
  ["an earlier migration succeeded",           evacuation(), { migrations: [{ ...succeeded, createdAt: at(-61).getTime() }] }, CREATED],
  ["… the one that brought it to its node",    evacuation(), { migrations: [{ ...succeeded, sourceNode: "node00", targetNode: NODE }] }, CREATED],
  ["KubeVirt lists no pods",                   evacuation(), { vmis: [marked({ activePods: {} })] },                    CREATED],
  // The request was taken back
  ["spec.intent",                              withdrawn,    {},                                                        `${BY_INTENT}; Unmark, Released`],
  ["… is being deleted",                       withdrawn,    { migrations: [{ ...kubevirts, deleting: true }] },        `${BY_INTENT}; Unmark, Released`],
  ["… runs",                                   withdrawn,    { migrations: [migration({ evacuates: NODE })] },          `${BY_INTENT}; Unmark, Released`],
  ["… ours waits",                             withdrawn,    { migrations: [{ ...pending, name: "lifeboat-web-1" }] },  `${BY_INTENT}; Unmark, DeleteMigration, Released`],
  ["the drain taint is there",                 byDrainTaint, tainted,                                                   CREATED],
  ["… is gone",                                byDrainTaint, { ...tainted, ...untainted },                              BY_TAINT],
  ["… and the label is left",                  byDrainTaint, { ...untainted, vmis: [vmi({ evacuationLabel: "normal" })] }, `${BY_TAINT}; Unmark, Released`],
  ["… is gone, but the VM was marked since: a drain joined", byDrainTaint, untainted,                                   CREATED],
  ["… only another node was read",             byDrainTaint, { ...tainted, nodes: [node({ name: "node02" })] },         CREATED],
  ["the NoExecute taint is gone",              byTaint,      untainted,                                                 `${BY_TAINT}; Unmark, Released`],
  ["… 1 s after it began, and the mark is still to come", startedBefore(1), { ...untainted, vmis: [vmi()] }, "-"],
  ["… 14 s after, and still no mark",          startedBefore(14), { ...untainted, vmis: [vmi()] }, "-"],
  ["… 15 s after: none comes",                 startedBefore(15), { ...untainted, vmis: [vmi()] },                        BY_TAINT],
  ["… 1 s after, and the mark has come",       startedBefore(1), untainted,                                               `${BY_TAINT}; Unmark, Released`],
  ["… is there",                               byTaint,      { ...untainted, nodes: [node({ taints: [MAINTENANCE] })] }, CREATED],
  ["… is gone, and the node down",             byTaint,      { ...untainted, nodes: [node({ ready: false })] },         CREATED],
  ["… is gone, and the node not reachable",    byTaint,      { ...untainted, nodes: [node({ taints: [UNREACHABLE] })] }, CREATED],
  ["a preemption, 29 s past its deadline",     disrupted("Preemption", -29), { pods: [pod()] },                         CREATED],
  ["… 30 s: the scheduler has other victims",  disrupted("Preemption", -30), { pods: [pod()] },                         `${BY_PREEMPTION}; Unmark, Released`],
  ["… its migration waits",                    disrupted("Preemption", -30), { pods: [pod()], migrations: [kubevirts] }, `${BY_PREEMPTION}; Unmark, DeleteMigration, Released`],
  ["… its migration runs",                     disrupted("Preemption", -30), { pods: [pod()], migrations: [migration({ evacuates: NODE })] }, "Migrating Running"],
  ["… its pod is being deleted",               disrupted("Preemption", -30), { pods: [pod({ deleting: true })] },       CREATED],
  ["… its pod was not read",                   disrupted("Preemption", -30), {},                                        CREATED],
  ["… of a taint: Lifeboat finishes that",     disrupted("NoExecuteTaint", -30), { pods: [pod()] },                     CREATED],
  ["… the pod was not read",                   byTaint,      { nodes: [node()] },                                       CREATED],
  ["the mark was removed",                     evacuation(), { vmis: [vmi()] },                                         BY_MARK],
  ["… a migration waits",                      evacuation(), { vmis: [vmi()], migrations: [kubevirts] },                `${BY_MARK}; DeleteMigration, Released`],
  ["… a migration runs",                       evacuation(), { vmis: [vmi()], migrations: [running] },                  "Migrating Running"],
  ["… and one for a former node is left",      evacuation(), { vmis: [vmi({ evacuationNodeName: "node00" })] },         `${BY_MARK}; Unmark, Released`],
  ["no mark was seen yet",                     unseen,       { vmis: [vmi()] },                                         MARKED],
  ["… was told as False",                      evacuation({ status: { conditions: [{ ...MARK_SEEN, status: "False" }] } }), { vmis: [vmi()] }, `CreateBudget, ${CREATED}`],
  ["… another condition was",                  evacuation({ status: { conditions: [{ ...MARK_SEEN, type: "Stalled" }] } }), { vmis: [vmi()] }, `CreateBudget, ${CREATED}`],
  ["… of an eviction: KubeVirt reviews it",    young,        { vmis: [vmi()] },                                         "CreateBudget, Pending Pending"],
  ["… and KubeVirt is asked once more",        byHand,       { vmis: [vmi()] },                                         `CreateBudget, Mark, ${CREATED}`],
  // It is hopeless
  ["five attempts",                            exhausted,    {},                                                        "Abandoned MigrationFailed, tell; Unmark, Released"],
  ["five attempts, inherited",                 evacuation({ ...inherited, status: { attempts: 5 } }), {},               "BackingOff MigrationFailed"],
  ["… and one of its own",                     evacuation({ ...inherited, status: { ...resting, attempts: 6 } }), {},   "Abandoned MigrationFailed, tell; Unmark, Released"],
  ["strategy None",                            evacuation(), { vmis: [marked({ evictionStrategy: "None" })] },          "Abandoned StrategyNone, tell; Unmark, Released"],
  ["a strategy that KubeVirt does not know",   evacuation(), { vmis: [marked({ evictionStrategy: "Odd" })] },           "Abandoned UnknownStrategy, tell; Unmark, Released"],
  ["by hand, pinned",                          byHand,       { vmis: [vmi(PINNED)] },                                   "Abandoned DisksNotLiveMigratable, tell"],
  ["… without a reason",                       byHand,       { vmis: [vmi({ liveMigratable: { migratable: false, reason: "" } })] }, "Abandoned NotLiveMigratable, tell"],
  ["… External: its owner may move it",        unseen,       { vmis: [vmi({ ...PINNED, ...EXTERNAL })] },               "CreateBudget, Mark, Pending Pending"],
  ["… and KubeVirt does not mark it",          byHand,       { vmis: [vmi({ ...PINNED, ...EXTERNAL })] },               "CreateBudget, Mark, Blocked NotMarked, tell"],
  ["… a migration runs: pinned by that",       byHand,       { vmis: [vmi(PINNED)], migrations: [running] },            "Migrating Running"],
  // An attempt
  ["a migration failed",                       evacuation(), { migrations: [failed] },                                  FAILED],
  ["… External: its owner's to try again",     evacuation(), { ...external, migrations: [failed] },                     "WaitingForExternalController External"],
  ["KubeVirt's waits",                         evacuation(), { migrations: [kubevirts] },                               "Migrating Queued"],
  ["… and has just appeared: annotated, and no status is written", evacuation(), { migrations: [fresh] },              "AnnotateMigration"],
  ["… but a quota keeps it",                   evacuation(), { migrations: [{ ...fresh, blockedBy: stuck.blockedBy }] }, "Migrating QuotaExceeded"],
  ["… and has just begun",                     evacuation(), { migrations: [{ ...fresh, phase: "Scheduled" }] },        "Migrating Preparing"],
  ["… where watches show each change",         evacuation(), { migrations: [kubevirts], isWatched: true },              "AnnotateMigration, Migrating Queued"],
  ["… for which we wait",                      retriedIn(9), { migrations: [{ ...kubevirts, deleting: true }] },        "BackingOff MigrationFailed"],
  ["it runs, and KubeVirt's waits behind it",   evacuation(), { migrations: [kubevirts, migration()] },                  "Migrating Running"],
  ["it exceeds a quota",                       evacuation(), { migrations: [stuck] },                                   "DeleteMigration, BackingOff MigrationStuck, tell"],
  ["… a person's: not ours to delete",         evacuation(), { migrations: [without(stuck, "evacuates")] },             "Blocked PersonsMigration, tell"],
  ["… a workload update's",                    evacuation(), { migrations: [{ ...without(stuck, "evacuates"), automatic: true }] }, "DeleteMigration, BackingOff MigrationStuck, tell"],
  ["… but runs",                               evacuation(), { migrations: [{ ...stuck, phase: "Running" }] },          "Migrating Running"],
  ["… is being deleted",                       evacuation(), { migrations: [{ ...stuck, deleting: true }] },            "Migrating QuotaExceeded"],
  // Nothing runs
  ["on no node",                               newborn(),    { vmis: [scheduling] },                                    "Blocked NotScheduled, tell"],
  ["no virt-handler on its node",              evacuation(), { nodes: [node({ virtHandler: { isSchedulable: false, saidAt: time(-60) } })] }, "Blocked NoVirtHandler, tell"],
  ["… a migration that waits for it",          evacuation(), { migrations: [running], nodes: [node({ virtHandler: { isSchedulable: false, saidAt: time(-60) } })] }, "Blocked NoVirtHandler, tell"],
  ["… silent for long, though it said no end", evacuation(), { nodes: [node({ virtHandler: { isSchedulable: true, saidAt: time(-180) } })] },  "Blocked NoVirtHandler, tell"],
  ["pinned",                                   evacuation(), { vmis: [marked(PINNED)] },                                "Blocked DisksNotLiveMigratable, tell"],
  ["pinned, not marked",                       unseenLong,     { vmis: [vmi(PINNED)] },                                   "Blocked DisksNotLiveMigratable, tell"],
  ["External",                                 evacuation(), external,                                                  "WaitingForExternalController External"],
  ["between two attempts",                     evacuation({ status: { ...resting, nextAttemptTime: time(1) } }), {},    "-"],
  ["… over, and KubeVirt's turn again",        { ...retriedIn(-4), createdAt: at(-99).getTime() }, {},                  "-"],
  ["… over, and KubeVirt has had its time",    retriedIn(-5), {},                                                       CREATED],
  ["KubeVirt has time left",                   young,        {},                                                        "Pending Pending"],
  ["a VM without a budget",                    evacuation(),      { budgets: [] },                                     `CreateBudget, ${CREATED}`],
  ["… with one of another size",               evacuation(),      { budgets: [budget({ minAvailable: 1 })] },          `RepairBudget, ${CREATED}`],
  ["… with another's of that name",            evacuation(),      { budgets: [budget({ managedByUs: false })] },       `CreateBudget, ${CREATED}`],
  ["no budgets are made",                      evacuation(), { budgets: [], settings: settings({ evictionsCovered: true }) }, CREATED],
  // It comes from another namespace or cluster, or goes there
  ["sent: the other end is waited for",        evacuation(), { migrations: [sent] },                                    "Migrating Synchronizing"],
  ["… the other end cannot be reached",        evacuation(), { migrations: [unreachable] },                             "Blocked DecentralizedMigration, tell"],
  ["… given up: no attempt of ours",           evacuation(), { migrations: [{ ...sent, phase: "Failed" }] },            CREATED],
  ["… there, and its pod is not listed any more", evacuation(), { vmis: [marked({ activePods: {} })], migrations: [arrived] }, "Migrating Succeeded"],
  ["… there",                                  evacuation(), { vmis: [marked({ phase: "Succeeded" })], migrations: [arrived] }, MOVED],
  ["… and withdrawn",                          withdrawn,    { migrations: [sent] },                                    "Withdrawn IntentWithdrawn, tell; Unmark, Released"],
  ["received: not there yet",                  byHand,       { vmis: [vmi({ phase: "Scheduled", decentralized: "Receives" })] }, "Blocked BeingReceived, tell"],
  ["… marked by KubeVirt: no Evacuation yet",  byHand,       { vmis: [marked({ phase: "Scheduled", decentralized: "Receives" })] }, "Blocked BeingReceived, tell"],
  ["… just come, and that migration goes on",  evacuation(), { migrations: [received] },                                "Blocked BeingReceived, tell"],
  ["… has ended: that was no way out",         evacuation(), { migrations: [{ ...received, phase: "Succeeded" }] },     CREATED],
];

/** While its attempts are counted and its mark is on the way there is more to come. */
function isSettled({ phase, message = "" }: EvacuationStatus): boolean {
  return phase !== "BackingOff" && !message.includes("is being marked") && !message.includes("has been created");
}

describe("an Evacuation", () => {
  test.each(rows)("%s", (_, subject, tweak, expected) => expect(course(subject, tweak)).toBe(expected));

  test.each(rows)("%s: nothing is written about it a second time", (_, subject, tweak) => {
    const ended = statusAfter(subject, tweak);
    const status = isToBeReleased({ status: ended }) ? statusAfter({ ...subject, status: ended }, tweak) : ended;
    const again = planned({ ...subject, status }, tweak).filter((a) => a.verb === "WriteStatus");
    if (isSettled(status)) expect(again).toEqual([]);
  });

  test("one that has ended is left alone", () => {
    expect(planned(endedEvacuation("Moved"), { vmis: [vmi()] })).toEqual([]);
  });

  test("VMs do not wait for each other: a chain each", () => {
    const db = newborn({ name: "db-1", uid: "db", spec: { vmiName: "db", pod: { uid: "db-pod" } } });
    const vmis = [marked(), marked({ name: "db", uid: "db", activePods: { "db-pod": NODE } })];
    const { chains } = planEvacuations(world({ vmis, evacuations: [newborn(), db] }));
    expect(chains).toHaveLength(2);
  });
});

describe("beside another Evacuation", () => {
  const older = newborn({ name: "by-hand", uid: "older", createdAt: at(-90).getTime() });
  const former = { virtualMachineInstanceUID: "old" };

  // prettier-ignore
  test.each<[string, EvacuationFacts, other: EvacuationFacts, Partial<Around>, phase: string]>([
    ["an older one",                    evacuation(), older,                                                {},                "Duplicate"],
    ["… is withdrawn itself",           withdrawn,    older,                                                {},                "Duplicate"],
    ["… when it has moved",             evacuation(), older,                                                { vmis: [moved] }, "Moved"],
    ["a younger one",                   evacuation(), { ...older, createdAt: at(0).getTime() },               {},                "Pending"],
    ["an older one of an earlier VMI",  evacuation(), { ...older, status: { ...older.status, ...former } }, {},                "Pending"],
  ])("%s", (...[, subject, other, tweak, expected]) => {
    expect(statusAfter(subject, { ...tweak, evacuations: [other, subject] }).phase).toBe(expected);
  });

  test("a Duplicate names the one that goes on", () => {
    const { message } = statusAfter(evacuation(), { evacuations: [older, evacuation()] });
    expect(message).toBe("Evacuation by-hand of the same pod continues");
  });
});
