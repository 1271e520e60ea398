/** The kind NodeEvacuation in an API server: what may be asked for, by whom, and when one can be deleted. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  applyManifests,
  type KubeObject,
  type Resource,
  type Sandbox,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { answerOf, GROUP_VERSION } from "./evacuation-stage.ts";

const PATH = `${GROUP_VERSION}/nodeevacuations`;
const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", namespaced: false };
const roles: Resource<KubeObject & { rules?: unknown }> = { ...rbac, kind: "ClusterRole", plural: "clusterroles" };
const bindings: Resource<KubeObject & { roleRef?: unknown; subjects?: unknown }> = {
  ...rbac,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
};

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ empty: true });
  const files = ["crds/nodeevacuations.yaml", "node-evacuation.yaml", "optional/restriction/restriction.yaml"];
  await applyManifests(sandbox.client, files.flatMap(readManifests));
});
afterAll(() => sandbox.stop());

let count = 0;
async function create(spec: object, user = sandbox.client) {
  const name = `n-${++count}`;
  const body = { apiVersion: "lifeboat.dev/v1alpha1", kind: "NodeEvacuation", metadata: { name }, spec };
  return { name, answer: await user.raw({ method: "POST", path: PATH, body }) };
}

function patch(path: string, body: object, user = sandbox.client) {
  return user.raw({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
}

const NODE = { nodeName: "node-3" };
const [EARLY, LATE] = ["2026-11-27T22:00:00Z", "2026-11-28T04:00:00Z"];

describe("the spec", () => {
  test("needs the name of a node only", async () => {
    const { answer } = await create(NODE);
    const virtualMachines = {
      order: "ByPriority",
      whenBlocked: "Wait",
      whenAttemptsFail: "Wait",
      ownersChoice: "Respected",
    };
    const rest = { otherPods: "Evict", afterwards: { returnVMs: "Never" } };
    const spec = { ...NODE, intent: "Evacuate", progress: "Running", startIf: "Always", virtualMachines, ...rest };
    expect(answer).toMatchObject({ code: 201, body: { spec } });
  });

  // prettier-ignore
  test.each<[string, object, string]>([
    ["without a node",            {},                                                         "spec.nodeName: Required value"],
    ["that ends before it begins", { ...NODE, schedule: { notBefore: LATE, notAfter: EARLY } }, "notAfter: expected a time after notBefore"],
    ["with no VM at a time",      { ...NODE, virtualMachines: { concurrency: 0 } },           "spec.virtualMachines.concurrency: Invalid value"],
    ["with an unknown word",      { ...NODE, virtualMachines: { whenBlocked: "Kill" } },      'Unsupported value: "Kill"'],
  ])("%s is refused", async (_, spec, words) => {
    expect(answerOf((await create(spec)).answer)).toEqual([422, expect.stringContaining(words)]);
  });

  // prettier-ignore
  test.each<[string, object, object, string]>([
    ["the node",     NODE,                               { nodeName: "node-4" },        "it cannot change"],
    ["intent, back", { ...NODE, intent: "Withdrawn" },   { intent: "Evacuate" },        "a withdrawn NodeEvacuation cannot be resumed"],
    ["progress",     NODE,                               { progress: "Paused" },        ""],
    ["the hours",    NODE,                               { schedule: { notAfter: LATE } }, ""],
  ])("%s changes", async (_, from, to, words) => {
    const { name } = await create(from);
    const answer = answerOf(await patch(`${PATH}/${name}`, { spec: to }));
    expect(answer).toEqual(words === "" ? [200, ""] : [422, expect.stringContaining(words)]);
  });
});

const rule = (apiGroups: string[], resources: string[], verbs: string[], resourceNames?: string[]) => {
  return { apiGroups, resources, verbs, ...(resourceNames && { resourceNames }) };
};

describe("nobody gets more by it than they have", () => {
  const KUBEVIRT = ["subresources.kubevirt.io"];
  const RIGHTS = {
    patch: rule([""], ["nodes"], ["patch"]),
    patchOne: rule([""], ["nodes"], ["patch"], ["node-3"]),
    evict: rule([""], ["pods/eviction"], ["create"]),
    restart: rule(KUBEVIRT, ["virtualmachines/restart"], ["update"]),
    stop: rule(KUBEVIRT, ["virtualmachines/stop"], ["update"]),
  } as const;
  type Right = keyof typeof RIGHTS;

  async function userWith(rights: readonly Right[]) {
    const name = `user-${++count}`;
    await sandbox.client.create(roles, { metadata: { name }, rules: rights.map((right) => RIGHTS[right]) });
    for (const role of [name, "lifeboat-maintainer"]) {
      const apiGroup = "rbac.authorization.k8s.io";
      const subjects = [{ apiGroup, kind: "User", name }];
      const roleRef = { apiGroup, kind: "ClusterRole", name: role };
      await sandbox.client.create(bindings, { metadata: { name: `${name}-${role}` }, roleRef, subjects });
    }
    return sandbox.client.as(name, ["system:authenticated"]);
  }

  const RESTART = { virtualMachines: { whenBlocked: "Restart" } };
  const AFTER = { virtualMachines: { whenAttemptsFail: "Restart" } };
  const STOP = { virtualMachines: { whenBlocked: "ShutDown" } };

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
  ])("who may %j asks for %j: %s", async (rights, spec, refusal) => {
    const { answer } = await create({ ...NODE, ...spec }, await userWith(rights));
    expect(answerOf(answer)).toEqual(refusal === "" ? [201, ""] : [403, expect.stringContaining(refusal)]);
  });

  test("to stop what restarts VMs takes no right to restart them; to continue it does", async () => {
    const { name } = await create({ ...NODE, ...RESTART });
    const user = await userWith(["patch", "evict"]);
    const change = async (spec: object) => answerOf(await patch(`${PATH}/${name}`, { spec }, user));
    const refused = [403, expect.stringContaining("you may not restart")];
    expect(await change({ reason: "kernel 6.13" })).toEqual(refused);
    expect(await change({ progress: "Paused", ...AFTER })).toEqual(refused);
    expect(await change({ progress: "Paused" })).toEqual([200, ""]);
    expect(await change({ progress: "Running" })).toEqual(refused);
    expect(await change({ intent: "Withdrawn" })).toEqual([200, ""]);
  });

  test("nor by changing one of another user's", async () => {
    const { name } = await create(NODE);
    const user = await userWith(["patch", "evict"]);
    expect((await patch(`${PATH}/${name}`, { spec: { progress: "Paused" } }, user)).code).toBe(200);
    const answer = await patch(`${PATH}/${name}`, { spec: RESTART }, user);
    expect(answerOf(answer)).toEqual([403, expect.stringContaining("you may not restart")]);
  });

  test("metadata asks for nothing: the garbage collector takes its finalizer off", async () => {
    const { name } = await create(NODE);
    const [path, user] = [`${PATH}/${name}`, await userWith([])];
    expect((await patch(path, { metadata: { finalizers: ["foregroundDeletion"] } })).code).toBe(200);
    expect(answerOf(await patch(path, { metadata: { finalizers: null } }, user))).toEqual([200, ""]);
    expect((await patch(path, { spec: { reason: "x" } }, user)).code).toBe(403);
  });
});

// prettier-ignore
test.each<[string, number]>([
  ["Scheduled", 403], ["Evacuating", 403], ["Paused", 403], ["Blocked", 403],
  ["Evacuated", 200], ["Refused", 200], ["Expired", 200], ["Withdrawn", 200], ["Gone", 200],
])("one in phase %s is deleted: %i", async (phase, code) => {
  const { name } = await create(NODE);
  expect((await patch(`${PATH}/${name}/status`, { status: { phase } })).code).toBe(200);
  expect((await sandbox.client.raw({ method: "DELETE", path: `${PATH}/${name}` })).code).toBe(code);
});

// prettier-ignore
test.each<[string, object, number]>([
  ["stays until these start again",     {},                                                                              403],
  ["is deleted, once these have",       { conditions: [{ type: "Returned", status: "True", reason: "Uncordoned", message: "", lastTransitionTime: EARLY }] }, 200],
])("one that has stopped VMs %s: %i", async (_, more, code) => {
  const { name } = await create(NODE);
  await patch(`${PATH}/${name}/status`, { status: { phase: "Evacuated", virtualMachines: { stopped: 1 }, ...more } });
  expect((await sandbox.client.raw({ method: "DELETE", path: `${PATH}/${name}` })).code).toBe(code);
});

test("what has ended stays ended", async () => {
  const { name } = await create(NODE);
  await patch(`${PATH}/${name}/status`, { status: { phase: "Evacuated" } });
  expect((await patch(`${PATH}/${name}/status`, { status: { phase: "Evacuating" } })).code).toBe(422);
});

const lifeboat = () => sandbox.client.as("system:serviceaccount:lifeboat-system:lifeboat", ["system:masters"]);

describe("of a node the restriction lets Lifeboat change the cordon only", () => {
  beforeAll(async () => {
    const body = { apiVersion: "v1", kind: "Node", metadata: { name: "node-3" } };
    expect((await sandbox.client.raw({ method: "POST", path: "/api/v1/nodes", body })).code).toBe(201);
  });

  // prettier-ignore
  test.each<[string, object, number]>([
    ["the cordon",         { spec: { unschedulable: true }, metadata: { annotations: { "lifeboat.dev/cordoned-by": "a/b" } } }, 200],
    ["another annotation", { metadata: { annotations: { "example.com/x": "y" } } },                                        422],
    ["a label",            { metadata: { labels: { zone: "b" } } },                                                        422],
    ["a taint",            { spec: { taints: [{ key: "k", effect: "NoExecute" }] } },                                      422],
  ])("%s", async (_, change, code) => {
    expect((await patch("/api/v1/nodes/node-3", change, lifeboat())).code).toBe(code);
  });
});
