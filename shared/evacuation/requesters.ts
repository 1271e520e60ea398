/** Records who requested an evacuation that is in progress. */
import type { ActionOf } from "../kube/action.ts";
import { EVACUATION_BOUNDS, type EvacuationFacts } from "../kube/evacuation.ts";

/** Lists the requesters in the order of their requests. */
export function requestersOf({
  spec: { requestedBy },
  status: { requesters = [] },
}: EvacuationFacts): readonly string[] {
  return [requestedBy, ...requesters].filter((name) => name !== "");
}

/**
 * Adds a requester to an Evacuation in progress. Returns no action if the list is full or already contains the
 * requester.
 */
export function addRequester(joined: EvacuationFacts, name: string): readonly ActionOf<"AddRequester">[] {
  const requester = shortened(name);
  const isFull = (joined.status.requesters ?? []).length >= EVACUATION_BOUNDS["status.requesters"];
  if (requester === "" || isFull || requestersOf(joined).map(shortened).includes(requester)) return [];
  return [{ verb: "AddRequester", evacuation: joined, requester }];
}

function shortened(name: string): string {
  return name.slice(0, EVACUATION_BOUNDS["status.requesters[]"]).toWellFormed();
}

/** Returns the patch that adds the requester. The patch fails if the Evacuation has changed since it was read. */
export function requesterPatch({ evacuation, requester }: ActionOf<"AddRequester">) {
  const { resourceVersion, status } = evacuation;
  return { metadata: { resourceVersion }, status: { requesters: [...(status.requesters ?? []), requester] } };
}
