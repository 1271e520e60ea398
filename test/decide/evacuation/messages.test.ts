/** An Evacuation's messages about a migration that continues after it, and about a migration that KubeVirt leaves alone. */
import { describe, expect, test } from "vitest";
import type { MigrationFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { at, evacuation, marked, migration, NODE, node, only, pod, POD_UID, time } from "../../support/fixtures.ts";
import { type Around, planned, statusAfter } from "../../support/worlds.ts";

const running = migration({ name: "kubevirts", evacuates: NODE, targetNode: "node02" });
const pending: MigrationFacts = { ...running, phase: "Pending" };
const persons = migration({ name: "hers", phase: "Pending" });

const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const byTaint = evacuation({ spec: { cause: "NoExecuteTaint" } });
const exhausted = evacuation({ status: { attempts: 5, message: "no room" } });
const untainted = { nodes: [node()], pods: [pod()] };

const BY_INTENT = "spec.intent is Withdrawn";
const FINISHES = "; migration kubevirts already moves the VM, and Lifeboat lets it finish";
const HERS = "; migration hers is not Lifeboat's to delete, and may still move the VM";

describe("the end of one whose migration goes on", () => {
  // prettier-ignore
  test.each<readonly [string, EvacuationFacts, Partial<Around>, says: readonly [message: string, migration?: string]]>([
    ["cancelled: what waits is deleted",       withdrawn, { migrations: [pending] }, [BY_INTENT]],
    ["cancelled: it runs",                     withdrawn, { migrations: [running] }, [`${BY_INTENT}${FINISHES}`, "kubevirts"]],
    ["cancelled: it runs, and is aborted",     withdrawn, { migrations: [{ ...running, deleting: true }] }, [BY_INTENT]],
    ["cancelled: a person's waits",            withdrawn, { migrations: [persons] }, [`${BY_INTENT}${HERS}`, "hers"]],
    ["the taint is gone: it runs",             byTaint,   { ...untainted, migrations: [running] }, [`the NoExecute taint of node ${NODE} is gone${FINISHES}`, "kubevirts"]],
    ["given up: a person's waits",             exhausted, { migrations: [persons] }, [`5 attempts have failed; the last one: no room${HERS}`, "hers"]],
  ])("%s", (_, subject, tweak, [message, name]) => {
    const status = statusAfter(subject, tweak);
    expect([status.message, status.migration?.name]).toEqual([message, name]);
    const [reported] = only("Event", planned(subject, tweak));
    expect(reported?.message).toContain(message);
  });
});

test.each([
  [9, "Pending", "Pending"],
  [10, "Migrating", "KubeVirtNotAnswering"],
])("a migration that KubeVirt has given no phase for %d s: %s %s", (seconds, phase, reason) => {
  const unanswered = { ...pending, phase: "", createdAt: at(-seconds).getTime() };
  expect(statusAfter(evacuation(), { migrations: [unanswered] })).toMatchObject({ phase, reason });
});

describe("a migration whose target pod has no node yet", () => {
  const scheduling = migration({ name: "kubevirts", phase: "Scheduling", targetPod: "target", evacuates: NODE });
  const waitsFor = (seconds: number) => {
    const unschedulable = { message: "0/3 nodes are available", since: time(-seconds) };
    const target = pod({ uid: "target", name: "target", phase: "Pending", unschedulable });
    const vmis = [marked({ activePods: { [POD_UID]: NODE, target: "" } })];
    return statusAfter(evacuation(), { vmis, migrations: [scheduling], pods: [target] });
  };
  const message = "target pod target cannot be scheduled: 0/3 nodes are available";

  test("says so while an autoscaler may still make room, and counts nothing", () => {
    expect(waitsFor(179)).toMatchObject({ phase: "Migrating", reason: "NoRoom", message, attempts: 0 });
  });

  test("has failed after stuckSeconds", () => {
    expect(waitsFor(180)).toMatchObject({ phase: "BackingOff", reason: "MigrationStuck", message, attempts: 1 });
  });
});
