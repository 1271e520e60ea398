/** Tests NodeEvacuations in an API server: valid specs, permitted users, and deletions. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createUser, refused, type Right } from "./rights.ts";
import { type Stage, startStage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await startStage("NodeEvacuation", ["crds/nodeevacuations.yaml", "node-evacuation.yaml"]);
});
afterAll(() => stage.sandbox.stop());

const NODE = { nodeName: "node-3" };
const [EARLY, LATE] = ["2026-11-27T22:00:00Z", "2026-11-28T04:00:00Z"];

test("a NodeEvacuation needs only the name of a node", async () => {
  const virtualMachines = {
    order: "ByPriority",
    whenBlocked: "Wait",
    whenAttemptsFail: "Wait",
    ownersChoice: "Respected",
  };
  const rest = { otherPods: "Evict", afterwards: { returnVMs: "Never" } };
  const spec = { ...NODE, intent: "Evacuate", progress: "Running", startIf: "Always", virtualMachines, ...rest };
  expect(await stage.create(NODE)).toMatchObject({ answer: [201, ""], spec });
});

// prettier-ignore
test.each<[string, object, string]>([
  ["without a node",              {},                                                         "spec.nodeName: Required value"],
  ["that ends before it starts",  { ...NODE, schedule: { notBefore: LATE, notAfter: EARLY } }, "notAfter: expected a time after notBefore"],
  ["that starts at a time with an offset of 99 hours", { ...NODE, schedule: { notBefore: "2026-11-22T12:00:00+99:00" } }, "spec.schedule.notBefore: Invalid value"],
  ["with concurrency 0",          { ...NODE, virtualMachines: { concurrency: 0 } },           "spec.virtualMachines.concurrency: Invalid value"],
  ["with an unknown whenBlocked", { ...NODE, virtualMachines: { whenBlocked: "Kill" } },      'Unsupported value: "Kill"'],
])("a NodeEvacuation %s is refused", async (_, spec, words) => {
  expect((await stage.create(spec)).answer).toEqual(refused(422, words));
});

// prettier-ignore
test.each<[string, object, object, string]>([
  ["the node",           NODE,                               { nodeName: "node-4" },        "nodeName cannot change"],
  ["a withdrawn intent", { ...NODE, intent: "Withdrawn" },   { intent: "Evacuate" },        "a withdrawn NodeEvacuation cannot be resumed"],
  ["the progress",       NODE,                               { progress: "Paused" },        ""],
  ["the schedule",       NODE,                               { schedule: { notAfter: LATE } }, ""],
])("a change of %s is allowed or refused", async (_, from, to, words) => {
  expect(await stage.patch(await stage.created(from), { spec: to })).toEqual(refused(words === "" ? 200 : 422, words));
});

const userWith = (rights: readonly Right[]) => createUser(rights, stage);

describe("a NodeEvacuation gives nobody more rights:", () => {
  const RESTART = { virtualMachines: { whenBlocked: "Restart" } };
  const AFTER = { virtualMachines: { whenAttemptsFail: "Restart" } };
  const STOP = { virtualMachines: { whenBlocked: "ShutDown" } };
  const RETURN = { afterwards: { returnVMs: "WhenUncordoned" } };

  // prettier-ignore
  test.each<[readonly Right[], object, string]>([
    [[],                             {},                       "you may not patch this node"],
    [["patch"],                      {},                       "you may not evict pods"],
    [["patch", "evict"],             {},                       ""],
    [["patchOne", "evict"],          {},                       ""],
    [["patchOne", "evict"],          { nodeName: "node-4" },   "you may not patch this node"],
    [["patch", "evict", "stop"],     RESTART,                  "you may not restart"],
    [["patch", "evict", "stop"],     AFTER,                    "you may not restart"],
    [["patch", "evict", "restart"],  RESTART,                  ""],
    [["patch", "evict", "restart"],  STOP,                     "you may not stop"],
    [["patch", "evict", "stop"],     STOP,                     ""],
    [["patch", "evict", "restart"],  RETURN,                   "you may not migrate"],
    [["patch", "evict", "migrate"],  RETURN,                   ""],
  ])("a user with the rights %j creates %j: %s", async (rights, spec, refusal) => {
    const { answer } = await stage.create({ ...NODE, ...spec }, await userWith(rights));
    expect(answer).toEqual(refused(refusal === "" ? 201 : 403, refusal));
  });

  test("a user without the right to restart VMs can pause and withdraw their restarts, not resume them", async () => {
    const name = await stage.created({ ...NODE, ...RESTART });
    const user = await userWith(["patch", "evict"]);
    const change = (spec: object) => stage.patch(name, { spec }, user);
    const forbidden = refused(403, "you may not restart");
    expect(await change({ reason: "kernel 6.13" })).toEqual(forbidden);
    expect(await change({ progress: "Paused", ...AFTER })).toEqual(forbidden);
    expect(await change({ progress: "Paused", ...RETURN })).toEqual(forbidden);
    expect(await change({ progress: "Paused" })).toEqual([200, ""]);
    expect(await change({ progress: "Running" })).toEqual(forbidden);
    expect(await change({ intent: "Withdrawn" })).toEqual([200, ""]);
  });

  test("a change of metadata needs no rights, so the garbage collector can remove its finalizer", async () => {
    const name = await stage.created(NODE);
    const user = await userWith([]);
    expect(await stage.patch(name, { metadata: { finalizers: ["foregroundDeletion"] } })).toEqual([200, ""]);
    expect(await stage.patch(name, { metadata: { finalizers: null } }, user)).toEqual([200, ""]);
    expect((await stage.patch(name, { spec: { reason: "x" } }, user))[0]).toBe(403);
  });
});

const RETURNED = { type: "Returned", status: "True", reason: "Uncordoned", message: "", lastTransitionTime: EARLY };
const STOPPED = { phase: "Evacuated", virtualMachines: { stopped: 1 } };

// prettier-ignore
test.each<[string, status: object, code: number]>([
  ...["Scheduled", "Evacuating", "Paused", "Blocked"].map((phase): [string, object, number] => [phase, { phase }, 403]),
  ...["Evacuated", "Refused", "Expired", "Withdrawn", "Gone"].map((phase): [string, object, number] => [phase, { phase }, 200]),
  ["Evacuated, with stopped VMs that start again later", STOPPED,                                    403],
  ["Evacuated, with VMs that have started again",        { ...STOPPED, conditions: [RETURNED] },     200],
])("the deletion of a NodeEvacuation that is %s: $2", async (_, status, code) => {
  expect((await stage.remove(await stage.created(NODE, status)))[0]).toBe(code);
});

test("an ended NodeEvacuation cannot change its phase", async () => {
  const name = await stage.created(NODE, { phase: "Evacuated" });
  expect((await stage.patch(`${name}/status`, { status: { phase: "Evacuating" } }))[0]).toBe(422);
});
