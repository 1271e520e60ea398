/**
 * POST pods/{name}/eviction: a deletion that asks the disruption budgets first.
 * Owns: the budgets' arithmetic and the answers. Does not own: keeping a budget's status (a controller, over HTTP).
 */
import { admitMutating, admitValidating } from "./admission/webhooks.ts";
import { type Answer, type ResourceContext, collectionOf, resourceOf, timestamp } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { type Deletion, remove, successStatus } from "./deletion.ts";
import { POD_DISRUPTION_BUDGETS } from "./kinds/policy.ts";
import {
  type KubeObject,
  fieldAt,
  isRecord,
  stringAt,
  recordAt,
  recordsAt,
  childOf,
  viewAs,
  textOf,
} from "./objects.ts";
import { type DeleteOptions, readWriteOptions } from "./options.ts";
import { matchesLabels, requirementsOf } from "./selectors.ts";
import { type StoredObject, parse, parsedOnce } from "./store.ts";
import { badRequest, fail } from "./status.ts";
import { changeStored } from "./updating.ts";

const VERSIONS = new Set(["policy/v1", "policy/v1beta1"]);

export async function handleEviction(ctx: ResourceContext): Promise<Answer> {
  const eviction = decodeEviction(ctx);
  const dryRunQuery = readWriteOptions(ctx).dryRun;
  if (ctx.collection.get(ctx.info) === undefined) notFound(ctx);
  const subject = {
    operation: "CREATE" as const,
    object: eviction,
    oldObject: undefined,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    dryRun: dryRunQuery,
  };
  await admitMutating(ctx, subject);
  await admitValidating(ctx, subject);
  const options = viewAs<DeleteOptions>(recordAt(eviction, "deleteOptions"));
  evict(ctx, { ...options, isDryRun: dryRunQuery || (options.dryRun?.includes("All") ?? false) });
  return { type: "Document", code: 201, body: successStatus(201) };
}

function decodeEviction(ctx: ResourceContext): KubeObject {
  const body = decodeBody(ctx);
  const { namespace, name } = ctx.info;
  body.apiVersion ??= "policy/v1";
  body.kind ??= "Eviction";
  if (body.kind !== "Eviction" || !VERSIONS.has(textOf(body.apiVersion))) {
    badRequest(`${textOf(body.kind)} in version "${textOf(body.apiVersion)}" cannot be handled as an Eviction`);
  }
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  if ((metadata.name || name) !== name) badRequest("name in URL does not match name in Eviction object");
  return viewAs({ ...body, metadata: { name, namespace, ...metadata } });
}

function notFound(ctx: ResourceContext): never {
  return fail({ reason: "NotFound", resource: resourceOf(ctx.kind), name: ctx.info.name });
}

type Options = DeleteOptions & { readonly isDryRun: boolean };

function evict(ctx: ResourceContext, options: Options): void {
  const stored = ctx.collection.get(ctx.info) ?? notFound(ctx);
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

/** A pod that does not run (yet, or any more) cannot be disrupted. */
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
      return isRecord(selector) && matchesLabels(requirementsOf(viewAs(selector)), pod.labels);
    });
}

/** An unready pod is not among the healthy ones: while the budget is met (or if the policy says so) it may go. */
function isUnhealthyAndFree(pod: KubeObject, budget: KubeObject): boolean {
  const ready = recordsAt(pod, "status.conditions").some((one) => one.type === "Ready" && one.status === "True");
  if (ready) return false;
  const healthy = Number(fieldAt(budget, "status.currentHealthy") ?? 0);
  const desired = Number(fieldAt(budget, "status.desiredHealthy") ?? 0);
  return stringAt(budget, "spec.unhealthyPodEvictionPolicy") === "AlwaysAllow" || (healthy >= desired && desired > 0);
}

/** The controller learns from disruptedPods what it will see missing soon. */
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
  const disruptionsAllowed = of("disruptionsAllowed");
  if (of("observedGeneration") < (budget.metadata.generation ?? 0)) {
    const message = `The disruption budget ${name} is still being processed by the server.`;
    fail({ reason: "DisruptionBudget", message, retryAfterSeconds: STILL_PROCESSING_SECONDS });
  }
  if (disruptionsAllowed < 0) {
    fail({ reason: "Forbidden", resource: BUDGETS, name, message: "pdb disruptions allowed is negative" });
  }
  if (disruptionsAllowed > 0) return;
  const [needs, has] = [of("desiredHealthy"), of("currentHealthy")];
  const message = `The disruption budget ${name} needs ${needs} healthy pods and has ${has} currently`;
  fail({ reason: "DisruptionBudget", message });
}

const BUDGETS = { group: "policy", resource: "poddisruptionbudgets" };

function removePod(ctx: ResourceContext, options: Options): Deletion | undefined {
  if (!options.isDryRun) changeStored(ctx.collection, ctx.info, (pod) => markDisrupted(ctx, pod));
  const stored = ctx.collection.get(ctx.info) ?? notFound(ctx);
  checkUid(ctx, stored, options);
  return remove(ctx.state, ctx.kind, { stored, options });
}

function checkUid(ctx: ResourceContext, stored: StoredObject, { preconditions }: Options): void {
  const { uid } = parsedOnce(stored).metadata;
  if (!preconditions?.uid || preconditions.uid === uid) return;
  fail({
    reason: "Conflict",
    resource: { group: ctx.kind.group, resource: ctx.kind.kind },
    name: ctx.info.name,
    message:
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). ` +
      "The object might have been deleted and then recreated",
  });
}

function markDisrupted({ state }: ResourceContext, pod: KubeObject): void {
  const status = childOf(pod, "status");
  const others = recordsAt(status, "conditions").filter((one) => one.type !== "DisruptionTarget");
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastTransitionTime: timestamp(state.now()),
  };
  status.conditions = [...others, condition];
}
