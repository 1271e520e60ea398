/** Reviewing an eviction: observe and decide; on what watches show, where that is enough to refuse it. */
import { SAFE_IN_A_REVIEW } from "../kube/cache.ts";
import type { Client } from "../kube/client.ts";
import type { NamespacedName, PodFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { decideEviction, doMigrationsDecide, type EvictionDecision, type EvictionFacts } from "./decide.ts";
import type { Settings } from "../settings/settings.ts";
import { migrationsOf, observeSubject } from "../kube/requests.ts";

export interface Review {
  readonly facts: EvictionFacts;
  readonly decision: EvictionDecision;
  readonly created?: EvacuationFacts | undefined;
  /** The facts are as watches show them. */
  readonly isCached: boolean;
}

export interface EvictionRequest {
  readonly key: NamespacedName;
  readonly readPod: (cluster: Client) => Promise<PodFacts | undefined>;
  readonly request: EvictionFacts["request"];
}

export interface ReviewDeps {
  readonly cluster: Client;
  /** Its reads may be old. */
  readonly cached?: Client | undefined;
  readonly settings: () => Promise<Settings>;
  readonly now: Date;
}

export async function reviewEviction(asked: EvictionRequest, deps: ReviewDeps): Promise<Review> {
  const { cached, ...live } = deps;
  if (cached === undefined) return { ...(await review(asked, live)), isCached: false };
  const found = await review(asked, { ...live, cluster: cached });
  const { verdict, actions } = found.decision;
  const isSafe = verdict === "Deny" && actions.every(({ verb }) => SAFE_IN_A_REVIEW.has(verb));
  return isSafe ? { ...found, isCached: true } : await reviewEviction(asked, live);
}

async function review({ key, readPod, request }: EvictionRequest, { cluster, settings, now }: ReviewDeps) {
  const observing = observeSubject(key, readPod(cluster), cluster).then(async (subject) => {
    const { vmi } = subject;
    const isNeeded = vmi !== undefined && doMigrationsDecide(vmi);
    return { ...subject, migrations: isNeeded ? await migrationsOf([vmi], cluster) : [] };
  });
  const [subject, loaded] = await Promise.all([observing, settings()]);
  const facts = { ...subject, request, settings: loaded, now };
  return { facts, decision: decideEviction(facts) };
}
