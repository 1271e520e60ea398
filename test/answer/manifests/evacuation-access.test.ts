/** Who may do what with Evacuations: the shipped roles, and the policy that keeps those that have not ended. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  applyManifests,
  clusterRoles,
  namespaces,
  type RawAnswer,
  type RawRequest,
  type Resource,
  waitFor,
} from "../../../infra/sandbox/index.ts";
import {
  ACTIVE,
  answerOf,
  ENDED,
  GROUP_VERSION,
  NAMESPACE,
  PATH,
  type Stage,
  startStage,
  VM,
} from "./evacuation-stage.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", plural: "rolebindings" };
const roleBindings: Resource = { ...rbac, namespaced: true };
const evacuations: Resource = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "Evacuation",
  plural: "evacuations",
  namespaced: true,
};

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
  await applyManifests(stage.sandbox.client, readManifests("evacuation-requester.yaml"));
});
afterAll(() => stage.sandbox.stop());

/** Resolves to a user. */
async function bind(role: string): Promise<string> {
  const [user, apiGroup] = [`bound-to-${role}`, "rbac.authorization.k8s.io"];
  const binding = {
    metadata: { namespace: NAMESPACE, name: user },
    roleRef: { apiGroup, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup, kind: "User", name: user }],
  };
  await stage.sandbox.client.create(roleBindings, binding);
  return user;
}

/** In the policy's words. */
const refusalOf = (answer: RawAnswer) => answerOf(answer)[1].replace(/^.* denied request: /, "");
const as = (user: string) => stage.sandbox.client.as(user, ["system:masters", "system:authenticated"]);

describe("in a namespace, who is bound to the ClusterRole", () => {
  const NAME = "victim";
  beforeAll(async () => {
    await stage.post(VM, { metadata: { name: NAME } });
    await stage.patch(`${NAME}/status`, { status: { phase: "Moved" } });
    await waitFor(stage.sandbox.client, {
      resource: clusterRoles,
      key: { name: "admin" },
      what: "aggregated",
      until: ({ rules }) => rules?.some(({ apiGroups }) => apiGroups?.includes("lifeboat.dev")) ?? false,
    });
  });

  const ONE = `${PATH}/${NAME}`;
  const dryRun = { dryRun: "All" };
  const change = { contentType: "application/merge-patch+json", query: dryRun };
  const again = { apiVersion: "lifeboat.dev/v1alpha1", kind: "Evacuation", metadata: { name: "n" }, spec: VM };
  // prettier-ignore
  const REQUESTS: Readonly<Record<string, RawRequest>> = {
    get:           { method: "GET", path: ONE },
    list:          { method: "GET", path: PATH },
    watch:         { method: "GET", path: PATH, query: { watch: true, timeoutSeconds: 1 } },
    create:        { method: "POST", path: PATH, query: dryRun, body: again },
    patch:         { method: "PATCH", path: ONE, ...change, body: { spec: { intent: "Withdrawn" } } },
    delete:        { method: "DELETE", path: ONE, query: dryRun },
    "delete all":  { method: "DELETE", path: PATH, query: dryRun },
    "patch status": { method: "PATCH", path: `${ONE}/status`, ...change, body: { status: { message: "x" } } },
    "list everywhere": { method: "GET", path: `${GROUP_VERSION}/evacuations` },
  };

  // prettier-ignore
  test.concurrent.each<[string, readonly string[]]>([
    ["view",              ["get", "list", "watch"]],
    ["lifeboat-operator", ["get", "list", "watch", "create", "patch", "delete"]],
  ])("%s may %j", async (role, expected) => {
    const user = stage.sandbox.client.as(await bind(role), ["system:authenticated"]);
    const codes = Object.entries(REQUESTS).map(async ([what, request]) => [what, (await user.raw(request)).code] as const);
    const answers = await Promise.all(codes);
    const refused = answers.filter(([, code]) => code === 403).map(([what]) => what);
    expect(refused).toEqual(Object.keys(REQUESTS).filter((what) => !expected.includes(what)));
    expect(answers.filter(([, code]) => code < 300).map(([what]) => what)).toEqual(expected);
  });
});

describe("an Evacuation says who has asked for it", () => {
  const JANE = "jane@example.com";
  const LIFEBOAT = "system:serviceaccount:lifeboat-system:lifeboat";
  const BY = "spec.requestedBy: expected your own user name, or nothing";
  const WAITS = "spec.inherited: expected nothing: what an Evacuation takes over is Lifeboat's to say";

  // prettier-ignore
  test.each<[string, string, object, string]>([
    // by           what                       spec                                               refused
    [JANE,     "herself",                 { requestedBy: JANE, cause: "Operator" },          "" ],
    [JANE,     "someone else",            { requestedBy: "system:kube-scheduler" },          BY ],
    [JANE,     "when it may begin",       { inherited: { notBefore: "9999-12-31T00:00:00Z" } }, WAITS ],
    [LIFEBOAT, "when it may begin",       { inherited: { notBefore: "9999-12-31T00:00:00Z" } }, "" ],
    [LIFEBOAT, "whose eviction it was",   { requestedBy: JANE, cause: "ApiEviction" },       "" ],
  ])("created by %s, naming %s", async (user, _, spec, refused) => {
    const body = {
      apiVersion: "lifeboat.dev/v1alpha1",
      kind: "Evacuation",
      metadata: { generateName: "asked-" },
      spec: { ...VM, ...spec },
    };
    const answer = await as(user).raw({ method: "POST", path: PATH, body });
    expect([answer.code, refusalOf(answer)]).toEqual([refused === "" ? 201 : 422, refused]);
  });

  // prettier-ignore
  test.each<[string, string, object, string]>([
    [JANE,     "joe",      { intent: "Withdrawn" },       "" ],
    [JANE,     "KubeVirt", { requestedBy: JANE },         "" ],
    [JANE,     "KubeVirt", { requestedBy: "joe" },        BY ],
    [LIFEBOAT, "KubeVirt", { requestedBy: "joe" },        "" ],
  ])("changed by %s, asked for by %s, to %j", async (user, requestedBy, spec, refused) => {
    const body = {
      apiVersion: "lifeboat.dev/v1alpha1",
      kind: "Evacuation",
      metadata: { name: `changed-${crypto.randomUUID()}` },
      spec: { ...VM, requestedBy, cause: "ApiEviction" },
    };
    expect(await as(LIFEBOAT).raw({ method: "POST", path: PATH, body })).toMatchObject({ code: 201 });
    const answer = await stage.patch(body.metadata.name, { spec }, as(user));
    expect([answer.code, refusalOf(answer)]).toEqual([refused === "" ? 200 : 422, refused]);
  });
});

describe("an Evacuation is deleted", () => {
  const ADMIN = "kubernetes-admin";
  const WORDS =
    "ValidatingAdmissionPolicy 'lifeboat-evacuation-deletion' with binding 'lifeboat-evacuation-deletion' denied request: " +
    "it has not ended, or Lifeboat starts a stopped VM again by it: to cancel it, set spec.intent: Withdrawn";

  // prettier-ignore
  test.each<[string, string | undefined, boolean]>([
    // by                                                           in phase     works
    ...ENDED.map((phase): [string, string, boolean] =>  [ADMIN,     phase,       phase !== "Stopped"]),
    ...ACTIVE.map((phase): [string, string, boolean] => [ADMIN,     phase,       false]),
    [ADMIN,                                                         undefined,   false],
    ["system:serviceaccount:lifeboat-system:lifeboat",              "Migrating", true ],
    ["system:serviceaccount:kube-system:namespace-controller",      "Migrating", true ],
    ["system:serviceaccount:shop:lifeboat",                         "Migrating", false],
  ])("by %s in phase %s: %s", async (user, phase, works) => {
    const name = await stage.created(VM, phase === undefined ? {} : { phase });
    const answer = await as(user).raw({ method: "DELETE", path: `${PATH}/${name}` });
    if (works) expect(answer.code).toBe(200);
    else expect(answerOf(answer)).toEqual([403, `evacuations.lifeboat.dev "${name}" is forbidden: ${WORDS}`]);
    expect((await stage.sandbox.client.get(evacuations, { namespace: NAMESPACE, name })) === undefined).toBe(works);
  });

  test("with its namespace, in any phase", async () => {
    const { client } = stage.sandbox;
    await client.delete(namespaces, { name: NAMESPACE });
    await expect.poll(() => client.get(namespaces, { name: NAMESPACE }), { timeout: 10_000 }).toBeUndefined();
    expect((await client.list(evacuations)).items).toEqual([]);
  });
});
