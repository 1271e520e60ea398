/**
 * Marking a VMI, and taking the mark back: KubeVirt does both, and Lifeboat asks it to.
 *
 * KubeVirt silently puts the status of a VMI back for any account but its own.
 */
import type { VmiFacts } from "../policy/facts.ts";
import { CREATED_BY_LABEL, DESCHEDULER, REQUESTED_BY_ANNOTATION } from "../policy/names.ts";
import { ClusterError } from "./failure.ts";
import { Node, Pod } from "./kinds/kubernetes.ts";
import { Vmi } from "./kinds/kubevirt.ts";
import * as patches from "./patches.ts";
import { object, vmiSubresource } from "./paths.ts";
import { readOne, readSome } from "./read.ts";
import type { Send } from "./transport.ts";
import { type ActionOf, type ActResult, CHANGED, patch } from "./write.ts";

/** No pod has this UID: an eviction on this condition is reviewed, and then fails. */
const IMPOSSIBLE_UID = "00000000-0000-0000-0000-000000000000";

/**
 * Asks for an eviction that cannot happen, of the launcher pod on the VMI's node: KubeVirt's eviction webhook reviews it, and marks the VMI
 * unless it is marked already. `Done`: it was asked for. The next look at the VMI shows whether the webhook has marked it.
 */
export async function mark({ vmi, forDescheduler }: ActionOf<"Mark">, send: Send): Promise<ActResult> {
  const { namespace, uid, nodeName, hasAnnotations } = vmi;
  const pods = await readSome(send, "pods", Pod, { namespace, labelSelector: `${CREATED_BY_LABEL}=${uid}` });
  const launcher = pods.find((pod) => pod.nodeName === nodeName && !isCompleted(pod.phase));
  if (launcher === undefined) return "Conflict";
  const { name } = launcher;
  // KubeVirt's webhook fails to add the first annotation of a VMI.
  const annotations = forDescheduler && hasAnnotations ? { [REQUESTED_BY_ANNOTATION]: DESCHEDULER } : {};
  const path = `${object("pods", { namespace, name })}/eviction`;
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace, name, annotations },
    deleteOptions: { preconditions: { uid: IMPOSSIBLE_UID } },
  };
  // 429: the webhook's words. 409: it does not refuse. 500: it cannot be asked, or two budgets select the pod.
  const { code } = await send({ method: "POST", path, body, expect: [404, 409, 429, 500] });
  return code === 404 ? "Conflict" : "Done";
}

function isCompleted(phase: string): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** Takes label and annotation off, and has KubeVirt take the mark back, unless another mark has replaced it. */
export async function unmark({ vmi }: ActionOf<"Unmark">, send: Send): Promise<ActResult> {
  const body = patches.unlabel(vmi);
  if (body.length > 0) {
    const result = await patch(send, object("virtualmachineinstances", vmi), body, { ...CHANGED, 404: "Done" });
    if (result !== "Done") return result;
  }
  const { evacuationNodeName } = vmi;
  return evacuationNodeName === undefined ? "Done" : await cancel(vmi, evacuationNodeName, send);
}

async function cancel(vmi: VmiFacts, evacuationNodeName: string, send: Send): Promise<ActResult> {
  const path = vmiSubresource(vmi, "evacuate/cancel");
  const body = { evacuationNodeName };
  const { code } = await send({ method: "PUT", path, body, codeOnly: true, expect: [400, 401, 404, 409, 500] });
  // 400: its node carries the drain taint, for which KubeVirt moves it without a mark.
  if (code < 300 || code === 400) return "Done";
  const now = await readOne(send, "virtualmachineinstances", vmi, Vmi);
  if (now === undefined) return "Done";
  if (now.uid !== vmi.uid || now.evacuationNodeName !== evacuationNodeName) return "Conflict";
  // Of a node that is gone KubeVirt takes no mark back.
  if ((await readOne(send, "nodes", { namespace: "", name: evacuationNodeName }, Node)) === undefined) return "Done";
  // To virt-api the token is valid: the API server has accepted it.
  throw new ClusterError({ reason: "Refused", code: code === 401 ? 403 : code, request: `PUT ${path}` });
}
