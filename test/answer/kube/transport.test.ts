/** What every request to an API server says. */
import { act } from "../../../shared/evacuation/act.ts";
import { beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient, named } from "../../../shared/kube/client.ts";
import {
  activeEvacuations,
  evacuationsFrom,
  evacuationsOf,
  kubeVirt,
  LAUNCHER,
  migratingVmis,
  migrationsOf,
  OURS,
  unfinishedEvacuations,
  vmisOn,
} from "../../../shared/kube/selections.ts";
import { CANNED_VMI, startCannedCluster } from "../../support/canned-cluster.ts";
import { json, reach, type StubRequest, type Stub } from "../../support/answers.ts";
import { NOW, vmi } from "../../support/fixtures.ts";
import { connectTo } from "../../support/kube/connected.ts";

let server: Stub;
let cluster: Client;
beforeAll(async () => {
  server = startCannedCluster({
    mark: (request, signal) => {
      const marks = JSON.stringify(request.body).includes('{"op":"add","path":"/status/evacuationNodeName"');
      const status = marks ? { ...CANNED_VMI.status, evacuationNodeName: "node01" } : CANNED_VMI.status;
      return json({ ...CANNED_VMI, status })(request, signal);
    },
    other: json({}, 201),
  });
  cluster = connectTo({ server: server.url, token: "secret", headers: { "x-access": "extra" } });
});

async function requestOf(ask: () => Promise<unknown>): Promise<StubRequest> {
  await ask();
  const request = server.requests.at(-1);
  if (request === undefined) throw new Error("nothing was asked");
  return request;
}

const WEB = { namespace: "apps", name: "web" };
const NOT_ENDED = "Moved Abandoned Withdrawn Duplicate Gone"
  .replaceAll(" ", "%2Cstatus.phase%21%3D")
  .replace(/^/, "status.phase%21%3D");

describe("a read", () => {
  test("carries the token and the entry's headers, and is no other user's", async () => {
    const { headers, method, body } = await requestOf(() =>
      cluster.get("virtualmachineinstances", { namespace: "apps", name: "web" }),
    );
    expect({ method, body }).toEqual({ method: "GET", body: undefined });
    expect(headers).toMatchObject({ authorization: "Bearer secret", "x-access": "extra", "user-agent": "lifeboat" });
    expect(headers).not.toHaveProperty("impersonate-user");
    expect(headers).not.toHaveProperty("content-type");
  });

  // prettier-ignore
  test.each<[string, () => Promise<unknown>, string]>([
    ["one of a namespace",       () => cluster.get("pods", { namespace: "apps", name: "p" }), "/api/v1/namespaces/apps/pods/p"],
    ["one at cluster scope",     () => cluster.get("nodes", named("node01")).catch(() => undefined), "/api/v1/nodes/node01"],
    ["all",                      () => cluster.list("evacuations"),                       "/apis/lifeboat.dev/v1alpha1/evacuations?limit=250"],
    ["those of a namespace",     () => cluster.list("pods", { namespace: "apps" }),       "/api/v1/namespaces/apps/pods?limit=250"],
    ["the first ones",           () => cluster.list("poddisruptionbudgets", { labels: OURS, limit: 1 }), "/apis/policy/v1/poddisruptionbudgets?limit=1&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dlifeboat"],
    ["by a label and a field",   () => cluster.list("pods", { labels: LAUNCHER, fields: { "spec.nodeName": "node01" } }), "/api/v1/pods?limit=250&labelSelector=kubevirt.io%3Dvirt-launcher&fieldSelector=spec.nodeName%3Dnode01"],
    ["migrating VMIs",           () => migratingVmis(cluster),                            "/apis/kubevirt.io/v1/virtualmachineinstances?limit=250&labelSelector=kubevirt.io%2FmigrationTargetNodeName"],
    ["VMIs of a node",           () => vmisOn("node01", cluster),                         "/apis/kubevirt.io/v1/virtualmachineinstances?limit=250&labelSelector=kubevirt.io%2FnodeName%3Dnode01"],
    ["active Evacuations",       () => activeEvacuations(cluster),                        `/apis/lifeboat.dev/v1alpha1/evacuations?limit=250&fieldSelector=${NOT_ENDED}`],
    ["unfinished Evacuations",   () => unfinishedEvacuations(cluster),                    "/apis/lifeboat.dev/v1alpha1/evacuations?limit=250&fieldSelector=status.phase%21%3DMoved%2Cstatus.phase%21%3DDuplicate%2Cstatus.phase%21%3DGone"],
    ["Evacuations of a VMI",     () => evacuationsOf(WEB, cluster),                       "/apis/lifeboat.dev/v1alpha1/namespaces/apps/evacuations?limit=250&fieldSelector=spec.virtualMachineInstance.name%3Dweb"],
    ["Evacuations of a node",    () => evacuationsFrom("node01", cluster),                "/apis/lifeboat.dev/v1alpha1/evacuations?limit=250&fieldSelector=status.sourceNode%3Dnode01"],
    ["migrations of a VMI",      () => migrationsOf([WEB], cluster),                      "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations?limit=250&labelSelector=kubevirt.io%2Fvmi-name%3Dweb"],
    ["… of several",             () => migrationsOf([WEB, { ...WEB, name: "db" }], cluster), "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations?limit=250&labelSelector=kubevirt.io%2Fvmi-name+in+%28web%2Cdb%29"],
    ["… of a long name",         () => migrationsOf([{ ...WEB, name: "w".repeat(64) }], cluster), "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations?limit=250"],
    ["KubeVirt",                 () => kubeVirt(cluster),                                 "/apis/kubevirt.io/v1/kubevirts?limit=250"],
    ["the API server's version", () => cluster.get("version", named("version")).catch(() => undefined), "/version"],
  ])("%s", async (_, ask, expected) => {
    const { path, query } = await requestOf(ask);
    expect(query.size === 0 ? path : `${path}?${query.toString()}`).toBe(expected);
  });
});

describe("a connection that breaks", () => {
  const label = { verb: "Label", vmi: vmi(), urgency: "urgent" } as const;

  // prettier-ignore
  test.each<[string, broken: number, (cluster: Client) => Promise<unknown>, sent: number, answered: boolean]>([
    ["costs a read nothing",              1,        (c) => c.get("virtualmachineinstances", WEB),                 2, true],
    ["… if it breaks once",               2,        (c) => c.get("virtualmachineinstances", WEB),                 2, false],
    ["is a write's end: it may be done",  1,        (c) => act(label, { cluster: c, now: () => NOW }),                1, false],
  ])("%s", async (...[, broken, ask, sent, answered]) => {
    let count = 0;
    const fetchBroken = async (url: string, init: RequestInit): Promise<Response> => {
      count += 1;
      if (count <= broken) throw new TypeError("Network connection lost.");
      return await reach(url, init);
    };
    const asked = ask(connectTo({ server: server.url, fetch: fetchBroken }));
    await (answered ? expect(asked).resolves.toBeDefined() : expect(asked).rejects.toThrow("cannot be reached"));
    expect(count).toBe(sent);
  });

  test("is no reason to ask again when the time is over", async () => {
    let count = 0;
    const ended = (): Promise<Response> => {
      count += 1;
      return Promise.reject(new DOMException("The operation was aborted", "AbortError"));
    };
    const endpoint = { server: server.url, token: "t", headers: {}, fetch: ended };
    const [signal, timeout] = [AbortSignal.abort(), () => AbortSignal.abort()];
    const options = { onOddItem: () => undefined, signal, timeout };
    await expect(createClient({ endpoint, ...options }).get("virtualmachineinstances", WEB)).rejects.toThrow("in time");
    expect(count).toBe(1);
  });
});
