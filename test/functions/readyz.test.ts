/** Whether Lifeboat is ready: in general, for any caller; in one cluster, for its operators. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { kubeVirts } from "../../infra/sandbox/kubevirt/resources.ts";
import {
  CANNED_MARKED,
  CANNED_POD,
  CANNED_VMI,
  type CannedAnswers,
  configured,
  list,
  questionOf,
} from "./support/canned-cluster.ts";
import { openCanned } from "./support/canned-doors.ts";
import { asOperator, type Doors, entry, openDoors } from "./support/doors.ts";
import { type Behaviour, json, status, type StubRequest } from "./support/stub-server.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

describe("in general", () => {
  const registry = { get: async () => null, list: async () => ({ keys: [], list_complete: true }) };
  const valid = { prod: entry("https://prod.example.com") };
  // prettier-ignore
  test.each([
    ["CLUSTERS parses",                        { CLUSTERS: valid },                                    200],
    ["there are no clusters yet",              { CLUSTERS: {} },                                       200],
    ["there is only a registry",               { CLUSTER_REGISTRY: registry },                         200],
    ["nothing is configured",                  {},                                                     503],
    ["CLUSTERS is no JSON",                    { CLUSTERS: "{prod" },                                  503],
    ["CLUSTERS is no object",                  { CLUSTERS: [valid] },                                  503],
    ["one entry is malformed",                 { CLUSTERS: { ...valid, "secret-name": { server: "secret-server" } } }, 503],
    ["CLUSTERS is no JSON beside a registry",  { CLUSTERS: "{prod", CLUSTER_REGISTRY: registry },      503],
  ])("%s", async (_, env, code) => {
    const answer = await openDoors(env).request("/readyz");
    const message = "expected a JSON object of valid entries; the log of the scheduled tick names what is wrong";
    const error = { reason: "InvalidConfiguration", field: "CLUSTERS", message };
    expect(answer).toMatchObject({ code, body: code === 200 ? { ready: true } : { error } });
    expect(answer.text).not.toMatch(/secret|prod/);
  });

  test("a registry without a key that opens it", async () => {
    const answer = await openDoors({ CLUSTER_REGISTRY: registry, REGISTRY_KEY: "too short" }).request("/readyz");
    const message = "expected one or more keys of 32 bytes in base64, separated by commas";
    const error = { reason: "InvalidConfiguration", field: "REGISTRY_KEY", message };
    expect(answer).toMatchObject({ code: 503, body: { error } });
  });

  test("says nothing about clusters, and asks none", async () => {
    const [server, doors] = await openCanned();
    const answer = await doors.request("/readyz");
    expect(answer.body).toEqual({ ready: true });
    expect(server.requests).toEqual([]);
  });
});

const Rule = z.looseObject({ resources: z.array(z.string()), verbs: z.array(z.string()) });
const JSON_PATCH = (value: unknown) => {
  return { contentType: "application/json-patch+json", body: [{ op: "replace", path: "/rules", value }] };
};

const ready = (doors: Doors) => doors.request("/clusters/prod/readyz", { headers: asOperator });

/** Not ready, because of these checks among others. */
function failing(...checks: readonly object[]) {
  const found = checks.map((check) => expect.objectContaining(check));
  return { code: 503, body: { ready: false, checks: expect.arrayContaining(found) } };
}

function forbidden(path: string): string {
  return `the API server answered GET ${path} with 403 Forbidden: the service account lacks a permission`;
}

describe("in a cluster with the shipped manifests", () => {
  let cluster: TestCluster;
  let doors: Doors;
  beforeAll(async () => {
    cluster = await startTestCluster();
    doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
  });
  afterAll(() => cluster.stop());

  test("everything is permitted; without a VMI there is nothing to try a mark on", async () => {
    const { code, body } = await ready(doors);
    expect({ code, body }).toMatchObject({ code: 200, body: { ready: true } });
  });

  test("with one, the mark is tried and not left behind", async () => {
    await cluster.createVm({ name: "sample", strategy: "LiveMigrate" });
    const before = await cluster.getVmi("sample");
    expect(await ready(doors)).toMatchObject({ code: 200 });
    expect(await cluster.getVmi("sample")).toEqual(before);
  });

  test("a key that has no effect is a note, not a failure", async () => {
    await cluster.configure({ descheduling: { intervalSeconds: 60 } });
    const notes = ["descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground"];
    expect(await ready(doors)).toMatchObject({ code: 200, body: { ready: true, notes } });
  });

  test.each([
    ["v1.6.3", ["KubeVirt 1.6 is older than 1.7, the oldest supported"]],
    ["v1.7.0", undefined],
    ["devel-main", undefined],
  ])("KubeVirt %s: noted if it is older than what Lifeboat is made for", async (observedKubeVirtVersion, notes) => {
    await cluster.configure({});
    const kubeVirt = { namespace: "kubevirt", name: "kubevirt" };
    const body = { status: { observedKubeVirtVersion } };
    await cluster.client.patch(kubeVirts, kubeVirt, { type: "merge", body }, { subresource: "status" });
    expect((await ready(doors)).body).toEqual({ ready: true, checks: expect.any(Array), ...(notes && { notes }) });
  });

  test("an impersonation that is not granted is named", async () => {
    await cluster.client.raw({
      method: "DELETE",
      path: "/apis/rbac.authorization.k8s.io/v1/namespaces/kubevirt/rolebindings/lifeboat-impersonation",
    });
    const message =
      "the API server answered PATCH /apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/sample " +
      "with 403 Forbidden: the service account lacks a permission";
    expect(await ready(doors)).toMatchObject(failing({ name: "marking", ok: false, message }));
  });

  test("a write that is not granted is named, though everything can be read", async () => {
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/lifeboat";
    const { rules } = z
      .object({ rules: z.array(Rule) })
      .parse((await cluster.client.raw({ method: "GET", path })).body);
    const isMigrations = ({ resources }: z.output<typeof Rule>) =>
      resources.includes("virtualmachineinstancemigrations");
    const reading = rules.map((rule) => (isMigrations(rule) ? { ...rule, verbs: ["list"] } : rule));
    const set = (value: unknown) => cluster.client.raw({ method: "PATCH", path, ...JSON_PATCH(value) });
    await set(reading);
    const lacks = ["create", "patch", "delete"].map((verb) => `${verb} kubevirt.io/virtualmachineinstancemigrations`);
    const message = `the service account may not ${lacks.join(", ")}`;
    expect(await ready(doors)).toMatchObject(failing({ name: "writing", ok: false, message }));
    await set(rules);
  });

  test("every permission that is missing is named, not just the first", async () => {
    await cluster.client.raw({
      method: "DELETE",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/lifeboat",
    });
    expect(await ready(doors)).toMatchObject(
      failing(
        { name: "pods", message: forbidden("/api/v1/pods") },
        { name: "nodes", message: forbidden("/api/v1/nodes") },
        { name: "migrations", message: forbidden("/apis/kubevirt.io/v1/virtualmachineinstancemigrations") },
        { name: "budgets", message: forbidden("/apis/policy/v1/poddisruptionbudgets") },
        { name: "marking", message: forbidden("/apis/kubevirt.io/v1/virtualmachineinstances") },
        { name: "configuration", field: "KubeVirt CR", message: forbidden("/apis/kubevirt.io/v1/kubevirts") },
      ),
    );
  });

  test("a token that is not valid is said to be none", async () => {
    const expired = openDoors({ CLUSTERS: { prod: { ...cluster.entry, token: "expired" } } });
    const message = expect.stringContaining("does not accept Lifeboat's token (401)");
    expect(await ready(expired)).toMatchObject({ code: 503, body: { checks: [{ name: "credential", message }] } });
  });
});

const KEPT = json(CANNED_MARKED);
const NO = status(403, "Forbidden");
const STALE_UID = status(409, "Conflict");

describe("marking is proven by trying", () => {
  const PATCH = "PATCH /apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web";
  const EVICT = "POST /api/v1/namespaces/apps/pods/virt-launcher-web-abcde/eviction";
  // prettier-ignore
  test.each<[string, string, Behaviour, CannedAnswers, number, string | undefined, readonly string[]]>([
    ["Impersonate", "the mark is kept",                 list(CANNED_VMI), { mark: KEPT },                     200, undefined, [PATCH]],
    ["Impersonate", "the status is silently put back",  list(CANNED_VMI), { mark: json(CANNED_VMI) },         503, 'KubeVirt did not keep the mark on VMI "apps/web"', [PATCH]],
    ["Impersonate", "the impersonation is refused",     list(CANNED_VMI), { mark: NO },                       503, `answered ${PATCH} with 403 Forbidden`, [PATCH]],
    ["Impersonate", "a VMI that is marked already",     list(CANNED_MARKED), { mark: KEPT },                  200, undefined, []],
    ["Impersonate", "one of them is not",               list(CANNED_MARKED, CANNED_VMI), { mark: json(CANNED_VMI) }, 503, 'KubeVirt did not keep the mark on VMI "apps/web"', [PATCH]],
    ["Impersonate", "a VMI that is on no node",         list({ ...CANNED_VMI, status: {} }), { mark: NO },    200, undefined, []],
    ["Auto",        "the mark is kept",                 list(CANNED_VMI), { mark: KEPT },                     200, undefined, [PATCH]],
    ["Auto",        "the status is silently put back",  list(CANNED_VMI), { mark: json(CANNED_VMI) },         503, 'KubeVirt did not keep the mark on VMI "apps/web"', [PATCH]],
    ["Auto",        "evicting instead is permitted",    list(CANNED_VMI), { mark: NO, other: STALE_UID },     200, undefined, [PATCH, EVICT]],
    ["Auto",        "neither is permitted",             list(CANNED_VMI), { mark: NO, other: NO },            503, `answered ${PATCH} with 403 Forbidden`, [PATCH, EVICT]],
    ["Evict",       "it is permitted",                  list(CANNED_VMI), { mark: NO, other: STALE_UID },     200, undefined, [EVICT]],
    ["Evict",       "it is not permitted",              list(CANNED_VMI), { mark: KEPT, other: NO },          503, `answered ${EVICT} with 403 Forbidden`, [EVICT]],
  ])("%s, %s", async (...[marking, , vmis, answers, code, message, tried]) => {
    const [server, doors] = await openCanned({
      ...answers,
      configuration: configured({ marking }),
      list: (response, request) =>
        ({ virtualmachineinstances: vmis, pods: list(CANNED_POD) }[resourceOf(request)] ?? list())(response, request),
    });
    const answer = await ready(doors);
    const check = message === undefined ? { ok: true } : { ok: false, message: expect.stringContaining(message) };
    const checks = expect.arrayContaining([expect.objectContaining({ name: "marking", ...check })]);
    expect(answer).toMatchObject({ code, body: { checks } });
    const changes = server.requests.filter((one) => one.method !== "GET" && questionOf(one) !== "access");
    expect(changes.map(({ method, path }) => `${method} ${path}`)).toEqual(tried);
    for (const { method, query, headers } of changes) {
      expect(query.get("dryRun")).toBe("All");
      const as = method === "PATCH" ? "system:serviceaccount:kubevirt:kubevirt-apiserver" : undefined;
      expect(headers["impersonate-user"]).toBe(as);
    }
  });
});

const resourceOf = ({ path }: StubRequest) => path.slice(path.lastIndexOf("/") + 1);
