/**
 * Deletions that do not ask, through a real admission call: who is held, until when, and who never is.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { nodes, type Pod, pods } from "../../infra/sandbox/actors/resources.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import {
  causesOf,
  getVmi,
  hasSettledAwayFrom,
  launcherOf,
  messageOf,
  NAMESPACE,
  type Stage,
  startStage,
  storyOf,
  untilVmi,
} from "./stage.ts";

const SCHEDULER = "system:kube-scheduler";
const TAINT_MANAGER = "system:serviceaccount:kube-system:node-controller";
const REASON = { [SCHEDULER]: "PreemptionByScheduler", [TAINT_MANAGER]: "DeletionByTaintManager" } as const;
const GATES = { PreemptionEvictionLiveMigration: true, NoExecuteTaintEvictionLiveMigration: true };

let stage: Stage;

function configuration(more: Record<string, unknown> = {}) {
  return {
    featureGates: GATES,
    evacuation: { adoptSeconds: 0, backoffSeconds: 0.2, maxBackoffSeconds: 60 },
    guard: { deadlineSeconds: { Preemption: 600, NoExecuteTaint: 600 } },
    ...more,
  };
}

beforeAll(async () => {
  stage = await startStage({ configuration: configuration(), optional: ["optional/guard.yaml"] });
});
afterAll(() => stage.stop());

beforeEach(async () => {
  stage.sandbox.migrations.configure({ seconds: 0.1, outcome: () => "Succeeded" });
  await configure(configuration());
});

/** In force at once: /readyz reads the settings anew. */
async function configure(changed: Record<string, unknown>): Promise<void> {
  await stage.configure(changed);
  await stage.ask("GET", "/readyz");
}

async function createVm(name: string, more: Record<string, unknown> = {}): Promise<{ pod: Pod; node: string }> {
  const vmi = await stage.createVm({ name, evictionStrategy: "LiveMigrate", ...more });
  await stage.reconcile();
  const pod = await launcherOf(stage.client, name);
  return { pod, node: vmi.status?.nodeName ?? "" };
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

/** Cause and phase of each Evacuation of the VM. */
async function evacuationsOf(
  vmi: string,
): Promise<readonly (readonly [cause?: string | undefined, phase?: string | undefined])[]> {
  const { items } = await stage.client.list(evacuations, NAMESPACE);
  const own = items.filter(({ spec }) => spec.virtualMachineInstance.name === vmi);
  return own.map(({ spec, status }) => [spec.cause, status?.phase] as const);
}

async function deletePod(pod: Pod, user?: string): Promise<{ code: number; message: string }> {
  const client = user === undefined ? stage.client : stage.client.as(user, ["system:authenticated"]);
  const { namespace, name } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const { code, body } = await client.raw({ method: "DELETE", path, body: { gracePeriodSeconds: 30 } });
  return { code, message: messageOf(body) };
}

describe("a migratable VM never gets SIGTERM before it has moved", () => {
  test.each([
    [SCHEDULER, "Preemption", true],
    [TAINT_MANAGER, "NoExecuteTaint", false],
  ] as const)("deletion by %s (%s), urgent: %s", async (user, cause, isUrgent) => {
    const name = `held-${cause.toLowerCase()}`;
    const own = `node-of-${name}`;
    await createNode(stage.client, own);
    const { pod, node } = await createVm(name, { node: own });
    // A deletion for a taint that is not there would be denied.
    const taints = cause === "NoExecuteTaint" ? [{ key: "maintenance", effect: "NoExecute" }] : [];
    await stage.client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } });
    await disrupt(pod, user);
    const labels: string[] = [];
    const watching = untilVmi(stage.client, name, "moved", (vmi) => {
      labels.push(vmi.metadata.labels?.["lifeboat.dev/evacuation"] ?? "");
      return hasSettledAwayFrom(node)(vmi);
    });
    // Held until the guest has moved: by then the pod is completed. The sandbox's taint manager deletes it too, maybe first.
    expect([200, 404]).toContain((await deletePod(pod, user)).code);
    const { status } = await watching;
    expect(status?.phase).toBe("Running");
    expect(labels.includes("urgent")).toBe(isUrgent);
    await expect.poll(() => causesOf(stage.client, name)).toEqual([cause]);
    await expect.poll(() => storyOf(stage.client, name)).toContain("Normal DisruptionHeld");
    await expect.poll(() => evacuationsOf(name)).toEqual([[cause, "Moved"]]);
  });
});

describe("let go at once", () => {
  test("with the gate off", async () => {
    await configure(configuration({ featureGates: {} }));
    const { pod } = await createVm("gate-off");
    await disrupt(pod, SCHEDULER);
    expect(await deletePod(pod, SCHEDULER)).toMatchObject({ code: 200 });
    expect((await getVmi(stage.client, "gate-off")).status?.evacuationNodeName).toBeUndefined();
  });

  test("a VM that cannot migrate, and an Event says why", async () => {
    const { pod } = await createVm("pinned", { migratable: false });
    await disrupt(pod, SCHEDULER);
    expect(await deletePod(pod, SCHEDULER)).toMatchObject({ code: 200 });
    await expect.poll(() => storyOf(stage.client, "pinned")).toContain("Warning DisruptionNotHeld");
  });

  test("a deletion by a user, though the pod still carries the condition", async () => {
    const { pod } = await createVm("users");
    await disrupt(pod, SCHEDULER);
    expect(await deletePod(pod)).toMatchObject({ code: 200 });
    expect((await getVmi(stage.client, "users")).status?.evacuationNodeName).toBeUndefined();
  });

  test("a deletion by the scheduler without the condition is no preemption", async () => {
    const { pod } = await createVm("unconditioned");
    expect(await deletePod(pod, SCHEDULER)).toMatchObject({ code: 200 });
  });

  test("pods of a node that is not ready: failover must not wait", async () => {
    const { pod, node } = await createVm("dead-node");
    await disrupt(pod, TAINT_MANAGER);
    // Of its kind the one that no controller takes away again.
    const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoSchedule" }];
    await stage.client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } });
    expect(await deletePod(pod, TAINT_MANAGER)).toMatchObject({ code: 200 });
    await stage.client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints: null } } });
  });
});

test("held once a hold period, and still when kube-controller-manager has reset the condition: the Evacuation counts", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  const { pod } = await createVm("reset");
  await disrupt(pod, SCHEDULER);
  await stage.patience(2);
  for (const status of ["True", "False"] as const) {
    await disrupt(pod, SCHEDULER, status);
    const { code, message } = await deletePod(pod, SCHEDULER);
    expect(code).toBe(429);
    expect(message).toContain('deletion of pod "virt-launcher-reset-');
    expect(message).toContain('(cause Preemption) waits until VMI "vms/reset" has moved');
  }
  const now = await stage.client.get(pods, pod.metadata);
  expect(now?.metadata.deletionTimestamp).toBeUndefined();
});

test("past the deadline it goes through, once, with an Event saying why", async () => {
  stage.sandbox.migrations.configure({ seconds: 600 });
  await configure(configuration({ guard: { deadlineSeconds: { Preemption: 0.5, NoExecuteTaint: 0.5 } } }));
  await stage.patience(10);
  const { pod } = await createVm("overdue");
  await disrupt(pod, SCHEDULER);
  expect(await deletePod(pod, SCHEDULER)).toMatchObject({ code: 200 });
  await expect.poll(() => storyOf(stage.client, "overdue")).toContain("Warning DisruptionNotHeld");
});

test("a dry run gets the same decision, delays nothing and writes nothing", async () => {
  const { pod } = await createVm("dry");
  await disrupt(pod, SCHEDULER);
  const before = await getVmi(stage.client, "dry");
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod.metadata.name}?dryRun=All`;
  const client = stage.client.as(SCHEDULER, ["system:authenticated"]);
  expect((await client.raw({ method: "DELETE", path })).code).toBe(429);
  expect((await getVmi(stage.client, "dry")).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

test("guard unreachable: the deletion goes through", async () => {
  const { pod } = await createVm("unguarded");
  await disrupt(pod, SCHEDULER);
  await stage.stopWorker();
  expect(await deletePod(pod, SCHEDULER)).toMatchObject({ code: 200 });
  await stage.restartWorker();
});
