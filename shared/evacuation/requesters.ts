/** Keeps the names of those who ask for an evacuation that is in progress. */
import type { ActionOf } from "../kube/action.ts";
import { EVACUATION_BOUNDS, type EvacuationFacts } from "../kube/evacuation.ts";

/** Who has asked for it, the first one first. */
export function requestersOf({
  spec: { requestedBy },
  status: { requesters = [] },
}: EvacuationFacts): readonly string[] {
  return [requestedBy, ...requesters].filter((name) => name !== "");
}

/** Names one who asks for an evacuation that is under way. Nothing for a name that it has, or that it has no room for. */
export function addRequester(joined: EvacuationFacts, name: string): readonly ActionOf<"AddRequester">[] {
  const requester = shortened(name);
  const isFull = (joined.status.requesters ?? []).length >= EVACUATION_BOUNDS["status.requesters"];
  if (requester === "" || isFull || requestersOf(joined).map(shortened).includes(requester)) return [];
  return [{ verb: "AddRequester", evacuation: joined, requester }];
}

function shortened(name: string): string {
  return name.slice(0, EVACUATION_BOUNDS["status.requesters[]"]).toWellFormed();
}

/** Adds the name, if nobody has written to the Evacuation since. */
export function requesterPatch({ evacuation, requester }: ActionOf<"AddRequester">) {
  const { resourceVersion, status } = evacuation;
  return { metadata: { resourceVersion }, status: { requesters: [...(status.requesters ?? []), requester] } };
}
