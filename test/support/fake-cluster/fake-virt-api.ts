/** KubeVirt's virt-api over a fake cluster: it marks VMs, and takes marks back. */
import * as z from "zod/mini";
import type { ActResult } from "../../../shared/evacuation/act.ts";
import { causeOfEviction } from "../../../shared/kube/evacuation.ts";
import { isToMove } from "../../../shared/eviction/table.ts";
import { isFinal, type NamespacedName, type VmiFacts } from "../../../shared/kube/facts.ts";
import { vmiNameOf } from "../../../shared/kube/pod-kind.ts";
import type { FakeCluster } from "./fake-cluster.ts";

const Annotations = z._default(z.record(z.string(), z.string()), {});
const Review = z.object({
  request: z.object({
    namespace: z.string(),
    name: z.string(),
    dryRun: z._default(z.boolean(), false),
    object: z.object({
      deleteOptions: z._default(z.object({ dryRun: z._default(z.array(z.string()), []) }), { dryRun: [] }),
      metadata: z._default(z.object({ annotations: Annotations }), { annotations: {} }),
    }),
  }),
});

/** The same request as Lifeboat has reviewed. */
export function reviewBeside(fake: FakeCluster, review: unknown): void {
  const { data } = Review.safeParse(review);
  if (data === undefined || data.request.dryRun || data.request.object.deleteOptions.dryRun.length > 0) return;
  const { object, ...key } = data.request;
  const pod = fake.pods.get(key);
  const name = pod === undefined || isFinal(pod) ? undefined : vmiNameOf(pod);
  const vmi = { namespace: key.namespace, name: name ?? "" };
  if (fake.vmis.get(vmi)?.nodeName !== pod?.nodeName) return;
  reviewEviction(fake, vmi, causeOfEviction(object.metadata.annotations) === "Descheduler");
}

/** Of the pod that the guest runs in. */
export function reviewEviction(fake: FakeCluster, key: NamespacedName, forDescheduler = false): void {
  const vmi = fake.vmis.get(key);
  if (vmi?.nodeName === undefined || !isToBeMarked(fake, vmi)) return;
  const source = forDescheduler && vmi.hasAnnotations ? { evictionSource: "descheduler" } : {};
  fake.change(key, { evacuationNodeName: vmi.nodeName, ...source });
}

function isToBeMarked({ isReviewing, kubeVirt }: FakeCluster, vmi: VmiFacts): boolean {
  const cluster = kubeVirt?.evictionStrategy === undefined ? {} : { clusterStrategy: kubeVirt.evictionStrategy };
  return isReviewing && vmi.evacuationNodeName === undefined && isToMove(vmi, cluster);
}

const Cancelled = z.object({ evacuationNodeName: z.string() });

/** The mark that is named, of whatever VMI has the name. */
export function cancelEvacuation(fake: FakeCluster, vmi: NamespacedName, body: object): ActResult {
  const found = fake.vmis.get(vmi);
  if (found?.evacuationNodeName === undefined) return found === undefined ? "Conflict" : "Done";
  if (found.evacuationNodeName !== Cancelled.parse(body).evacuationNodeName) return "Conflict";
  fake.setMark(vmi, undefined);
  return "Done";
}
