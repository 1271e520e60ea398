/** How it shows that a permission is missing: in the state of the cluster, or in what was answered. */
import * as core from "../../../infra/sandbox/actors/resources.ts";
import { lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import * as names from "../../../shared/kube/names.ts";
import { OVER } from "../../../shared/shield/shield.ts";
import type { Answer } from "../doors.ts";
import { NAMESPACE, type Vmi } from "../test-cluster.ts";
import { type Evacuation, evacuations, PENDING, POD, SECOND_POD, type Trial, VMI } from "./trial.ts";

export interface After extends Trial {
  readonly answer: Answer | undefined;
}

export type Consequence = (after: After) => Promise<boolean>;

async function vmiOf({ cluster }: Trial): Promise<Vmi> {
  const vmi = await cluster.getVmi(VMI.name);
  if (vmi === undefined) throw new Error("the VMI is gone");
  return vmi;
}

const isMarked = ({ status }: Vmi) => status?.evacuationNodeName === "node01";

async function evacuationsOf({ cluster }: Trial): Promise<readonly Evacuation[]> {
  return (await cluster.client.list(evacuations, NAMESPACE)).items;
}

async function migrating({ cluster }: Trial): Promise<readonly string[]> {
  return (await cluster.client.list(kubevirt.migrations, NAMESPACE)).items.map(({ spec }) => spec.vmiName).toSorted();
}

async function budgetSizes({ cluster }: Trial): Promise<readonly unknown[]> {
  return (await cluster.client.list(core.podDisruptionBudgets, NAMESPACE)).items.map(({ spec }) => spec?.minAvailable);
}

async function isThere({ cluster }: Trial, pod: core.Key): Promise<boolean> {
  const found = await cluster.client.get(core.pods, pod);
  return found !== undefined && found.metadata.deletionTimestamp === undefined;
}

/** Not decided on at all: the API server goes by the webhook's failurePolicy. */
export const unanswered: Consequence = ({ answer }) => Promise.resolve(answer?.code === 503);

/** The VM is marked all the same; the log says what failed. */
export const notJoined: Consequence = ({ doors }) =>
  Promise.resolve(doors.log.some(({ doing }) => doing === "performing CreateEvacuation"));

/** To the page. */
export const notSignedIn: Consequence = ({ answer }) => Promise.resolve(answer?.code === 401);

/** Of a drain: whether it would end. */
export const untellable: Consequence = ({ answer }) =>
  Promise.resolve(answer?.text.includes("Lifeboat cannot read from this cluster") === true);

/** What could not be read is named. */
const unknownBut =
  (what: string): Consequence =>
  ({ answer }) =>
    Promise.resolve(answer?.text.includes(`Could not be read, or is not looked at: <bdi>${what}`) === true);

export const volumesUnknown = unknownBut("persistent volumes");
export const quotasUnknown = unknownBut("resource quotas");
export const budgetsUnknown = unknownBut("disruption budgets");
export const migrationsUnknown = unknownBut("migrations");

export const notMarked: Consequence = async (after) => !isMarked(await vmiOf(after));

export const stillMarked: Consequence = async (after) => isMarked(await vmiOf(after));

export const notUrgent: Consequence = async (after) =>
  (await vmiOf(after)).metadata.labels?.[names.EVACUATION_LABEL] === undefined;

export const notMigrated: Consequence = async (after) => (await migrating(after)).length === 0;

export const noEvacuation: Consequence = async (after) => (await evacuationsOf(after)).length === 0;

export const stillEvacuation: Consequence = async (after) => (await evacuationsOf(after)).length > 0;

export const notEnded: Consequence = async (after) =>
  (await evacuationsOf(after)).some(({ status }) => status?.phase === undefined || status.phase === "Pending");

export const untold: Consequence = async (after) => {
  const { uid } = (await vmiOf(after)).metadata;
  const { items } = await after.cluster.client.list(core.events);
  return items.every(({ involvedObject }) => involvedObject.uid !== uid);
};

export const stillPending: Consequence = async ({ cluster }) =>
  (await cluster.client.get(kubevirt.migrations, PENDING)) !== undefined;

/** It says nothing of the evacuation that it is for. */
export const anonymous: Consequence = async ({ cluster }) => {
  const { metadata } = (await cluster.client.get(kubevirt.migrations, PENDING)) ?? {};
  return metadata !== undefined && metadata.annotations?.[names.CAUSE_ANNOTATION] === undefined;
};

export const noBudget: Consequence = async (after) => (await budgetSizes(after)).length === 0;

export const stillBudget: Consequence = async (after) => (await budgetSizes(after)).length > 0;

/** Neither KubeVirt nor Lifeboat answers for its webhook, so an eviction is decided on by the budgets alone. */
export const drainStopsIt: Consequence = async (after) => {
  const { client } = after.cluster;
  const asked = await client.get(webhooks, KUBEVIRTS);
  await client.delete(webhooks, KUBEVIRTS);
  const path = `/api/v1/namespaces/${POD.namespace}/pods/${POD.name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: POD };
  const { code } = await client.raw({ method: "POST", path, body });
  await client.create(webhooks, { ...asked, metadata: KUBEVIRTS });
  return code === 201 && !(await isThere(after, POD));
};

const KUBEVIRTS = { name: "evictions-only" };
const webhooks: core.Resource = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

export const podStays: Consequence = async (after) => await isThere(after, POD);

export const noConditions: Consequence = async ({ cluster }) => {
  const found = await cluster.client.get(lifeboatConfigurations, { name: names.CONFIGURATION });
  return (found?.status?.conditions ?? []).length === 0;
};

export const webhookUnseen: Consequence = async ({ cluster }) => {
  const found = await cluster.client.get(lifeboatConfigurations, { name: names.CONFIGURATION });
  const condition = found?.status?.conditions?.find(({ type }) => type === "WebhookCalled");
  return String(condition?.["message"]).includes("lifeboat: cannot be read");
};

export const notAnnotated: Consequence = async ({ cluster }) => {
  const { metadata } = (await cluster.client.get(core.pods, POD)) ?? {};
  return metadata !== undefined && metadata.annotations?.[names.REQUEST_EVICT_ONLY_ANNOTATION] === undefined;
};

/** Not one that did nothing: none began. */
export const noCycle: Consequence = async (after) => after.answer?.code !== 200 && (await podStays(after));

export const onlyFirstPodGone: Consequence = async (after) => {
  const left = await Promise.all([POD, SECOND_POD].map((pod) => isThere(after, pod)));
  return left.filter((isLeft) => isLeft).length === 1;
};

const shieldOf = async (after: After) => (await vmiOf(after)).metadata.labels?.[names.SHIELD_LABEL];

export const notShielded: Consequence = async (after) => (await shieldOf(after)) === undefined;

export const letGo: Consequence = async (after) => (await shieldOf(after)) === OVER;
