/** Reviewing an eviction: observe and decide. */
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
}

export interface EvictionRequest {
  readonly key: NamespacedName;
  readonly pod: Promise<PodFacts | undefined>;
  readonly request: EvictionFacts["request"];
}

export interface ReviewDeps {
  readonly cluster: Client;
  readonly settings: () => Promise<Settings>;
  readonly now: Date;
}

export async function reviewEviction({ key, pod, request }: EvictionRequest, deps: ReviewDeps): Promise<Review> {
  const observing = observeSubject(key, pod, deps.cluster).then(async (subject) => {
    const { vmi } = subject;
    const isNeeded = vmi !== undefined && doMigrationsDecide(vmi);
    return { ...subject, migrations: isNeeded ? await migrationsOf([vmi], deps.cluster) : [] };
  });
  const [subject, settings] = await Promise.all([observing, deps.settings()]);
  const facts = { ...subject, request, settings, now: deps.now };
  return { facts, decision: decideEviction(facts) };
}
