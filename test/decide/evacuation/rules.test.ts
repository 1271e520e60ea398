/** Tests every rule for an Evacuation: the facts, the actions, and which rule applies if several rules match. */
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
const MOVED = "Moved Moved, Event";
const MARKED = "CreateBudget, Mark, Pending Pending";
const CREATED = "CreateMigration, Pending Pending, Event";
const BY_TAINT = "Withdrawn TaintWithdrawn, Event";
const BY_PREEMPTION = "Withdrawn PreemptionWithdrawn, Event";
const BY_MARK = "Withdrawn MarkWithdrawn, Event";
const BY_INTENT = "Withdrawn IntentWithdrawn, Event";
const FAILED = "BackingOff MigrationFailed, Event";

type Row = readonly [what: string, EvacuationFacts, Partial<Around>, expected: string];

// prettier-ignore
const rows: readonly Row[] = [
  // The VM has been deleted or has stopped.
  ["VM gone",                      newborn(),    { vmis: [] },                                              GONE],
  ["only a VM of the same name in another namespace", newborn(), { vmis: [vmi({ namespace: "other" })] },             GONE],
  ["VM recreated under its name",                 evacuation(), { vmis: [vmi({ uid: "made-anew" })] },                     GONE],
  ["VM being deleted",                            evacuation(), { vmis: [marked({ deleting: true })] },                    GONE],
  ["VM ended after it had moved",                    evacuation(), { vmis: [{ ...moved, phase: "Succeeded" }] },              GONE],
  // The VM no longer runs in the evacuated pod.
  ["VM back on its node in another pod",         evacuation(), { vmis: [vmi({ activePods: { other: NODE } })] },          MOVED],
  ["VM back on its node in another pod, while KubeVirt lists the former pod, too", evacuation(), { vmis: [vmi({ activePods: { [POD_UID]: NODE, other: NODE } })], migrations: [succeeded] }, MOVED],
  ["migration succeeded, VM has moved on to a third node", evacuation(), { vmis: [vmi({ nodeName: "node03", activePods: { third: "node03" } })], migrations: [succeeded] }, MOVED],
  ["no pods listed by KubeVirt, VM on another node", evacuation(), { vmis: [vmi({ activePods: {}, nodeName: "node02" })] }, MOVED],
  ["migration succeeded, VMI not updated yet",      evacuation(), { migrations: [succeeded] },                               "Migrating Succeeded"],
  ["migration succeeded, requested when the VMI already had the new pod", evacuation({ status: { podUID: "other" } }), { vmis: [moved], migrations: [succeeded] }, MOVED],
  ["only an earlier migration succeeded",           evacuation(), { migrations: [{ ...succeeded, createdAt: at(-61).getTime() }] }, CREATED],
  ["only the migration to this node succeeded",    evacuation(), { migrations: [{ ...succeeded, sourceNode: "node00", targetNode: NODE }] }, CREATED],
  ["no pods listed by KubeVirt",                   evacuation(), { vmis: [marked({ activePods: {} })] },                    CREATED],
  // The request was withdrawn.
  ["spec.intent is Withdrawn",                              withdrawn,    {},                                                        `${BY_INTENT}; Unmark, Released`],
  ["spec.intent is Withdrawn, KubeVirt's migration is being deleted",                       withdrawn,    { migrations: [{ ...kubevirts, deleting: true }] },        `${BY_INTENT}; Unmark, Released`],
  ["spec.intent is Withdrawn, KubeVirt's migration runs",                                   withdrawn,    { migrations: [migration({ evacuates: NODE })] },          `${BY_INTENT}; Unmark, Released`],
  ["spec.intent is Withdrawn, Lifeboat's migration waits",                             withdrawn,    { migrations: [{ ...pending, name: "lifeboat-web-1" }] },  `${BY_INTENT}; Unmark, DeleteMigration, Released`],
  ["drain taint present",                 byDrainTaint, tainted,                                                   CREATED],
  ["drain taint removed",                                byDrainTaint, { ...tainted, ...untainted },                              BY_TAINT],
  ["drain taint removed, label left",                  byDrainTaint, { ...untainted, vmis: [vmi({ evacuationLabel: "normal" })] }, `${BY_TAINT}; Unmark, Released`],
  ["drain taint removed, VM marked since by a drain", byDrainTaint, untainted,                                   CREATED],
  ["drain taint unknown, because only another node was read",             byDrainTaint, { ...tainted, nodes: [node({ name: "node02" })] },         CREATED],
  ["NoExecute taint removed",              byTaint,      untainted,                                                 `${BY_TAINT}; Unmark, Released`],
  ["NoExecute taint removed 1 s after the start, no mark yet", startedBefore(1), { ...untainted, vmis: [vmi()] }, "-"],
  ["NoExecute taint removed 1 s after the start, no mark yet, with watches", startedBefore(1), { ...untainted, vmis: [vmi()], isWatched: true }, "-"],
  ["NoExecute taint removed 14 s after the start, no mark yet",          startedBefore(14), { ...untainted, vmis: [vmi()] }, "-"],
  ["NoExecute taint removed 15 s after the start, no mark",                 startedBefore(15), { ...untainted, vmis: [vmi()] },                        BY_TAINT],
  ["NoExecute taint removed 1 s after the start, VM marked",       startedBefore(1), untainted,                                               `${BY_TAINT}; Unmark, Released`],
  ["NoExecute taint present",                               byTaint,      { ...untainted, nodes: [node({ taints: [MAINTENANCE] })] }, CREATED],
  ["NoExecute taint removed, node not ready",             byTaint,      { ...untainted, nodes: [node({ ready: false })] },         CREATED],
  ["NoExecute taint removed, node unreachable",    byTaint,      { ...untainted, nodes: [node({ taints: [UNREACHABLE] })] }, CREATED],
  ["preemption 29 s past its deadline",     disrupted("Preemption", -29), { pods: [pod()] },                         CREATED],
  ["preemption 30 s past its deadline: the scheduler has chosen other victims",  disrupted("Preemption", -30), { pods: [pod()] },                         `${BY_PREEMPTION}; Unmark, Released`],
  ["preemption 30 s past its deadline, migration waits",                    disrupted("Preemption", -30), { pods: [pod()], migrations: [kubevirts] }, `${BY_PREEMPTION}; Unmark, DeleteMigration, Released`],
  ["preemption 30 s past its deadline, migration runs",                     disrupted("Preemption", -30), { pods: [pod()], migrations: [migration({ evacuates: NODE })] }, "Migrating Running"],
  ["preemption 30 s past its deadline, pod being deleted",               disrupted("Preemption", -30), { pods: [pod({ deleting: true })] },       CREATED],
  ["preemption 30 s past its deadline, pod being deleted, beside another pod", disrupted("Preemption", -30), { pods: [pod({ uid: "other" }), pod({ deleting: true })] }, CREATED],
  ["preemption 30 s past its deadline, pod not read",                   disrupted("Preemption", -30), {},                                        CREATED],
  ["NoExecute taint 30 s past its deadline: Lifeboat deletes the pod itself",     disrupted("NoExecuteTaint", -30), { pods: [pod()] },                     CREATED],
  ["NoExecute taint, pod not read",                   byTaint,      { nodes: [node()] },                                       CREATED],
  ["mark removed",                     evacuation(), { vmis: [vmi()] },                                         BY_MARK],
  ["mark removed, migration waits",                      evacuation(), { vmis: [vmi()], migrations: [kubevirts] },                `${BY_MARK}; DeleteMigration, Released`],
  ["mark removed, migration runs",                       evacuation(), { vmis: [vmi()], migrations: [running] },                  "Migrating Running"],
  ["mark removed, another mark left for a former node",      evacuation(), { vmis: [vmi({ evacuationNodeName: "node00" })] },         `${BY_MARK}; Unmark, Released`],
  ["no mark seen yet",                     unseen,       { vmis: [vmi()] },                                         MARKED],
  ["no mark seen yet, Marked is False",                      evacuation({ status: { conditions: [{ ...MARK_SEEN, status: "False" }] } }), { vmis: [vmi()] }, `CreateBudget, ${CREATED}`],
  ["no mark seen yet, only another condition",                  evacuation({ status: { conditions: [{ ...MARK_SEEN, type: "Stalled" }] } }), { vmis: [vmi()] }, `CreateBudget, ${CREATED}`],
  ["no mark seen yet after an eviction, which KubeVirt reviews",    young,        { vmis: [vmi()] },                                         "CreateBudget, Pending Pending"],
  ["no mark seen yet: KubeVirt is asked again",        byHand,       { vmis: [vmi()] },                                         `CreateBudget, Mark, ${CREATED}`],
  // No further attempt is possible.
  ["five failed attempts",                            exhausted,    {},                                                        "Abandoned MigrationFailed, Event; Unmark, Released"],
  ["five inherited failed attempts",                 evacuation({ ...inherited, status: { attempts: 5 } }), {},               "BackingOff MigrationFailed"],
  ["five inherited failed attempts and one more",                     evacuation({ ...inherited, status: { ...resting, attempts: 6 } }), {},   "Abandoned MigrationFailed, Event; Unmark, Released"],
  ["strategy None",                            evacuation(), { vmis: [marked({ evictionStrategy: "None" })] },          "Abandoned StrategyNone, Event; Unmark, Released"],
  ["unknown strategy",   evacuation(), { vmis: [marked({ evictionStrategy: "Odd" })] },           "Abandoned UnknownStrategy, Event; Unmark, Released"],
  ["by an operator, pinned VM",                          byHand,       { vmis: [vmi(PINNED)] },                                   "Abandoned DisksNotLiveMigratable, Event"],
  ["by an operator, pinned VM without a reason",                       byHand,       { vmis: [vmi({ liveMigratable: { migratable: false, reason: "" } })] }, "Abandoned NotLiveMigratable, Event"],
  ["pinned External VM: its owner may move it",        unseen,       { vmis: [vmi({ ...PINNED, ...EXTERNAL })] },               "CreateBudget, Mark, Pending Pending"],
  ["pinned External VM that KubeVirt does not mark",          byHand,       { vmis: [vmi({ ...PINNED, ...EXTERNAL })] },               "CreateBudget, Mark, Blocked NotMarked, Event"],
  ["by an operator, VM pinned by its running migration",       byHand,       { vmis: [vmi(PINNED)], migrations: [running] },            "Migrating Running"],
  // An attempt has failed, or its migration waits or runs.
  ["migration failed",                       evacuation(), { migrations: [failed] },                                  FAILED],
  ["migration of an External VM failed: its owner has to try again",     evacuation(), { ...external, migrations: [failed] },                     "WaitingForExternalController External"],
  ["KubeVirt's migration waits",                         evacuation(), { migrations: [kubevirts] },                               "Migrating Queued"],
  ["KubeVirt's migration is new: only its annotation is written", evacuation(), { migrations: [fresh] },              "AnnotateMigration"],
  ["KubeVirt's migration is new and blocked by a quota",                   evacuation(), { migrations: [{ ...fresh, blockedBy: stuck.blockedBy }] }, "Migrating QuotaExceeded"],
  ["KubeVirt's migration is new, the Evacuation is, too", newborn(), { migrations: [fresh] },                              "AnnotateMigration, Pending Pending"],
  ["KubeVirt's migration is new, but an earlier one was followed", evacuation({ status: { phase: "Migrating" } }), { migrations: [fresh] }, "Migrating Queued"],
  ["KubeVirt's migration waits for 20 s", evacuation(), { migrations: [{ ...fresh, createdAt: at(-20).getTime() }] },      "Migrating Queued"],
  ["person's migration is new",                          evacuation(), { migrations: [without(fresh, "evacuates")] },                                     "Migrating Queued"],
  ["running migration is being aborted",                retriedIn(9), { migrations: [{ ...running, deleting: true }] },          "Migrating Running"],
  ["stuck migration of an External VM: its owner has to act", evacuation(), { ...external, migrations: [stuck] },          "Migrating QuotaExceeded"],
  ["KubeVirt's migration has just started",                     evacuation(), { migrations: [{ ...fresh, phase: "Scheduled" }] },        "Migrating Preparing"],
  ["KubeVirt's migration waits, with watches",         evacuation(), { migrations: [kubevirts], isWatched: true },              "AnnotateMigration, Migrating Queued"],
  ["KubeVirt's migration is being deleted",                      retriedIn(9), { migrations: [{ ...kubevirts, deleting: true }] },        "BackingOff MigrationFailed"],
  ["one migration runs, KubeVirt's next has no phase yet", evacuation(), { migrations: [{ ...kubevirts, phase: "" }, migration()] }, "Migrating Running"],
  ["one migration runs, KubeVirt's next waits",   evacuation(), { migrations: [kubevirts, migration()] },                  "Migrating Running"],
  ["migration blocked by a quota",                       evacuation(), { migrations: [stuck] },                                   "DeleteMigration, BackingOff MigrationStuck, Event"],
  ["person's migration blocked by a quota: Lifeboat does not delete it",         evacuation(), { migrations: [without(stuck, "evacuates")] },             "Blocked PersonsMigration, Event"],
  ["workload update's migration blocked by a quota",                    evacuation(), { migrations: [{ ...without(stuck, "evacuates"), automatic: true }] }, "DeleteMigration, BackingOff MigrationStuck, Event"],
  ["Lifeboat's migration blocked by a quota",              evacuation(), { migrations: [{ ...without(stuck, "evacuates"), name: "lifeboat-web-1" }] }, "DeleteMigration, BackingOff MigrationStuck, Event"],
  ["migration blocked by a quota, but running",                               evacuation(), { migrations: [{ ...stuck, phase: "Running" }] },          "Migrating Running"],
  ["migration blocked by a quota and being deleted",                       evacuation(), { migrations: [{ ...stuck, deleting: true }] },            "Migrating QuotaExceeded"],
  // No migration is running.
  ["VM on no node",                               newborn(),    { vmis: [scheduling] },                                    "Blocked NotScheduled, Event"],
  ["no virt-handler on the VM's node",              evacuation(), { nodes: [node({ virtHandler: { isSchedulable: false, saidAt: time(-60) } })] }, "Blocked NoVirtHandler, Event"],
  ["no virt-handler on a node that is not ready",   evacuation(), { nodes: [node({ ready: false, virtHandler: { isSchedulable: false, saidAt: time(-60) } })] }, CREATED],
  ["no virt-handler on the VM's node, migration waits",          evacuation(), { migrations: [running], nodes: [node({ virtHandler: { isSchedulable: false, saidAt: time(-60) } })] }, "Blocked NoVirtHandler, Event"],
  ["virt-handler silent for long", evacuation(), { nodes: [node({ virtHandler: { isSchedulable: true, saidAt: time(-180) } })] },  "Blocked NoVirtHandler, Event"],
  ["pinned",                                   evacuation(), { vmis: [marked(PINNED)] },                                "Blocked DisksNotLiveMigratable, Event"],
  ["pinned VM",                       unseenLong,     { vmis: [vmi(PINNED)] },                                   "Blocked DisksNotLiveMigratable, Event"],
  ["External VM",                                 evacuation(), external,                                                  "WaitingForExternalController External"],
  ["during the back-off",                     evacuation({ status: { ...resting, nextAttemptTime: time(1) } }), {},    "-"],
  ["after the back-off, while KubeVirt may create the migration",        { ...retriedIn(-4), createdAt: at(-99).getTime() }, {},                  "-"],
  ["after the back-off, when KubeVirt has not created a migration",    retriedIn(-5), {},                                                       CREATED],
  ["marked VM, while KubeVirt may create the migration",                   young,        {},                                                        "Pending Pending"],
  ["VM without a budget",                    evacuation(),      { budgets: [] },                                     `CreateBudget, ${CREATED}`],
  ["VM with a budget of another size",               evacuation(),      { budgets: [budget({ minAvailable: 1 })] },          `RepairBudget, ${CREATED}`],
  ["VM with another owner's budget of the same name",            evacuation(),      { budgets: [budget({ managedByUs: false })] },       `CreateBudget, ${CREATED}`],
  ["budgets switched off",                      evacuation(), { budgets: [], settings: settings({ evictionsCovered: true }) }, CREATED],
  // The migration comes from or goes to another namespace or cluster.
  ["migration to another cluster that waits for the other end",        evacuation(), { migrations: [sent] },                                    "Migrating Synchronizing"],
  ["migration to another cluster that waits for long for its target pod", evacuation(), { migrations: [{ ...sent, phase: "Scheduling", schedulingSince: at(-900).getTime(), targetPod: "target" }], vmis: [marked({ activePods: { [POD_UID]: NODE, target: "" } })], pods: [pod({ uid: "target", name: "target", phase: "Pending", unschedulable: { message: "no room", since: time(-900) } })] }, "Migrating NoRoom"],
  ["migration to another cluster that cannot reach the other end",        evacuation(), { migrations: [unreachable] },                             "Blocked DecentralizedMigration, Event"],
  ["failed migration to another cluster: no attempt of Lifeboat's",           evacuation(), { migrations: [{ ...sent, phase: "Failed" }] },            CREATED],
  ["succeeded migration to another cluster, VMI not updated yet", evacuation(), { vmis: [marked({ activePods: {} })], migrations: [arrived] }, "Migrating Succeeded"],
  ["succeeded migration to another cluster",                                  evacuation(), { vmis: [marked({ phase: "Succeeded" })], migrations: [arrived] }, MOVED],
  ["migration to another cluster, spec.intent is Withdrawn",                          withdrawn,    { migrations: [sent] },                                    "Withdrawn IntentWithdrawn, Event; Unmark, Released"],
  ["VM that is still being received from another cluster",                  byHand,       { vmis: [vmi({ phase: "Scheduled", decentralized: "Receives" })] }, "Blocked BeingReceived, Event"],
  ["VM that is still being received, marked by KubeVirt",  byHand,       { vmis: [marked({ phase: "Scheduled", decentralized: "Receives" })] }, "Blocked BeingReceived, Event"],
  ["received VM whose migration has not ended yet",  evacuation(), { migrations: [received] },                                "Blocked BeingReceived, Event"],
  ["received VM whose migration has ended: it did not move off this node",         evacuation(), { migrations: [{ ...received, phase: "Succeeded" }] },     CREATED],
];

function isSettled({ phase, message = "" }: EvacuationStatus): boolean {
  return phase !== "BackingOff" && !message.includes("is being marked") && !message.includes("has been created");
}

describe("an Evacuation", () => {
  test.each(rows)("%s: $3", (_, subject, tweak, expected) => expect(course(subject, tweak)).toBe(expected));

  test.each(rows)("%s: its status is written once", (_, subject, tweak) => {
    const ended = statusAfter(subject, tweak);
    const status = isToBeReleased({ status: ended }) ? statusAfter({ ...subject, status: ended }, tweak) : ended;
    const again = planned({ ...subject, status }, tweak).filter((a) => a.verb === "WriteStatus");
    if (isSettled(status)) expect(again).toEqual([]);
  });

  test("that has ended does not change", () => {
    expect(planned(endedEvacuation("Moved"), { vmis: [vmi()] })).toEqual([]);
  });

  test("of another VM has a separate chain of actions", () => {
    const db = newborn({ name: "db-1", uid: "db", spec: { vmiName: "db", pod: { uid: "db-pod" } } });
    const vmis = [marked(), marked({ name: "db", uid: "db", activePods: { "db-pod": NODE } })];
    const { chains } = planEvacuations(world({ vmis, evacuations: [newborn(), db] }));
    expect(chains).toHaveLength(2);
  });
});

describe("an Evacuation beside another one of the pod", () => {
  const older = newborn({ name: "by-hand", uid: "older", createdAt: at(-90).getTime() });
  const former = { virtualMachineInstanceUID: "old" };

  // prettier-ignore
  test.each<[string, EvacuationFacts, other: EvacuationFacts, Partial<Around>, phase: string]>([
    ["is a Duplicate of an older one",                     evacuation(), older,                                                {},                "Duplicate"],
    ["is a Duplicate of an older one if it is withdrawn",  withdrawn,    older,                                                {},                "Duplicate"],
    ["has Moved when the VM has moved",                    evacuation(), older,                                                { vmis: [moved] }, "Moved"],
    ["continues beside a younger one",                     evacuation(), { ...older, createdAt: at(0).getTime() },               {},                "Pending"],
    ["continues beside an older one of an earlier VMI",    evacuation(), { ...older, status: { ...older.status, ...former } }, {},                "Pending"],
  ])("%s", (...[, subject, other, tweak, expected]) => {
    expect(statusAfter(subject, { ...tweak, evacuations: [other, subject] }).phase).toBe(expected);
  });

  test("names the active one as Duplicate", () => {
    const { message } = statusAfter(evacuation(), { evacuations: [older, evacuation()] });
    expect(message).toBe("Evacuation by-hand of the same pod continues");
  });
});
