/** Creating an Evacuation, or joining the one that has its name: names decide races. */
import type { NewEvacuation } from "../kube/action.ts";
import { type Client, meaningOf } from "../kube/client.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { derivedName, hash8 } from "../kube/objects.ts";
import { hasNoRequester } from "../evacuation/identity.ts";
import * as manifests from "./manifests.ts";
import { addRequester, requesterPatch } from "../evacuation/requesters.ts";

/**
 * Creates an Evacuation, or joins an existing one, and returns it. If the existing one only followed a mark, it now names who asked. Conflict: it
 * has ended. Reconcile again, which tries the next name.
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

/** It gets the user, as the first one where it names none. */
async function withUser(found: EvacuationFacts, evacuation: NewEvacuation, cluster: Client): Promise<EvacuationFacts> {
  if (hasNoRequester(evacuation)) return found;
  if (!hasNoRequester(found)) return await withAnother(found, evacuation.spec.requestedBy, cluster);
  const spec = { requestedBy: manifests.userOf(evacuation.spec) };
  const renamed = await cluster.patch("evacuations", found, { metadata: { uid: found.uid }, spec });
  // 409, 404: it has gone meanwhile. 422: another request was faster, or the definition is that of an older version.
  return renamed.code < 300 ? renamed.facts() : found;
}

/** Names who asks for one that is under way. It continues if that fails. */
export async function withAnother(found: EvacuationFacts, name: string, cluster: Client): Promise<EvacuationFacts> {
  const [action] = addRequester(found, name);
  if (action === undefined) return found;
  const named = await cluster.patch("evacuations", found, requesterPatch(action), { subresource: "status" });
  return named.code < 300 ? named.facts() : found;
}

/** A tenant can give the name of this VM's next Evacuation to one of another VM, and keep it: then this one gets a name of its own. */
async function createBeside(evacuation: NewEvacuation, cluster: Client): Promise<EvacuationFacts | "Conflict"> {
  const name = derivedName("", evacuation.name, hash8(crypto.randomUUID()));
  const answer = await cluster.create("evacuations", manifests.evacuation({ ...evacuation, name }));
  return meaningOf(answer, { 409: "Conflict" }) === "Done" ? answer.facts() : "Conflict";
}
