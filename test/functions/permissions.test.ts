/** What Lifeboat has to be allowed to do in a cluster, tried out for the conditions of the LifeboatConfiguration. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { tryPermissions } from "../../functions/permissions.ts";
import { newIsolateState, targetOf } from "../../functions/target.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../shared/policy/settings.ts";
import {
  CANNED_MARKED,
  CANNED_POD,
  CANNED_VMI,
  type CannedAnswers,
  configured,
  list,
  questionOf,
} from "./support/canned-cluster.ts";
import { startForTest } from "./support/canned-doors.ts";
import { entry, newPlatform } from "./support/doors.ts";
import { type Behaviour, json, status, type StubRequest } from "./support/stub-server.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

const Rule = z.looseObject({ resources: z.array(z.string()), verbs: z.array(z.string()) });
const JSON_PATCH = (value: unknown) => {
  return { contentType: "application/json-patch+json", body: [{ op: "replace", path: "/rules", value }] };
};

/** What fails, and why. */
async function failing(of: ReturnType<typeof entry>, known?: Settings): Promise<Readonly<Record<string, string>>> {
  const target = targetOf(
    "prod",
    { ...of, headers: {} },
    { env: {}, platform: newPlatform().platform, state: newIsolateState() },
  );
  const cluster = target.connect(10);
  const trials = await tryPermissions(cluster, known ?? (await target.settings(cluster)).settings);
  return Object.fromEntries(trials.flatMap(({ name, problem }) => (problem ? [[name, problem.message]] : [])));
}

function forbidden(path: string): string {
  return `the API server answered GET ${path} with 403 Forbidden: the service account lacks a permission`;
}

describe("in a cluster with the shipped manifests", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startTestCluster();
  });
  afterAll(() => cluster.stop());

  test("everything is permitted; without a VMI there is nothing to try a mark on", async () => {
    expect(await failing(cluster.entry)).toEqual({});
  });

  test("with one, the mark is tried and not left behind", async () => {
    await cluster.createVm({ name: "sample", strategy: "LiveMigrate" });
    const before = await cluster.getVmi("sample");
    expect(await failing(cluster.entry)).toEqual({});
    expect(await cluster.getVmi("sample")).toEqual(before);
  });

  test("an impersonation that is not granted is named", async () => {
    await cluster.client.raw({
      method: "DELETE",
      path: "/apis/rbac.authorization.k8s.io/v1/namespaces/kubevirt/rolebindings/lifeboat-impersonation",
    });
    const message =
      "the API server answered PATCH /apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/sample " +
      "with 403 Forbidden: the service account lacks a permission";
    expect(await failing(cluster.entry)).toEqual({ marking: message });
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
    expect(await failing(cluster.entry)).toMatchObject({ writing: message });
    await set(rules);
  });

  test("every permission that is missing is named, not just the first", async () => {
    await cluster.client.raw({
      method: "DELETE",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/lifeboat",
    });
    expect(await failing(cluster.entry, DEFAULT_SETTINGS)).toMatchObject({
      pods: forbidden("/api/v1/pods"),
      nodes: forbidden("/api/v1/nodes"),
      migrations: forbidden("/apis/kubevirt.io/v1/virtualmachineinstancemigrations"),
      budgets: forbidden("/apis/policy/v1/poddisruptionbudgets"),
      marking: forbidden("/apis/kubevirt.io/v1/virtualmachineinstances"),
    });
  });
});

const KEPT = json(CANNED_MARKED);
const NO = status(403, "Forbidden");
const STALE_UID = status(409, "Conflict");

describe("marking is proven by trying", () => {
  const PATCH = "PATCH /apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web";
  const EVICT = "POST /api/v1/namespaces/apps/pods/virt-launcher-web-abcde/eviction";
  // prettier-ignore
  test.each<[string, string, Behaviour, CannedAnswers, string | undefined, readonly string[]]>([
    ["Impersonate", "the mark is kept",                 list(CANNED_VMI), { mark: KEPT }, undefined, [PATCH]],
    ["Impersonate", "the status is silently put back",  list(CANNED_VMI), { mark: json(CANNED_VMI) }, 'KubeVirt did not keep the mark on VMI "apps/web"', [PATCH]],
    ["Impersonate", "the impersonation is refused",     list(CANNED_VMI), { mark: NO }, `answered ${PATCH} with 403 Forbidden`, [PATCH]],
    ["Impersonate", "a VMI that is marked already",     list(CANNED_MARKED), { mark: KEPT }, undefined, []],
    ["Impersonate", "one of them is not",               list(CANNED_MARKED, CANNED_VMI), { mark: json(CANNED_VMI) }, 'KubeVirt did not keep the mark on VMI "apps/web"', [PATCH]],
    ["Impersonate", "a VMI that is on no node",         list({ ...CANNED_VMI, status: {} }), { mark: NO }, undefined, []],
    ["Auto",        "the mark is kept",                 list(CANNED_VMI), { mark: KEPT }, undefined, [PATCH]],
    ["Auto",        "the status is silently put back",  list(CANNED_VMI), { mark: json(CANNED_VMI) }, 'KubeVirt did not keep the mark on VMI "apps/web"', [PATCH]],
    ["Auto",        "evicting instead is permitted",    list(CANNED_VMI), { mark: NO, other: STALE_UID }, undefined, [PATCH, EVICT]],
    ["Auto",        "neither is permitted",             list(CANNED_VMI), { mark: NO, other: NO }, `answered ${PATCH} with 403 Forbidden`, [PATCH, EVICT]],
    ["Evict",       "it is permitted",                  list(CANNED_VMI), { mark: NO, other: STALE_UID }, undefined, [EVICT]],
    ["Evict",       "it is not permitted",              list(CANNED_VMI), { mark: KEPT, other: NO }, `answered ${EVICT} with 403 Forbidden`, [EVICT]],
  ])("%s, %s", async (...[marking, , vmis, answers, message, tried]) => {
    const server = await startForTest({
      ...answers,
      configuration: configured({ marking }),
      list: (response, request) =>
        ({ virtualmachineinstances: vmis, pods: list(CANNED_POD) }[resourceOf(request)] ?? list())(response, request),
    });
    const expected = message === undefined ? {} : { marking: expect.stringContaining(message) };
    expect(await failing(entry(server.url))).toEqual(expected);
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
