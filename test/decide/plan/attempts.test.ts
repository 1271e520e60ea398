/** Tests which finished migrations prove that a VM can migrate, and for which launcher version. */
import { describe, expect, test } from "vitest";
import type { PlanMigration, PlanPod } from "../../../shared/plan/facts.ts";
import { evidenceOf } from "../../../shared/plan/evidence.ts";
import { IMAGE, vm } from "../../support/plan/clusters.ts";
import { at, attempt, failed, fleet, moved, old, source, unplaced } from "../../support/plan/launcher-versions.ts";

test("a migration whose target pod had no node is no evidence about its VM", () => {
  expect(evidenceOf(fleet([moved, unplaced("a", 30)])).classes[0]?.proof).toBe("Proven");
});

test.each<[string, PlanMigration, readonly PlanPod[], string]>([
  [
    "ended before it was ready",
    unplaced("a", 30, { uid: "job-a" }),
    [{ ...source("target"), labels: { ...vm("a").pod.labels, "kubevirt.io/migrationJobUID": "job-a" } }],
    "its target pod ended before it was ready",
  ],
  [
    "had a node and was not ready after 15 minutes",
    unplaced("a", 30, { failedAt: at(30) + 15.1 * 60_000 }),
    [],
    "its target pod was not ready after 15 minutes",
  ],
])("a class fails if a target pod %s", (_, migration_, more, reason) => {
  const f = fleet([moved, migration_]);
  const pods = [...f.pods, ...more.map((pod) => ({ ...pod, image: IMAGE }))];
  expect(evidenceOf({ ...f, pods }).classes[0]).toMatchObject({ proof: "Failing", failed: { vm: "apps/a", reason } });
});

test("a cancelled migration, and a migration to a launcher that KubeVirt no longer uses, are no evidence", () => {
  const cancelled = { ...failed("a", 30), isCancelled: true as const };
  expect(evidenceOf(fleet([moved, cancelled])).classes[0]?.proof).toBe("Proven");
  const toOld = { ...failed("a", 90), targetPod: "source-moved" };
  expect(evidenceOf(fleet([toOld])).classes[0]?.proof).toBe("Unproven");
});

test("a failed migration from before the VM's last start is no evidence", () => {
  const f = fleet(
    [moved, failed("again", 30)],
    [old("again", { pod: { createdAt: at(20) }, vmi: { isOutdated: true } })],
  );
  expect(evidenceOf(f).classes.find(({ vms }) => vms.includes("apps/again"))?.proof).toBe("Proven");
});

test("a migration that was deleted, or may not be listed, is evidence if its VMI still names it", () => {
  const f = fleet([]);
  const known = (name: string, lastFinished: PlanMigration) =>
    evidenceOf({ ...f, vmis: f.vmis.map((vmi) => (vmi.name === name ? { ...vmi, lastFinished } : vmi)) }).classes[0];
  expect(known("moved", moved)?.proof).toBe("Proven");
  expect(known("a", failed("a", 30))).toMatchObject({ proof: "Failing", failed: { times: 1 } });
});

test("KubeVirt writes the reason of a failure into the VMI first", () => {
  const { failureReason: _, ...silent } = failed("a", 30);
  const f = fleet([silent]);
  const vmis = f.vmis.map((vmi) => (vmi.name === "a" ? { ...vmi, lastFinished: failed("a", 30) } : vmi));
  expect(evidenceOf({ ...f, vmis }).classes[0]?.failed?.reason).toBe("guest CPU doesn't match specification");
});

/**
 * Returns the evidence for the old launcher version if the source pod of the VM `moved` is missing. `startedAt` is the
 * number of minutes since the start of that VM.
 */
function proofWithoutSource(startedAt: number | undefined, earlier: readonly PlanMigration[] = []) {
  const f = fleet([...earlier, moved], [old("later", { pod: { createdAt: at(8000) } })]);
  const vmis = f.vmis.map((vmi) =>
    vmi.name === "moved" && startedAt !== undefined ? { ...vmi, startedAt: at(startedAt) } : vmi,
  );
  return evidenceOf({ ...f, vmis, pods: f.pods.filter(({ name }) => name !== "source-moved") }).classes[0]?.proof;
}
const createdBy = (minutesAgo: number) =>
  attempt("moved", minutesAgo, { targetPod: "source-moved", schedulingSince: at(minutesAgo) });

describe("without its source pod, which a drain deletes, a migration is evidence", () => {
  test("if the VM started between the creations of two pods with the same launcher version", () => {
    expect([proofWithoutSource(8500), proofWithoutSource(9000)]).toEqual(["Proven", "Proven"]);
  });
  test("if an earlier migration created the source pod between two pods with the same launcher version", () => {
    expect([proofWithoutSource(99_000, [createdBy(8500)]), proofWithoutSource(99_000, [createdBy(9500)])]).toEqual([
      "Proven",
      "Unproven",
    ]);
  });
  test("not if the launcher version of that time is unknown, or the VM has moved before", () => {
    expect([proofWithoutSource(9001), proofWithoutSource(7999), proofWithoutSource(undefined)]).toEqual([
      "Unproven",
      "Unproven",
      "Unproven",
    ]);
    expect(proofWithoutSource(8500, [attempt("moved", 8400, {})])).toBe("Unproven");
  });
  test("not if KubeVirt might have deleted older migrations", () => {
    const older = [1, 2, 3, 4].map((number) => failed("moved", 70 + number));
    expect([proofWithoutSource(8500, older.slice(1)), proofWithoutSource(8500, older)]).toEqual(["Proven", "Unproven"]);
  });
});
