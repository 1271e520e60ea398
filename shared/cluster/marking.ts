/**
 * Marking a VMI, and taking the mark back: by impersonating KubeVirt's own account, or by letting KubeVirt do it.
 *
 * KubeVirt silently puts the status of a VMI back for any account but its own. Where an administrator does not grant impersonation,
 * KubeVirt's eviction webhook sets the mark: Lifeboat asks for an eviction that can never succeed.
 */
import type { VmiFacts } from "../policy/facts.ts";
import { CREATED_BY_LABEL } from "../policy/names.ts";
import type { Settings } from "../policy/settings.ts";
import { ClusterError } from "./failure.ts";
import { Pod } from "./kinds/kubernetes.ts";
import { Vmi } from "./kinds/kubevirt.ts";
import * as patches from "./patches.ts";
import { object } from "./paths.ts";
import { parseAnswer, readSome } from "./read.ts";
import type { ApiRequest, Send } from "./transport.ts";
import { type ActionOf, type ActResult, CHANGED, write } from "./write.ts";

export interface MarkingContext extends Pick<Settings, "kubevirtNamespace" | "marking"> {
  readonly send: Send;
}

const FORBIDDEN = 403;
/** No pod has this UID: an eviction on this condition is reviewed, and then fails. */
export const IMPOSSIBLE_UID = "00000000-0000-0000-0000-000000000000";

/** As the account whose changes of a VMI's status KubeVirt keeps. */
function asKubeVirt(vmi: VmiFacts, body: readonly patches.Operation[], namespace: string): ApiRequest {
  const path = object("virtualmachineinstances", vmi);
  return { method: "PATCH", path, body, as: `system:serviceaccount:${namespace}:kubevirt-apiserver` };
}

/** `Done`: the mark has been seen. Where KubeVirt is to set it, the next look finds it. */
export async function mark(
  { vmi, urgency, forDescheduler }: Omit<ActionOf<"Mark">, "verb">,
  context: MarkingContext,
): Promise<ActResult> {
  const { send, marking, kubevirtNamespace } = context;
  if (marking === "Evict") return await askForEviction(vmi, send);
  const request = asKubeVirt(vmi, patches.mark(vmi, urgency, forDescheduler), kubevirtNamespace);
  const { code, body } = await send({
    ...request,
    expect: [404, 409, 422, ...(marking === "Auto" ? [FORBIDDEN] : [])],
  });
  if (code === FORBIDDEN) return await askForEviction(vmi, send, `PATCH ${request.path}`);
  if (code >= 300) return "Conflict";
  expectMark(vmi, body);
  return "Done";
}

/** Throws unless the answer to a mark has it. */
function expectMark({ namespace, name, nodeName }: VmiFacts, answer: unknown): void {
  const after = parseAnswer(Vmi, answer, "PATCH of a VMI");
  if (after.evacuationNodeName !== nodeName)
    throw new ClusterError({ reason: "MarkNotKept", vmi: `${namespace}/${name}` });
}

/** Clears label, annotation and mark. Where KubeVirt sets marks it also clears them, when the VMI has moved, and there is no label. */
export async function unmark(vmi: VmiFacts, { send, marking, kubevirtNamespace }: MarkingContext): Promise<ActResult> {
  if (marking === "Evict") return "Done";
  const request = asKubeVirt(vmi, patches.unmark(vmi), kubevirtNamespace);
  return await write(send, request, {
    ...CHANGED,
    404: "Done",
    ...(marking === "Auto" ? { [FORBIDDEN]: "Done" } : {}),
  });
}

/** As the marks are set, which needs no other permission. Where KubeVirt sets those there is no shield. */
export async function shield(
  action: ActionOf<"Shield">,
  { send, marking, kubevirtNamespace }: MarkingContext,
): Promise<ActResult> {
  if (marking === "Evict") return "Done";
  const request = asKubeVirt(action.vmi, patches.shield(action), kubevirtNamespace);
  return await write(send, request, { ...CHANGED, ...(marking === "Auto" ? { [FORBIDDEN]: "Done" } : {}) });
}

/**
 * Of the launcher pod on the VMI's node, on a condition that no pod meets: reviewed by KubeVirt, then refused. If that is
 * forbidden as well, the request that was refused `before` is named: it is the one to permit.
 */
async function askForEviction({ namespace, uid, nodeName }: VmiFacts, send: Send, before?: string): Promise<ActResult> {
  const pods = await readSome(send, "pods", Pod, { namespace, labelSelector: `${CREATED_BY_LABEL}=${uid}` });
  const launcher = pods.find((pod) => pod.nodeName === nodeName);
  if (launcher === undefined) return "Conflict";
  const { name } = launcher;
  const path = `${object("pods", { namespace, name })}/eviction`;
  const { code } = await send({
    method: "POST",
    path,
    body: {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { namespace, name },
      deleteOptions: { preconditions: { uid: IMPOSSIBLE_UID } },
    },
    expect: [FORBIDDEN, 404, 409, 429, 500],
  });
  if (code === FORBIDDEN) throw new ClusterError({ reason: "Refused", code, request: before ?? `POST ${path}` });
  return "Conflict";
}
