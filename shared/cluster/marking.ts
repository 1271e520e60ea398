/**
 * Marking a VMI, and taking the mark back: by impersonating KubeVirt's own account, or by letting KubeVirt do it.
 * Owns: both ways, and believing a mark only when it is seen. Does not own: whether to mark (shared/policy).
 *
 * KubeVirt silently puts the status of a VMI back for any account but its own. Where an administrator does not grant
 * impersonation, KubeVirt's eviction webhook sets the mark: it reviews the same eviction that we do, and for every other
 * cause we ask for one that can never succeed.
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
import { recordText } from "./record-schema.ts";
import { Page, Pod, Vmi } from "./schemas.ts";
import type { ApiAnswer, Send } from "./transport.ts";

export interface MarkingContext {
  readonly send: Send;
  readonly sleep: (ms: number) => Promise<void>;
  readonly kubevirtNamespace: string;
  readonly marking: Settings["marking"];
}

const RESOURCE = "virtualmachineinstances";
/** 404 the object is gone, 409 stale, 422 a test failed. */
const LOOK_AGAIN = [404, 409, 422];
const FORBIDDEN = 403;
/** KubeVirt's webhook answers an eviction in some ten milliseconds. */
const LOOK_EVERY_MS = 100;
const LOOKS = 20;
/** No pod has this UID: an eviction on this condition is reviewed, and then fails. */
const IMPOSSIBLE_UID = "00000000-0000-0000-0000-000000000000";

/** The account whose changes of a VMI's status KubeVirt keeps. */
export function kubevirtAccount(namespace: string): string {
  return `system:serviceaccount:${namespace}:kubevirt-apiserver`;
}

export async function mark(action: Extract<Action, { verb: "Mark" }>, context: MarkingContext): Promise<ActResult> {
  const { vmi, record, urgency } = action;
  if (context.marking === "Evict") return await markByEviction(action, context);
  const operations = patches.markPatch(vmi, recordText(record), urgency);
  const answer = await patchVmi(vmi, operations, context);
  if (answer.code === FORBIDDEN) return await markByEviction(action, context);
  if (answer.code >= 300) return "Conflict";
  if (isMarked(answer, vmi, "PATCH")) return "Done";
  await takeBack(action, context);
  throw notKept(vmi);
}

/** Clears the mark if it is ours to clear. Where KubeVirt sets marks it also clears them, when the VMI has moved. */
export async function clear(
  vmi: VmiFacts,
  keep: { readonly record: string | undefined; readonly label: boolean },
  context: MarkingContext,
): Promise<ActResult> {
  const withMark = patches.clearPatch(vmi, { ...keep, mark: true });
  const first = context.marking === "Evict" ? undefined : await patchVmi(vmi, withMark, context);
  const without = first === undefined || first.code === FORBIDDEN;
  const answer = without ? await patchVmi(vmi, patches.clearPatch(vmi, { ...keep, mark: false }), context) : first;
  if (answer.code === 404) return "Done";
  if (answer.code >= 300) return "Conflict";
  const after = parseAnswer(Vmi, answer.body, "PATCH of a VMI");
  if (!without && after.status.evacuationNodeName !== undefined) throw notKept(vmi);
  return "Done";
}

/** As KubeVirt's own account where the status changes. A refusal to impersonate is an answer where there is another way. */
async function patchVmi(
  vmi: NamespacedName,
  operations: readonly patches.Operation[],
  { send, kubevirtNamespace, marking }: MarkingContext,
): Promise<ApiAnswer> {
  const changesStatus = operations.some((o) => o.op !== "test" && o.path.startsWith("/status/"));
  return await send({
    method: "PATCH",
    path: object(RESOURCE, vmi),
    contentType: "application/json-patch+json",
    body: operations,
    expect: changesStatus && marking === "Auto" ? [...LOOK_AGAIN, FORBIDDEN] : LOOK_AGAIN,
    ...(changesStatus ? { as: kubevirtAccount(kubevirtNamespace) } : {}),
  });
}

function isMarked({ body }: ApiAnswer, { nodeName }: VmiFacts, method: "GET" | "PATCH"): boolean {
  return parseAnswer(Vmi, body, `${method} of a VMI`).status.evacuationNodeName === nodeName;
}

/** Record and label first, so that the mark is known to be ours; then KubeVirt's webhook is given its eviction. */
async function markByEviction(action: Extract<Action, { verb: "Mark" }>, context: MarkingContext): Promise<ActResult> {
  const { vmi, record, urgency } = action;
  const written = await patchVmi(vmi, patches.recordPatch(vmi, recordText(record), urgency), context);
  if (written.code >= 300) return "Conflict";
  // An eviction that is under review here is under review there too.
  if (record.cause !== "ApiEviction" && record.cause !== "Descheduler") await askForEviction(vmi, context);
  for (let look = 0; look < LOOKS; look++) {
    const answer = await context.send({ method: "GET", path: object(RESOURCE, vmi), expect: [404] });
    if (answer.code === 404) return "Conflict";
    if (isMarked(answer, vmi, "GET")) return "Done";
    await context.sleep(LOOK_EVERY_MS);
  }
  await takeBack(action, context);
  throw notKept(vmi);
}

/** Of the launcher pod on the VMI's node, on a condition that no pod meets: reviewed by KubeVirt, then refused. */
async function askForEviction({ namespace, uid, nodeName }: VmiFacts, { send }: MarkingContext): Promise<void> {
  const path = collection("pods", namespace);
  const { body } = await send({ method: "GET", path, query: { labelSelector: `${names.CREATED_BY_LABEL}=${uid}` } });
  const pods = z.array(Pod).safeParse(parseAnswer(Page, body, `GET ${path}`).items);
  const launcher = pods.data?.find((pod) => pod.spec.nodeName === nodeName);
  if (launcher === undefined) return;
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
}

/** A mark that was not kept takes its record back: what was there before, be it still to be counted, is there again. */
async function takeBack({ vmi, record, urgency }: Extract<Action, { verb: "Mark" }>, context: MarkingContext) {
  const written = { ...vmi, recordText: recordText(record), evacuationLabel: urgency };
  const before = { record: vmi.recordText, label: vmi.evacuationLabel !== undefined };
  const operations = patches.clearPatch(written, { ...before, mark: false });
  await patchVmi(vmi, operations, context);
}

function notKept(vmi: VmiFacts): ClusterError {
  return new ClusterError({ reason: "MarkNotKept", vmi: `${vmi.namespace}/${vmi.name}` });
}
