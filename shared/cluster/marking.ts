/**
 * Marking a VMI, and taking the mark back: by impersonating KubeVirt's own account, or by letting KubeVirt do it.
 * Owns: both ways, and believing a mark only when it is seen. Does not own: whether to mark (shared/policy).
 *
 * KubeVirt silently puts the status of a VMI back for any account but its own. Where an administrator does not grant
 * impersonation, KubeVirt's eviction webhook sets the mark: Lifeboat asks for an eviction that can never succeed.
 */
import * as z from "zod/mini";
import type { Action } from "../policy/action.ts";
import type { NamespacedName, VmiFacts } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import type { Settings } from "../policy/settings.ts";
import type { ActResult } from "./act.ts";
import { ClusterError } from "./failure.ts";
import * as patches from "./patches.ts";
import { collection, object } from "./paths.ts";
import { parseAnswer } from "./read.ts";
import { Page, Pod, Vmi } from "./schemas.ts";
import type { ApiAnswer, Send } from "./transport.ts";

export interface MarkingContext {
  readonly send: Send;
  readonly kubevirtNamespace: string;
  readonly marking: Settings["marking"];
}

const RESOURCE = "virtualmachineinstances";
/** 404 the object is gone, 409 stale, 422 a test failed. */
const LOOK_AGAIN = [404, 409, 422];
const FORBIDDEN = 403;
/** No pod has this UID: an eviction on this condition is reviewed, and then fails. */
export const IMPOSSIBLE_UID = "00000000-0000-0000-0000-000000000000";

/** The account whose changes of a VMI's status KubeVirt keeps. */
export function kubevirtAccount(namespace: string): string {
  return `system:serviceaccount:${namespace}:kubevirt-apiserver`;
}

/** `Done`: the mark has been seen. Where KubeVirt is to set it, that is for the next look to find. */
export async function mark(action: Extract<Action, { verb: "Mark" }>, context: MarkingContext): Promise<ActResult> {
  const { vmi, urgency } = action;
  if (context.marking === "Evict") return await askForEviction(vmi, context);
  const answer = await patchVmi(vmi, patches.markPatch(vmi, urgency), context);
  if (answer.code === FORBIDDEN) return await askForEviction(vmi, context);
  if (answer.code >= 300) return "Conflict";
  const { status } = parseAnswer(Vmi, answer.body, "PATCH of a VMI");
  if (status.evacuationNodeName === vmi.nodeName) return "Done";
  throw new ClusterError({ reason: "MarkNotKept", vmi: `${vmi.namespace}/${vmi.name}` });
}

/** Clears label and mark. Where KubeVirt sets marks it also clears them, when the VMI has moved, and there is no label. */
export async function clear(vmi: VmiFacts, context: MarkingContext): Promise<ActResult> {
  if (context.marking === "Evict") return "Done";
  const { code } = await patchVmi(vmi, patches.clearPatch(vmi), context);
  if (code === 404 || code === FORBIDDEN) return "Done";
  return code >= 300 ? "Conflict" : "Done";
}

/** As KubeVirt's own account. A refusal to impersonate is an answer where there is another way. */
async function patchVmi(
  vmi: NamespacedName,
  operations: readonly patches.Operation[],
  { send, kubevirtNamespace, marking }: MarkingContext,
): Promise<ApiAnswer> {
  return await send({
    method: "PATCH",
    path: object(RESOURCE, vmi),
    contentType: "application/json-patch+json",
    body: operations,
    expect: marking === "Auto" ? [...LOOK_AGAIN, FORBIDDEN] : LOOK_AGAIN,
    as: kubevirtAccount(kubevirtNamespace),
  });
}

/** Of the launcher pod on the VMI's node, on a condition that no pod meets: reviewed by KubeVirt, then refused. */
async function askForEviction({ namespace, uid, nodeName }: VmiFacts, { send }: MarkingContext): Promise<ActResult> {
  const path = collection("pods", namespace);
  const { body } = await send({ method: "GET", path, query: { labelSelector: `${names.CREATED_BY_LABEL}=${uid}` } });
  const pods = z.array(Pod).safeParse(parseAnswer(Page, body, `GET ${path}`).items);
  const launcher = pods.data?.find((pod) => pod.spec.nodeName === nodeName);
  if (launcher === undefined) return "Conflict";
  const { name } = launcher.metadata;
  await send({
    method: "POST",
    path: `${object("pods", { namespace, name })}/eviction`,
    body: {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { namespace, name },
      deleteOptions: { preconditions: { uid: IMPOSSIBLE_UID } },
    },
    expect: [404, 409, 429, 500],
  });
  return "Conflict";
}
