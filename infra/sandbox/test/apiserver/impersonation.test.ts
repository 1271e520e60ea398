/** Constrained impersonation (1.36): one identity, and only for certain requests. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Started, start } from "./started.ts";

const RBAC = "rbac.authorization.k8s.io";
const ACTOR = { verb: "impersonate:serviceaccount", on: "impersonate-on:serviceaccount:patch" };
const MAPS = "/api/v1/namespaces/default/configmaps";
const HELPER = "system:serviceaccount:kube-system:helper";

let started: Started;

async function create(path: string, body: object): Promise<void> {
  const { code, text } = await started.admin.send({ method: "POST", path, body });
  expect(code, text).toBe(201);
}

async function allow(name: string, subject: object, rules: readonly object[]): Promise<void> {
  const group = `/apis/${RBAC}/v1`;
  await create(`${group}/clusterroles`, { metadata: { name }, rules });
  const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name };
  await create(`${group}/clusterrolebindings`, { metadata: { name }, roleRef, subjects: [subject] });
}

const now = new Date("2026-03-01T00:00:00Z");

beforeAll(async () => {
  const users = ["actor", "half", "nodes"].map((user) => [user, { user }] as const);
  started = await start({ tokens: Object.fromEntries(users), now: () => now });
  await create("/api/v1/namespaces/kube-system/serviceaccounts", { metadata: { name: "helper" } });
  await create(MAPS, { metadata: { name: "c" } });
  const identity = {
    verbs: [ACTOR.verb],
    apiGroups: ["authentication.k8s.io"],
    resources: ["serviceaccounts"],
    resourceNames: ["helper"],
  };
  const action = { verbs: [ACTOR.on], apiGroups: [""], resources: ["configmaps"] };
  await allow("helper", { kind: "ServiceAccount", name: "helper", namespace: "kube-system" }, [
    { verbs: ["get", "patch"], apiGroups: [""], resources: ["configmaps"] },
  ]);
  await allow("actor", { kind: "User", name: "actor" }, [identity, action]);
  await allow("half", { kind: "User", name: "half" }, [identity]);
  await allow("nodes", { kind: "User", name: "nodes" }, [
    { verbs: ["impersonate:arbitrary-node"], apiGroups: ["authentication.k8s.io"], resources: ["nodes"] },
    { verbs: ["impersonate-on:arbitrary-node:patch"], apiGroups: [""], resources: ["configmaps"] },
  ]);
  await allow("system:nodes", { kind: "Group", name: "system:nodes" }, [
    { verbs: ["patch"], apiGroups: [""], resources: ["configmaps"] },
  ]);
});
afterAll(() => started.stop());

const ask = (method: "GET" | "PATCH", token: string, user: string) =>
  started.admin.send({
    method,
    path: `${MAPS}/c`,
    token,
    headers: { "impersonate-user": user },
    ...(method === "PATCH" && { type: "application/merge-patch+json", body: { data: { by: token } } }),
  });

// prettier-ignore
test.each([
  // method   by        as                                           code
  ["PATCH",  "actor",  HELPER,                                       200],
  ["GET",    "actor",  HELPER,                                       403], // the helper may, but not through the actor
  ["PATCH",  "actor",  "system:serviceaccount:kube-system:other",    403],
  ["PATCH",  "actor",  "somebody",                                   403],
  ["PATCH",  "half",   HELPER,                                       403], // the identity alone is not enough
  ["PATCH",  "nodes",  "system:node:n",                              200], // in the group of nodes
  ["PATCH",  "nodes",  HELPER,                                       403],
] as const)("%s by %s as %s: %i", async (method, token, user, code) => {
  expect((await ask(method, token, user)).code).toBe(code);
});

const refusals = (user: string) => ({ message: expect.stringContaining(`User "${user}" cannot `) });

// prettier-ignore
test.each([
  // method   by        as               what is missing
  ["GET",    "actor",  HELPER,           'cannot impersonate-on:serviceaccount:get resource "configmaps"'],
  ["PATCH",  "half",   HELPER,           'cannot impersonate-on:serviceaccount:patch resource "configmaps"'],
  ["PATCH",  "actor",  "somebody",       'cannot impersonate-on:user-info:patch resource "configmaps"'],
  ["PATCH",  "actor",  `${HELPER}-two`,  'cannot impersonate:serviceaccount resource "serviceaccounts"'],
] as const)("%s by %s as %s is refused: %s", async (method, token, user, missing) => {
  const { body } = await ask(method, token, user);
  expect(body).toMatchObject(refusals(token));
  expect(body.message).toContain(missing);
});
