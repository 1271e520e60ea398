/** Tests RollingMaintenances in an API server: valid specs, permitted users, and deletions. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { createUser, refused, type Right } from "./rights.ts";
import { type Stage, startStage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  const files = ["crds/rollingmaintenances.yaml", "node-evacuation.yaml", "rolling-maintenance.yaml"];
  stage = await startStage("RollingMaintenance", files);
});
afterAll(() => stage.sandbox.stop());

const NODES = { nodes: { names: ["node-3", "node-1"] } };
const POOL = { nodes: { matchLabels: { pool: "workers" } } };
const [EARLY, LATE] = ["2026-11-27T22:00:00Z", "2026-11-28T04:00:00Z"];

test("a RollingMaintenance needs only nodes", async () => {
  const virtualMachines = {
    order: "ByPriority",
    whenBlocked: "Wait",
    whenAttemptsFail: "Wait",
    ownersChoice: "Respected",
  };
  const others = { otherPods: "Evict", forceShutdowns: false, afterwards: { returnVMs: "Never" } };
  const template = { startIf: "Always", virtualMachines, ...others };
  const how = { maxUnavailable: 1, nextNode: "WhenUncordoned", nodeTimeoutSeconds: 3600, whenNodeFails: "Stop" };
  const spec = { ...NODES, intent: "Evacuate", progress: "Running", ...how, template };
  expect(await stage.create(NODES)).toMatchObject({ answer: [201, ""], spec });
});

test("the API server accepts the example of WEEKEND.md", async () => {
  const text = readFileSync(new URL("../../../infra/kubernetes/WEEKEND.md", import.meta.url), "utf8");
  const [, example = ""] = /```yaml\n(apiVersion[^]*?)```/.exec(text) ?? [];
  const { kind, spec } = z.object({ kind: z.string(), spec: z.looseObject({}) }).parse(load(example));
  expect(kind).toBe("RollingMaintenance");
  expect((await stage.create(spec)).answer).toEqual([201, ""]);
});

// prettier-ignore
test.each<[string, object, string]>([
  ["without nodes",              {},                                                           "spec.nodes: Required value"],
  ["with no name and no label",  { nodes: {} },                                                "nodes: expected names, or matchLabels"],
  ["with names and labels",      { nodes: { ...NODES.nodes, ...POOL.nodes } },                 "nodes: expected names, or matchLabels"],
  ["with an empty list",         { nodes: { names: [] } },                                     "spec.nodes.names: Invalid value"],
  ["with empty labels",          { nodes: { matchLabels: {} } },                               "spec.nodes.matchLabels: Invalid value"],
  ["with one node twice",        { nodes: { names: ["node-1", "node-1"] } },                   "Duplicate value"],
  ["that ends before it begins", { ...NODES, schedule: { notBefore: LATE, notAfter: EARLY } }, "notAfter: expected a time after notBefore"],
  ["that ends at a time with a comma", { ...NODES, schedule: { notAfter: "2026-11-22T12:00:00,5Z" } }, "spec.schedule.notAfter: Invalid value"],
  ["with no node at a time",     { ...NODES, maxUnavailable: 0 },                              "spec.maxUnavailable: Invalid value"],
  ["with no time for a node",    { ...NODES, nodeTimeoutSeconds: 5 },                          "spec.nodeTimeoutSeconds: Invalid value"],
  ["with an unknown whenNodeFails", { ...NODES, whenNodeFails: "Hope" },                          'Unsupported value: "Hope"'],
  ["with an unknown startIf",    { ...NODES, template: { startIf: "Maybe" } },                 'Unsupported value: "Maybe"'],
])("a RollingMaintenance %s is refused", async (_, spec, words) => {
  expect((await stage.create(spec)).answer).toEqual(refused(422, words));
});

// prettier-ignore
test.each<[string, object, object, string]>([
  ["the nodes",    NODES,                              { nodes: { names: ["node-4"] } },  "nodes cannot change"],
  ["the labels",   POOL,                               { nodes: { matchLabels: { pool: "gpu" } } }, "nodes cannot change"],
  ["a withdrawn intent", { ...NODES, intent: "Withdrawn" },  { intent: "Evacuate" },            "a withdrawn RollingMaintenance cannot be resumed"],
  ["progress",     NODES,                              { progress: "Paused" },            ""],
  ["the schedule", NODES,                              { schedule: { notAfter: LATE } },  ""],
  ["the template", NODES,                              { template: { startIf: "WillSucceed" } }, ""],
])("a change of %s is allowed or refused", async (_, from, to, words) => {
  expect(await stage.patch(await stage.created(from), { spec: to })).toEqual(refused(words === "" ? 200 : 422, words));
});

const of = (virtualMachines: object) => ({ template: { virtualMachines } });

describe("a RollingMaintenance gives nobody more rights:", () => {
  const RESTART = of({ whenBlocked: "Restart" });
  const AFTER = of({ whenAttemptsFail: "Restart" });
  const STOP = of({ whenBlocked: "ShutDown" });
  const RETURN = { template: { afterwards: { returnVMs: "WhenUncordoned" } } };

  // prettier-ignore
  test.each<[readonly Right[], object, string]>([
    [[],                             {},       "you may not patch every node"],
    [["patchOne", "evict"],          {},       "you may not patch every node"],
    [["patch"],                      {},       "you may not evict pods"],
    [["patch", "evict"],             {},       ""],
    [["patch", "evict"],             POOL,     ""],
    [["patch", "evict", "stop"],     RESTART,  "you may not restart"],
    [["patch", "evict", "stop"],     AFTER,    "you may not restart"],
    [["patch", "evict", "restart"],  RESTART,  ""],
    [["patch", "evict", "restart"],  STOP,     "you may not stop"],
    [["patch", "evict", "stop"],     STOP,     ""],
    [["patch", "evict", "restart"],  RETURN,   "you may not migrate"],
    [["patch", "evict", "migrate"],  RETURN,   ""],
  ])("a user with the rights %j creates %j: %s", async (rights, spec, refusal) => {
    const asked = "nodes" in spec ? spec : { ...NODES, ...spec };
    const { answer } = await stage.create(asked, await createUser(rights, stage));
    expect(answer).toEqual(refused(refusal === "" ? 201 : 403, refusal));
  });

  test("an update needs the same rights, but a user without the right to restart VMs can pause and withdraw restarts", async () => {
    const name = await stage.created({ ...NODES, ...RESTART });
    const [user, other] = [await createUser(["patch", "evict"], stage), await createUser(["patchOne", "evict"], stage)];
    const change = (spec: object) => stage.patch(name, { spec }, user);
    const forbidden = refused(403, "you may not restart");
    expect(await stage.patch(name, { spec: { progress: "Paused" } }, other)).toEqual(refused(403, "every node"));
    expect(await change({ maxUnavailable: 2 })).toEqual(forbidden);
    expect(await change({ progress: "Paused", ...AFTER })).toEqual(forbidden);
    expect(await change({ progress: "Paused" })).toEqual([200, ""]);
    expect(await change({ progress: "Running" })).toEqual(forbidden);
    expect(await change({ intent: "Withdrawn" })).toEqual([200, ""]);
  });
});

// prettier-ignore
test.each<[string, code: number]>([
  ...["Scheduled", "Running", "Paused", "Blocked"].map((phase): [string, number] => [phase, 403]),
  ...["Completed", "Stopped", "Withdrawn"].map((phase): [string, number] => [phase, 200]),
])("the deletion of a RollingMaintenance in phase %s is answered %i", async (phase, code) => {
  expect((await stage.remove(await stage.created(NODES, { phase })))[0]).toBe(code);
});

test("an ended RollingMaintenance cannot change its phase", async () => {
  const name = await stage.created(NODES, { phase: "Completed" });
  expect((await stage.patch(`${name}/status`, { status: { phase: "Running" } }))[0]).toBe(422);
});
