/** The metrics of a cluster: for its operators, from what is in the cluster and nowhere else. */
import parse from "parse-prometheus-text-format";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import { CANNED_VMI, type CannedAnswers, list, notFound, startCannedCluster } from "./support/canned-cluster.ts";
import { asOperator, type Doors, entry, openDoors } from "./support/doors.ts";
import { type Behaviour, hangingUp, html, type StubServer, status } from "./support/stub-server.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "./support/test-cluster.ts";

const scrape = (doors: Doors) => doors.request("/clusters/prod/metrics", { headers: asOperator });

/** Samples that are not zero, as `name value,value`, with their number. */
function samplesIn(text: string): Readonly<Record<string, number>> {
  const samples = parse(text).flatMap(({ name, metrics }) =>
    metrics.map(({ labels = {}, value }) => [`${name} ${Object.values(labels).join()}`, Number(value)] as const),
  );
  return Object.fromEntries(samples.filter(([, value]) => value !== 0));
}

describe("in a cluster with the shipped manifests", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startTestCluster();
  });
  afterAll(() => cluster.stop());
  const doors = () => openDoors({ CLUSTERS: { prod: cluster.entry } });
  const key = { namespace: "lifeboat-system", name: "lifeboat-counters" };

  async function evacuating(name: string, cause: string, phase: string): Promise<void> {
    const { metadata } = await cluster.client.create(evacuations, {
      metadata: { namespace: NAMESPACE, name },
      spec: { virtualMachineInstance: { name }, cause },
    });
    const body = { status: { phase } };
    await cluster.client.patch(evacuations, metadata, { type: "merge", body }, { subresource: "status" });
  }

  test("nothing has happened yet: all is zero, and nothing is written", async () => {
    const { code, text, contentType } = await scrape(doors());
    expect({ code, contentType }).toEqual({
      code: 200,
      contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
    });
    expect(text.endsWith("\n# EOF\n")).toBe(true);
    expect(samplesIn(text)).toEqual({ "lifeboat_build_info 0.1.0": 1 });
    expect(text).toContain('\nlifeboat_evacuations_total{cause="Preemption",outcome="Moved"} 0\n');
    expect(await cluster.client.get(core.configMaps, key)).toBeUndefined();
  });

  test("what has ended, and what is in progress", async () => {
    const data = { "Preemption.Moved": "7", "ApiEviction.Abandoned": "2" };
    await cluster.client.create(core.configMaps, { metadata: key, data });
    await evacuating("red-vm", "DrainTaint", "Pending");
    await evacuating("blue-vm", "DrainTaint", "BackingOff");
    await evacuating("over", "DrainTaint", "Withdrawn");
    await cluster.createVm({ name: "calm", strategy: "LiveMigrate" });
    expect(samplesIn((await scrape(doors())).text)).toEqual({
      "lifeboat_build_info 0.1.0": 1,
      "lifeboat_evacuations_total ApiEviction,Abandoned": 2,
      "lifeboat_evacuations_total Preemption,Moved": 7,
      "lifeboat_evacuations_in_progress DrainTaint": 2,
    });
  });

  test("no name of a tenant's is in it", async () => {
    expect((await scrape(doors())).text).not.toMatch(/apps|red-vm|calm|node01/);
  });

  test("counters that are no numbers count as zero", async () => {
    const body = { data: { "Preemption.Moved": "many", "counters.json": "theirs" } };
    await cluster.client.patch(core.configMaps, key, { type: "merge", body });
    const { code, text } = await scrape(doors());
    expect(code).toBe(200);
    expect(samplesIn(text)).toMatchObject({ "lifeboat_evacuations_total ApiEviction,Abandoned": 2 });
    expect(text).toContain('\nlifeboat_evacuations_total{cause="Preemption",outcome="Moved"} 0\n');
  });
});

describe("one scrape", () => {
  const servers: StubServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
  });
  async function start(answers: CannedAnswers | Behaviour = {}): Promise<StubServer> {
    const server = await startCannedCluster(answers);
    servers.push(server);
    return server;
  }

  // prettier-ignore
  test.each<[number, string, readonly string[]]>([
    [4, "off", []],
    [5, "on",  ["EvictionsInBackground"]],
  ])("is %i requests where the settings are read first, the gate for descheduling being %s", async (requests, _, featureGates) => {
    const configuration = { developerConfiguration: { featureGates } };
    const server = await start({ kubevirt: list({ metadata: CANNED_VMI.metadata, spec: { configuration } }) });
    await scrape(openDoors({ CLUSTERS: { prod: entry(server.url) } }));
    expect(server.requests).toHaveLength(requests);
  });

  test("is two requests, once the settings are known", async () => {
    const server = await start();
    const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    await scrape(doors);
    const before = server.requests.length;
    await scrape(doors);
    const asked = server.requests.slice(before);
    expect(asked.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      "GET /api/v1/namespaces/lifeboat-system/configmaps/lifeboat-counters",
      "GET /apis/lifeboat.dev/v1alpha1/evacuations",
    ]);
  });

  // prettier-ignore
  test.each<readonly [string, Behaviour, boolean]>([
    ["there is no register yet",             notFound,                  true ],
    ["its permission has not been granted",  status(403, "Forbidden"),  false],
  ])("with the gate for descheduling on, and %s", async (_, register, isTold) => {
    const other: Behaviour = (response, request) =>
      (request.path.endsWith("/lifeboat-descheduling") ? register : notFound)(response, request);
    const gates = { developerConfiguration: { featureGates: ["EvictionsInBackground"] } };
    const kubevirt = list({ metadata: CANNED_VMI.metadata, spec: { configuration: gates } });
    const server = await start({ other, kubevirt });
    const { code, text } = await scrape(openDoors({ CLUSTERS: { prod: entry(server.url) } }));
    expect(code).toBe(200);
    expect(text.includes("pod_evacuations_in_progress 0")).toBe(isTold);
  });

  // prettier-ignore
  test.each<[string, CannedAnswers | Behaviour, number]>([
    ["an API server that is gone",        hangingUp,                                503],
    ["one that does not let us in",       status(401, "Unauthorized"),              502],
    ["one that may not list Evacuations", { evacuations: status(403, "Forbidden") }, 502],
    ["counters that may not be read",     { other: status(403, "Forbidden") },      502],
    ["counters it cannot give just now",  { other: status(500, "InternalError") },  502],
    ["a page of a proxy",                 html(200),                                502],
  ])("%s: an error as everywhere, and no half of an answer", async (_, answers, expected) => {
    const server = await start(answers);
    const { code, body } = await scrape(openDoors({ CLUSTERS: { prod: entry(server.url) } }));
    expect(code).toBe(expected);
    expect(body).toMatchObject({ error: { reason: "ClusterUnavailable" } });
  });
});
