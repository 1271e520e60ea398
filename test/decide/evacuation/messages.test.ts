/**
 * Tests the messages of an Evacuation about a migration that continues after the Evacuation, and about a migration that
 * KubeVirt ignores.
 */
import { describe, expect, test } from "vitest";
import { pinnedBy } from "../../../shared/evacuation/ends.ts";
import type { MigrationFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import {
  at,
  evacuation,
  marked,
  migration,
  NODE,
  node,
  only,
  pod,
  PINNED,
  POD_UID,
  time,
  vmi,
} from "../../support/fixtures.ts";
import { type Around, planned, statusAfter } from "../../support/worlds.ts";

const running = migration({ name: "kubevirts", evacuates: NODE, targetNode: "node02" });
const pending: MigrationFacts = { ...running, phase: "Pending" };
const persons = migration({ name: "hers", phase: "Pending" });

const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const byTaint = evacuation({ spec: { cause: "NoExecuteTaint" } });
const exhausted = evacuation({ status: { attempts: 5, message: "no room" } });
const untainted = { nodes: [node()], pods: [pod()] };

const BY_INTENT = "spec.intent is Withdrawn";
const FINISHES = "; migration kubevirts already moves the VM, and Lifeboat lets the migration finish";
const HERS = "; Lifeboat does not delete migration hers, which another party created and which can still move the VM";

describe("the message of an Evacuation that ends", () => {
  // prettier-ignore
  test.each<readonly [string, EvacuationFacts, Partial<Around>, says: readonly [message: string, migration?: string]]>([
    ["when cancelled with a waiting migration names no migration",                          withdrawn, { migrations: [pending] }, [BY_INTENT]],
    ["when cancelled with a running migration says that the migration finishes",            withdrawn, { migrations: [running] }, [`${BY_INTENT}${FINISHES}`, "kubevirts"]],
    ["when cancelled with an aborted migration names no migration",                         withdrawn, { migrations: [{ ...running, deleting: true }] }, [BY_INTENT]],
    ["when cancelled with a person's waiting migration names it",                           withdrawn, { migrations: [persons] }, [`${BY_INTENT}${HERS}`, "hers"]],
    ["when its taint is removed and a migration runs says that the migration finishes",     byTaint,   { ...untainted, migrations: [running] }, [`node ${NODE} no longer has the NoExecute taint${FINISHES}`, "kubevirts"]],
    ["when abandoned with a person's waiting migration names it",                           exhausted, { migrations: [persons] }, [`5 attempts have failed; the last failure: no room${HERS}`, "hers"]],
  ])("%s", (_, subject, tweak, [message, name]) => {
    const status = statusAfter(subject, tweak);
    expect([status.message, status.migration?.name]).toEqual([message, name]);
    const [reported] = only("Event", planned(subject, tweak));
    expect(reported?.message).toContain(message);
  });
});

test("a migration that finishes, and its target node, are in the status", () => {
  const of = { migration: { name: "kubevirts", uid: running.uid }, targetNode: "node02" };
  expect(statusAfter(withdrawn, { migrations: [running] })).toMatchObject(of);
});

const stuck = { ...pending, createdAt: at(-200).getTime(), blockedBy: { type: "migrationRejectedByResourceQuota" } };

// prettier-ignore
test.each<[string, EvacuationFacts, Partial<Around>, reason: string]>([
  ["a VM that has moved",             evacuation(), { vmis: [vmi({ nodeName: "node02", activePods: { other: "node02" } })] }, "Evacuated"],
  ["a cancelled evacuation",          withdrawn,    {},                                                    "EvacuationCancelled"],
  ["an abandoned evacuation",         exhausted,    {},                                                    "EvacuationAbandoned"],
  ["a migration that Lifeboat creates", evacuation(), {},                                                  "MigrationCreated"],
  ["a migration that has failed",     evacuation(), { migrations: [migration({ phase: "Failed" })] },      "MigrationFailed"],
  ["a migration that does not start", evacuation(), { migrations: [stuck] },                               "MigrationFailed"],
  ["a VM that cannot migrate",        evacuation(), { vmis: [marked(PINNED)] },                            "NotMigratable"],
])("the Event about %s has the reason $3", (_, subject, tweak, reason) => {
  expect(only("Event", planned(subject, tweak))).toMatchObject([{ reason }]);
});

test("the Event about a VM that cannot migrate names the node, and is recorded once for each reason", () => {
  const message = `cannot leave node ${NODE}: the VM is not live-migratable: the disk is not shared`;
  const occasion = "evacuation-uid-DisksNotLiveMigratable";
  expect(only("Event", planned(evacuation(), { vmis: [marked(PINNED)] }))).toMatchObject([{ message, occasion }]);
});

// prettier-ignore
test.each([
  ["DisksNotLiveMigratable",  "DisksNotLiveMigratable"],
  ["two words",               "NotLiveMigratable"],
  ["1st",                     "NotLiveMigratable"],
  ["x".repeat(257),           "NotLiveMigratable"],
])("the reason %s of KubeVirt is the reason %s, because the API server accepts only one word", (reason, expected) => {
  expect(pinnedBy(vmi({ liveMigratable: { migratable: false, reason } }))?.reason).toBe(expected);
});

test.each([
  [9, "Pending", "Pending"],
  [10, "Migrating", "KubeVirtNotAnswering"],
])("an Evacuation whose migration has had no phase for %d s is %s with the reason %s", (seconds, phase, reason) => {
  const unanswered = { ...pending, phase: "", createdAt: at(-seconds).getTime() };
  expect(statusAfter(evacuation(), { migrations: [unanswered] })).toMatchObject({ phase, reason });
});

describe("a migration whose target pod is unschedulable", () => {
  const scheduling = migration({ name: "kubevirts", phase: "Scheduling", targetPod: "target", evacuates: NODE });
  const waitsFor = (seconds: number) => {
    const unschedulable = { message: "0/3 nodes are available", since: time(-seconds) };
    const target = pod({ uid: "target", name: "target", phase: "Pending", unschedulable });
    const vmis = [marked({ activePods: { [POD_UID]: NODE, target: "" } })];
    return statusAfter(evacuation(), { vmis, migrations: [scheduling], pods: [target] });
  };
  const message = "target pod target cannot be scheduled: 0/3 nodes are available";

  test("is reported while an autoscaler may still add a node, and is no failed attempt", () => {
    expect(waitsFor(179)).toMatchObject({ phase: "Migrating", reason: "NoRoom", message, attempts: 0 });
  });

  test("is a failed attempt after stuckSeconds", () => {
    expect(waitsFor(180)).toMatchObject({ phase: "BackingOff", reason: "MigrationStuck", message, attempts: 1 });
  });
});
