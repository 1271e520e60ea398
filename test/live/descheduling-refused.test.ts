/**
 * Descheduling that is not done: dry runs, policies with an error, and the storm where no cycle keeps track.
 */
import { afterEach, expect, test } from "vitest";
import { events, leases, podDisruptionBudgets, pods } from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { createVms, cycle, policyOf, setPolicy, startDeschedulingStage, taint } from "./descheduling-stage.ts";
import { NAMESPACE, type Stage } from "./stage.ts";
import { evacuationsOf, getVmi } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

test("a dry run changes nothing, and says what would be requested", async () => {
  stage = await startDeschedulingStage();
  await createVms(stage, ["vm-1"]);
  await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}));
  await taint(stage, "node01");
  expect(await cycle(stage, "?dryRun=true")).toMatchObject({ results: { Background: 1 } });
  expect((await getVmi(stage.client, "vm-1")).status?.evacuationNodeName).toBeUndefined();
  expect(await evacuationsOf(stage.client, "vm-1")).toEqual([]);
  const key = { namespace: "lifeboat-system", name: "lifeboat-descheduling" };
  expect(await stage.client.get(leases, key)).toBeUndefined();
});

test("a dry run says what webhooks and budgets refuse, as the cycle after it", async () => {
  stage = await startDeschedulingStage();
  await createVms(stage, ["pinned"], { migratable: false });
  const labels = { app: "quorum" };
  const owner = { apiVersion: "example.com/v1", kind: "Keeper", name: "keeper", uid: "keeper", controller: true };
  for (const name of ["free", "kept"]) {
    await stage.client.create(pods, {
      metadata: { namespace: NAMESPACE, name, labels: name === "kept" ? labels : {}, ownerReferences: [owner] },
      spec: { nodeName: "node01", containers: [{ name: "main", image: "main" }] },
    });
  }
  const key = { namespace: NAMESPACE, name: "quorum" };
  const spec = { minAvailable: 1, selector: { matchLabels: labels } };
  await stage.client.create(podDisruptionBudgets, { metadata: key, spec });
  const status = async () => (await stage.client.get(podDisruptionBudgets, key))?.status;
  await expect.poll(status).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 });
  await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}));
  await taint(stage, "node01");
  const dry = await cycle(stage, "?dryRun=true");
  expect(dry.results).toEqual({ Refused: 2, Evicted: 1 });
  expect((await stage.client.get(pods, { namespace: NAMESPACE, name: "free" }))?.metadata).not.toHaveProperty(
    "deletionTimestamp",
  );
  const real = await cycle(stage);
  expect([real.results, real.requested]).toEqual([dry.results, dry.requested]);
});

test("a policy with an error evicts no pod: 503 names the key, and so does an Event on its ConfigMap", async () => {
  stage = await startDeschedulingStage();
  await createVms(stage, ["vm-1"]);
  await taint(stage, "node01");
  const misspelt = { ...policyOf("RemovePodsViolatingNodeTaints", {}), maxNoOfPodsToEvictPerNod: 1 };
  await setPolicy(stage, misspelt);
  const { code, body } = await stage.ask("POST", "/deschedule");
  expect(code).toBe(503);
  expect(body).toMatchObject({
    error: { reason: "InvalidConfiguration", field: "policy.yaml.maxNoOfPodsToEvictPerNod", message: "unknown key" },
  });
  expect((await getVmi(stage.client, "vm-1")).status?.evacuationNodeName).toBeUndefined();
  const told = async () => {
    const { items } = await stage.client.list(events, "lifeboat-system");
    return items.filter((event) => event.involvedObject.name === "lifeboat-descheduler");
  };
  await expect.poll(told).toMatchObject([{ reason: "InvalidConfiguration", type: "Warning" }]);
});

test("gate off: each 429 is a failed eviction, every VM of the node is asked for, limit or not: the storm", async () => {
  stage = await startDeschedulingStage({ migrationSeconds: 30, configuration: { featureGates: {} } });
  await createVms(stage, ["vm-1", "vm-2", "vm-3"]);
  await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}, { maxNoOfPodsToEvictPerNode: 1 }));
  await taint(stage, "node01");
  expect((await cycle(stage)).results).toEqual({ Refused: 3 });
  const { items } = await stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  expect(items.filter(({ status }) => status?.evacuationNodeName === "node01")).toHaveLength(3);
});
