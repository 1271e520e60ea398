/** What descheduling may do besides: a policy that depends on everything it can needs all of it, and nothing else. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { configMaps, nodes, priorityClasses } from "../../infra/sandbox/actors/resources.ts";
import { demanding, policyText } from "./descheduling-deed.ts";
import { NAMESPACE, type Recorded, startRecorded } from "./recorded.ts";
import { granted, permissions, readManifests, shipped } from "./shipped.ts";

const FILE = "optional/descheduling.yaml";
const CONFIGURATION = { featureGates: { EvictionsInBackground: true } };

/** Namespaces, claims, a priority class and budgets have to be read for it. */
const { podProtections, ...evictor } = demanding(NAMESPACE);
const extraEnabled = [...podProtections.extraEnabled, "PodsWithoutPDB"];
const POLICY = policyText({ ...evictor, podProtections: { ...podProtections, extraEnabled } });

let recorded: Recorded;
beforeAll(async () => {
  recorded = await startRecorded(CONFIGURATION);
  const { client } = recorded.sandbox;
  await client.create(priorityClasses, { metadata: { name: "important" }, value: 1000 });
  await client.create(configMaps, {
    metadata: { namespace: "lifeboat-system", name: "lifeboat-descheduler" },
    data: { "policy.yaml": POLICY },
  });
  await recorded.createVm("moved", "LiveMigrate");
  const taints = [{ key: "maintenance", value: "soon", effect: "NoSchedule" }];
  await client.patch(nodes, { name: "node-1" }, { type: "merge", body: { spec: { taints } } });
});
afterAll(() => recorded.stop());

const ofFile = readManifests(FILE).flatMap(permissions);

test("without the file there is no cycle, and both ConfigMaps are missed", async () => {
  expect(await recorded.fetch("POST", "/deschedule")).toMatchObject({ code: 502 });
  // One by the cycle, the other by what is said about the configuration.
  const missing = ["get configmaps/lifeboat-descheduler", "get configmaps/lifeboat-descheduling"];
  await expect.poll(() => [...recorded.proxy.forbidden].toSorted()).toEqual(missing);
});

test("with it every permission is used, and none is missing", async () => {
  const before = [...recorded.proxy.forbidden];
  await recorded.install(FILE);
  expect(await recorded.fetch("POST", "/deschedule")).toMatchObject({
    code: 200,
    body: { results: { Background: 1 } },
  });
  await recorded.ask("GET", "/metrics");
  expect([...recorded.proxy.forbidden]).toEqual(before);
  const { used } = recorded.proxy;
  expect(ofFile.filter((permission) => !used.has(permission))).toEqual([]);
  const allowed = new Set([...granted(shipped()).flatMap(permissions), ...ofFile]);
  expect([...used].filter((permission) => !allowed.has(permission))).toEqual([]);
});
