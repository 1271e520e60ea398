/**
 * What Lifeboat does, one deed at a time, so that it can be tried with one permission less.
 * Owns: bringing a cluster to where the deed is due, and having it done. Does not own: permissions (least-privilege.ts).
 */
import type { KubeObject } from "../../infra/sandbox/actors/resources.ts";
import * as core from "../../infra/sandbox/actors/resources.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { record } from "../policy/fixtures.ts";
import { asWebhook } from "../functions/support/doors.ts";
import { evictionOf, review } from "../functions/support/reviews.ts";
import { NAMESPACE, type TestCluster } from "../functions/support/test-cluster.ts";
import { deschedule, tidyDescheduling } from "./descheduling-deed.ts";
import type { Deed } from "./least-privilege.ts";
import { ask, type Steps, type Trial } from "./trial.ts";

const VMI = { namespace: NAMESPACE, name: "web" };
export const POD = { namespace: NAMESPACE, name: "virt-launcher-web-abcde" };
const PENDING = { namespace: NAMESPACE, name: "pending" };
const NODE = { name: "node01" };
const SLOTS = { namespace: "lifeboat-system", name: "lifeboat-slots" };
const COUNTERS = { namespace: "lifeboat-system", name: "lifeboat-counters" };

/** Nothing but the evacuation itself. */
const ALONE = { reconcilers: { evacuation: true, budget: false } };
const OFF = { reconcilers: { evacuation: false, budget: false } };
const BUDGETS = { reconcilers: { evacuation: false, budget: true } };

const create =
  (strategy: string, status = {}) =>
  (trial: Trial) =>
    trial.cluster.createVm({ name: VMI.name, strategy, status });
const createVm = create("LiveMigrate");

/** Evacuated from another node; nobody has looked since. */
function createMoved(trial: Trial) {
  const annotations = { "lifeboat.dev/evacuation": JSON.stringify(record({ node: "node09" })) };
  const labels = { "lifeboat.dev/evacuation": "normal" };
  return trial.cluster.createVm({ name: VMI.name, strategy: "LiveMigrate", metadata: { annotations, labels } });
}

const reconcile = (trial: Trial) => ask(trial, "POST", "/reconcile");
const cancel = (trial: Trial) => ask(trial, "DELETE", `/evacuations/${NAMESPACE}/${VMI.name}`);

async function evict({ doors }: Trial): Promise<string> {
  const { text } = await review(doors, evictionOf(POD));
  await doors.settle();
  return text;
}

async function evicted(trial: Trial): Promise<void> {
  await createVm(trial);
  await evict(trial);
}

/** As KubeVirt's evacuation controller makes one. */
async function createMigration({ cluster }: Trial): Promise<void> {
  const metadata = { ...PENDING, annotations: { "kubevirt.io/evacuationMigration": "node01" } };
  await cluster.client.create(kubevirt.migrations, { metadata, spec: { vmiName: VMI.name } });
}

async function patchStatus(trial: Trial, object: "pod" | "vmi", status: object): Promise<void> {
  if (object === "vmi") return void (await trial.cluster.patchVmi(VMI.name, { status }));
  const body = { status } as const;
  await trial.cluster.client.patch(core.pods, POD, { type: "strategic", body }, { subresource: "status" });
}

/** So late that nobody resets it; for Lifeboat a time that is yet to come is now. */
const LATE = "2099-01-01T00:00:00Z";

function disruptionTarget(status: "True" | "False", reason: string) {
  return { conditions: [{ type: "DisruptionTarget", status, reason, lastTransitionTime: LATE }] };
}

/** Marked and recorded long ago, as if Lifeboat had been away since. */
async function recordSince2025(trial: Trial, cause: string): Promise<void> {
  const podUID = (await trial.cluster.client.get(core.pods, POD))?.metadata.uid;
  const begun = { id: "0000000a", cause, requestedBy: "x", node: "node01", podUID, attempts: 0 };
  const text = JSON.stringify({ ...begun, since: "2025-01-01T00:00:00Z" });
  const metadata = {
    annotations: { "lifeboat.dev/evacuation": text },
    labels: { "lifeboat.dev/evacuation": "normal" },
  };
  await trial.cluster.patchVmi(VMI.name, { metadata, status: { evacuationNodeName: "node01" } });
}

/** Held for a taint until long ago, and still there. */
async function overdue(trial: Trial): Promise<void> {
  await createVm(trial);
  await recordSince2025(trial, "NoExecuteTaint");
  await patchStatus(trial, "pod", disruptionTarget("False", "DeletionByTaintManager"));
  const taints = [{ key: "maintenance", effect: "NoExecute" }];
  await trial.cluster.client.patch(core.nodes, NODE, { type: "merge", body: { spec: { taints } } });
}

/** The scheduler deletes the launcher pod. */
async function preempt(trial: Trial): Promise<string> {
  const oldObject: KubeObject | undefined = await trial.cluster.client.get(core.pods, POD);
  const request = {
    uid: "1",
    operation: "DELETE",
    resource: { group: "", version: "v1", resource: "pods" },
    userInfo: { username: "system:kube-scheduler" },
    oldObject,
  };
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
  const path = "/clusters/prod/admission/deletions?timeout=30s";
  const { text } = await trial.doors.request(path, { method: "POST", headers: asWebhook, body });
  await trial.doors.settle();
  return text;
}

export const DEEDS: Readonly<Record<Exclude<Deed, "watch">, Steps>> = {
  readyz: { configuration: OFF, given: createVm, done: (trial) => ask(trial, "GET", "/readyz") },
  explain: {
    configuration: OFF,
    given: createVm,
    done: (trial) => ask(trial, "GET", `/explain/pods/${NAMESPACE}/${POD.name}`),
  },
  "list evacuations": { configuration: OFF, given: evicted, done: (trial) => ask(trial, "GET", "/evacuations") },
  cancel: { configuration: OFF, given: evicted, done: cancel },
  "cancel a pending migration": {
    configuration: OFF,
    given: async (trial) => {
      await evicted(trial);
      await createMigration(trial);
    },
    done: cancel,
  },
  evict: { configuration: OFF, given: createVm, done: evict },
  "take over a mark": {
    configuration: ALONE,
    given: create("LiveMigrate", { evacuationNodeName: "node01" }),
    done: reconcile,
  },
  "create a budget": { configuration: BUDGETS, given: createVm, done: reconcile },
  "grow a budget": {
    configuration: BUDGETS,
    given: async (trial) => {
      await createVm(trial);
      await reconcile(trial);
      await patchStatus(trial, "vmi", { evacuationNodeName: "node01" });
    },
    done: reconcile,
  },
  "delete a budget": {
    configuration: BUDGETS,
    given: async (trial) => {
      await create("LiveMigrateIfPossible")(trial);
      await reconcile(trial);
      await patchStatus(trial, "vmi", { conditions: [{ type: "LiveMigratable", status: "False" }] });
    },
    done: reconcile,
  },
  "reserve the first migration": { configuration: ALONE, given: createVm, done: evict },
  "reserve another migration": {
    configuration: ALONE,
    given: async (trial) => {
      await createVm(trial);
      const data = { "slots.json": "[]" };
      await trial.cluster.client.create(core.configMaps, { metadata: SLOTS, data });
    },
    done: evict,
  },
  "create a migration": { configuration: ALONE, given: createVm, done: evict },
  "adopt a migration": {
    configuration: { reconcilers: { evacuation: "Auto", budget: false } },
    given: async (trial) => {
      await createVm(trial);
      await recordSince2025(trial, "ApiEviction");
      await createMigration(trial);
    },
    done: reconcile,
  },
  "finish a deletion": {
    configuration: { ...OFF, featureGates: { NoExecuteTaintEvictionLiveMigration: true } },
    given: overdue,
    done: reconcile,
  },
  "mark by eviction": {
    configuration: { ...OFF, marking: "Evict", featureGates: { PreemptionEvictionLiveMigration: true } },
    given: async (trial) => {
      await createVm(trial);
      const body = { status: { conditions: [{ type: "Ready", status: "True" }] } };
      await trial.cluster.client.patch(core.nodes, NODE, { type: "merge", body }, { subresource: "status" });
      await patchStatus(trial, "pod", disruptionTarget("True", "PreemptionByScheduler"));
    },
    done: preempt,
  },
  "count another evacuation": {
    configuration: ALONE,
    given: async (trial) => {
      await createMoved(trial);
      const data = { "counters.json": JSON.stringify({ evacuations: [], counted: [] }) };
      await trial.cluster.client.create(core.configMaps, { metadata: COUNTERS, data });
    },
    done: reconcile,
  },
  "annotate a pod": {
    configuration: {
      featureGates: { DeschedulerSupport: true },
      reconcilers: { evacuation: false, budget: false, annotations: true },
    },
    given: createVm,
    done: reconcile,
  },
  deschedule: {
    ...deschedule,
    given: async (trial) => {
      await createVm(trial);
      await deschedule.given(trial);
    },
  },
};

/** As if nothing had been done. */
export async function tidy(cluster: TestCluster): Promise<void> {
  const { client } = cluster;
  await client.delete(core.pods, POD, { gracePeriodSeconds: 0 });
  await client.delete(kubevirt.migrations, PENDING);
  for (const { metadata } of (await client.list(kubevirt.migrations, NAMESPACE)).items)
    await client.delete(kubevirt.migrations, metadata);
  for (const { metadata } of (await client.list(core.podDisruptionBudgets, NAMESPACE)).items)
    await client.delete(core.podDisruptionBudgets, metadata);
  await client.delete(kubevirt.virtualMachineInstances, VMI);
  await client.delete(core.configMaps, SLOTS);
  await client.delete(core.configMaps, COUNTERS);
  await tidyDescheduling(cluster);
  await client.patch(core.nodes, NODE, { type: "merge", body: { spec: { taints: null } } });
}
