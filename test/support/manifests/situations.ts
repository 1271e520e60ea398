/** Prepares the state of a cluster before Lifeboat acts, and makes changes of other clients while Lifeboat acts. */
import { tidyRolling } from "./rolling-situations.ts";
import { core, kubevirt } from "../../../infra/sandbox/index.ts";
import { createBareNode } from "../installed/bare-node.ts";
import { lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { CONFIGURATION } from "../../../shared/kube/names.ts";
import { NAMESPACE, type SandboxCluster } from "../installed/worker.ts";
import { tidyDescheduling } from "./descheduling-deed.ts";
import { evacuations, NODE, PENDING, POD, SECOND, SECOND_POD, type Trial, VMI } from "./trial.ts";

export const created =
  (strategy: string, status = {}) =>
  ({ cluster }: Trial) =>
    cluster.createVm({ name: VMI.name, strategy, status });
export const createdVm = created("LiveMigrate");

/** Creates a VM with an evacuationNodeName, and a hotplug pod of a second VM that has no VMI. */
export async function storing(trial: Trial): Promise<void> {
  await created("LiveMigrate", { evacuationNodeName: NODE.name })(trial);
  await trial.cluster.patchVmi(VMI.name, { metadata: { labels: { "kubevirt.io/nodeName": NODE.name } } });
  await trial.cluster.client.create(core.pods, {
    metadata: {
      ...SECOND_POD,
      labels: { "kubevirt.io": "virt-launcher" },
      annotations: { "kubevirt.io/domain": SECOND.name },
    },
    spec: {
      nodeName: NODE.name,
      containers: [{ name: "compute", image: "virt-launcher" }],
      volumes: [{ name: "root", persistentVolumeClaim: { claimName: SECOND.name } }],
    },
  });
}

/** Creates an Evacuation with the name of its VM. Lifeboat has not handled the Evacuation yet. */
async function createdEvacuation({ cluster }: Trial, name: string, spec: object, status?: object): Promise<void> {
  const key = { namespace: NAMESPACE, name };
  const named = { virtualMachineInstance: { name }, requestedBy: "x", ...spec };
  await cluster.client.as(LIFEBOAT, ["system:masters"]).create(evacuations, { metadata: key, spec: named });
  const body = { status: { attempts: 0, conditions: [], ...status } };
  await cluster.client.patch(evacuations, key, { type: "merge", body }, { subresource: "status" });
}

/** Creates a VM that has moved from another node. Lifeboat has not seen the move yet. */
export async function moved(trial: Trial, name = VMI.name): Promise<void> {
  await trial.cluster.createVm({ name, strategy: "LiveMigrate" });
  const status = { phase: "Pending", sourceNode: "node09", podUID: "left", startTime: LONG_AGO };
  await createdEvacuation(trial, name, { pod: { uid: "left" } }, status);
}

export async function history(trial: Trial): Promise<void> {
  const status = { phase: "Moved", sourceNode: "node09", podUID: "left", completionTime: LONG_AGO };
  await createdEvacuation(trial, VMI.name, { pod: { uid: "left" } }, status);
}

export async function createdMigration({ cluster }: Trial): Promise<void> {
  const annotations = { "kubevirt.io/evacuationMigration": NODE.name };
  const metadata = { ...PENDING, annotations, labels: { "kubevirt.io/vmi-name": VMI.name } };
  await cluster.client.create(kubevirt.migrations, { metadata, spec: { vmiName: VMI.name } });
}

export async function delayedAndRetried(trial: Trial): Promise<void> {
  const { client } = trial.cluster;
  const metadata = { ...PENDING, name: "failed", annotations: { "kubevirt.io/evacuationMigration": NODE.name } };
  const failed = await client.create(kubevirt.migrations, {
    metadata: { ...metadata, labels: { "kubevirt.io/vmi-name": VMI.name } },
    spec: { vmiName: VMI.name },
  });
  const phaseTransitionTimestamps = [{ phase: "Failed", phaseTransitionTimestamp: LATE }];
  const body = { status: { phase: "Failed", phaseTransitionTimestamps } };
  await client.patch(kubevirt.migrations, failed.metadata, { type: "merge", body }, { subresource: "status" });
  await createdMigration(trial);
  const lastFailedMigration = { name: failed.metadata.name, uid: failed.metadata.uid };
  await evacuating(trial, "ApiEviction", { retryAt: LONG_AGO }, { attempts: 1, lastFailedMigration });
}

const LONG_AGO = "2025-01-01T00:00:00Z";

/**
 * Creates an old Evacuation, as if Lifeboat had been down. Sets evacuationNodeName unless the cause is KubeVirt's drain
 * taint.
 */
export async function evacuating(trial: Trial, cause: string, more: object = {}, status: object = {}): Promise<void> {
  await createdVm(trial);
  const uid = (await trial.cluster.client.get(core.pods, POD))?.metadata.uid;
  await createdEvacuation(trial, VMI.name, { cause, pod: { name: POD.name, uid }, ...more }, status);
  if (cause !== "DrainTaint") await trial.cluster.patchVmi(VMI.name, { status: { evacuationNodeName: NODE.name } });
}

export async function tainted({ cluster }: Trial, key: string, effect: string): Promise<void> {
  await cluster.client.patch(core.nodes, NODE, { type: "merge", body: { spec: { taints: [{ key, effect }] } } });
}

/**
 * A time in the far future, because controllers reset old conditions. Lifeboat treats a future time as the current
 * time.
 */
const LATE = "2099-01-01T00:00:00Z";

async function disrupted({ cluster }: Trial, status: "True" | "False", reason: string): Promise<void> {
  const conditions = [{ type: "DisruptionTarget", status, reason, lastTransitionTime: LATE }];
  const body = { status: { conditions } } as const;
  await cluster.client.patch(core.pods, POD, { type: "strategic", body }, { subresource: "status" });
}

/** Creates a disruption by a taint. The deadline passed long ago, but the pod still exists. */
export async function overdue(trial: Trial): Promise<void> {
  await evacuating(trial, "NoExecuteTaint", { deadline: LONG_AGO });
  await disrupted(trial, "False", "DeletionByTaintManager");
  await tainted(trial, "maintenance", "NoExecute");
}

async function withConditions({ cluster }: Trial, name: string, types: readonly string[]): Promise<void> {
  const body = { status: { conditions: types.map((type) => ({ type, status: "True" })) } };
  await cluster.client.patch(core.nodes, { name }, { type: "merge", body }, { subresource: "status" });
}

/** Creates a node under memory pressure, and another node with free memory. */
export async function underPressure(trial: Trial): Promise<void> {
  const { cluster } = trial;
  await createdVm(trial);
  await cluster.patchVmi(VMI.name, { metadata: { labels: { "kubevirt.io/nodeName": NODE.name } } });
  await createBareNode(cluster.client, "node02");
  await withConditions(trial, NODE.name, ["Ready", "MemoryPressure"]);
  await withConditions(trial, "node02", ["Ready"]);
}

/** Creates a node under memory pressure, a VM with a long grace period, and a KubeVirt that supports plugins. */
export async function shieldable(trial: Trial): Promise<void> {
  const { cluster } = trial;
  await underPressure(trial);
  await cluster.patchVmi(VMI.name, { spec: { terminationGracePeriodSeconds: 600 } });
  const body = { spec: { configuration: { developerConfiguration: { featureGates: ["Plugins"] } } } };
  await cluster.client.patch(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
}

/** Installs KubeVirt's webhook for evictions without its server, because no pod is evicted. */
export async function covered(trial: Trial): Promise<void> {
  await createdVm(trial);
  const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"] }];
  const webhook = {
    name: "virt-launcher-eviction-interceptor.kubevirt.io",
    clientConfig: { url: "https://127.0.0.1:1/" },
    rules,
    admissionReviewVersions: ["v1"],
    sideEffects: "NoneOnDryRun",
    failurePolicy: "Fail",
  };
  await trial.cluster.client.create(webhookConfigurations, { metadata: KUBEVIRT_WEBHOOKS, webhooks: [webhook] });
}

/** Simulates a second process of Lifeboat. Creates the Evacuation that Lifeboat is about to create. */
export async function startedMeanwhile({ cluster }: Trial, request: string, body: unknown): Promise<void> {
  if (!request.startsWith("POST ") || !request.endsWith("/evacuations")) return;
  const path = request.slice("POST ".length);
  await cluster.client.as(LIFEBOAT, ["system:masters"]).raw({ method: "POST", path, body });
}

const webhookConfigurations: core.Resource<core.KubeObject & { readonly webhooks?: readonly unknown[] }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};
const KUBEVIRT_WEBHOOKS = { name: "virt-api-validator" };

/** The shipped policy checks the name of this account. The group `system:masters` grants the permissions. */
const LIFEBOAT = "system:serviceaccount:lifeboat-system:lifeboat";

async function createdNodeEvacuation({ cluster }: Trial, spec: object, status?: object): Promise<string> {
  const { client } = cluster;
  const metadata = { name: "kernel", labels: { "app.kubernetes.io/managed-by": "lifeboat" } };
  const { uid } = (await client.create(nodeEvacuations, { metadata, spec: { nodeName: NODE.name, ...spec } })).metadata;
  const body = { status };
  if (status) await client.patch(nodeEvacuations, metadata, { type: "merge", body }, { subresource: "status" });
  return uid;
}

export async function maintained(trial: Trial): Promise<string> {
  await createdVm(trial);
  await trial.cluster.patchVmi(VMI.name, { metadata: { labels: { "kubevirt.io/nodeName": NODE.name } } });
  return await createdNodeEvacuation(trial, {});
}

const CORDONED = { type: "merge", body: { spec: { unschedulable: true } } } as const;
const UNDER_WAY = { phase: "Evacuating", startTime: LONG_AGO };

/** Creates a NodeEvacuation. Its VM has not been able to migrate for a long time. Another node has free capacity. */
export const pinned = (whenBlocked: "Restart" | "ShutDown") => async (trial: Trial) => {
  const { client } = trial.cluster;
  await trial.cluster.createVm({ name: VMI.name, strategy: "LiveMigrate", migratable: false });
  await trial.cluster.patchVmi(VMI.name, { metadata: { labels: { "kubevirt.io/nodeName": NODE.name } } });
  const spec = { runStrategy: "Always", template: { spec: { domain: { devices: {} } } } };
  await client.create(kubevirt.virtualMachines, { metadata: VMI, spec });
  if ((await client.get(core.nodes, { name: "node02" })) === undefined) await createBareNode(client, "node02");
  await withConditions(trial, "node02", ["Ready"]);
  const vmi = await client.get(kubevirt.virtualMachineInstances, VMI);
  const blockers = [{ ...VMI, uid: vmi?.metadata.uid, reason: "NotMigratable", message: "", since: LONG_AGO }];
  await createdNodeEvacuation(trial, { virtualMachines: { whenBlocked } }, { ...UNDER_WAY, blockers });
  await client.patch(core.nodes, NODE, CORDONED);
};

export async function vacated(trial: Trial): Promise<void> {
  const outcomes = [{ ...VMI, uid: "moved", outcome: "Moved", time: LONG_AGO }];
  await createdNodeEvacuation(trial, {}, { ...UNDER_WAY, outcomes });
  await trial.cluster.client.patch(core.nodes, NODE, CORDONED);
}

/** Creates a finished NodeEvacuation. The node is schedulable, and a VM was stopped for the maintenance. */
export async function maintainedBefore(trial: Trial): Promise<void> {
  const { client } = trial.cluster;
  const spec = { runStrategy: "Halted", template: { spec: { domain: { devices: {} } } } };
  await client.create(kubevirt.virtualMachines, { metadata: VMI, spec });
  const uid = await createdNodeEvacuation(trial, {}, { ...UNDER_WAY, phase: "Evacuated", completionTime: LONG_AGO });
  const nodeEvacuation = { name: "kernel", uid };
  const part = { cause: "NodeEvacuation", nodeEvacuation, by: "ShutDown", runStrategy: "Always" };
  await createdEvacuation(trial, VMI.name, part, { phase: "Stopped", sourceNode: NODE.name });
}

export async function tidy(cluster: SandboxCluster): Promise<void> {
  const { client } = cluster;
  for (const pod of [POD, SECOND_POD]) await client.delete(core.pods, pod, { gracePeriodSeconds: 0 });
  const { migrations, virtualMachineInstances } = kubevirt;
  const made: readonly core.Resource[] = [migrations, core.podDisruptionBudgets, virtualMachineInstances];
  for (const resource of made)
    for (const { metadata } of (await client.list(resource, NAMESPACE)).items) await client.delete(resource, metadata);
  const lifeboat = client.as(LIFEBOAT, ["system:masters"]);
  for (const { metadata } of (await client.list(evacuations, NAMESPACE)).items)
    await lifeboat.delete(evacuations, metadata);
  await client.delete(webhookConfigurations, KUBEVIRT_WEBHOOKS);
  await client.delete(lifeboatConfigurations, { name: CONFIGURATION });
  await tidyDescheduling(cluster);
  await client.delete(kubevirt.virtualMachines, VMI);
  for (const { metadata } of (await client.list(nodeEvacuations)).items) {
    const ended = { status: { phase: "Gone" } };
    await client
      .patch(nodeEvacuations, metadata, { type: "merge", body: ended }, { subresource: "status" })
      .catch(() => undefined);
    await client.delete(nodeEvacuations, metadata);
  }
  await tidyRolling(cluster);
  const plain = { spec: { taints: null, unschedulable: null }, metadata: { annotations: null } };
  await client.patch(core.nodes, NODE, { type: "merge", body: plain });
  const body = { status: { conditions: null } };
  await client.patch(core.nodes, NODE, { type: "merge", body }, { subresource: "status" });
}
