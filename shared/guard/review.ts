/** Reads the facts about a deletion that might be a disruption, and decides on it. */
import { type Client, named } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import { allow, decideDeletion, type DeletionDecision, type DeletionFacts } from "./decide.ts";
import { mayBeRefused } from "../settings/guarded.ts";
import type { NodeFacts, PodFacts } from "../kube/facts.ts";
import { COMPONENT_LABEL, VIRT_HANDLER_COMPONENT } from "../kube/names.ts";
import type { Settings } from "../settings/settings.ts";
import type { DeletionTerms } from "./disruption-cause.ts";
import type { Performing } from "../act/perform.ts";
import { readEvacuationsOf, readKubeVirt, observeSubjectOf } from "../kube/requests.ts";

export interface DeletionRequest extends DeletionTerms {
  /** The pod from the API server's request. If the guard's settings do not list the requester, nothing else is read. */
  readonly pod: PodFacts;
}

export interface DeletionDeps extends Performing {
  readonly settings: Settings;
}

export interface DeletionReview {
  readonly facts: DeletionFacts;
  readonly decision: DeletionDecision;
  /**
   * The error if the VMI's Evacuations could not be listed. The review continues without Evacuations, because the
   * evacuationNodeName can be set without them.
   */
  readonly failedRead?: ClusterError | undefined;
}

/**
 * Reviews a deletion. If Lifeboat deletes the pod itself, it first reads the pod and decides again, because anybody
 * with the webhook token could send an invented pod.
 */
export async function reviewDeletion(r: DeletionRequest, deps: DeletionDeps): Promise<DeletionReview> {
  const { settings, now, cluster } = deps;
  const plain: DeletionFacts = { ...r, settings, now: now(), evacuations: [] };
  const isReadAtOnce = mayBeRefused(r.requester, settings);
  const claimed = isReadAtOnce ? await reviewAs(plain, deps) : { facts: plain, decision: decideDeletion(plain) };
  if (claimed.decision.verdict === "Refuse" || claimed.decision.isByLifeboat !== true) return claimed;
  const pod = await cluster.get("pods", r.pod);
  if (pod?.uid !== r.pod.uid) return { facts: plain, decision: allow("PodCompleted") };
  return await reviewAs({ ...plain, pod }, deps);
}

async function reviewAs(r: DeletionFacts, deps: DeletionDeps): Promise<DeletionReview> {
  const { cluster, besides, onFailure } = deps;
  const { nodeName } = r.pod;
  let failedRead: ClusterError | undefined;
  const listing: typeof readEvacuationsOf = async (key) => {
    try {
      return await readEvacuationsOf(key, besides?.() ?? cluster);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      failedRead = error;
      onFailure?.("listing the Evacuations of a VMI", error);
      return [];
    }
  };
  const [subject, node] = await Promise.all([
    observeSubjectOf(r.pod, cluster, listing),
    nodeName === undefined ? undefined : cluster.get("nodes", named(nodeName)),
  ]);
  const makesRoomForHandler = node !== undefined && (await isRoomForHandler(node, cluster));
  const facts: DeletionFacts = { ...r, ...subject, makesRoomForHandler, ...(node && { node }) };
  return { facts, decision: decideDeletion(facts), failedRead };
}

const VIRT_HANDLER = { [COMPONENT_LABEL]: VIRT_HANDLER_COMPONENT };

/**
 * Returns whether a virt-handler pod is nominated for the node. Lifeboat then assumes that a preemption on the node
 * makes room for virt-handler. Reads pods only if the node has virt-handler's heartbeat, but not the label
 * `kubevirt.io/schedulable=true`, because a terminating virt-handler sets this label to false. Ignores pods outside
 * KubeVirt's namespace, because a tenant can copy virt-handler's label.
 */
async function isRoomForHandler({ name, virtHandler }: NodeFacts, cluster: Client): Promise<boolean> {
  if (virtHandler?.isSchedulable !== false) return false;
  const fields = { "status.nominatedNodeName": name };
  const [kubevirt, handlers] = await Promise.all([
    readKubeVirt(cluster),
    cluster.list("pods", { labels: VIRT_HANDLER, fields }),
  ]);
  return handlers.some(({ namespace }) => namespace === kubevirt?.namespace);
}
