/**
 * Simulates other components of a cluster: KubeVirt's webhooks, virt-api, the disruption controller, and the validation
 * rules of Lifeboat's CRDs.
 */
import { END_PHASES } from "../../../shared/kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../../../shared/kube/facts.ts";
import * as names from "../../../shared/kube/names.ts";
import type { RequestInfo } from "./request-info.ts";
import { failure, keyOfObject, NOT_FOUND, type Parties, type Reply } from "./api.ts";
import type { FakeCluster } from "../cluster.ts";
import { asJson, at, type Json, type JsonObject, textOf, textsAt } from "../json.ts";
import { object } from "./objects.ts";
import { userOf } from "./tokens.ts";
import { isToMove } from "../../../shared/eviction/table.ts";
import { isFinal } from "../../../shared/kube/objects.ts";

export function partiesOf(fake: () => FakeCluster): Parties {
  return {
    review: (asked, found) => reviewed(fake(), asked, found),
    admit: (resource, next, before) => (ADMISSIONS[resource] ?? asSent)(next, before, fake()),
  };
}

type Admission = (next: JsonObject, before: JsonObject | undefined, fake: FakeCluster) => JsonObject | Reply;

const asSent: Admission = (next) => next;

const ADMISSIONS: Readonly<Record<string, Admission>> = {
  evacuations: (next, before) => (before !== undefined && isForbidden(next, before) ? failure(422, "Invalid") : next),
  // The disruption controller sets the status of a PodDisruptionBudget after its spec has changed.
  poddisruptionbudgets: (next, before) => (at(before, "spec") === at(next, "spec") ? next : counted(next)),
  virtualmachineinstancemigrations: (next, before, fake) => (before === undefined ? admitMigration(next, fake) : next),
};

const ENDS: readonly string[] = END_PHASES;
const RETRIED: readonly string[] = ["BackingOff", "Blocked"];

/**
 * Returns true if the CRD's validation rules forbid the change. A finished Evacuation stays finished, and a withdrawn
 * Evacuation stays withdrawn. A retry requires the phase BackingOff or Blocked.
 */
function isForbidden(next: JsonObject, before: JsonObject): boolean {
  const phase = textOf(at(before, "status", "phase"));
  const isResumed = at(before, "spec", "intent") === "Withdrawn" && at(next, "spec", "intent") !== "Withdrawn";
  const isRetry = at(next, "spec", "retryAt") !== at(before, "spec", "retryAt");
  const isReopened = ENDS.includes(phase) && at(next, "status", "phase") !== phase;
  return isReopened || isResumed || (isRetry && !RETRIED.includes(phase));
}

function counted(budget: JsonObject): JsonObject {
  const minAvailable = Number(at(budget, "spec", "minAvailable"));
  const observedGeneration = Number(at(budget, "metadata", "generation") ?? 1) + 1;
  const status = { observedGeneration, disruptionsAllowed: Math.max(0, 1 - minAvailable), currentHealthy: 1 };
  return { ...budget, status: { ...status, desiredHealthy: minAvailable, expectedPods: 1 } };
}

/**
 * Simulates KubeVirt's admission of migrations. Labels the migration, or refuses it if the VMI has an unfinished
 * migration.
 */
function admitMigration(migration: JsonObject, fake: FakeCluster): JsonObject | Reply {
  const { namespace } = keyOfObject(migration);
  const vmiName = textOf(at(migration, "spec", "vmiName"));
  const others = fake.migrations.list((m) => m.namespace === namespace && m.vmiName === vmiName && !isFinal(m));
  if (others.length > 0) return failure(400, "BadRequest", "in-flight migration detected");
  const labels = { ...textsAt(migration, "metadata", "labels"), [names.VMI_NAME_LABEL]: vmiName };
  const metadata = object({ ...Object(migration["metadata"]), labels });
  return { ...migration, metadata, status: { phase: "Pending" } };
}

/** A read of a missing object of these resources returns 403 instead of 404. */
const UNREADABLE = new Set(["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]);

const ALLOWED = { status: { allowed: true } };
const REVIEWS: Readonly<Record<string, (body: unknown) => Json>> = {
  selfsubjectaccessreviews: () => ALLOWED,
  subjectaccessreviews: () => ALLOWED,
  tokenreviews: (body) => ({ status: userOf(body) }),
};

function reviewed(fake: FakeCluster, asked: RequestInfo, found: JsonObject | undefined): Reply | undefined {
  const { verb, resource, subresource } = asked;
  const review = REVIEWS[resource];
  if (review !== undefined) return { code: 201, body: review(asked.body) };
  if (resource === "version") return { code: 200, body: { major: "1", minor: "36" } };
  if (subresource === "eviction") return evict(fake, asked, found);
  if (subresource === "evacuate/cancel") return cancelEvacuation(fake, asked, found);
  if (verb === "get" && found === undefined && UNREADABLE.has(resource)) return failure(403, "Forbidden");
  return undefined;
}

/**
 * Reviews the eviction with KubeVirt's webhook, and deletes the pod. Does not delete the pod if its annotation says
 * that an eviction is only a request, or if the UID in the precondition differs.
 */
function evict(fake: FakeCluster, { body, query }: RequestInfo, pod: JsonObject | undefined): Reply {
  if (pod === undefined) return NOT_FOUND;
  const key = keyOfObject(pod);
  const eviction = asJson(body ?? {});
  const uid = at(eviction, "deleteOptions", "preconditions", "uid");
  const isReal = uid === at(pod, "metadata", "uid");
  const isDryRun = query.get("dryRun") === "All";
  if (isReal && !isDryRun) fake.evictions.push(key.name);
  const reported = fake.evictionAnswers.get(key.name);
  if (reported !== undefined) return failure(reported.code, "Told", reported.message);
  if (!isDryRun) reviewEviction(fake, key, textsAt(eviction, "metadata", "annotations"));
  if (isOnlyAsked(pod)) return failure(429, "TooManyRequests", `Eviction triggered evacuation of ${key.name}`);
  if (!isReal) return failure(409, "Conflict");
  if (!isDryRun) fake.pods.delete(key);
  return { code: 201, body: {} };
}

function isOnlyAsked(pod: JsonObject): boolean {
  const isAskedOnly = names.REQUEST_EVICT_ONLY_ANNOTATION in textsAt(pod, "metadata", "annotations");
  return isAskedOnly || textsAt(pod, "metadata", "labels")[names.COMPONENT_LABEL] === names.LAUNCHER_COMPONENT;
}

/** Sets evacuationNodeName on the VM whose guest runs in the pod, as KubeVirt's webhook does. */
export function reviewEviction(
  fake: FakeCluster,
  key: NamespacedName,
  annotations: Readonly<Record<string, string>> = {},
): void {
  const vmi = guestOf(fake, key);
  if (vmi === undefined || !fake.isReviewing || vmi.evacuationNodeName !== undefined) return;
  const { evictionStrategy: clusterStrategy } = fake.kubeVirt ?? {};
  if (!isToMove(vmi, clusterStrategy === undefined ? {} : { clusterStrategy })) return;
  const isDescheduler = annotations[names.REQUESTED_BY_ANNOTATION] === names.DESCHEDULER && vmi.hasAnnotations;
  const source = isDescheduler
    ? { metadata: { annotations: { [names.EVICTION_SOURCE_ANNOTATION]: "descheduler" } } }
    : {};
  fake.api.merge("virtualmachineinstances", vmi, { ...source, status: { evacuationNodeName: vmi.nodeName } });
}

function guestOf(fake: FakeCluster, key: NamespacedName): VmiFacts | undefined {
  const pod = fake.pods.get(key);
  if (pod === undefined || isFinal(pod)) return undefined;
  const name = pod.annotations[names.DOMAIN_ANNOTATION] ?? "";
  const vmi = fake.vmis.get({ namespace: key.namespace, name });
  return vmi?.nodeName !== undefined && vmi.nodeName === pod.nodeName ? vmi : undefined;
}

/** Reviews a request with KubeVirt's webhook. */
export function reviewBeside(fake: FakeCluster, review: unknown): void {
  const request = at(asJson(review ?? {}), "request");
  const eviction = at(request, "object");
  const dryRun = at(eviction, "deleteOptions", "dryRun");
  if (at(request, "dryRun") === true || (Array.isArray(dryRun) && dryRun.length > 0)) return;
  const key = { namespace: textOf(at(request, "namespace")), name: textOf(at(request, "name")) };
  reviewEviction(fake, key, textsAt(eviction, "metadata", "annotations"));
}

/** Removes evacuationNodeName from the VMI as virt-api does, if the request contains the same node name. */
function cancelEvacuation(fake: FakeCluster, { body }: RequestInfo, vmi: JsonObject | undefined): Reply {
  if (vmi === undefined) return NOT_FOUND;
  const mark = at(vmi, "status", "evacuationNodeName");
  if (mark === undefined) return { code: 200, body: {} };
  if (mark !== at(asJson(body ?? {}), "evacuationNodeName")) return failure(500, "InternalError");
  fake.setMark(keyOfObject(vmi), undefined);
  return { code: 200, body: {} };
}
