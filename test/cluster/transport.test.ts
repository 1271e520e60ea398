/** What every request to an API server says, and as whom it is made. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, connect } from "../../shared/cluster/cluster.ts";
import type { Action } from "../../shared/policy/action.ts";
import { CANNED_VMI, startCannedCluster } from "../functions/support/canned-cluster.ts";
import { json, type StubRequest, type StubServer } from "../functions/support/stub-server.ts";
import { budget, evacuation, marked, migration, newborn, pod, vmi } from "../policy/fixtures.ts";

const WEB = { namespace: "apps", name: "web" };
const ENDS = ["Moved", "Abandoned", "Withdrawn", "Duplicate", "Gone"];
const NOT_ENDED = new URLSearchParams({
  fieldSelector: ENDS.map((phase) => `status.phase!=${phase}`).join(","),
}).toString();
const KUBEVIRT = "system:serviceaccount:virt:kubevirt-apiserver";

let server: StubServer;
let cluster: Cluster;
beforeAll(async () => {
  server = await startCannedCluster({
    mark: (response, request) => {
      const marks = JSON.stringify(request.body).includes('{"op":"add","path":"/status/evacuationNodeName"');
      const status = marks ? { ...CANNED_VMI.status, evacuationNodeName: "node01" } : CANNED_VMI.status;
      return json({ ...CANNED_VMI, status })(response, request);
    },
    other: json({}, 201),
  });
  cluster = connect({
    endpoint: {
      server: server.url,
      token: "secret",
      headers: { "x-access": "extra" },
      fetch: (url: string, init: RequestInit) => fetch(url, init),
    },
    signal: AbortSignal.timeout(60_000),
    onOddItem: () => undefined,
    now: () => new Date("2026-01-01T00:00:00Z"),
  });
});
afterAll(() => server.stop());

async function requestOf(ask: () => Promise<unknown>): Promise<StubRequest> {
  await ask();
  const request = server.requests.at(-1);
  if (request === undefined) throw new Error("nothing was asked");
  return request;
}

describe("a read", () => {
  test("carries the token and the entry's headers, and is made as ourselves", async () => {
    const { headers, method, body } = await requestOf(() => cluster.getVmi({ namespace: "apps", name: "web" }));
    expect({ method, body }).toEqual({ method: "GET", body: undefined });
    expect(headers).toMatchObject({ authorization: "Bearer secret", "x-access": "extra", "user-agent": "lifeboat" });
    expect(headers).not.toHaveProperty("impersonate-user");
    expect(headers).not.toHaveProperty("content-type");
  });

  // prettier-ignore
  test.each<[string, () => Promise<unknown>, string]>([
    ["one pod",                  () => cluster.getPod({ namespace: "apps", name: "p" }),  "/api/v1/namespaces/apps/pods/p"],
    ["one node",                 () => cluster.getNode("node01").catch(() => undefined),  "/api/v1/nodes/node01"],
    ["all VMIs",                 () => cluster.listVmis("All"),                           "/apis/kubevirt.io/v1/virtualmachineinstances?limit=250"],
    ["VMIs of a node",           () => cluster.listVmis({ node: "node01" }),              "/apis/kubevirt.io/v1/virtualmachineinstances?limit=250&labelSelector=kubevirt.io%2FnodeName%3Dnode01"],
    ["VMIs that migrate",        () => cluster.listVmis("Migrating"),                     "/apis/kubevirt.io/v1/virtualmachineinstances?limit=250&labelSelector=kubevirt.io%2FmigrationTargetNodeName"],
    ["all Evacuations",          () => cluster.listEvacuations("All"),                    "/apis/lifeboat.dev/v1alpha1/evacuations?limit=250"],
    ["those not ended",          () => cluster.listEvacuations("Active"),                 `/apis/lifeboat.dev/v1alpha1/evacuations?limit=250&${NOT_ENDED}`],
    ["those from a node",        () => cluster.listEvacuations({ sourceNode: "node01" }), "/apis/lifeboat.dev/v1alpha1/evacuations?limit=250&fieldSelector=status.sourceNode%3Dnode01"],
    ["those of a VMI",           () => cluster.listEvacuations(WEB),                      "/apis/lifeboat.dev/v1alpha1/namespaces/apps/evacuations?limit=250&fieldSelector=spec.virtualMachineInstance.name%3Dweb"],
    ["migrations of a VMI",      () => cluster.listMigrations(WEB),                       "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations?limit=250&labelSelector=kubevirt.io%2Fvmi-name%3Dweb"],
    ["… whose name is long",     () => cluster.listMigrations({ ...WEB, name: "w".repeat(64) }), "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations?limit=250"],
    ["our budgets of a namespace", () => cluster.listBudgets("apps"),                     "/apis/policy/v1/namespaces/apps/poddisruptionbudgets?limit=250&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dlifeboat"],
    ["whether there is any",     () => cluster.isAnyBudget(),                             "/apis/policy/v1/poddisruptionbudgets?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dlifeboat&limit=1"],
    ["pods of a VMI",            () => cluster.listPodsOf(vmi({ uid: "u-1" })),           "/api/v1/namespaces/apps/pods?limit=250&labelSelector=kubevirt.io%2Fcreated-by%3Du-1"],
    ["pods on a node",           () => cluster.listPodsOn("node01"),                      "/api/v1/pods?limit=250&fieldSelector=spec.nodeName%3Dnode01"],
    ["KubeVirt's webhooks",      () => cluster.getWebhooks("virt-api-validator").catch(() => undefined), "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/virt-api-validator"],
    ["KubeVirt",                 () => cluster.getKubeVirt(),                             "/apis/kubevirt.io/v1/kubevirts"],
    ["the configuration",        () => cluster.getConfiguration(),                        "/apis/lifeboat.dev/v1alpha1/lifeboatconfigurations/lifeboat"],
    ["the counters",             () => cluster.getCounters().catch(() => undefined),      "/api/v1/namespaces/lifeboat-system/configmaps/lifeboat-counters"],
  ])("%s", async (_, ask, expected) => {
    const { path, query } = await requestOf(ask);
    expect(query.size === 0 ? path : `${path}?${query.toString()}`).toBe(expected);
  });
});

describe("an action is KubeVirt's own where it changes a VMI, and ours everywhere else", () => {
  const told = { kind: "VirtualMachineInstance", namespace: "apps", name: "web", uid: "u" } as const;
  const event = { type: "Normal", reason: "Evacuated", message: "m", occasion: "o" } as const;
  const begun = evacuation();
  // prettier-ignore
  test.each<[Action, string | undefined]>([
    [{ verb: "Mark", vmi: vmi(), urgency: "normal" },                             KUBEVIRT],
    [{ verb: "Mark", vmi: vmi(), urgency: "urgent" },                             KUBEVIRT],
    [{ verb: "Unmark", vmi: marked() },                                           KUBEVIRT],
    [{ verb: "Unmark", vmi: vmi({ evacuationLabel: "urgent" }) },                 KUBEVIRT],
    [{ verb: "CreateEvacuation", evacuation: newborn() },                         undefined],
    [{ verb: "WriteStatus", evacuation: begun, status: begun.status },            undefined],
    [{ verb: "DeleteEvacuation", evacuation: begun },                             undefined],
    [{ verb: "CreateMigration", vmi: marked(), name: "m", evacuation: begun },    undefined],
    [{ verb: "AdoptMigration", migration: migration(), evacuation: begun },       undefined],
    [{ verb: "DeleteMigration", migration: migration() },                         undefined],
    [{ verb: "CreateBudget", vmi: vmi(), name: "b", minAvailable: 1 },            undefined],
    [{ verb: "EnsureBudget", vmi: vmi(), name: "b", minAvailable: 1 },            undefined],
    [{ verb: "GrowBudget", vmi: vmi(), name: "b", required: true },               undefined],
    [{ verb: "ResizeBudget", budget: budget(), minAvailable: 2 },                 undefined],
    [{ verb: "DeleteBudget", budget: budget() },                                  undefined],
    [{ verb: "DeletePod", pod: pod() },                                           undefined],
    [{ verb: "WriteConditions", resourceVersion: "1", generation: 1, conditions: [] }, undefined],
    [{ verb: "Event", about: told, ...event },                                    undefined],
  ])("$verb: %s", async (action, user) => {
    const { headers } = await requestOf(() => cluster.act(action, { kubevirtNamespace: "virt", marking: "Impersonate" }));
    expect(headers["impersonate-user"]).toBe(user);
    expect(headers.authorization).toBe("Bearer secret");
    expect(Object.keys(headers).filter((name) => name.startsWith("impersonate-"))).toHaveLength(user === undefined ? 0 : 1);
  });
});
