/** Performs actions in order: sends requests to the API server, and interprets the answers. */
import * as z from "zod/mini";
import { type Action, type ActionOf, isOptional } from "../kube/action.ts";
import { type Client, meaningOf, named, type Observed, type Said } from "../kube/client.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { ClusterError, isLasting } from "../kube/failures.ts";
import { CONFIGURATION } from "../kube/names.ts";
import { createEvacuation } from "./create.ts";
import { mark, unmark } from "./ask-kubevirt.ts";
import type { Resource } from "../kube/resources.ts";
import { actOnNode, isOnNode } from "./nodes.ts";
import * as manifests from "./manifests.ts";
import { requesterPatch } from "../evacuation/requesters.ts";

/**
 * `Done`: the action was performed, perhaps by another process. `Conflict`: the objects have changed, so reconcile
 * again. `Refused`: a webhook refuses the request, and would refuse it again. Other errors are thrown.
 */
export type ActResult = "Done" | "Conflict" | "Refused";

export interface Performing {
  readonly cluster: Client;
  readonly now: () => Date;
  /** Called for every error, including errors after which Lifeboat performs the next actions. */
  readonly onFailure?: ((doing: string, failure: ClusterError) => void) | undefined;
  /** Returns a client with a shorter time limit, for optional actions. The default is `cluster`. */
  readonly besides?: () => Client;
}

export interface Performed {
  /**
   * `Refused`: the error is permanent, for example a quota, a policy or a missing permission. `Failed`: the error is
   * temporary.
   */
  readonly outcome: ActResult | "Failed";
  readonly failure?: ClusterError | undefined;
  readonly created?: EvacuationFacts;
  readonly done: readonly Action["verb"][];
}

/**
 * Performs actions in order. Stops at the first error of an action that is not optional. Creates the Evacuation and the
 * PodDisruptionBudgets before it sets the evacuationNodeName. Otherwise, another reconcile could see the
 * evacuationNodeName first, and create an Evacuation without the request's cause and deadline.
 */
export async function perform(actions: readonly Action[], deps: Performing): Promise<Performed> {
  const done: Action["verb"][] = [];
  const creation = actions.find((action) => action.verb === "CreateEvacuation");
  if (creation === undefined) return { ...(await performInOrder(actions, deps, done)), done };
  const budgets = actions.filter(isOnBudget);
  const [created, budgeted] = await Promise.all([
    performOne(creation, deps, done),
    performInOrder(budgets, deps, done),
  ]);
  const isCreated = created.outcome === "Done";
  if (budgeted.outcome !== "Done") return { ...created, ...budgeted, done };
  if (!isCreated && !isOptional(creation)) return { ...created, done };
  const others = actions.filter((action) => action !== creation && !isOnBudget(action));
  // Without an Evacuation, nothing would later remove Lifeboat's label from the VMI. Therefore, Lifeboat performs only
  // the actions on the evacuationNodeName.
  const possible = isCreated ? others : others.filter(({ verb }) => verb === "Unmark" || verb === "Mark");
  const rest = await performInOrder(possible, deps, done);
  const isLeft = rest.outcome !== "Done" || created.outcome === "Refused";
  return { ...created, ...(isLeft && rest), done };
}

/** `words` contains the API server's reason for the refusal of a migration. */
type Ended = Omit<Performed, "done"> & { readonly words?: string };

async function performInOrder(actions: readonly Action[], deps: Performing, done: Action["verb"][]): Promise<Ended> {
  let failure: ClusterError | undefined;
  for (const action of actions) {
    const ended = await performOne(action, deps, done);
    const isRefusedBudget = isOnBudget(action) && ended.outcome === "Refused";
    if (ended.outcome !== "Done" && !isOptional(action) && !isRefusedBudget) return ended;
    if (isRefusedBudget) failure = ended.failure;
  }
  return { outcome: "Done", failure };
}

async function performOne(action: Action, deps: Performing, done: Action["verb"][]): Promise<Ended> {
  const ended = await attempt(action, deps);
  if (ended.outcome === "Done") done.push(action.verb);
  const isAnswered = action.verb === "CreateMigration" || action.verb === "StartVm";
  if (ended.outcome !== "Refused" || !isAnswered || action.ifRefused === undefined) return ended;
  const refused = await perform(action.ifRefused.map(saying(ended.words)), deps);
  done.push(...refused.done);
  if (refused.outcome === "Failed") return refused;
  // The `ifRefused` actions have written the refusal to the status. `Conflict` starts a reconcile, which reads the new
  // status.
  return ended.failure === undefined && action.verb === "CreateMigration" ? { outcome: "Conflict" } : ended;
}

async function attempt(action: Action, deps: Performing): Promise<Ended> {
  try {
    return await send(action, { ...deps, cluster: (isOptional(action) && deps.besides?.()) || deps.cluster });
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    deps.onFailure?.(`performing ${action.verb}`, error);
    return { outcome: isLasting(error.failure) ? "Refused" : "Failed", failure: error };
  }
}

async function send(action: Action, deps: Pick<Performing, "cluster" | "now">): Promise<Ended> {
  if (action.verb === "CreateMigration") return await createMigration(action, deps.cluster);
  if (action.verb !== "CreateEvacuation") return { outcome: await act(action, deps) };
  const created = await createEvacuation(action.evacuation, deps.cluster);
  return created === "Conflict" ? { outcome: created } : { outcome: "Done", created };
}

function isOnBudget({ verb }: Action): boolean {
  return verb === "CreateBudget" || verb === "RepairBudget";
}

const VMIS = "virtualmachineinstances";
const MIGRATIONS = "virtualmachineinstancemigrations";
const BUDGETS = "poddisruptionbudgets";

/** 404: the object was deleted. 409: the object has changed. 422: a `test` operation of the patch failed. */
const CHANGED: Readonly<Record<number, ActResult>> = { 404: "Conflict", 409: "Conflict", 422: "Conflict" };
/** 409: the object exists. Its name is deterministic, so an earlier attempt or another process has created it. */
const CREATED = { 404: "Conflict", 409: "Done" } as const;
const REMOVED = { 404: "Done", 409: "Conflict" } as const;

async function resultOf(answer: Promise<Said>, meanings = CHANGED): Promise<ActResult> {
  return meaningOf(await answer, meanings);
}

export async function act(action: Action, { cluster, now }: Pick<Performing, "cluster" | "now">): Promise<ActResult> {
  if (isOnNode(action)) return await actOnNode(action, cluster);
  const patched = (resource: Resource, of: Parameters<Client["patch"]>[1], patch: object, subresource?: "status") =>
    resultOf(cluster.patch(resource, of, patch, subresource && { subresource }));
  const removed = (
    resource: Resource,
    { namespace, name, uid }: Observed,
    condition?: Pick<Observed, "resourceVersion" | "gracePeriodSeconds">,
  ) => resultOf(cluster.delete(resource, { namespace, name, uid, ...condition }), REMOVED);
  switch (action.verb) {
    case "Mark":
      return await mark(action, cluster);
    case "Unmark":
      return await unmark(action, cluster);
    case "Label":
      return await patched(VMIS, action.vmi, manifests.label(action));
    case "Shield":
      return await patched(VMIS, action.vmi, manifests.shield(action));
    case "CreateEvacuation":
      return (await createEvacuation(action.evacuation, cluster)) === "Conflict" ? "Conflict" : "Done";
    case "WriteStatus":
      return await patched("evacuations", action.evacuation, manifests.status(action), "status");
    case "AddRequester":
      return await patched("evacuations", action.evacuation, requesterPatch(action), "status");
    case "DeleteEvacuation":
      return await removed("evacuations", action.evacuation);
    case "CreateMigration":
      return (await createMigration(action, cluster)).outcome;
    case "SkipBackoff":
    case "AnnotateMigration":
      return await patched(MIGRATIONS, action.migration, manifests.annotateMigration(action));
    case "DeleteMigration":
      // Deletes a waiting migration only if the migration has not changed since Lifeboat read it.
      return await removed(MIGRATIONS, action.migration, action.migration.phase === "Running" ? {} : action.migration);
    case "CreateBudget":
      return await createBudget(action, cluster);
    case "RepairBudget":
      return await patched(BUDGETS, action.budget, manifests.repair(action));
    case "DeleteBudget":
      return await removed(BUDGETS, action.budget);
    case "DeletePod":
      return await removed("pods", action.pod, { gracePeriodSeconds: action.graceSeconds });
    case "AnnotatePod":
      return await patched("pods", action.pod, manifests.annotate(action));
    case "WriteConditions":
      return await patched("lifeboatconfigurations", named(CONFIGURATION), manifests.conditions(action), "status");
    case "Event":
      // If the Event exists, an earlier attempt has created it.
      return await resultOf(cluster.create("events", manifests.event(action, now())), CREATED);
  }
}

async function createBudget({ vmi, missing }: ActionOf<"CreateBudget">, cluster: Client): Promise<ActResult> {
  const budget = manifests.budget(vmi);
  const found = missing === true ? undefined : await cluster.get(BUDGETS, budget.metadata, { as: z.unknown() });
  if (found !== undefined) return "Done";
  return await resultOf(cluster.create(BUDGETS, budget), CREATED);
}

/**
 * The message of KubeVirt's webhook if the VMI already has a migration. Lifeboat does not treat this message as a
 * refusal.
 */
const IN_FLIGHT = "in-flight migration detected";

/** The API server's message for a missing permission. The 403 of a policy or a webhook has another message. */
const UNAUTHORIZED = "cannot create resource";

async function createMigration(
  action: ActionOf<"CreateMigration">,
  cluster: Client,
): Promise<{ readonly outcome: ActResult; readonly words?: string }> {
  const answer = await cluster.create(MIGRATIONS, manifests.migration(action), { expect: [400, 403] });
  const { code, request, message } = answer;
  if (message.includes(IN_FLIGHT)) return { outcome: "Conflict" };
  if (code === 403 && message.includes(UNAUTHORIZED)) throw new ClusterError({ reason: "Refused", code, request });
  const outcome = meaningOf<ActResult>(answer, { 400: "Refused", 403: "Refused", 409: "Done", 422: "Refused" });
  return message === "" ? { outcome } : { outcome, words: message };
}

const MOST_WORDS = 400;

function saying(words: string | undefined) {
  const added = words === undefined ? "" : `: ${words.slice(0, MOST_WORDS)}`;
  return (action: Action): Action => {
    if (action.verb === "Event") return { ...action, message: `${action.message}${added}` };
    if (action.verb !== "WriteStatus") return action;
    const { message = "" } = action.status;
    return { ...action, status: { ...action.status, message: `${message}${added}`.toWellFormed() } };
  };
}
