/** Lifeboat as a responder to EvictionRequests: reads the Evictions that name it, creates or withdraws Evacuations, and reports. Experimental. */
import { eachOf } from "../evacuation/each-of.ts";
import { withdraw } from "../evacuation/api.ts";
import { createEvacuation } from "../evacuation/create.ts";
import { answerTo, isAsked, reportOn, withdrawnBy } from "../eviction/responder.ts";
import { type Client, meaningOf } from "../kube/client.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { EvictionFacts, NamespacedName } from "../kube/facts.ts";
import { ClusterError } from "../kube/failures.ts";
import { RESPONDER } from "../kube/names.ts";
import { observeSubject } from "../kube/requests.ts";
import { attempt, type Deps, isTime, NOTHING, type Result, sum } from "./carry-out.ts";

/** `evacuations`: those in progress, read before. `reconcile`: of VMIs with one that has begun or is withdrawn. */
export async function respondToRequests(
  evacuations: readonly EvacuationFacts[],
  deps: Deps,
  reconcile: (vmi: NamespacedName) => Promise<Result>,
): Promise<Result> {
  const listing = await attempt("listing Evictions of lifecycle.k8s.io", deps, () => evictionsOf(deps.cluster));
  const evictions = listing.found;
  // What cannot be read is no cancellation.
  if (evictions === undefined) return listing.result;
  const tasks = [
    ...evictions.filter(isAsked).map((one) => () => answer(one, deps)),
    ...withdrawnBy(evictions, evacuations).map((one) => () => takeBack(one, deps)),
  ];
  const { results, left } = await eachOf(
    tasks,
    async (task) => {
      const { found, result } = await attempt("responding to an Eviction of lifecycle.k8s.io", deps, task);
      return found === undefined ? result : await reconcile(found);
    },
    isTime(deps),
  );
  return sum([...results, { ...NOTHING, left }]);
}

/** Undefined: the API server has no such kind. One that cannot be understood fails the list: its absence would be a cancellation. */
async function evictionsOf(cluster: Client): Promise<readonly EvictionFacts[] | undefined> {
  try {
    return await cluster.list("evictions", { labels: { [RESPONDER]: true }, strict: true });
  } catch (error) {
    if (error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === 404)
      return undefined;
    throw error;
  }
}

async function answer(
  eviction: EvictionFacts,
  { cluster, settings, clock }: Deps,
): Promise<NamespacedName | undefined> {
  const { namespace, pod } = eviction;
  if (pod === undefined) return undefined;
  const key = { namespace, name: pod.name };
  const { vmi, evacuations } = await observeSubject(key, cluster.get("pods", key), cluster);
  const now = clock();
  const given = answerTo({ eviction, vmi, evacuations, settings, now });
  if (given.create !== undefined && (await createEvacuation(given.create, cluster)) === "Conflict") return undefined;
  const report = reportOn(eviction, given, now);
  // Its state has changed meanwhile: the next look sees that.
  const meanings = { 404: "Conflict", 409: "Conflict", 422: "Conflict" } as const;
  if (report !== undefined)
    meaningOf(await cluster.patch("evictions", eviction, report, { subresource: "status" }), meanings);
  return given.create === undefined ? undefined : vmi;
}

async function takeBack(evacuation: EvacuationFacts, { cluster }: Deps): Promise<NamespacedName> {
  await withdraw(evacuation, cluster);
  return { namespace: evacuation.namespace, name: evacuation.spec.vmiName };
}
