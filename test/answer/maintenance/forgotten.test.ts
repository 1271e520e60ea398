/**
 * Tests that Lifeboat deletes old NodeEvacuations and RollingMaintenances that the command created. If another client
 * created them, Lifeboat shortens their status.
 */
import { expect, test } from "vitest";
import { openApp } from "../../support/app.ts";
import { time } from "../../support/fixtures.ts";
import { at } from "../../support/json.ts";
import { created } from "../../support/maintenance/kernel.ts";
import { node as roomy } from "../../support/preflight/fixtures.ts";

const OWN = { "app.kubernetes.io/managed-by": "lifeboat" };
const DAY = 24 * 3600;

interface Row {
  readonly days?: number;
  readonly labels?: object;
  readonly historySeconds?: number;
}

const OUTCOMES = [
  { namespace: "apps", name: "web", uid: "u", outcome: "LeftBehind", reason: "Expired", time: time(0) },
];
const METADATA = { name: "bios", uid: "uid-of-bios", resourceVersion: "1", creationTimestamp: "2026-01-01T09:00:00Z" };
const NODES = [{ name: "node02", phase: "Expired", message: "the node was not empty" }];
const KINDS = {
  nodeevacuations: { spec: { nodeName: "node02" }, status: { phase: "Withdrawn", outcomes: OUTCOMES } },
  rollingmaintenances: { spec: { nodes: { names: ["node02"] } }, status: { phase: "Stopped", nodes: NODES } },
};

// prettier-ignore
const ROWS: readonly (readonly [what: string, row: Row, becomes: "deleted" | "trimmed" | "kept"])[] = [
  ["thirty days ago is deleted",                             {},                                             "deleted"],
  ["less than thirty days ago is kept",                      { days: 29 },                                   "kept"],
  ["long ago and was applied by others is trimmed",          { days: 31, labels: {} },                       "trimmed"],
  ["two days ago is deleted with a shorter historySeconds",  { days: 2, historySeconds: DAY },               "deleted"],
];
const all = Object.keys(KINDS).flatMap((kind) =>
  ROWS.map(([what, row, becomes]) => [kind, what, row, becomes] as const),
);

test.each(all)(
  "an object of %s that ended %s",
  async (kind, _, { days = 30, labels = OWN, historySeconds }, becomes) => {
    const fake = created({ progress: "Paused" });
    if (historySeconds !== undefined) fake.configure({ maintenance: { historySeconds } });
    const { spec, status } = kind === "nodeevacuations" ? KINDS.nodeevacuations : KINDS.rollingmaintenances;
    const ended = { ...status, completionTime: time(-days * DAY) };
    fake.api.put(kind, { metadata: { ...METADATA, labels: { ...labels } }, spec, status: ended });
    await openApp(fake).reconcile();
    const left = fake.api.object(kind, { name: "bios" });
    expect(left === undefined).toBe(becomes === "deleted");
    if (left === undefined) return;
    expect(/LeftBehind|was not empty/.test(JSON.stringify(left))).toBe(becomes === "kept");
    expect(at(left, "status", "phase")).toBe(status.phase);
  },
);

test.each([
  ["readable", { nodes: { names: ["node02"] } }, true],
  ["unreadable", { nodes: 7 }, false],
])("an old NodeEvacuation beside a RollingMaintenance that is %s is deleted: $2", async (_, spec, isDeleted) => {
  const fake = created({ progress: "Paused" });
  const ended = { ...KINDS.nodeevacuations.status, completionTime: time(-31 * DAY) };
  const metadata = { ...METADATA, labels: OWN };
  fake.api.put("nodeevacuations", { ...KINDS.nodeevacuations, metadata, status: ended });
  fake.api.put("rollingmaintenances", { metadata: { ...METADATA, name: "weekend", uid: "w" }, spec, status: {} });
  await openApp(fake).reconcile();
  expect(fake.api.object("nodeevacuations", { name: "bios" }) === undefined).toBe(isDeleted);
});

test("a RollingMaintenance whose node still waits to be uncordoned is kept with its NodeEvacuation", async () => {
  const fake = created({ progress: "Paused" });
  const status = { completionTime: time(-31 * DAY) };
  const owner = { apiVersion: "lifeboat.dev/v1alpha1", kind: "RollingMaintenance", name: "bios", uid: METADATA.uid };
  fake.api.put("rollingmaintenances", {
    metadata: { ...METADATA, labels: OWN },
    spec: { nodes: { names: ["node02"] } },
    status: {
      ...status,
      phase: "Completed",
      nodes: [{ name: "node02", phase: "Evacuated", nodeEvacuation: "bios-2" }],
    },
  });
  fake.nodes.put(roomy("node02", { unschedulable: true }));
  fake.api.put("nodeevacuations", {
    metadata: {
      ...METADATA,
      name: "bios-2",
      uid: "u-2",
      labels: OWN,
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: { nodeName: "node02", afterwards: { returnVMs: "WhenUncordoned" } },
    status: { ...status, phase: "Evacuated" },
  });
  const app = openApp(fake);
  await app.reconcile();
  expect(fake.api.object("rollingmaintenances", { name: "bios" })).toBeDefined();
  expect(fake.api.object("nodeevacuations", { name: "bios-2" })).toBeDefined();
  fake.nodes.put(roomy("node02"));
  await app.reconcile();
  await app.reconcile();
  expect(fake.api.object("rollingmaintenances", { name: "bios" })).toBeUndefined();
});
