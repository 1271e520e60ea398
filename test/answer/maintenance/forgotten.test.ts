/** Maintenance that ended long ago: objects of the command are deleted, objects that others applied are trimmed. */
import { expect, test } from "vitest";
import { openApp } from "../../support/app.ts";
import { time } from "../../support/fixtures.ts";
import { at } from "../../support/json.ts";
import { created } from "../../support/maintenance/kernel.ts";

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
