/**
 * Deletions that do not ask, through a real admission call: whose are refused, until when, and whose never are.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createNode, nodes, type Pod, pods } from "../../infra/sandbox/index.ts";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { type Stage, startStage } from "./stage.ts";
import { createVm, hasSettledAwayFrom, messageOf } from "./vm.ts";

const SCHEDULER = "system:kube-scheduler";
const TAINT_MANAGER = "system:serviceaccount:kube-system:node-controller";
const DEVICE_TAINT_MANAGER = "system:serviceaccount:kube-system:device-taint-eviction-controller";
const REASON = {
  [SCHEDULER]: "PreemptionByScheduler",
  [TAINT_MANAGER]: "DeletionByTaintManager",
  [DEVICE_TAINT_MANAGER]: "DeletionByDeviceTaintManager",
} as const;
const GATES = { PreemptionEvictionLiveMigration: true, NoExecuteTaintEvictionLiveMigration: true };

let stage: Stage;

function configuration(more: Record<string, unknown> = {}) {
  return {
    featureGates: GATES,
    guard: { deadlineSeconds: { Preemption: 600, NoExecuteTaint: 600 } },
    ...more,
  };
}

beforeAll(async () => {
  stage = await startStage({ configuration: configuration(), optional: ["optional/guard/guard.yaml"] });
});
afterAll(() => stage.stop());

beforeEach(async () => {
  stage.sandbox.migrations.configure({ seconds: 0.1, outcome: () => "Succeeded" });
  await configure(configuration());
});

/** In force at once: a full scan reads the settings anew. */
async function configure(changed: Record<string, unknown>): Promise<void> {
  await stage.configure(changed);
  await stage.reconcile();
}

type Disruptor = keyof typeof REASON;

async function disrupt(pod: Pod, by: Disruptor, status: "True" | "False" = "True"): Promise<void> {
  const condition = {
    type: "DisruptionTarget",
    status,
    ...(status === "True" ? { reason: REASON[by] } : {}),
    lastTransitionTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
  };
  const body = { status: { conditions: [condition] } };
  await stage.client.patch(pods, pod.metadata, { type: "strategic", body }, { subresource: "status" });
}

/** KubeVirt may change the VMI between look and mark; then Lifeboat looks again, at what it has begun. */
const FIRST = IS_REAL ? expect.stringMatching(/^(5|10|15)$/) : "10";
/** Soon after it is marked, the migration may run. */
const LATER = IS_REAL ? expect.stringMatching(/^(5|15)$/) : "15";

interface Answer {
  readonly code: number;
  readonly message: string;
  /** As client-go reads it. */
  readonly retryAfter: string | undefined;
}

async function deletePod(pod: Pod, user?: string): Promise<Answer> {
  const client = user === undefined ? stage.client : stage.client.as(user, ["system:authenticated"]);
  const { namespace, name } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const { code, body, headers } = await client.raw({ method: "DELETE", path, body: { gracePeriodSeconds: 30 } });
  return { code, message: messageOf(body), retryAfter: headers["retry-after"] };
}

describe("a migratable VM never gets SIGTERM before it has moved", () => {
  test.each([
    [SCHEDULER, "Preemption", true],
    [TAINT_MANAGER, "NoExecuteTaint", false],
    [DEVICE_TAINT_MANAGER, "DeviceTaint", false],
  ] as const)("deletion by %s (%s), urgent: %s", async (user, cause, isUrgent) => {
    const name = `kept-${cause.toLowerCase()}`;
    const own = `node-of-${name}`;
    await createNode(stage.client, own);
    const vm = await createVm(stage, name, { node: own });
    const pod = await vm.pod();
    // A deletion for a taint that is not there would be denied.
    const taints = cause === "NoExecuteTaint" ? [{ key: "maintenance", effect: "NoExecute" }] : [];
    await stage.client.patch(nodes, { name: own }, { type: "merge", body: { spec: { taints } } });
    await disrupt(pod, user);
    const labels: string[] = [];
    const watching = vm.until("moved", (vmi) => {
      labels.push(vmi.metadata.labels?.["lifeboat.dev/evacuation"] ?? "");
      return hasSettledAwayFrom(own)(vmi);
    });
    expect(await deletePod(pod, user)).toMatchObject({ code: 429, retryAfter: FIRST });
    expect((await watching).status?.phase).toBe("Running");
    // Its pod is completed then, or soon. The cluster's taint manager deletes it too, maybe first.
    await expect.poll(async () => [200, 404].includes((await deletePod(pod, user)).code)).toBe(true);
    expect(labels.includes("urgent")).toBe(isUrgent);
    await expect.poll(vm.evacuations).toMatchObject([{ spec: { cause }, status: { phase: "Moved" } }]);
    await expect.poll(vm.story).toContain("Normal DeletionRefused");
  });
});

describe("let go at once", () => {
  test("pods of a node that is not ready: failover must not wait", async () => {
    const vm = await createVm(stage, "dead-node");
    const pod = await vm.pod();
    await disrupt(pod, TAINT_MANAGER);
    // Of its kind the one that no controller takes away again.
    const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoSchedule" }];
    await stage.client.patch(nodes, { name: vm.node }, { type: "merge", body: { spec: { taints } } });
    expect(await deletePod(pod, TAINT_MANAGER)).toMatchObject({ code: 200 });
    await stage.client.patch(nodes, { name: vm.node }, { type: "merge", body: { spec: { taints: null } } });
  });
});

test("refused at once, and still when kube-controller-manager has reset the condition: the Evacuation counts", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  const vm = await createVm(stage, "reset");
  const pod = await vm.pod();
  await disrupt(pod, SCHEDULER);
  for (const [status, seconds] of [
    ["True", FIRST],
    ["False", LATER],
  ] as const) {
    await disrupt(pod, SCHEDULER, status);
    const { code, message, retryAfter } = await deletePod(pod, SCHEDULER);
    expect([code, retryAfter]).toEqual([429, seconds]);
    expect(message).toContain('deletion of pod "virt-launcher-reset-');
    expect(message).toContain('(cause Preemption) waits until VMI "vms/reset" has moved');
  }
  const now = await stage.client.get(pods, pod.metadata);
  expect(now?.metadata.deletionTimestamp).toBeUndefined();
});

test("past the deadline it goes through, once, with an Event saying why", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  await configure(configuration({ guard: { deadlineSeconds: { Preemption: 0.5, NoExecuteTaint: 0.5 } } }));
  const vm = await createVm(stage, "overdue");
  const pod = await vm.pod();
  await disrupt(pod, SCHEDULER);
  await expect.poll(async () => (await deletePod(pod, SCHEDULER)).code).toBe(200);
  await expect.poll(vm.story).toContain("Warning DeletionAllowed");
});

test("a taint's deletion that the taint manager does not repeat is finished at the deadline", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  await configure(configuration({ guard: { deadlineSeconds: { Preemption: 600, NoExecuteTaint: 3 } } }));
  await createNode(stage.client, "tainted");
  // The sandbox's own taint manager leaves it alone for so long.
  const tolerations = [{ key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 3600 }];
  const vm = await createVm(stage, "given-up", { node: "tainted", tolerations });
  const pod = await vm.pod();
  const taints = [{ key: "maintenance", effect: "NoExecute" }];
  await stage.client.patch(nodes, { name: "tainted" }, { type: "merge", body: { spec: { taints } } });
  await disrupt(pod, TAINT_MANAGER);
  // What is left of the deadline, which began with the pod's condition.
  const retryAfter: unknown = expect.stringMatching(/^[123]$/u);
  expect(await deletePod(pod, TAINT_MANAGER)).toMatchObject({ code: 429, retryAfter });
  await expect.poll(vm.story, { timeout: 15_000 }).toContain("Warning DeadlineKept");
  expect((await stage.client.get(pods, pod.metadata))?.metadata.deletionTimestamp).toBeDefined();
});
