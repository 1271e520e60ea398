/** Tests that the chaos run detects wrong outcomes and too many unavailable nodes of a RollingMaintenance. */
import { expect, test } from "vitest";
import { outcomeProblems, remember, type Seen, unavailableOf } from "../../../infra/lab/chaos/rolling.ts";
import type { VirtualMachineInstance } from "../../../infra/sandbox/index.ts";
import type { NodeEvacuation, RollingMaintenance, VmOutcome } from "../../../infra/lab/stage/evacuations.ts";

const API = { apiVersion: "lifeboat.dev/v1alpha1" };
const WRITTEN = { resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
const TIMES = { created: 500, listed: 700, ended: 2000 };

function part(nodeName: string, phase: string, outcomes: readonly VmOutcome[] = []): NodeEvacuation {
  const metadata = { ...WRITTEN, name: `ne-${nodeName}`, uid: `uid-${nodeName}` };
  return { ...API, kind: "NodeEvacuation", metadata, spec: { nodeName }, status: { phase, outcomes } };
}

function rolling(nextNode: string): RollingMaintenance {
  const spec = { nodes: {}, nextNode, maxUnavailable: 1 };
  return { ...API, kind: "RollingMaintenance", metadata: { ...WRITTEN, name: "kernel", uid: "kernel" }, spec };
}

test.each([
  ["WhenEvacuated", "an empty node no longer counts as unavailable", [], ["b"]],
  ["WhenUncordoned", "an empty node counts as unavailable", [], ["a", "b"]],
  ["WhenUncordoned", "an uncordoned node no longer counts as unavailable", ["uid-a"], ["b"]],
])("with nextNode %s, %s", (nextNode, _, back, expected) => {
  const parts = [part("a", "Evacuated"), part("b", "Evacuating"), part("c", "Withdrawn")];
  expect(unavailableOf(rolling(nextNode), parts, new Set(back))).toEqual(expected);
});

function vmi(uid: string, nodeName: string, phase = "Running", strategy = "LiveMigrate"): VirtualMachineInstance {
  const metadata = { ...WRITTEN, namespace: "vms", name: "web", uid };
  const spec = { evictionStrategy: strategy, domain: { devices: {} } };
  return { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", metadata, spec, status: { phase, nodeName } };
}

/** Returns a history with one change per second. An undefined change means that the VMI is gone. */
function historyOf(...changes: readonly (VirtualMachineInstance | undefined)[]): ReadonlyMap<string, Seen> {
  const history = new Map<string, Seen>();
  changes.forEach((now, at) => remember(history, now, changes[at - 1], at * 1000));
  return history;
}

const one = (outcome: string, targetNode?: string): VmOutcome => ({
  namespace: "vms",
  name: "web",
  uid: "1",
  outcome,
  ...(targetNode !== undefined && { targetNode }),
});

// prettier-ignore
const SEEN = [
  ["a VM that has moved",               historyOf(vmi("1", "a"), vmi("1", "b")),                             ["Moved"]],
  ["a VM that stays",                   historyOf(vmi("1", "a")),                                            ["Abandoned", "LeftBehind"]],
  ["a VM that runs again",              historyOf(vmi("1", "a"), undefined, vmi("2", "b")),                  ["Restarted", "Stopped"]],
  ["a VM whose strategy shuts it down", historyOf(vmi("1", "a", "Running", "None"), vmi("1", "a", "Failed")), ["ShutDown", "Stopped"]],
  ["a VM that was never on the node",   historyOf(vmi("1", "b")),                                            []],
] as const;

test.each(SEEN)("the chaos run accepts only the true outcomes of %s", (_, history, expected) => {
  const outcomes = ["Moved", "Restarted", "ShutDown", "Stopped", "Abandoned", "LeftBehind", "Open"];
  const isTrue = (outcome: string) =>
    outcomeProblems(part("a", "Withdrawn", [one(outcome)]), history, TIMES).length === 0;
  expect(outcomes.filter(isTrue)).toEqual(expected);
});

test("the chaos run reports a target node that differs from the observed node", () => {
  const history = historyOf(vmi("1", "a"), vmi("1", "b"));
  expect(outcomeProblems(part("a", "Evacuated", [one("Moved", "b")]), history, undefined)).toEqual([]);
  expect(outcomeProblems(part("a", "Evacuated", [one("Moved", "c")]), history, undefined)).toHaveLength(1);
});

test("the chaos run reports a VM left on a node that is Evacuated, and a VM that a NodeEvacuation does not name", () => {
  const history = historyOf(vmi("1", "a"));
  expect(outcomeProblems(part("a", "Evacuated", [one("LeftBehind")]), history, undefined)).toEqual([
    "NodeEvacuation ne-a (Evacuated) reports the outcome LeftBehind for web, although the phase is Evacuated",
  ]);
  expect(outcomeProblems(part("a", "Withdrawn"), history, { created: 1000, listed: 2000 })).toEqual([
    "NodeEvacuation ne-a (Withdrawn) does not name vms/web, which was on its node",
  ]);
});
