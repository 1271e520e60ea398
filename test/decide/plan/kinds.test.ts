/** Tests how Lifeboat parses the fields of VMIs and migrations that only a plan reads. */
import { expect, test } from "vitest";
import { MigrationOfPlan, VmiOfPlan } from "../../../shared/plan/kinds.ts";

const STATE = {
  migrationUid: "m-1",
  sourceNode: "node01",
  sourcePod: "virt-launcher-web-a",
  targetNode: "node02",
  targetPod: "virt-launcher-web-b",
  startTimestamp: "2026-01-01T00:00:00Z",
  completed: true,
};

function read(state: object, more: object = {}) {
  return VmiOfPlan.parse({
    metadata: { namespace: "apps", name: "web", uid: "vmi-1", resourceVersion: "1" },
    spec: { domain: { devices: {} } },
    status: { migrationState: { ...STATE, ...state }, ...more },
  });
}

test("a VMI's last migration that has ended is read as a migration", () => {
  const seen = { namespace: "apps", vmiName: "web", uid: "m-1", targetPod: "virt-launcher-web-b" };
  expect(read({}).lastFinished).toMatchObject({ ...seen, phase: "Succeeded" });
  expect(read({ failed: true, failureReason: "no CPU" }).lastFinished).toMatchObject({
    ...seen,
    phase: "Failed",
    failureReason: "no CPU",
  });
  expect(read({ failed: true, abortRequested: true }).lastFinished?.isCancelled).toBe(true);
});

test.each([
  ["is in progress", { completed: false }],
  ["has no UID", { migrationUid: "" }],
  ["comes from another cluster", { sourceState: { syncAddress: "10.0.0.1:9185" } }],
  ["goes to another cluster", { targetState: { syncAddress: "10.0.0.1:9185" } }],
])("a VMI's last migration that %s is not read", (_, state) => {
  expect(read(state).lastFinished).toBeUndefined();
});

const entered = (phase: string, time: string) => ({ phase, phaseTransitionTimestamp: time });

test("KubeVirt created a VMI's first pod when the VMI entered the phase Scheduling", () => {
  const phaseTransitionTimestamps = [
    entered("Pending", "2026-01-01T00:00:00Z"),
    entered("Scheduling", "2026-01-01T01:00:00Z"),
  ];
  expect(read({}, { phaseTransitionTimestamps }).startedAt).toBe(Date.parse("2026-01-01T01:00:00Z"));
});

test.each([
  [true, true],
  [false, undefined],
  [undefined, undefined],
])("a migration with abortRequested %s is read as cancelled: %s", (abortRequested, isCancelled) => {
  const migration = MigrationOfPlan.parse({
    metadata: { namespace: "apps", name: "m", uid: "m", resourceVersion: "1" },
    spec: { vmiName: "web" },
    status: { phase: "Failed", migrationState: { abortRequested } },
  });
  expect(migration.isCancelled).toBe(isCancelled);
});
