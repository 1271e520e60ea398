/**
 * Sets and removes a VMI's `status.evacuationNodeName` (the mark). Only KubeVirt may change a VMI's status, so Lifeboat
 * sends requests that make KubeVirt change it.
 */
import type { ActionOf } from "../kube/action.ts";
import { type Client, meaningOf, named } from "../kube/client.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { ClusterError } from "../kube/failures.ts";
import { CREATED_BY_LABEL, DESCHEDULER, REQUESTED_BY_ANNOTATION } from "../kube/names.ts";
import { isFinal } from "../kube/objects.ts";
import { requestEviction } from "../kube/requests.ts";
import * as manifests from "./manifests.ts";
import type { ActResult } from "./perform.ts";

const VMIS = "virtualmachineinstances";

/** A UID that no pod has. Webhooks review an eviction with this precondition, and then the eviction fails. */
const IMPOSSIBLE_UID = "00000000-0000-0000-0000-000000000000";

/**
 * Requests an eviction that cannot succeed. KubeVirt's webhook reviews this request and sets the VMI's
 * evacuationNodeName.
 */
export async function mark({ vmi, launcher, forDescheduler }: ActionOf<"Mark">, cluster: Client): Promise<ActResult> {
  const { namespace, hasAnnotations } = vmi;
  const name = launcher ?? (await findLauncher(vmi, cluster));
  if (name === undefined) return "Conflict";
  // If the descheduler is the requester, KubeVirt's webhook adds an annotation to the VMI. The webhook's patch fails if
  // the VMI has no annotations.
  const annotations = forDescheduler && hasAnnotations ? { [REQUESTED_BY_ANNOTATION]: DESCHEDULER } : {};
  const asked = requestEviction({ namespace, name, uid: IMPOSSIBLE_UID }, { annotations }, cluster);
  // 429: KubeVirt's webhook refused the eviction. 409: no webhook refused the eviction, but no pod has the UID.
  // 500: the webhook did not answer, or two PodDisruptionBudgets select the pod.
  return meaningOf<ActResult>(await asked, { 404: "Conflict", 409: "Done", 429: "Done", 500: "Done" });
}

async function findLauncher({ namespace, uid, nodeName }: VmiFacts, cluster: Client): Promise<string | undefined> {
  const pods = await cluster.list("pods", { namespace, labels: { [CREATED_BY_LABEL]: uid } });
  return pods.find((pod) => pod.nodeName === nodeName && !isFinal(pod))?.name;
}

/**
 * Removes Lifeboat's label and KubeVirt's annotation, and then asks virt-api to remove the evacuationNodeName. Does not
 * remove an evacuationNodeName that has changed since the VMI was read.
 */
export async function unmark({ vmi }: ActionOf<"Unmark">, cluster: Client): Promise<ActResult> {
  const body = manifests.unlabel(vmi);
  if (body.length > 0) {
    const result = meaningOf<ActResult>(await cluster.patch(VMIS, vmi, body), {
      404: "Done",
      409: "Conflict",
      422: "Conflict",
    });
    if (result !== "Done") return result;
  }
  const { evacuationNodeName } = vmi;
  return evacuationNodeName === undefined ? "Done" : await cancel(vmi, evacuationNodeName, cluster);
}

/**
 * Calls virt-api without virtctl, because `virtctl evacuate-cancel` fails in some versions (VERSIONS.evacuateCancel).
 */
async function cancel(vmi: VmiFacts, evacuationNodeName: string, cluster: Client): Promise<ActResult> {
  const answer = await cluster.update(vmi, "evacuate/cancel", { evacuationNodeName }, { expect: [400, 401, 500] });
  const { code, request } = answer;
  // 400: the VMI's node has the drain taint. KubeVirt then moves the VM without an evacuationNodeName.
  if (code < 300 || code === 400) return "Done";
  const now = await cluster.get(VMIS, vmi);
  if (now === undefined) return "Done";
  if (now.uid !== vmi.uid || now.evacuationNodeName !== evacuationNodeName) return "Conflict";
  // KubeVirt does not remove the evacuationNodeName if the node with this name was deleted.
  if ((await cluster.get("nodes", named(evacuationNodeName))) === undefined) return "Done";
  // The API server has just accepted the token, so a 401 of virt-api means that a permission is missing.
  throw new ClusterError({ reason: "Refused", code: code === 401 ? 403 : code, request });
}
