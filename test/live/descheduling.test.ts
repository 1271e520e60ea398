/**
 * Descheduling in background, as KEP-1397 wants it seen end to end: VMs are asked for by Evacuations, migrations go on after
 * the answer, limits hold meanwhile, requests expire. Cycles are asked for by POST; each starts from nothing.
 */
import { describe, expect, test } from "vitest";
import { kubevirt, podDisruptionBudgets, pods } from "../../infra/sandbox/index.ts";
import {
  createVms,
  cycle,
  cyclesUntil,
  policyOf,
  setPolicy,
  startDeschedulingStage,
  taint,
} from "./descheduling-stage.ts";
import { closeQueue, NAMESPACE, openQueue, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { evacuationsOf, getVmi, hasSettledAwayFrom, untilVmi } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

describe("EvacuationInBackground", () => {
  test("VMs that were asked for migrate after the cycle; the next one knows, and asks for none of them again", async () => {
    // KubeVirt's own migrations are adopted, however slow its controller is.
    const configuration = { evacuation: { adoptSeconds: 600 } };
    stage = await startDeschedulingStage(startStage, { configuration });
    await createVms(stage, ["vm-1", "vm-2"]);
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}));
    await taint(stage, "node01");
    await closeQueue(stage.client);
    const first = await cycle(stage);
    expect([first.results, first.evacuationsInProgress]).toEqual([{ Background: 2 }, 2]);
    const requestedBy = "lifeboat-descheduling: vms/RemovePodsViolatingNodeTaints";
    expect(await evacuationsOf(stage.client, "vm-1")).toMatchObject([{ spec: { cause: "Descheduler", requestedBy } }]);
    const { metadata } = await getVmi(stage.client, "vm-1");
    const second = await cycle(stage);
    expect([second.results, second.evacuationsInProgress]).toEqual([{ InProgress: 2 }, 2]);
    await openQueue(stage.client);
    await untilVmi(stage.client, "vm-1", "settled elsewhere", hasSettledAwayFrom("node01"));
    await untilVmi(stage.client, "vm-2", "settled elsewhere", hasSettledAwayFrom("node01"));
    expect((await getVmi(stage.client, "vm-1")).metadata.uid).toBe(metadata.uid);
    // The migrations of drains go first.
    const { items } = await stage.client.list(kubevirt.migrations, NAMESPACE);
    expect(items.map(({ spec }) => spec.priority)).toEqual(["system-maintenance", "system-maintenance"]);
    // The pods that they have left are there, and are none of its business.
    const last = await cyclesUntil(stage, "the last one", ({ evacuationsInProgress }) => evacuationsInProgress === 0);
    expect(new Set(["InProgress", ...last.flatMap(({ results }) => Object.keys(results))])).toEqual(
      new Set(["InProgress"]),
    );
    expect(await cycle(stage)).toMatchObject({ nominated: 0 });
    const left = await stage.client.list(pods, NAMESPACE, { fieldSelector: "spec.nodeName=node01" });
    expect(left.items.map(({ status }) => status?.phase)).toEqual(["Succeeded", "Succeeded"]);
  });
});

const oneAtATime = (maxEvacuationRequestTTL: string) =>
  policyOf("RemovePodsViolatingNodeTaints", {}, { maxNoOfPodsToEvictTotal: 1, maxEvacuationRequestTTL });

describe("EvacuationTTL", () => {
  test("two cycles at once: the limit holds, and no pod is requested twice", async () => {
    stage = await startDeschedulingStage(startStage, { migrationSeconds: 600 });
    const names = Array.from({ length: 6 }, (_, i) => `vm-${i}`);
    await createVms(stage, names);
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}, { maxNoOfPodsEvacuationsPerNode: 3 }));
    await taint(stage, "node01");
    const answers = await Promise.all(Array.from({ length: 4 }, () => cycle(stage)));
    const requested = answers.flatMap((answer) => answer.requested.map(({ pod }) => pod));
    expect(requested.length).toBe(new Set(requested).size);
    await cycle(stage);
    const marked = async () => {
      const { items } = await stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE);
      return items.filter(({ status }) => status?.evacuationNodeName !== undefined).length;
    };
    await expect.poll(marked).toBe(3);
  });

  test("a VM that KubeVirt does not begin to migrate within the TTL: its Evacuation is withdrawn, another VM is asked for", async () => {
    stage = await startDeschedulingStage(startStage);
    await createVms(stage, ["vm-1", "vm-2"]);
    await setPolicy(stage, oneAtATime("1h"));
    await taint(stage, "node01");
    await closeQueue(stage.client);
    const [first, second] = [await cycle(stage), await cycle(stage)];
    expect(first.results).toEqual({ Background: 1, evictionsTotal: 1 });
    expect(second.results).toEqual({ InProgress: 1, evictionsTotal: 1 });
    await setPolicy(stage, oneAtATime("1s"));
    const answers = await cyclesUntil(stage, "one that requests", ({ results }) => results["Background"] === 1);
    expect(answers.flatMap(({ withdrawn }) => withdrawn)).toHaveLength(1);
    expect(Math.max(...answers.map(({ evacuationsInProgress }) => evacuationsInProgress))).toBe(1);
    expect((await evacuationsOf(stage.client, "vm-1"))[0]).toMatchObject({ status: { phase: "Withdrawn" } });
  });
});

test("a dry run says what webhooks and budgets refuse, as the cycle after it", async () => {
  stage = await startDeschedulingStage(startStage);
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
