/** Performs one action: the requests that it takes, and what each answer means. */
import * as z from "zod/mini";
import type { Action, ActionOf, NewEvacuation } from "../kube/action.ts";
import { hasNoRequester } from "./identity.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { MigrationFacts, VmiFacts } from "../kube/facts.ts";
import * as names from "../kube/names.ts";
import { type Client, meaningOf, named, type Said } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import type { Resource } from "../kube/resources.ts";
import * as manifests from "./manifests.ts";
import { isFinal } from "../kube/objects.ts";
import { requestEviction } from "../kube/requests.ts";

/**
 * `Done`, also when another function has done the same before; `Conflict`: the world is not what was observed, reconcile again;
 * `Refused`: an admission webhook says no, and will say so again. Anything else throws a ClusterError.
 */
export type ActResult = "Done" | "Conflict" | "Refused";

export interface Acting {
  readonly cluster: Client;
  readonly now: () => Date;
  /** Called with each failure, also of one that does not keep the rest from being done. */
  readonly onFailure?: ((doing: string, failure: ClusterError) => void) | undefined;
}

const VMIS = "virtualmachineinstances";
const MIGRATIONS = "virtualmachineinstancemigrations";
const BUDGETS = "poddisruptionbudgets";

type Meanings = Readonly<Record<number, ActResult>>;

/** 404: the object is gone; 409: stale; 422: a test in the patch failed. */
const CHANGED: Meanings = { 404: "Conflict", 409: "Conflict", 422: "Conflict" };
/** A deterministic name that is taken was taken by the same action. */
const CREATED: Meanings = { 404: "Conflict", 409: "Done" };
const REMOVED: Meanings = { 404: "Done", 409: "Conflict" };

async function resultOf(answer: Promise<Said>, meanings = CHANGED): Promise<ActResult> {
  return meaningOf(await answer, meanings);
}

export async function act(action: Action, acting: Acting): Promise<ActResult> {
  const { cluster, now } = acting;
  const patched = (resource: Resource, of: Parameters<Client["patch"]>[1], patch: object, subresource?: "status") =>
    resultOf(cluster.patch(resource, of, patch, subresource && { subresource }));
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
    case "DeleteEvacuation":
      return await remove("evacuations", action.evacuation, cluster);
    case "CreateMigration":
      return await createMigration(action, cluster);
    case "AdoptMigration":
      return await annotateMigration(action.migration, manifests.migrationAnnotations(action.evacuation), cluster);
    case "SkipBackoff":
      return await annotateMigration(action.migration, { [names.SKIP_BACKOFF_ANNOTATION]: "" }, cluster);
    case "DeleteMigration":
      // One that has begun since it was seen waiting is not to be aborted.
      return await remove(MIGRATIONS, action.migration, cluster, action.migration.phase !== "Running");
    case "CreateBudget":
      return await createBudget(action, cluster);
    case "RepairBudget":
      return await patched(BUDGETS, action.budget, manifests.repair(action));
    case "DeleteBudget":
      return await remove(BUDGETS, action.budget, cluster);
    case "DeletePod":
      return await remove("pods", action.pod, cluster);
    case "AnnotatePod":
      return await patched("pods", action.pod, manifests.annotate(action));
    case "WriteConditions": {
      const { resourceVersion, generation: observedGeneration, conditions } = action;
      const written = { metadata: { resourceVersion }, status: { observedGeneration, conditions } };
      return await patched("lifeboatconfigurations", named(names.CONFIGURATION), written, "status");
    }
    case "Event":
      // One that exists has been sent before.
      return await resultOf(cluster.create("events", manifests.event(action, now())), CREATED);
  }
}

/** `asSeen`: only if nothing of it has changed. */
async function remove(
  resource: Resource,
  { resourceVersion, ...seen }: Parameters<Client["delete"]>[1],
  cluster: Client,
  asSeen = false,
): Promise<ActResult> {
  const condition = asSeen && resourceVersion !== undefined ? { resourceVersion } : {};
  return await resultOf(cluster.delete(resource, { ...seen, ...condition }), REMOVED);
}

/** No pod has this UID: an eviction on this condition is reviewed, and then fails. */
const IMPOSSIBLE_UID = "00000000-0000-0000-0000-000000000000";

/**
 * Asks for an eviction that cannot happen, of the launcher pod on the VMI's node: KubeVirt's eviction webhook reviews it, and marks the VMI
 * unless it is marked already. KubeVirt puts the status of a VMI back for any account but its own. `Done`: it was asked for. The next look
 * at the VMI shows whether the webhook has marked it.
 */
async function mark({ vmi, forDescheduler }: ActionOf<"Mark">, cluster: Client): Promise<ActResult> {
  const { namespace, uid, nodeName, hasAnnotations } = vmi;
  const pods = await cluster.list("pods", { namespace, labels: { [names.CREATED_BY_LABEL]: uid } });
  const launcher = pods.find((pod) => pod.nodeName === nodeName && !isFinal(pod));
  if (launcher === undefined) return "Conflict";
  // KubeVirt's webhook fails to add the first annotation of a VMI.
  const annotations = forDescheduler && hasAnnotations ? { [names.REQUESTED_BY_ANNOTATION]: names.DESCHEDULER } : {};
  const asked = requestEviction({ ...launcher, uid: IMPOSSIBLE_UID }, { annotations }, cluster);
  // 429: the webhook's words. 409: it does not refuse. 500: it cannot be asked, or two budgets select the pod.
  return await resultOf(asked, { 404: "Conflict", 409: "Done", 429: "Done", 500: "Done" });
}

/** Takes label and annotation off, and has KubeVirt take the mark back, unless another mark has replaced it. */
async function unmark({ vmi }: ActionOf<"Unmark">, cluster: Client): Promise<ActResult> {
  const body = manifests.unlabel(vmi);
  if (body.length > 0) {
    const result = await resultOf(cluster.patch(VMIS, vmi, body), { ...CHANGED, 404: "Done" });
    if (result !== "Done") return result;
  }
  const { evacuationNodeName } = vmi;
  return evacuationNodeName === undefined ? "Done" : await cancel(vmi, evacuationNodeName, cluster);
}

async function cancel(vmi: VmiFacts, evacuationNodeName: string, cluster: Client): Promise<ActResult> {
  const answer = await cluster.update(vmi, "evacuate/cancel", { evacuationNodeName }, { expect: [400, 401, 500] });
  const { code, request } = answer;
  // 400: its node carries the drain taint, for which KubeVirt moves it without a mark.
  if (code < 300 || code === 400) return "Done";
  const now = await cluster.get(VMIS, vmi);
  if (now === undefined) return "Done";
  if (now.uid !== vmi.uid || now.evacuationNodeName !== evacuationNodeName) return "Conflict";
  // Of a node that is gone KubeVirt takes no mark back.
  if ((await cluster.get("nodes", named(evacuationNodeName))) === undefined) return "Done";
  // To virt-api the token is valid: the API server has accepted it.
  throw new ClusterError({ reason: "Refused", code: code === 401 ? 403 : code, request });
}

async function createBudget({ vmi, missing }: ActionOf<"CreateBudget">, cluster: Client): Promise<ActResult> {
  const budget = manifests.budget(vmi);
  const found = missing === true ? undefined : await cluster.get(BUDGETS, budget.metadata, { as: z.unknown() });
  if (found !== undefined) return "Done";
  return await resultOf(cluster.create(BUDGETS, budget), CREATED);
}

/** KubeVirt writes migrations all the time: only the UID has to be as observed. */
function annotateMigration(migration: MigrationFacts, annotations: Readonly<Record<string, string>>, cluster: Client) {
  const { uid } = migration;
  return resultOf(cluster.patch(MIGRATIONS, migration, { metadata: { uid, annotations } }));
}

/** KubeVirt's create admitter on a VMI that already migrates: another migration was first, which is no refusal. */
const IN_FLIGHT = "in-flight migration detected";

async function createMigration(action: ActionOf<"CreateMigration">, cluster: Client): Promise<ActResult> {
  const answer = await cluster.create(MIGRATIONS, manifests.migration(action), { expect: [400] });
  if (answer.message.includes(IN_FLIGHT)) return "Conflict";
  return meaningOf<ActResult>(answer, { 400: "Refused", 409: "Done", 422: "Refused" });
}

/**
 * What was created, or what another function created under the same name, unless that has ended; where that only knew of a mark, with
 * who asked. Conflict: reconcile again, for the next name.
 */
export async function createEvacuation(
  evacuation: NewEvacuation,
  cluster: Client,
): Promise<EvacuationFacts | "Conflict"> {
  const answer = await cluster.create("evacuations", manifests.evacuation(evacuation));
  if (meaningOf(answer, { 409: "Conflict" }) === "Done") return answer.facts();
  const found = await cluster.get("evacuations", evacuation);
  const isJoined = found !== undefined && isActive(found) && found.spec.pod?.uid === evacuation.spec.pod?.uid;
  if (!isJoined) return "Conflict";
  if (!hasNoRequester(found) || hasNoRequester(evacuation)) return found;
  const spec = { requestedBy: manifests.userOf(evacuation.spec) };
  const renamed = await cluster.patch("evacuations", found, { metadata: { uid: found.uid }, spec });
  // 409, 404: it has gone meanwhile. 422: another request was faster, or the definition is that of an older version.
  return renamed.code < 300 ? renamed.facts() : found;
}

/** Asks for an `Evacuation` to be cancelled. Conflict: it is gone. */
export async function withdraw(evacuation: EvacuationFacts, cluster: Client): Promise<ActResult> {
  return await resultOf(cluster.patch("evacuations", evacuation, { spec: { intent: "Withdrawn" } }), {
    404: "Conflict",
  });
}

/** Ends its back-off. Conflict: it is gone, or does not back off any more (422, by the definition). */
export async function retry(evacuation: EvacuationFacts, now: Date, cluster: Client): Promise<ActResult> {
  const spec = { retryAt: now.toISOString() };
  return await resultOf(cluster.patch("evacuations", evacuation, { spec }), { 404: "Conflict", 422: "Conflict" });
}
