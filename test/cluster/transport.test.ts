/** What every request to an API server says, and as whom it is made. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, connect } from "../../shared/cluster/cluster.ts";
import type { Action } from "../../shared/policy/action.ts";
import { slotFor } from "../../shared/policy/slots.ts";
import { CANNED_VMI, startCannedCluster } from "../functions/support/canned-cluster.ts";
import { json, type StubRequest, type StubServer } from "../functions/support/stub-server.ts";
import { budget, marked, migration, record, vmi } from "../policy/fixtures.ts";

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
    sleep: () => Promise.resolve(),
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
  test("carries the token and the entry's headers, and is nobody else's", async () => {
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
    ["evacuating VMIs",          () => cluster.listVmis("Evacuating"),                    "/apis/kubevirt.io/v1/virtualmachineinstances?limit=250&labelSelector=lifeboat.dev%2Fevacuation"],
    ["whether any is",           () => cluster.isAnyEvacuating(),                         "/apis/kubevirt.io/v1/virtualmachineinstances?labelSelector=lifeboat.dev%2Fevacuation&limit=1"],
    ["all migrations",           () => cluster.listMigrations(),                          "/apis/kubevirt.io/v1/virtualmachineinstancemigrations?limit=250"],
    ["migrations of a VMI",      () => cluster.listMigrations({ namespace: "apps", name: "web" }), "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations?limit=250"],
    ["budgets of a namespace",   () => cluster.listBudgets("apps"),                       "/apis/policy/v1/namespaces/apps/poddisruptionbudgets?limit=250"],
    ["all budgets",              () => cluster.listBudgets(),                             "/apis/policy/v1/poddisruptionbudgets?limit=250"],
    ["pods of a VMI",            () => cluster.countActivePods(vmi({ uid: "u-1" })),      "/api/v1/namespaces/apps/pods?limit=250&labelSelector=kubevirt.io%2Fcreated-by%3Du-1"],
    ["KubeVirt",                 () => cluster.getKubeVirt(),                             "/apis/kubevirt.io/v1/kubevirts"],
    ["the configuration",        () => cluster.getConfigMap("lifeboat").catch(() => undefined), "/api/v1/namespaces/lifeboat-system/configmaps/lifeboat"],
  ])("%s", async (_, ask, expected) => {
    const { path, query } = await requestOf(ask);
    expect(query.size === 0 ? path : `${path}?${query.toString()}`).toBe(expected);
  });
});

describe("an action is KubeVirt's own where the status changes, and ours everywhere else", () => {
  const told = { kind: "VirtualMachineInstance", namespace: "apps", name: "web", uid: "u" } as const;
  const event = { type: "Normal", reason: "Evacuated", message: "m", occasion: "o" } as const;
  const urgency = "normal";
  // prettier-ignore
  test.each<[Action, string | undefined]>([
    [{ verb: "Mark", vmi: vmi(), record: record(), urgency },                     KUBEVIRT],
    [{ verb: "Record", vmi: marked(), record: record(), urgency },                undefined],
    [{ verb: "Unmark", vmi: marked(), record: record({ outcome: "Cancelled" }) }, KUBEVIRT],
    [{ verb: "Unmark", vmi: vmi(), record: record({ outcome: "Cancelled" }) },    undefined],
    [{ verb: "Forget", vmi: marked() },                                           KUBEVIRT],
    [{ verb: "Forget", vmi: vmi({ evacuationLabel: "normal" }) },                 undefined],
    [{ verb: "CreateMigration", slot: slotFor({ vmi: marked(), record: record() }) },  undefined],
    [{ verb: "AdoptMigration", migration: migration(), cause: "ApiEviction", id: "0000000a", attempt: 1 }, undefined],
    [{ verb: "DeleteMigration", migration: migration() },                         undefined],
    [{ verb: "CreateBudget", vmi: vmi(), name: "b", minAvailable: 1 },            undefined],
    [{ verb: "GrowBudget", vmi: vmi(), name: "b", grownFor: "a.1", required: true }, undefined],
    [{ verb: "ResizeBudget", budget: budget(), minAvailable: 2 },                 undefined],
    [{ verb: "DeleteBudget", budget: budget() },                                  undefined],
    [{ verb: "WriteSlots", slots: [] },                                           undefined],
    [{ verb: "WriteSlots", slots: [], resourceVersion: "1" },                     undefined],
    [{ verb: "WriteCounters", evacuations: [], counted: [] },                     undefined],
    [{ verb: "WriteCounters", evacuations: [], counted: [], resourceVersion: "1" }, undefined],
    [{ verb: "Event", about: told, ...event },                                    undefined],
  ])("$verb: %s", async (action, user) => {
    const { headers } = await requestOf(() => cluster.act(action, { kubevirtNamespace: "virt", marking: "Impersonate" }));
    expect(headers["impersonate-user"]).toBe(user);
    expect(headers.authorization).toBe("Bearer secret");
    expect(Object.keys(headers).filter((name) => name.startsWith("impersonate-"))).toHaveLength(user === undefined ? 0 : 1);
  });
});
