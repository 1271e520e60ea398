/** POST pods/{name}/eviction: deletes a pod, unless a PodDisruptionBudget refuses the deletion. */
import { isDeepStrictEqual } from "node:util";
import { matchesSelector } from "../labels.ts";
import { requireActiveNamespace } from "./admission/namespace-lifecycle.ts";
import { admitMutating, admitValidating } from "./admission/webhooks.ts";
import { type Answer, type ResourceContext, collectionOf, storedIn, timestamp } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { type Deletion, checkPreconditions, remove, successStatus } from "./deletion.ts";
import { defineKind } from "./kinds/kind.ts";
import { POD_DISRUPTION_BUDGETS } from "./kinds/policy.ts";
import { type KubeObject, childOf, fieldAt, isRecord, recordsAt, stringAt, viewAs } from "./objects.ts";
import { type DeleteOptions, admissionOf, readDryRun, readWriteOptions } from "./options.ts";
import { checkSubresource } from "./schema/subresource.ts";
import { type StoredObject, parse, parsedOnce } from "./store.ts";
import { badRequest, fail } from "./status.ts";
import { changeStored } from "./updating.ts";

const EVICTION = defineKind({ group: "policy", version: "v1", kind: "Eviction", plural: "evictions" });

export async function handleEviction(ctx: ResourceContext): Promise<Answer> {
  const { dryRun } = readWriteOptions(ctx);
  const body = decodeBody(ctx);
  if (body.apiVersion === "policy/v1beta1") body.apiVersion = "policy/v1";
  const sent = await checkSubresource(ctx, EVICTION, body);
  requireActiveNamespace(ctx, sent);
  const subject = admissionOf(ctx, dryRun);
  const eviction = await admitMutating(ctx, subject(sent));
  if (eviction.metadata.name !== ctx.info.name) badRequest("name in URL does not match name in Eviction object");
  const options = deleteOptionsOf(ctx, eviction);
  await admitValidating(ctx, subject(eviction));
  evict(ctx, { ...options, isDryRun: (options.dryRun?.length ?? 0) > 0 });
  return { type: "Document", code: 201, body: successStatus(201) };
}

/** Copies the query's dryRun into the Eviction's deleteOptions, which webhooks can read. */
function deleteOptionsOf({ info }: ResourceContext, eviction: KubeObject): DeleteOptions {
  const dryRun = info.query.getAll("dryRun");
  if (!isRecord(eviction.deleteOptions)) return { dryRun };
  const options = viewAs<DeleteOptions>(eviction.deleteOptions);
  if (!options.dryRun?.length && dryRun.length > 0) options.dryRun = dryRun;
  if (dryRun.length === 0 || isDeepStrictEqual(options.dryRun, dryRun)) return options;
  const asked = `[${dryRun.join(" ")}] and [${options.dryRun?.join(" ")}]`;
  return fail({
    reason: "Unclassified",
    message: `Non-matching dry-run options in request and content: ${asked}`,
  });
}

type Options = DeleteOptions & { readonly isDryRun: boolean };

function evict(ctx: ResourceContext, options: Options): void {
  const stored = storedIn(ctx);
  const pod = parsedOnce(stored);
  if (!ignoresBudgets(pod)) {
    const [budget, ...others] = budgetsOf(ctx, stored);
    if (others.length > 0) fail({ reason: "Unclassified", message: MORE_THAN_ONE });
    if (budget !== undefined && !isUnhealthyAndFree(pod, parsedOnce(budget))) spend(ctx, budget, options.isDryRun);
  }
  removePod(ctx, options);
}

const MORE_THAN_ONE =
  "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/**
 * Returns true if the eviction of a pod ignores PodDisruptionBudgets. Such a pod is pending, finished or terminating.
 */
function ignoresBudgets(pod: KubeObject): boolean {
  const phase = stringAt(pod, "status.phase");
  return (
    phase === "Pending" || phase === "Succeeded" || phase === "Failed" || pod.metadata.deletionTimestamp !== undefined
  );
}

function budgetsOf({ state, info }: ResourceContext, pod: StoredObject): readonly StoredObject[] {
  return collectionOf(state, POD_DISRUPTION_BUDGETS)
    .list(info.namespace)
    .filter((budget) => {
      const selector = fieldAt(parsedOnce(budget), "spec.selector");
      return isRecord(selector) && matchesSelector(selector, pod.labels);
    });
}

/**
 * Returns true if the pod is unready, and its eviction needs no allowed disruption: the budget has enough healthy pods,
 * or its unhealthyPodEvictionPolicy is AlwaysAllow.
 */
function isUnhealthyAndFree(pod: KubeObject, budget: KubeObject): boolean {
  const ready = recordsAt(pod, "status.conditions").some((one) => one.type === "Ready" && one.status === "True");
  if (ready) return false;
  const healthy = Number(fieldAt(budget, "status.currentHealthy") ?? 0);
  const desired = Number(fieldAt(budget, "status.desiredHealthy") ?? 0);
  return stringAt(budget, "spec.unhealthyPodEvictionPolicy") === "AlwaysAllow" || (healthy >= desired && desired > 0);
}

/** Uses one allowed disruption of the budget, and adds the pod to disruptedPods. */
function spend(ctx: ResourceContext, budget: StoredObject, dryRun: boolean): void {
  const { name: podName } = ctx.info;
  const object = parse(budget);
  checkBudget(object);
  if (dryRun) return;
  changeStored(collectionOf(ctx.state, POD_DISRUPTION_BUDGETS), budget, (current) => {
    const status = childOf(current, "status");
    status.disruptionsAllowed = Number(status.disruptionsAllowed) - 1;
    childOf(status, "disruptedPods")[podName] = timestamp(ctx.state.now());
  });
}

const STILL_PROCESSING_SECONDS = 10;

function checkBudget(budget: KubeObject): void {
  const name = budget.metadata.name ?? "";
  const of = (field: string): number => Number(fieldAt(budget, `status.${field}`) ?? 0);
  if (of("observedGeneration") < (budget.metadata.generation ?? 0)) {
    const message = `The disruption budget ${name} is still being processed by the server.`;
    fail({ reason: "DisruptionBudget", message, retryAfterSeconds: STILL_PROCESSING_SECONDS });
  }
  if (of("disruptionsAllowed") > 0) return;
  const [needs, has] = [of("desiredHealthy"), of("currentHealthy")];
  const why = has <= needs ? `needs ${needs} healthy pods and has ${has}` : "does not allow evicting pods";
  const message = `The disruption budget ${name} ${why} currently`;
  fail({ reason: "DisruptionBudget", message });
}

function removePod(ctx: ResourceContext, options: Options): Deletion | undefined {
  readDryRun("DeleteOptions", options.dryRun ?? []);
  checkPreconditions(ctx.kind, parsedOnce(storedIn(ctx)), options.preconditions);
  if (!options.isDryRun) changeStored(ctx.collection, ctx.info, (pod) => markDisrupted(ctx, pod));
  return remove(ctx.state, ctx.kind, { stored: storedIn(ctx), options });
}

function markDisrupted({ state }: ResourceContext, pod: KubeObject): void {
  const status = childOf(pod, "status");
  const conditions = recordsAt(status, "conditions");
  const before = conditions.find((one) => one.type === "DisruptionTarget");
  const isTracked = status.observedGeneration !== undefined || before?.observedGeneration !== undefined;
  const condition = {
    type: "DisruptionTarget",
    ...(isTracked && { observedGeneration: pod.metadata.generation }),
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastTransitionTime: before?.status === "True" ? before.lastTransitionTime : timestamp(state.now()),
  };
  status.conditions = before ? conditions.with(conditions.indexOf(before), condition) : [...conditions, condition];
}
