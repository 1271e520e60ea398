/**
 * Tests Lifeboat's own descheduler, and Lifeboat beside another descheduler that counts evictions in background as
 * evictions in progress.
 */
import { dump } from "js-yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import {
  configMaps,
  createNode,
  kubevirt,
  nodes,
  type Pod,
  podDisruptionBudgets,
  pods,
} from "../../infra/sandbox/index.ts";
import { policyOf } from "./descheduling-stage.ts";
import { closeQueue, NAMESPACE, openQueue, type Stage, startStage } from "./stage.ts";
import { createVm, evacuationsOf, hasSettledAwayFrom, untilVmi } from "./vm.ts";

const POLICY = { namespace: "lifeboat-system", name: "lifeboat-descheduler" };
const CycleAnswer = z.object({
  evacuationsInProgress: z.number(),
  nominated: z.number(),
  results: z.record(z.string(), z.number()),
  requested: z.array(z.looseObject({ pod: z.string() })),
});

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({
    optional: ["optional/descheduling/descheduling.yaml", "optional/descheduler-support/descheduler-support.yaml"],
    configuration: {
      featureGates: { EvictionsInBackground: true, DeschedulerSupport: true },
      // With `adoptSeconds`, Lifeboat waits long enough for KubeVirt's own migrations, even if KubeVirt's controller is
      // slow.
      evacuation: { maxAttempts: 2, backoffSeconds: 0.2, maxBackoffSeconds: 60, adoptSeconds: 600 },
    },
    deschedulerAnnotations: true,
  });
  const data = { "policy.yaml": dump(policyOf("RemovePodsViolatingNodeTaints", {})) };
  await stage.client.create(configMaps, { metadata: POLICY, data });
});
afterAll(() => stage.stop());

async function cycle(query = "") {
  const { code, body } = await stage.ask("POST", `/deschedule${query}`);
  if (code !== 200) throw new Error(`deschedule answered ${code}: ${JSON.stringify(body)}`);
  return CycleAnswer.parse(body);
}

/** Adds a NoSchedule taint that no VM tolerates. */
async function taint(name: string): Promise<void> {
  const taints = [{ key: "maintenance", value: "soon", effect: "NoSchedule" }];
  await stage.client.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });
}

test("VMs whose eviction a cycle requests migrate after the cycle, and the next cycle does not request it again", async () => {
  const names = ["vm-1", "vm-2"];
  for (const name of names) await createVm(stage, name, { node: "node01" });
  await taint("node01");
  await closeQueue(stage.client);
  const first = await cycle();
  expect([first.results, first.evacuationsInProgress]).toEqual([{ Background: 2 }, 2]);
  const requestedBy = "lifeboat-descheduling: vms/RemovePodsViolatingNodeTaints";
  expect(await evacuationsOf(stage.client, "vm-1")).toMatchObject([{ spec: { cause: "Descheduler", requestedBy } }]);
  const second = await cycle();
  expect([second.results, second.evacuationsInProgress]).toEqual([{ InProgress: 2 }, 2]);
  await openQueue(stage.client);
  for (const name of names) {
    const vmi = await untilVmi(stage.client, name, "settled elsewhere", hasSettledAwayFrom("node01"));
    expect(vmi.status?.phase).toBe("Running");
  }
  // Migrations for the descheduler have the priority system-maintenance. Migrations of drains have the priority
  // system-critical.
  const { items } = await stage.client.list(kubevirt.migrations, NAMESPACE);
  expect(items.map(({ spec }) => spec.priority)).toEqual(["system-maintenance", "system-maintenance"]);
  // Completed launcher pods still exist, but the descheduler ignores them.
  await expect.poll(async () => (await cycle()).evacuationsInProgress).toBe(0);
  expect(await cycle()).toMatchObject({ nominated: 0 });
  const left = await stage.client.list(pods, NAMESPACE, { fieldSelector: "spec.nodeName=node01" });
  expect(left.items.map(({ status }) => status?.phase)).toEqual(["Succeeded", "Succeeded"]);
});

test("a dry run predicts the refusals of webhooks and budgets in the next cycle", async () => {
  await createNode(stage.client, "mixed");
  await createVm(stage, "pinned", { node: "mixed", migratable: false });
  const labels = { app: "quorum" };
  const owner = { apiVersion: "example.com/v1", kind: "Keeper", name: "keeper", uid: "keeper", controller: true };
  for (const name of ["free", "kept"]) {
    await stage.client.create(pods, {
      metadata: { namespace: NAMESPACE, name, labels: name === "kept" ? labels : {}, ownerReferences: [owner] },
      spec: { nodeName: "mixed", containers: [{ name: "main", image: "main" }] },
    });
  }
  const key = { namespace: NAMESPACE, name: "quorum" };
  const spec = { minAvailable: 1, selector: { matchLabels: labels } };
  await stage.client.create(podDisruptionBudgets, { metadata: key, spec });
  const status = async () => (await stage.client.get(podDisruptionBudgets, key))?.status;
  await expect.poll(status).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 });
  await taint("mixed");
  const dry = await cycle("?dryRun=true");
  expect(dry.results).toEqual({ Refused: 2, Evicted: 1 });
  const free = await stage.client.get(pods, { namespace: NAMESPACE, name: "free" });
  expect(free?.metadata).not.toHaveProperty("deletionTimestamp");
  const real = await cycle();
  expect([real.results, real.requested]).toEqual([dry.results, dry.requested]);
});

const REQUEST_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";
const SENT = {
  annotations: { "requested-by": "sigs.k8s.io/descheduler", reason: "triggered by vms/LowNodeUtilization: " },
};

function says({ metadata: { annotations = {} } }: Pod): readonly string[] {
  const progress = annotations[IN_PROGRESS];
  return [...(annotations[REQUEST_ONLY] === "" ? ["only"] : []), ...(progress === undefined ? [] : [progress])];
}

test("another descheduler counts an eviction as in progress until the VM has moved", async () => {
  stage.sandbox.migrations.configure({ seconds: 2 });
  const vm = await createVm(stage, "shared");
  const said = async () => {
    const { items } = await stage.client.list(pods, NAMESPACE);
    const own = items.filter(({ metadata }) => metadata.annotations?.["kubevirt.io/domain"] === "shared");
    return Object.fromEntries(own.map((pod) => [pod.spec?.nodeName ?? "", says(pod)]));
  };
  await expect.poll(said).toEqual({ [vm.node]: ["only"] });
  for (let n = 0; n < 2; n++) {
    const { code, message } = await vm.evict(SENT);
    expect([code, message]).toEqual([429, expect.stringContaining("Eviction triggered evacuation")]);
  }
  await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause: "Descheduler" } }]);
  await expect.poll(async () => (await said())[vm.node]).toEqual(["only", "true"]);
  const { status } = await vm.untilMoved();
  const after = async () => {
    await stage.reconcile();
    return await said();
  };
  await expect.poll(after).toEqual({ [vm.node]: ["only"], [status?.nodeName ?? ""]: ["only"] });
  expect(await stage.reconcile()).toEqual({});
});
