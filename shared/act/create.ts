/** Creates Evacuations, and adds requesters to existing Evacuations. */
import type { NewEvacuation } from "../kube/action.ts";
import { type Client, meaningOf } from "../kube/client.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { derivedName, hash8 } from "../kube/objects.ts";
import { hasNoRequester } from "../evacuation/identity.ts";
import * as manifests from "./manifests.ts";
import { addRequester, requesterPatch } from "../evacuation/requesters.ts";

/**
 * Creates an Evacuation. If the VM already has an active Evacuation with the same name and for the same pod, adds the
 * requester to the existing Evacuation and returns this Evacuation. Returns `Conflict` if the existing Evacuation has
 * ended or is for another pod.
 */
export async function createEvacuation(
  evacuation: NewEvacuation,
  cluster: Client,
): Promise<EvacuationFacts | "Conflict"> {
  const answer = await cluster.create("evacuations", manifests.evacuation(evacuation));
  if (meaningOf(answer, { 409: "Conflict" }) === "Done") return answer.facts();
  const found = await cluster.get("evacuations", evacuation);
  if (found === undefined) return "Conflict";
  if (found.spec.vmiName !== evacuation.spec.vmiName) return await createBeside(evacuation, cluster);
  const isJoined = isActive(found) && found.spec.pod?.uid === evacuation.spec.pod?.uid;
  return isJoined ? await withUser(found, evacuation, cluster) : "Conflict";
}

async function withUser(found: EvacuationFacts, evacuation: NewEvacuation, cluster: Client): Promise<EvacuationFacts> {
  if (hasNoRequester(evacuation)) return found;
  if (!hasNoRequester(found)) return await withAnother(found, evacuation.spec.requestedBy, cluster);
  const spec = { requestedBy: manifests.userOf(evacuation.spec) };
  const renamed = await cluster.patch("evacuations", found, { metadata: { uid: found.uid }, spec });
  // 409, 404: the Evacuation was changed or deleted. 422: the Evacuation already has a requester, or the CRD of an
  // older version of Lifeboat is installed.
  return renamed.code < 300 ? renamed.facts() : found;
}

/** Adds a requester to an active Evacuation. An error does not stop the evacuation. */
export async function withAnother(found: EvacuationFacts, name: string, cluster: Client): Promise<EvacuationFacts> {
  const [action] = addRequester(found, name);
  if (action === undefined) return found;
  const named = await cluster.patch("evacuations", found, requesterPatch(action), { subresource: "status" });
  return named.code < 300 ? named.facts() : found;
}

/** Creates the Evacuation with a random name, because another VM's Evacuation has the requested name. */
async function createBeside(evacuation: NewEvacuation, cluster: Client): Promise<EvacuationFacts | "Conflict"> {
  const name = derivedName("", evacuation.name, hash8(crypto.randomUUID()));
  const answer = await cluster.create("evacuations", manifests.evacuation({ ...evacuation, name }));
  return meaningOf(answer, { 409: "Conflict" }) === "Done" ? answer.facts() : "Conflict";
}
