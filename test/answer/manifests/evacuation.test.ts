/** Tests Evacuations in an API server: valid specs, the permitted users and changes, and deletions. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterRoles, type RawRequest, type Resource, waitFor } from "../../../infra/sandbox/index.ts";
import { ACTIVE_PHASES, END_PHASES } from "../../../shared/kube/evacuation.ts";
import { answerTo, LIFEBOAT, NAMESPACE, type Stage, startStage } from "./stage.ts";

const FILES = ["evacuation-roles", "evacuation-deletion", "evacuation-requester", "crds/evacuations"];
let stage: Stage;
beforeAll(async () => {
  const files = FILES.map((name) => `${name}.yaml`);
  stage = await startStage("Evacuation", files);
});
afterAll(() => stage.sandbox.stop());

const JANE = "jane@example.com";
const TIME = "2026-11-22T12:00:00Z";
const VM = { virtualMachineInstance: { name: "web-1" } };
const FULL = { ...VM, cause: "Preemption", requestedBy: "system:kube-scheduler", deadline: TIME };

const refused = (code: number, words: string) => [code, words === "" ? "" : expect.stringContaining(words)];

test("an Evacuation needs only the name of a VM", async () => {
  expect(await stage.create(VM)).toMatchObject({
    answer: [201, ""],
    spec: { ...VM, cause: "Operator", intent: "Evacuate" },
  });
});

// prettier-ignore
test.each<[string, object | undefined, string]>([
  ["no spec",                 undefined,                                                     "spec: Required value"],
  ["a path as a name",        { virtualMachineInstance: { name: "../pods/x" } },             "spec.virtualMachineInstance.name: Invalid value"],
  ["an unknown cause",        { ...VM, cause: "Whim" },                                      'spec.cause: Unsupported value: "Whim"'],
  ["a pod without a UID",     { ...VM, pod: { name: "p" } },                                 "spec.pod.uid: Required value"],
  ["a restart by a person",   { ...VM, by: "Restart" },                                      "expected with the cause NodeEvacuation only"],
  ["too many attempts",       { ...VM, inherited: { attempts: 1001 } },                      "spec.inherited.attempts: Invalid value"],
])("an Evacuation with %s is refused", async (_, spec, words) => {
  expect((await stage.create(spec, stage.as(LIFEBOAT))).answer).toEqual(refused(422, words));
});

const IMMUTABLE = "only intent and retryAt can change: to change another field, create another Evacuation";
const RESUMED = "a withdrawn Evacuation cannot be resumed: create another Evacuation";
const BY = "spec.requestedBy: expected your own user name, or nothing";
const MARKED = { ...VM, requestedBy: "KubeVirt", cause: "ApiEviction" };

// prettier-ignore
test.each<[string, by: string, from: object, to: object, words: string]>([
  // field                  by         from                                  to                                         
  // refused with
  ["the intent",                  JANE,      FULL,                                 { intent: "Withdrawn" },                        ""],
  ["a withdrawn intent",          JANE,      { ...VM, intent: "Withdrawn" },       { intent: "Evacuate" },                         RESUMED],
  ["the VM",                      LIFEBOAT,  VM,                                   { virtualMachineInstance: { name: "other" } },  IMMUTABLE],
  ["the cause",                   LIFEBOAT,  VM,                                   { cause: "ApiEviction" },                       IMMUTABLE],
  ["the deadline",                LIFEBOAT,  FULL,                                 { deadline: "2026-11-22T13:00:00Z" },           IMMUTABLE],
  ["inherited attempts",          LIFEBOAT,  { ...FULL, inherited: { attempts: 2 } }, { inherited: { attempts: 0 } },              IMMUTABLE],
  ["the requester",               LIFEBOAT,  FULL,                                 { requestedBy: "joe" },                         IMMUTABLE],
  ["the requester of a mark",     LIFEBOAT,  MARKED,                               { requestedBy: "joe" },                         ""],
  ["the requester of a mark",     JANE,      MARKED,                               { requestedBy: JANE },                          ""],
  ["the requester of a mark",     JANE,      MARKED,                               { requestedBy: "joe" },                         BY],
])("a change of %s by %s is allowed or refused", async (_, by, ...[from, to, words]) => {
  const { name, answer } = await stage.create(from, stage.as(LIFEBOAT));
  expect(answer).toEqual([201, ""]);
  expect(await stage.patch(name, { spec: to }, stage.as(by))).toEqual(refused(words === "" ? 200 : 422, words));
});

const NOT_BEFORE = { inherited: { notBefore: "9999-12-31T00:00:00Z" } };
const WAITS = "spec.inherited: expected nothing, because only Lifeboat sets this field";
const CAUSE = "spec.cause: expected Operator, because only Lifeboat sets the other causes";

// prettier-ignore
test.each<[by: string, string, spec: object, words: string]>([
  [JANE,     "her own name as requester",    { requestedBy: JANE, cause: "Operator" },    ""],
  [JANE,     "another requester",            { requestedBy: "system:kube-scheduler" },    BY],
  [JANE,     "a cause",                      { cause: "Preemption" },                     CAUSE],
  [JANE,     "a back-off",                   NOT_BEFORE,                                  WAITS],
  [LIFEBOAT, "a back-off",                   NOT_BEFORE,                                  ""],
  [LIFEBOAT, "the requester of an eviction", { requestedBy: JANE, cause: "ApiEviction" }, ""],
])("an Evacuation created by %s with %s is allowed or refused", async (by, _, spec, words) => {
  const { answer } = await stage.create({ ...VM, ...spec }, stage.as(by));
  expect(answer).toEqual(refused(words === "" ? 201 : 422, words));
});

const ENDED: readonly string[] = END_PHASES;
const KEPT =
  "the Evacuation has not ended, or Lifeboat needs it to start its stopped VM: to cancel it, set spec.intent: Withdrawn";

test.each([...ACTIVE_PHASES, ...END_PHASES])(
  "the phase %s is final if the Evacuation has ended, and only an ended Evacuation without a stopped VM can be deleted",
  async (phase) => {
    const name = await stage.created(VM, { phase });
    const hasEnded = ENDED.includes(phase);
    const next = await stage.patch(`${name}/status`, { status: { phase: phase === "Gone" ? "Pending" : "Gone" } });
    expect(next).toEqual(
      hasEnded ? refused(422, "the Evacuation has ended: status.phase does not change any more") : [200, ""],
    );
    const other = await stage.created(VM, { phase });
    const isKept = !hasEnded || phase === "Stopped";
    expect(await stage.remove(other)).toEqual(isKept ? refused(403, KEPT) : [200, ""]);
  },
);

// prettier-ignore
test.each<[by: string, phase: string | undefined, code: number]>([
  ["kubernetes-admin",                                       undefined,   403],
  [LIFEBOAT,                                                 "Migrating", 200],
  ["system:serviceaccount:kube-system:namespace-controller", "Migrating", 200],
  ["system:serviceaccount:shop:lifeboat",                    "Migrating", 403],
])("a deletion by %s of an Evacuation in phase %s is answered %i", async (by, phase, code) => {
  const name = await stage.created(VM, phase === undefined ? {} : { phase });
  expect((await stage.remove(name, stage.as(by)))[0]).toBe(code);
});

const RBAC = "rbac.authorization.k8s.io";
const roleBindings: Resource = {
  apiVersion: `${RBAC}/v1`,
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
};

describe("in a namespace, the role", () => {
  let name: string;
  beforeAll(async () => {
    name = await stage.created(VM, { phase: "Moved" });
    for (const role of ["view", "lifeboat-operator"]) {
      const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: role };
      const subjects = [{ apiGroup: RBAC, kind: "User", name: role }];
      const binding = { metadata: { namespace: NAMESPACE, name: role }, roleRef, subjects };
      await stage.sandbox.client.create(roleBindings, binding);
    }
    await waitFor(stage.sandbox.client, {
      resource: clusterRoles,
      key: { name: "view" },
      what: "aggregated",
      until: ({ rules }) => rules?.some(({ apiGroups }) => apiGroups?.includes("lifeboat.dev")) ?? false,
    });
  });

  const dryRun = { dryRun: "All" };
  const merge = { method: "PATCH", contentType: "application/merge-patch+json", query: dryRun } as const;
  const body = { apiVersion: "lifeboat.dev/v1alpha1", kind: "Evacuation", metadata: { name: "new" }, spec: VM };
  const REQUESTS = {
    get: () => ({ method: "GET", path: `${stage.path}/${name}` }),
    list: () => ({ method: "GET", path: stage.path }),
    "list everywhere": () => ({ method: "GET", path: "/apis/lifeboat.dev/v1alpha1/evacuations" }),
    create: () => ({ method: "POST", path: stage.path, query: dryRun, body }),
    cancel: () => ({ ...merge, path: `${stage.path}/${name}`, body: { spec: { intent: "Withdrawn" } } }),
    delete: () => ({ method: "DELETE", path: `${stage.path}/${name}`, query: dryRun }),
    "write a status": () => ({ ...merge, path: `${stage.path}/${name}/status`, body: { status: { message: "x" } } }),
  } satisfies Readonly<Record<string, () => RawRequest>>;

  test.each<[role: string, may: readonly (keyof typeof REQUESTS)[]]>([
    ["view", ["get", "list"]],
    ["lifeboat-operator", ["get", "list", "create", "cancel", "delete"]],
  ])("%s permits %j", async (role, may) => {
    const user = stage.sandbox.client.as(role, ["system:authenticated"]);
    for (const [what, request] of Object.entries(REQUESTS)) {
      const { answer } = await answerTo(request(), user);
      expect([what, answer[0] === 403]).toEqual([what, !may.some((one) => one === what)]);
    }
  });
});
