/** How Evacuations are found and shown: kubectl's names for them, its table, what a field selector selects. */
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { ENDED, PATH, type Stage, startStage } from "./evacuation-stage.ts";

const of = (name: string) => ({ virtualMachineInstance: { name } });

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
  await stage.created(of("new"));
  await stage.created({ ...of("web"), cause: "ApiEviction", requestedBy: "jane" }, MIGRATING);
  await stage.created(of("web"), { phase: "Moved" });
  await stage.created(of("db"), { phase: "Abandoned" });
});
afterAll(() => stage.sandbox.stop());

const MIGRATING = {
  phase: "Migrating",
  sourceNode: "node-1",
  targetNode: "node-2",
  attempts: 1,
  migration: { name: "kubevirt-evacuation-x", uid: "u" },
  message: "as KubeVirt says",
};
const UNFINISHED = ENDED.map((phase) => `status.phase!=${phase}`).join();

// prettier-ignore
test.each<[string, readonly string[] | number]>([
  ["",                                                               ["new", "web Migrating", "web Moved", "db Abandoned"]],
  ["status.phase=Migrating",                                         ["web Migrating"]],
  [UNFINISHED,                                                       ["new", "web Migrating"]],
  ["spec.virtualMachineInstance.name=web",                           ["web Migrating", "web Moved"]],
  ["spec.cause=Operator",                                            400],
])("fieldSelector=%s", async (fieldSelector, expected) => {
  const { code, body } = await stage.sandbox.client.raw({ method: "GET", path: PATH, query: { fieldSelector } });
  const found = List.parse(body).items?.map(({ spec, status }) => [spec.virtualMachineInstance.name, status?.phase].join(" ").trim());
  expect(found ?? code).toEqual(expected);
});

const Spec = z.object({ virtualMachineInstance: z.object({ name: z.string() }) });
const Status = z.object({ phase: z.string() });
const List = z.object({ items: z.optional(z.array(z.object({ spec: Spec, status: z.optional(Status) }))) });
const Column = z.object({ name: z.string(), type: z.string(), priority: z.number() });
const Table = z.object({
  columnDefinitions: z.array(Column),
  rows: z.array(z.object({ cells: z.array(z.unknown()) })),
});

test("kubectl get evacuations [-o wide]", async () => {
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const { body } = await stage.sandbox.client.raw({ method: "GET", path: PATH, headers: { accept } });
  const { columnDefinitions, rows } = Table.parse(body);
  const [unseen, migrating] = rows;
  const shown = columnDefinitions.map(({ name, type, priority }, index) => {
    return [name, type, priority, unseen?.cells[index], migrating?.cells[index]];
  });
  // prettier-ignore
  expect(shown).toEqual([
    ["Name",         "string",  0, "evac-1",               "evac-2"],
    ["VM",           "string",  0, "new",                  "web"],
    ["From",         "string",  0, null,                   "node-1"],
    ["To",           "string",  0, null,                   "node-2"],
    ["Cause",        "string",  0, "Operator",             "ApiEviction"],
    ["Phase",        "string",  0, null,                   "Migrating"],
    ["Attempts",     "integer", 0, null,                   1],
    ["Age",          "date",    0, expect.any(String),     expect.any(String)],
    ["Requested By", "string",  1, null,                   "jane"],
    ["Migration",    "string",  1, null,                   "kubevirt-evacuation-x"],
    ["Message",      "string",  1, null,                   "as KubeVirt says"],
  ]);
});
