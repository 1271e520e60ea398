/** What a visitor does on the pages, to a VM and to a node: what each act changes, what it leads to, and who may not. */
import { beforeEach, describe, expect, test } from "vitest";
import type { NodeRight, Visitor } from "../../../functions/page/session.ts";
import { type Before, failure } from "../../support/fake-api.ts";
import { failing, type FakeCluster } from "../../support/fake-cluster.ts";
import { node, NODE, vmi } from "../../support/fixtures.ts";
import { at, textOf } from "../../support/json.ts";
import { clusterOf, ended, of, type Scene, UNDER_WAY } from "./support/scene.ts";
import { arriveAt } from "./support/visitor.ts";

const AT_VM = "/fleet/prod/vms/apps/web";
const AT_NODE = `/fleet/prod/nodes/${NODE}`;
const VM = vmi({ activePods: { "pod-web": NODE }, uid: "vmi-web" });
const MARKED = { ...VM, evacuationNodeName: NODE };
type Form = Readonly<Record<string, string>>;

let fake: FakeCluster;
beforeEach(() => given({ vms: [VM] }));

function given(scene: Scene): void {
  fake = clusterOf(scene);
  fake.configure({ disruptionBudgets: "Never" });
}

interface By {
  readonly visitor?: Partial<Visitor>;
  readonly before?: Before;
}

/** Resolves to what is said of it where it leads to, or to the code of its refusal. */
async function act(path: string, form: Form = {}, by: By = {}): Promise<string | number> {
  const there = await arriveAt({ prod: fake }, by);
  const { code, location } = await there.post(path, form);
  const [page, result] = (location ?? "").split("?result=");
  if (result === undefined) return code;
  expect(path.startsWith(`${page}/`)).toBe(true);
  expect((await there.get(location ?? "")).text).toContain('class="said"');
  return result;
}

const BACKING_OFF = of("web", { attempts: 2, phase: "BackingOff", reason: "MigrationFailed" });
const ABANDONED = ended("web", "Abandoned", { attempts: 5, message: "5 attempts have failed" });
const TAINTED = { taints: node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] }).taints };

describe("to a VM", () => {
  test("evacuate: an Evacuation by the visitor, which Lifeboat takes up at once; a second time joins it", async () => {
    expect(await act(`${AT_VM}/evacuate`)).toBe("Started");
    const spec = { cause: "Operator", requestedBy: "jane", intent: "Evacuate" };
    expect(fake.evacuations.list()).toMatchObject([{ spec, status: { phase: "Pending" } }]);
    expect(await act(`${AT_VM}/evacuate`)).toBe("Joined");
    expect(fake.evacuations.list()).toHaveLength(1);
  });

  test("evacuate, while one that was withdrawn has not ended: the visitor is to try again", async () => {
    given({
      vms: [VM],
      evacuations: [of("web", {}, { spec: { vmiName: "web", pod: { uid: "pod-web" }, intent: "Withdrawn" } })],
    });
    expect(await act(`${AT_VM}/evacuate`)).toBe("TryAgain");
    expect(fake.evacuations.list()).toHaveLength(1);
  });

  test("retry, and cancel", async () => {
    given({ vms: [MARKED], evacuations: [BACKING_OFF] });
    expect(await act(`${AT_VM}/retry`)).toBe("Retried");
    expect(fake.evacuations.list()[0]?.spec.retryAt).toBeDefined();
    expect(await act(`${AT_VM}/cancel`)).toBe("Withdrawn");
    expect(fake.evacuations.list()).toMatchObject([{ spec: { intent: "Withdrawn" }, status: { phase: "Withdrawn" } }]);
  });

  // prettier-ignore
  test.each<readonly [string, Scene, result: string]>([
    ["evacuate", { evacuations: [ABANDONED] },                                                    "NotRunning"],
    ["retry",    { evacuations: [ABANDONED] },                                                    "NotRunning"],
    ["retry",    { vms: [VM] },                                                                "NothingFailed"],
    ["cancel",   { vms: [VM] },                                                                "NotEvacuating"],
    ["cancel",   { vms: [MARKED], evacuations: [of("web")], its: TAINTED }, "DrainTaint"],
  ])("%s where it does not apply changes nothing", async (name, scene, result) => {
    given(scene);
    const before = fake.evacuations.list();
    expect(await act(`${AT_VM}/${name}`)).toBe(result);
    expect(fake.evacuations.list().map(({ spec }) => spec)).toEqual(before.map(({ spec }) => spec));
  });

  test("the log names who has acted, also where no answer says whether it was done", async () => {
    const there = await arriveAt({ prod: fake }, { before: failing(/^create evacuations$/) });
    await there.post(`${AT_VM}/evacuate`, {});
    const acted = there.log.filter(({ message }) => message === "a visitor has acted");
    expect(acted).toMatchObject([
      { act: "evacuate", namespace: "apps", name: "web", visitor: "jane", result: "Unknown" },
    ]);
  });

  test.each(["evacuate", "cancel", "retry"])("one who only looks may not %s", async (name) => {
    given({ vms: [MARKED], evacuations: [BACKING_OFF] });
    expect(await act(`${AT_VM}/${name}`, {}, { visitor: { mayAct: false } })).toBe(403);
    expect(fake.evacuations.list()).toEqual([BACKING_OFF]);
  });
});

test.each([
  [`${AT_VM}/evacuate`, AT_VM],
  [`${AT_NODE}/empty`, AT_NODE],
])("who has had to sign in again at %s comes to %s, and nothing is done", async (path, page) => {
  const there = await arriveAt({ prod: fake });
  expect(await there.get(path)).toMatchObject({ code: 303, location: page });
  expect(fake.evacuations.list()).toEqual([]);
});

test("an address can say nothing but what is on the list", async () => {
  const there = await arriveAt({ prod: fake });
  const said = async (result: string) => (await there.get(`${AT_VM}?result=${result}`)).text.includes('class="said"');
  expect(await said("Started")).toBe(true);
  for (const text of ["You+have+won", "toString", "__proto__", ""]) expect(await said(text)).toBe(false);
});

const kernel = () => fake.api.object("nodeevacuations", { name: "kernel" });
const KERNEL = { uid: "uid-of-kernel" };
const isWrite: (...asked: Parameters<Before>) => boolean = (label) => /^(create|patch) nodeevacuations/.test(label);

describe("to a node", () => {
  test("empty: a NodeEvacuation by the visitor's wishes, which Lifeboat takes up at once; a second time joins it", async () => {
    const form = { whenBlocked: "Restart", notBefore: "2026-03-01T22:30", emptyDir: "lost" };
    expect(await act(`${AT_NODE}/empty`, form)).toBe("Emptying");
    expect(fake.api.objects("nodeevacuations")).toMatchObject([
      {
        spec: {
          nodeName: NODE,
          reason: "asked for on Lifeboat's page by jane",
          schedule: { notBefore: "2026-03-01T22:30:00.000Z" },
          virtualMachines: { whenBlocked: "Restart" },
          otherPods: "EvictWithLocalData",
        },
        status: { phase: "Scheduled" },
      },
    ]);
    expect(await act(`${AT_NODE}/empty`)).toBe("EmptyingJoined");
    expect(fake.api.objects("nodeevacuations")).toHaveLength(1);
  });

  const PAUSED = { spec: { progress: "Paused" }, status: UNDER_WAY };
  const [OVER, ELSEWHERE] = [{ status: { phase: "Evacuated" } }, { spec: { nodeName: "node02" } }];

  // prettier-ignore
  test.each<readonly [string, Scene["nodeEvacuation"], result: string, progress: string, intent: string]>([
    ["pause",  { status: UNDER_WAY }, "Paused",    "Paused",  "Evacuate"],
    ["resume", PAUSED,                "Resumed",   "Running", "Evacuate"],
    ["cancel", { status: UNDER_WAY }, "Cancelled", "Running", "Withdrawn"],
    ["cancel", OVER,                  "Over",      "Running", "Evacuate"],
    ["cancel", ELSEWHERE,             "Over",      "Running", "Evacuate"],
  ])("%s", async (...[name, what = {}, result, progress, intent]) => {
    given({ nodeEvacuation: what });
    expect(await act(`${AT_NODE}/${name}`, KERNEL)).toBe(result);
    expect(kernel()).toMatchObject({ spec: { progress, intent } });
  });

  // prettier-ignore
  test.each<readonly [what: string, path: string, form: Form, result: string | number]>([
    ["one that there is not",       `${AT_NODE}/pause`,               KERNEL,                    "Over"],
    ["a time that is none",         `${AT_NODE}/empty`,               { notBefore: "tonight" },  "NoTime"],
    ["a way that there is not",     `${AT_NODE}/empty`,               { whenBlocked: "Delete" }, 403],
    ["of a node that there is not", "/fleet/prod/nodes/nowhere/empty", {},                       404],
  ])("%s: nothing is asked for", async (...[, path, form, result]) => {
    expect(await act(path, form)).toBe(result);
    expect(fake.api.objects("nodeevacuations")).toEqual([]);
  });

  test("what Lifeboat's own account may not do is said", async () => {
    const { code, body } = failure(403, "Forbidden");
    const before: Before = (label) => (isWrite(label) ? Response.json(body, { status: code }) : undefined);
    expect(await act(`${AT_NODE}/empty`, {}, { before })).toBe("Lacking");
  });

  test("one that asks for more since it was looked at is not changed", async () => {
    given({ nodeEvacuation: { status: UNDER_WAY } });
    const raced = { spec: { virtualMachines: { whenBlocked: "ShutDown" } } };
    const before: Before = (label) => {
      if (isWrite(label)) fake.api.merge("nodeevacuations", { name: "kernel" }, raced);
    };
    const visitor = { maintains: ["look", "empty"] } as const;
    expect(await act(`${AT_NODE}/pause`, KERNEL, { visitor, before })).toBe("ChangedSince");
    expect(textOf(at(kernel(), "spec", "progress"))).toBe("Running");
  });
});

const EVERYTHING: readonly NodeRight[] = ["look", "empty", "restart", "stop"];
const without = (right: NodeRight) => EVERYTHING.filter((one) => one !== right);

const pausedBy = (virtualMachines: object) => ({ virtualMachines, spec: { progress: "Paused" }, status: UNDER_WAY });

describe("nobody gets more by the page than they have: one who may do all but", () => {
  const RESTARTS = pausedBy({ whenBlocked: "Restart" });
  const AFTER_FAILURES = pausedBy({ whenAttemptsFail: "Restart" });
  const STOPS = pausedBy({ whenBlocked: "ShutDown" });

  // prettier-ignore
  test.each<readonly [NodeRight, string, Scene["nodeEvacuation"], form: Form, result: string | number]>([
    ["empty",   "empty",  undefined,             {},                            403],
    ["empty",   "pause",  { status: UNDER_WAY }, KERNEL,                        403],
    ["empty",   "resume", { status: UNDER_WAY }, KERNEL,                        403],
    ["empty",   "cancel", { status: UNDER_WAY }, KERNEL,                        403],
    ["restart", "empty",  undefined,             { whenBlocked: "Restart" },    403],
    ["stop",    "empty",  undefined,             { whenBlocked: "ShutDown" },   403],
    ["restart", "resume", RESTARTS,              KERNEL,                        403],
    ["restart", "resume", AFTER_FAILURES,        KERNEL,                        403],
    ["stop",    "resume", STOPS,                 KERNEL,                        403],
    ["stop",    "resume", RESTARTS,              KERNEL,                        "Resumed"],
    ["restart", "pause",  RESTARTS,              KERNEL,                        "Paused"],
    ["restart", "cancel", RESTARTS,              KERNEL,                        "Cancelled"],
  ])("%s: %s of %j", async (...[right, name, what, form, result]) => {
    given(what === undefined ? {} : { nodeEvacuation: what });
    const before = fake.api.objects("nodeevacuations");
    expect(await act(`${AT_NODE}/${name}`, form, { visitor: { maintains: without(right) } })).toBe(result);
    if (result === 403) expect(fake.api.objects("nodeevacuations")).toEqual(before);
  });
});
