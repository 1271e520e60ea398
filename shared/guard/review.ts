/** Reviewing a deletion that may be a disruption: observe and decide. */
import { type Client, named } from "../kube/client.ts";
import { ClusterError } from "../kube/failures.ts";
import { decideDeletion, type DeletionDecision, type DeletionFacts } from "./decide.ts";
import { mayBeRefused } from "../settings/guarded.ts";
import type { NodeFacts, PodFacts } from "../kube/facts.ts";
import { COMPONENT_LABEL, VIRT_HANDLER_COMPONENT } from "../kube/names.ts";
import type { Settings } from "../settings/settings.ts";
import type { DeletionTerms } from "./disruption-cause.ts";
import type { Performing } from "../act/perform.ts";
import { readEvacuationsOf, observeSubjectOf } from "../kube/requests.ts";

export interface DeletionRequest extends DeletionTerms {
  /** As the API server sent it: of an ordinary deletion nothing needs to be read. */
  readonly pod: PodFacts;
}

export interface DeletionDeps extends Performing {
  readonly settings: Settings;
}

export interface DeletionReview {
  readonly facts: DeletionFacts;
  readonly decision: DeletionDecision;
  /** Why the VMI's Evacuations could not be listed: then they count as none, for the VM is marked without them, too. */
  readonly failedRead?: ClusterError | undefined;
}

export async function reviewDeletion(r: DeletionRequest, deps: DeletionDeps): Promise<DeletionReview> {
  const { settings, now, cluster, besides, onFailure } = deps;
  const plain: DeletionFacts = { ...r, settings, now: now(), evacuations: [] };
  if (!mayBeRefused(r.requester, settings)) {
    return { facts: plain, decision: decideDeletion(plain) };
  }
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
  const facts: DeletionFacts = { ...plain, ...subject, makesRoomForHandler, ...(node && { node }) };
  return { facts, decision: decideDeletion(facts), failedRead };
}

const VIRT_HANDLER = { [COMPONENT_LABEL]: VIRT_HANDLER_COMPONENT };

/** Asked only where virt-handler has said that it ends: it is not there, and may be what the scheduler makes room for. */
async function isRoomForHandler({ name, virtHandler }: NodeFacts, cluster: Client): Promise<boolean> {
  if (virtHandler?.isSchedulable !== false) return false;
  const fields = { "status.nominatedNodeName": name };
  return (await cluster.list("pods", { labels: VIRT_HANDLER, fields })).length > 0;
}
