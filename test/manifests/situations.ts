/**
 * Where a cluster is when a deed of Lifeboat's is due, and what others do in it meanwhile.
 * Owns: making it so, and putting it back. Does not own: the deeds (deeds.ts), who may do them (least-privilege.ts).
 */
import * as core from "../../infra/sandbox/actors/resources.ts";
import { lifeboatConfigurations } from "../../infra/tools/apply.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { CONFIGURATION } from "../../shared/policy/names.ts";
import { NAMESPACE, type TestCluster } from "../functions/support/test-cluster.ts";
import { record } from "../policy/fixtures.ts";
import { tidyDescheduling } from "./descheduling-deed.ts";
import { COUNTERS, NODE, PENDING, POD, SECOND, SECOND_POD, SLOTS, type Trial, VMI } from "./trial.ts";

export const created =
  (strategy: string, status = {}) =>
  ({ cluster }: Trial) =>
    cluster.createVm({ name: VMI.name, strategy, status });
export const createdVm = created("LiveMigrate");

export async function createdTwo(trial: Trial): Promise<void> {
  await createdVm(trial);
  await trial.cluster.createVm({ name: SECOND.name, strategy: "LiveMigrate" });
}

/** Evacuated from another node; nobody has looked since. */
export async function moved({ cluster }: Trial, name = VMI.name): Promise<void> {
  const annotations = { "lifeboat.dev/evacuation": JSON.stringify(record({ node: "node09" })) };
  const labels = { "lifeboat.dev/evacuation": "normal" };
  await cluster.createVm({ name, strategy: "LiveMigrate", metadata: { annotations, labels } });
}

/** As KubeVirt's evacuation controller makes one. */
export async function createdMigration({ cluster }: Trial): Promise<void> {
  const metadata = { ...PENDING, annotations: { "kubevirt.io/evacuationMigration": NODE.name } };
  await cluster.client.create(kubevirt.migrations, { metadata, spec: { vmiName: VMI.name } });
}

/** Recorded long ago, as if Lifeboat had been away since. The drain taint marks nothing. */
export async function recordedSince2025({ cluster }: Trial, cause: string): Promise<void> {
  const podUID = (await cluster.client.get(core.pods, POD))?.metadata.uid;
  const begun = { id: "0000000a", cause, requestedBy: "x", node: NODE.name, podUID, attempts: 0 };
  const text = JSON.stringify({ ...begun, since: "2025-01-01T00:00:00Z" });
  const metadata = {
    annotations: { "lifeboat.dev/evacuation": text },
    labels: { "lifeboat.dev/evacuation": "normal" },
  };
  const status = cause === "DrainTaint" ? {} : { evacuationNodeName: NODE.name };
  await cluster.patchVmi(VMI.name, { metadata, status });
}

export async function tainted({ cluster }: Trial, key: string, effect: string): Promise<void> {
  await cluster.client.patch(core.nodes, NODE, { type: "merge", body: { spec: { taints: [{ key, effect }] } } });
}

/** So late that nobody resets it; for Lifeboat a time that is yet to come is now. */
const LATE = "2099-01-01T00:00:00Z";

async function disrupted({ cluster }: Trial, status: "True" | "False", reason: string): Promise<void> {
  const conditions = [{ type: "DisruptionTarget", status, reason, lastTransitionTime: LATE }];
  const body = { status: { conditions } } as const;
  await cluster.client.patch(core.pods, POD, { type: "strategic", body }, { subresource: "status" });
}

/** Held for a taint until long ago, and still there. */
export async function overdue(trial: Trial): Promise<void> {
  await createdVm(trial);
  await recordedSince2025(trial, "NoExecuteTaint");
  await disrupted(trial, "False", "DeletionByTaintManager");
  await tainted(trial, "maintenance", "NoExecute");
}

/** The scheduler is about to delete its pod. */
export async function preempted(trial: Trial): Promise<void> {
  await createdVm(trial);
  await withConditions(trial, NODE.name, ["Ready"]);
  await disrupted(trial, "True", "PreemptionByScheduler");
}

async function withConditions({ cluster }: Trial, name: string, types: readonly string[]): Promise<void> {
  const body = { status: { conditions: types.map((type) => ({ type, status: "True" })) } };
  await cluster.client.patch(core.nodes, { name }, { type: "merge", body }, { subresource: "status" });
}

/** A node short of memory, beside one that has room. */
export async function pressed(trial: Trial): Promise<void> {
  const { cluster } = trial;
  await createdVm(trial);
  await cluster.patchVmi(VMI.name, { metadata: { labels: { "kubevirt.io/nodeName": NODE.name } } });
  await cluster.client.create(core.nodes, { metadata: { name: "node02" }, spec: {} });
  await withConditions(trial, NODE.name, ["Ready", "MemoryPressure"]);
  await withConditions(trial, "node02", ["Ready"]);
}

/** The disruption controller: every budget has been seen as it is. */
export async function seeBudgets({ cluster: { client } }: Trial, request: string): Promise<void> {
  if (!request.startsWith("GET ") || !request.endsWith("/poddisruptionbudgets")) return;
  for (const { metadata, spec } of (await client.list(core.podDisruptionBudgets, NAMESPACE)).items) {
    const healthy = { currentHealthy: 1, desiredHealthy: spec?.minAvailable, expectedPods: 1, disruptionsAllowed: 0 };
    const body = { status: { ...healthy, observedGeneration: metadata.generation } };
    await client.patch(core.podDisruptionBudgets, metadata, { type: "merge", body }, { subresource: "status" });
  }
}

/** KubeVirt's own webhook: the eviction that Lifeboat asks for once its record is there has been reviewed, if it was let in. */
export async function markReviewed({ cluster, doors }: Trial, request: string): Promise<void> {
  if (!request.startsWith("GET ") || !request.endsWith(`/virtualmachineinstances/${VMI.name}`)) return;
  const recorded = (await cluster.getVmi(VMI.name))?.metadata.annotations?.["lifeboat.dev/evacuation"] !== undefined;
  if (recorded && doors.forbidden.length === 0)
    await cluster.patchVmi(VMI.name, { status: { evacuationNodeName: NODE.name } });
}

/** As if nothing had been done. */
export async function tidy(cluster: TestCluster): Promise<void> {
  const { client } = cluster;
  for (const pod of [POD, SECOND_POD]) await client.delete(core.pods, pod, { gracePeriodSeconds: 0 });
  const { migrations, virtualMachineInstances } = kubevirt;
  const made: readonly core.Resource[] = [migrations, core.podDisruptionBudgets, virtualMachineInstances];
  for (const resource of made)
    for (const { metadata } of (await client.list(resource, NAMESPACE)).items) await client.delete(resource, metadata);
  await client.delete(core.configMaps, SLOTS);
  await client.delete(core.configMaps, COUNTERS);
  await client.delete(lifeboatConfigurations, { name: CONFIGURATION });
  await tidyDescheduling(cluster);
  await client.patch(core.nodes, NODE, { type: "merge", body: { spec: { taints: null } } });
  const body = { status: { conditions: null } };
  await client.patch(core.nodes, NODE, { type: "merge", body }, { subresource: "status" });
}
