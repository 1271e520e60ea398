/**
 * Tests the messages in answers, Events and kubectl's warnings. The readers are the descheduler, users of kubectl, and
 * administrators.
 */
import { describe, expect, test } from "vitest";
import { EVACUATION_MESSAGES } from "../../../shared/evacuation/messages.ts";
import { causeOfEviction } from "../../../shared/kube/evacuation.ts";
import type { DenyReason, EvictionFacts } from "../../../shared/eviction/decide.ts";
import { decided, NAMED, eviction } from "./evictions.ts";
import {
  endedEvacuation,
  evacuation,
  hotplug,
  marked,
  PINNED,
  pod,
  settings,
  time,
  vmi,
  without,
  at,
  EXTERNAL,
} from "../../support/fixtures.ts";
import { REMEDY, remedyOfBlocked, warningsOf } from "../../../shared/eviction/messages.ts";
import type { EvacuationStatus } from "../../../shared/kube/evacuation.ts";

/**
 * kubernetes-sigs/descheduler looks for this text in a 429. If the pod has the descheduler's annotation, the
 * descheduler then treats the eviction as an eviction in background.
 */
const DESCHEDULER_EXPECTS = "Eviction triggered evacuation";

const EXTERNALLY = `Evacuation in progress: Eviction triggered evacuation of ${NAMED}`;
const ifPossible = vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED });
const silent = without(vmi(), "evictionStrategy");
const rested = endedEvacuation("Abandoned", { status: { nextAttemptTime: time(20) } });

// prettier-ignore
const rows: readonly (readonly [reason: DenyReason | "ShutdownByStrategy", Partial<EvictionFacts>, text: string])[] = [
  ["EvacuationTriggered",  {},                                                `Eviction triggered evacuation of ${NAMED}`],
  ["EvacuationInProgress", { vmi: marked(), evacuations: [evacuation()] },    `Evacuation in progress: Eviction triggered evacuation of ${NAMED}`],
  ["EvacuationInProgress", { vmi: marked(EXTERNAL), evacuations: [evacuation()] }, `${EXTERNALLY}; ${EVACUATION_MESSAGES.waitsForController}`],
  ["EvacuationInProgress", { vmi: marked(EXTERNAL) },                         `${EXTERNALLY}; ${EVACUATION_MESSAGES.waitsForController}`],
  ["EvacuationInProgress", { vmi: marked(EXTERNAL), evacuations: [evacuation({ status: { phase: "Migrating", message: "its migration runs" } })] }, `${EXTERNALLY}; its migration runs`],
  ["EvacuationInProgress", { vmi: marked(EXTERNAL), evacuations: [evacuation({ status: { phase: "WaitingForExternalController", message: "its owner moves it" } })] }, `${EXTERNALLY}; its owner moves it`],
  ["NotMigratable",        { vmi: vmi(PINNED) },                              `${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable`],
  ["NotMigratable",        { vmi: vmi({ liveMigratable: { migratable: false } }) }, `${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: no LiveMigratable condition`],
  ["UnknownStrategy",      { vmi: vmi({ evictionStrategy: "x".repeat(999) }) }, `${NAMED}: spec.evictionStrategy is "${"x".repeat(64)}", expected None, LiveMigrate, LiveMigrateIfPossible or External`],
  ["UnknownStrategy",      { vmi: silent, settings: settings({ clusterStrategy: "Move" }) }, `${NAMED}: spec.configuration.evictionStrategy of the KubeVirt CR is "Move", expected None, LiveMigrate, LiveMigrateIfPossible or External`],
  ["MigrationTarget",      { pod: pod({ nodeName: "node02" }) },              `Eviction request for target Pod: ${NAMED} is on node "node01"`],
  ["NotScheduled",         { vmi: without(vmi(), "nodeName") },               `${NAMED} is not on a node yet`],
  ["HotplugOfLiveVmi",     { pod: hotplug(), launcher: pod() },               `cannot evict hotplug pod: hp-volume-7c9qd holds a volume of running ${NAMED}`],
  ["BackingOff",           { evacuations: [rested] },                         `the last evacuation of ${NAMED} was abandoned; Lifeboat starts no new evacuation for 20 s, but KubeVirt itself can still evacuate the VM: stop the drain to keep the VM on its node`],
  ["ShutdownByStrategy",   { vmi: ifPossible },                               `${NAMED} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: DisksNotLiveMigratable`],
];

describe("the answer to an eviction", () => {
  test.each(rows)("explains the reason %s", (reason, tweak, text) => {
    const decision = decided(tweak);
    expect(decision.reason).toBe(reason);
    expect(decision.verdict === "Deny" ? decision.message : decision.warnings.join()).toBe(text);
  });

  test("is recognised by the descheduler only for VMs that move", () => {
    const moving = rows.filter(([, , text]) => text.includes(DESCHEDULER_EXPECTS)).map(([reason]) => reason);
    expect(new Set(moving)).toEqual(new Set(["EvacuationTriggered", "EvacuationInProgress"]));
  });
});

// prettier-ignore
test.each<[Readonly<Record<string, string>>, string]>([
  [{ "requested-by": "sigs.k8s.io/descheduler", reason: "LowNodeUtilization" }, "Descheduler"],
  [{},                                                                          "ApiEviction"],
  [{ "requested-by": "someone" },                                               "ApiEviction"],
])("an Eviction with the annotations %j has the cause %s", (annotations, cause) => expect(causeOfEviction(annotations)).toBe(cause));

const warnings = (tweak: Partial<EvictionFacts>) => warningsOf(eviction(tweak), decided(tweak));

const active = (status: Partial<EvacuationStatus>) => [evacuation({ status })];
const older = { name: "older", uid: "older", createdAt: at(-900).getTime() };
const abandoned = endedEvacuation("Abandoned", {
  ...older,
  status: { attempts: 5, message: "5 attempts have failed; the last failure: no room", nextAttemptTime: time(300) },
});
const ABANDONED = `the last evacuation of ${NAMED} was abandoned: 5 attempts have failed; the last failure: no room`;
const withdrawn = endedEvacuation("Withdrawn", { ...older, status: { nextAttemptTime: time(20) } });
const WITHDRAWN = `the last evacuation of ${NAMED} was withdrawn: stop the drain to keep the VM on its node. Lifeboat starts no new evacuation before 2026-03-01T12:00:20Z, but KubeVirt itself can still evacuate the VM`;
const backingOff = { phase: "BackingOff", attempts: 2, message: "no room", nextAttemptTime: time(40) } as const;
const BACKING_OFF = `evacuation of ${NAMED} waits until 2026-03-01T12:00:40Z, because 2 of 5 attempts have failed: no room`;
const blocked = {
  phase: "Blocked",
  reason: "DisksNotLiveMigratable",
  message: "the VM is not live-migratable: no",
} as const;
const OWNER =
  "the VM's owner: stop the VM, set evictionStrategy LiveMigrateIfPossible, or remove what blocks migration";

type Row = readonly [what: string, Partial<EvictionFacts>, expected: readonly string[]];

// prettier-ignore
const warned: readonly Row[] = [
  ["the migration runs",                     { vmi: marked(), evacuations: active({ phase: "Migrating", reason: "Running", message: "m" }) }, []],
  ["the guest moves to another cluster",     { vmi: marked(), evacuations: active({ phase: "Migrating", reason: "Synchronizing", message: "m" }) }, [`${NAMED}: m`]],
  ["virt-controller is away",                { vmi: marked(), evacuations: active({ phase: "Migrating", reason: "KubeVirtNotAnswering", message: "no answer" }) }, [`${NAMED}: no answer`]],
  ["an attempt has failed",                  { vmi: marked(), evacuations: active(backingOff) },             [BACKING_OFF]],
  ["attempts of more than one evacuation have failed",   { vmi: marked(), evacuations: active({ ...backingOff, attempts: 6 }) }, [BACKING_OFF.replace("2 of 5", "6")]],
  ["the first attempt has failed",           { vmi: marked(), evacuations: active({ ...backingOff, attempts: 1 }) }, [BACKING_OFF.replace("2 of 5 attempts have", "1 of 5 attempts has")]],
  ["all attempts have failed",               { vmi: marked(), evacuations: active({ ...backingOff, attempts: 5 }) }, [BACKING_OFF.replace("2 of 5", "5 of 5")]],
  ["the evacuation is blocked",                 { vmi: marked(PINNED), evacuations: active(blocked) },          [`${NAMED} cannot leave node node01: the VM is not live-migratable: no; ${OWNER}`]],
  ["the VM's owner has to move it",                { vmi: marked(EXTERNAL), evacuations: active({ phase: "WaitingForExternalController", message: "its owner" }) }, [`${NAMED}: its owner`]],
  ["the last evacuation was abandoned",                       { evacuations: [abandoned] },                                   [ABANDONED]],
  ["the last evacuation was abandoned and its back-off is over",                 { evacuations: [abandoned], now: at(301) },                     [ABANDONED]],
  ["the last evacuation was abandoned and the next is in back-off",           { vmi: marked(), evacuations: [abandoned, ...active(backingOff)] }, [ABANDONED, BACKING_OFF]],
  ["the abandoned evacuation was of a former pod",        { evacuations: [{ ...abandoned, status: { ...abandoned.status, podUID: "former" } }] }, []],
  ["the evacuation was cancelled and the drain continues", { evacuations: [withdrawn] },                                  [WITHDRAWN]],
  ["the evacuation was cancelled and its back-off is over",                 { evacuations: [withdrawn], now: at(21) },                      []],
  ["the VM cannot migrate", { vmi: vmi(PINNED) },                                  [`${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable; ${OWNER}`]],
  ["the strategy is unknown",                       { vmi: vmi({ evictionStrategy: "LiveMigrat" }) },               [expect.stringMatching(/^VMI "apps\/web": spec\.evictionStrategy is "LiveMigrat", .*; the VM's owner, or the administrator/)]],
  ["the VM is shut down",                        { vmi: ifPossible },                                            [`${NAMED} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: DisksNotLiveMigratable`]],
  ["the pod is the target of a migration",                         { vmi: marked(), pod: pod({ uid: "target", nodeName: "node02" }), evacuations: active(backingOff) }, []],
  ["the VM has strategy None",                         { vmi: vmi({ evictionStrategy: "None" }) },                 []],
  ["the pod is not a VM's",                         { pod: pod({ labels: {} }) },                                   []],
];

test.each(warned)("kubectl's warnings when %s: %j", (_, tweak, expected) => expect(warnings(tweak)).toEqual(expected));

// prettier-ignore
test.each([
  ["BeingReceived",  "nobody has to act: the VM is moving here from another namespace or cluster"],
  ["MigrationsOff",  REMEDY.MigrationsOff],
  ["AnotherReason",  REMEDY.NotMigratable],
  [undefined,        REMEDY.NotMigratable],
])("a VM that is blocked by %s is unblocked by %s", (reason, remedy) => expect(remedyOfBlocked(reason)).toBe(remedy));

function saying(message: string): string {
  return warnings({ vmi: marked(), evacuations: active({ phase: "BackingOff", message }) })[0] ?? "";
}

test("a pod that is gone has no warnings, although its last evacuation was abandoned", () => {
  const gone = without(eviction({ evacuations: [abandoned] }), "pod");
  expect(warningsOf(gone, decided({ vmi: vmi(PINNED), evacuations: [abandoned] }))).toHaveLength(1);
});

describe("a warning", () => {
  test("has the same text at each request, so kubectl prints the warning once", () => {
    const [first, later] = [1, 19].map((seconds) => warnings({ evacuations: [withdrawn], now: at(seconds) }));
    expect(later).toEqual(first);
  });

  test.each(["x", "\u{1F600}"])("has at most 256 characters: %s", (character) => {
    const text = saying(character.repeat(1000));
    expect(text).toHaveLength(256);
    expect(text).toMatch(/…$/);
    expect(text.isWellFormed()).toBe(true);
  });

  test("is not shortened at 256 characters", () => {
    const [prefix] = saying("x").split("x");
    const text = `${prefix}${"x".repeat(256 - (prefix?.length ?? 0))}`;
    expect(saying("x".repeat(256 - (prefix?.length ?? 0)))).toBe(text);
  });

  test.each(["two\nlines", "two\tlines"])("keeps words apart, though the message is %j", (message) => {
    expect(saying(message)).toMatch(/two lines$/);
  });

  test.each(["two\nlines", "a\ttab", "\u001b[31mred", "a\u202Ebidi", "a\u2028separator", "half\uD83D"])(
    "has no control characters, though the message is %j",
    (message) => {
      expect(saying(message)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    },
  );
});
