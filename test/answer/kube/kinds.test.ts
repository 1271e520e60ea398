/** Tests how Lifeboat parses its kinds of objects: missing, null or empty fields, and objects of another kind. */
import { describe, expect, test } from "vitest";
import { PLAIN } from "../../../shared/kube/guest.ts";
import { Migration } from "../../../shared/kube/schemas/kubevirt.ts";
import { Budget } from "../../../shared/kube/schemas/kubernetes.ts";
import { budgetName } from "../../../shared/budget/budget.ts";
import { Vmi } from "../../../shared/kube/schemas/vmi.ts";
import { Evacuation } from "../../../shared/kube/schemas/lifeboat.ts";
import { ACTIVE_PHASES, END_PHASES, type EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { MigrationFacts } from "../../../shared/kube/facts.ts";
import { list } from "../../support/cluster/one-vm.ts";
import { MARK_SEEN, NOW, time, vmi } from "../../support/fixtures.ts";
import { connectToOneVm } from "../../support/client.ts";
import { readActiveEvacuations } from "../../../shared/kube/requests.ts";

const META = { namespace: "apps", name: "web-1", uid: "u", resourceVersion: "7", creationTimestamp: NOW.toISOString() };
const SPEC = { virtualMachineInstance: { name: "web" }, cause: "Operator", intent: "Evacuate" };

const compact = (facts: unknown): unknown => JSON.parse(JSON.stringify(facts));
const evacuation = (tweak: object): EvacuationFacts => Evacuation.parse({ metadata: META, spec: SPEC, ...tweak });
const migration = (tweak: object): MigrationFacts =>
  Migration.parse({ metadata: META, spec: { vmiName: "web" }, ...tweak });

describe("an Evacuation", () => {
  const IDENTITY = { namespace: "apps", name: "web-1", uid: "u", resourceVersion: "7", createdAt: NOW.getTime() };
  const BARE = { vmiName: "web", cause: "Operator", requestedBy: "", intent: "Evacuate" };
  const UNSEEN = { attempts: 0, conditions: [] };
  const NAMED = { name: "m", uid: "m-uid" };

  // prettier-ignore
  test.each<[string, object, object]>([
    ["of a person's Evacuation",                SPEC,                                                                     BARE],
    ["with nulls",                              { ...SPEC, deadline: null },                                              BARE],
    ["of a cancelled Evacuation",               { ...SPEC, intent: "Withdrawn" },                                         { ...BARE, intent: "Withdrawn" }],
    ["of a pod without a name",                 { ...SPEC, pod: { uid: "p-uid" } },                                       { ...BARE, pod: { uid: "p-uid" } }],
    ["that follows another Evacuation",         { ...SPEC, inherited: { attempts: 2, notBefore: time(9) } },              { ...BARE, inherited: { attempts: 2, notBefore: time(9) } }],
  ])("has the spec %s", (_, spec, expected) => {
    expect(compact(evacuation({ spec }))).toEqual({ ...IDENTITY, spec: expected, status: UNSEEN });
  });

  // prettier-ignore
  test.each<[string, unknown, object]>([
    ["that is missing",                undefined,                                                             {}],
    ["of empty texts",                 { podName: "", reason: "", message: "", nextAttemptTime: "" },         {}],
    ["nulls",                          { podUID: null, targetNode: null, conditions: null },                  {}],
    ["migrations",                     { attempts: 2, migration: NAMED, lastFailedMigration: NAMED },         { attempts: 2, migration: NAMED, lastFailedMigration: NAMED }],
    ["with a condition",               { conditions: [{ ...MARK_SEEN, observedGeneration: 1 }] },             { conditions: [MARK_SEEN] }],
    ["with a condition without texts", { conditions: [{ type: "Failed", status: "True" }] },                  { conditions: [{ type: "Failed", status: "True", reason: "", message: "", lastTransitionTime: "" }] }],
    ["with another party's condition", { conditions: [{ type: "example.com/Paid", status: "True" }, MARK_SEEN] }, { conditions: [MARK_SEEN] }],
    ["with another version's phase",   { phase: "WaitingForOwner" },                                          {}],
    ["with an unknown condition",      { conditions: [{ ...MARK_SEEN, status: "Unknown" }] },                 { conditions: [] }],
    ...[...ACTIVE_PHASES, ...END_PHASES].map((phase): [string, object, object] => [phase, { phase }, { phase }]),
  ])("has the status %s", (_, status, expected) => {
    expect(compact(evacuation({ status }))).toEqual({ ...IDENTITY, spec: BARE, status: { ...UNSEEN, ...expected } });
  });

  describe("is omitted from lists and reported if it has", () => {
    // prettier-ignore
    test.each<[string, object, string]>([
      ["no VM",                      { spec: { cause: "Operator" } },                              "spec.virtualMachineInstance"],
      ["an unknown cause",        { spec: { ...SPEC, cause: "Karma" } },                        "spec.cause"],
      ["a pod without UID",          { spec: { ...SPEC, pod: { name: "p" } } },                    "spec.pod.uid"],
      ["a phase that is not a text",    { status: { phase: 7 } },                                     "status.phase"],
      ["a path as its name", { metadata: { ...META, name: "../x" } },                     "metadata.name"],
    ])("%s", async (_, tweak, field) => {
      const odd: string[] = [];
      const items = [{ metadata: META, spec: SPEC, ...tweak }, { metadata: { ...META, name: "next" }, spec: SPEC }];
      const { cluster } = connectToOneVm({ "list evacuations": list(...items) }, (resource, issue) => void odd.push(`${resource}: ${issue}`));
      expect((await readActiveEvacuations(cluster)).map(({ name }) => name)).toEqual(["next"]);
      expect(odd).toEqual([expect.stringMatching(new RegExp(`^evacuations: .+: ${field}`))]);
    });
  });
});

describe("a migration", () => {
  const { creationTimestamp: _, ...identity } = META;
  const FACTS = {
    ...identity,
    deleting: false,
    vmiName: "web",
    phase: "",
    createdAt: NOW.getTime(),
  };
  const BLOCKED = "migrationBlockedByBackup";
  const QUOTA = "migrationRejectedByResourceQuota";

  // prettier-ignore
  test.each<[string, object, object]>([
    ["without status",       {},                                                                              {}],
    ["with nulls",           { metadata: { ...META, annotations: null, labels: null }, status: { migrationState: null, conditions: null } }, {}],
    ["of KubeVirt's evacuation controller",    { metadata: { ...META, annotations: { "kubevirt.io/evacuationMigration": "node01" } } }, { evacuates: "node01", automatic: true }],
    ["of KubeVirt's workload updater", { metadata: { ...META, annotations: { "kubevirt.io/workloadUpdateMigration": "" } } }, { automatic: true }],
    ["with its cause",        { metadata: { ...META, annotations: { "lifeboat.dev/cause": "Preemption" } } },  { cause: "Preemption" }],
    ["that skips its back-off", { metadata: { ...META, annotations: { "kubevirt.io/func-test-ignore-migration-backoff": "" } } }, { skipsBackoff: true }],
    ["that is being deleted",        { metadata: { ...META, deletionTimestamp: time(0) } },                           { deleting: true }],
    ["that runs",              { status: { phase: "Running", migrationState: { sourceNode: "a", targetNode: "b", targetPod: "p" } } }, { phase: "Running", sourceNode: "a", targetNode: "b", targetPod: "p" }],
    ["that failed",               { status: { phase: "Failed", migrationState: { failureReason: "why" } } },       { phase: "Failed", failureReason: "why" }],
    ["that failed, with its time",           { status: { phase: "Failed", phaseTransitionTimestamps: [{ phase: "Pending", phaseTransitionTimestamp: time(-9) }, { phase: "Failed", phaseTransitionTimestamp: time(0) }] } }, { phase: "Failed", failedAt: NOW.getTime() }],
    ["to another cluster",            { spec: { vmiName: "web", sendTo: { migrationID: "1", connectURL: "u" } } },      { decentralized: "Sends" }],
    ["from another cluster",             { spec: { vmiName: "web", receive: { migrationID: "1" } } },                     { decentralized: "Receives" }],
    ["with both ends in one cluster",     { spec: { vmiName: "web", sendTo: { migrationID: "1", connectURL: "u" }, receive: { migrationID: "1" } } }, {}],
    ["that is blocked",              { status: { conditions: [{ type: BLOCKED, status: "True", message: "a backup runs" }] } }, { blockedBy: { type: BLOCKED, message: "a backup runs" } }],
    ["that is blocked twice",        { status: { conditions: [{ type: "Ready", status: "True" }, { type: QUOTA, status: "True" }] } }, { blockedBy: { type: QUOTA } }],
  ])("%s", (_, tweak, expected) => {
    expect(compact(migration(tweak))).toEqual({ ...FACTS, ...expected });
  });
});

const withCondition = (type: string, status: string, words = {}) => ({
  status: { conditions: [{ type, status, ...words }] },
});
const withMigration = (migrationState: object | null) => ({ status: { migrationState } });

describe("a VMI", () => {
  const metadata = { name: "web", uid: "u", resourceVersion: "1" };
  const FACTS = {
    ...metadata,
    namespace: "",
    deleting: false,
    phase: "",
    liveMigratable: { migratable: false },
    activePods: {},
    hasLabels: false,
    hasAnnotations: false,
    isMigrating: false,
    guestOnTarget: false,
    guestMemory: 0,
    asks: PLAIN,
  };
  const READY = { targetNodeDomainReadyTimestamp: time(0) };
  const FAILED = { failed: true, failureReason: "why" };
  const MOVED = { completed: true, sourceNode: "a", targetNode: "b", endTimestamp: time(0) };
  const WHY = { reason: "DisksNotLiveMigratable", message: "a disk" };

  // prettier-ignore
  test.each<[string, object, object]>([
    ["without status",                 {},                                                       {}],
    ["with nulls",                     { metadata: { ...metadata, labels: null, annotations: null, ownerReferences: null, deletionTimestamp: null }, spec: { evictionStrategy: null, domain: null }, status: { nodeName: null, evacuationNodeName: null, activePods: null, conditions: null, migrationState: null } }, {}],
    ["with an empty map of labels",    { metadata: { ...metadata, labels: {} } },                { hasLabels: true }],
    ["with an empty map of annotations",           { metadata: { ...metadata, annotations: {} } },           { hasAnnotations: true }],
    ["with guest memory",                      { spec: { domain: { memory: { guest: "2Ki" } } } },       { guestMemory: 2048, asks: { ...PLAIN, guestMemory: 2048 } }],
    ["with guest memory written as a number",          { spec: { domain: { memory: { guest: 1073741824 } } } },  { guestMemory: 2 ** 30, asks: { ...PLAIN, guestMemory: 2 ** 30 } }],
    ["during a backup",                { status: { changedBlockTracking: { state: "Enabled", backupStatus: { backupName: "b1" } } } }, { backup: "b1" }],
    ["without a backup",                        { status: { changedBlockTracking: { state: "Enabled", backupStatus: null } } }, {}],
    ["with a disk of its node",        { spec: { volumes: [{ name: "a", containerDisk: {} }, { name: "b", hostDisk: { path: "/data/b.img", type: "Disk" } }] } }, { hostDisk: "/data/b.img" }],
    ["with a shared disk",              { spec: { volumes: [{ name: "b", hostDisk: { path: "/nfs/b.img", type: "Disk", shared: true } }] } }, {}],
    ["with utility volumes",           { spec: { utilityVolumes: [{ name: "u" }] } },               { hasUtilityVolumes: true }],
    ["migratable",                     withCondition("LiveMigratable", "True"),                     { liveMigratable: { migratable: true } }],
    ["paused by an I/O error",         withCondition("Paused", "True", { reason: "PausedIOError" }), { pausedByIoError: true }],
    ["paused by a user",               withCondition("Paused", "True", { reason: "PausedByUser" }),  {}],
    ["not migratable",                 withCondition("LiveMigratable", "False", WHY),               { liveMigratable: { migratable: false, ...WHY } }],
    ["that is ready",                          withCondition("Ready", "True"),                              {}],
    ["with memory being plugged in",         withCondition("HotMemoryChange", "True"),                    { hotplugs: ["HotMemoryChange"] }],
    ["with memory that could not be plugged in",                      withCondition("HotMemoryChange", "False", WHY),              {}],
    ["with CPUs, and I/O threads that its topology does not count", { spec: { domain: { cpu: { sockets: 4 }, ioThreads: { supplementalPoolThreadCount: 2 } } }, status: { currentCPUTopology: { sockets: 2 } } }, { asks: { ...PLAIN, vcpus: 6 }, currentVcpus: 4 }],
    ["that migrates",                 withMigration({ startTimestamp: time(0) }),                    { isMigrating: true }],
    ["to be moved gently by its label",   { metadata: { ...metadata, labels: { "lifeboat.dev/convergence": "gentle" } } }, { isGentle: true, hasLabels: true }],
    ["to be moved gently by its annotation",                { metadata: { ...metadata, annotations: { "lifeboat.dev/convergence": "gentle" } } }, { isGentle: true, hasAnnotations: true }],
    ["received from another cluster",        { metadata: { ...metadata, annotations: { "kubevirt.io/create-migration-target": "true" } } }, { decentralized: "Receives", hasAnnotations: true }],
    ["sent to another cluster",      withMigration({ targetState: { syncAddress: "10.0.0.1:9185" } }),  { decentralized: "Sends" }],
    ["sent to a node of another cluster", withMigration({ targetNode: "far", targetState: { syncAddress: "10.0.0.1:9185" } }), { decentralized: "Sends" }],
    ["sent to another cluster, completed",               withMigration({ migrationUid: "m", completed: true, targetState: { syncAddress: "10.0.0.1:9185" } }), { lastMigration: { uid: "m" } }],
    ["whose migration has ended",        withMigration({ ...READY, endTimestamp: time(0) }),            {}],
    ["whose migration has failed",                   withMigration({ ...READY, failed: true }),                     {}],
    ["whose guest runs on its target",           withMigration(READY),                                          { isMigrating: true, guestOnTarget: true }],
    ["in post-copy",                 withMigration({ mode: "PostCopy" }),                           { isMigrating: true, guestOnTarget: true }],
    ["in pre-copy",                  withMigration({ mode: "PreCopy" }),                            { isMigrating: true }],
    ["with the reason of a failed migration",         withMigration({ migrationUid: "m", ...FAILED }),               { lastMigration: { uid: "m", failureReason: "why" } }],
    ["that has moved",                 withMigration(MOVED),                                          { movedAt: NOW.getTime() }],
    ["that moved to the same node",             withMigration({ ...MOVED, targetNode: "a" }),                  {}],
    ["that has not completely moved",                withMigration({ ...MOVED, completed: false }),                 {}],
  ])("%s", (_, tweak, expected) => {
    expect(Vmi.parse({ metadata, spec: {}, ...tweak })).toStrictEqual({ ...FACTS, ...expected });
  });
});

const by = (manager: string) => ({ labels: { "app.kubernetes.io/managed-by": manager } });

describe("a budget", () => {
  const NAME = budgetName(vmi());

  // prettier-ignore
  test.each([
    ["Lifeboat's label and name",                              NAME,        by("lifeboat"), true],
    ["Lifeboat's label and another product's name",            "web",       by("lifeboat"), false],
    ["Lifeboat's label and a name that contains Lifeboat's",   `a-${NAME}`, by("lifeboat"), false],
    ["Lifeboat's name and no label",                           NAME,        {},             false],
    ["Lifeboat's name and another product's label",            NAME,        by("Helm"),     false],
  ])("is Lifeboat's or not with %s", (_, name, labels, managedByUs) => {
    const budget = { metadata: { ...META, generation: 1, name, ...labels }, spec: {}, status: {} };
    expect(Budget.parse(budget)).toMatchObject({ managedByUs });
  });
});
