/**
 * Reads the facts about an eviction and decides on it. Facts from watches, which can be outdated, are enough for a
 * refusal.
 */
import { areBudgetsWanted } from "../budget/budget.ts";
import { readBudget } from "../budget/read.ts";
import { isSafeOnCachedFacts } from "../facts/safe-actions.ts";
import type { Client } from "../kube/client.ts";
import type { NamespacedName, PodFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { decideEviction, doMigrationsDecide, type EvictionDecision, type EvictionFacts } from "./decide.ts";
import type { Settings } from "../settings/settings.ts";
import { readMigrationsOf, observeSubject } from "../kube/requests.ts";

export interface Review {
  readonly facts: EvictionFacts;
  readonly decision: EvictionDecision;
  readonly created?: EvacuationFacts | undefined;
  readonly isCached: boolean;
}

export interface EvictionRequest {
  readonly key: NamespacedName;
  readonly readPod: (cluster: Client) => Promise<PodFacts | undefined>;
  readonly request: EvictionFacts["request"];
}

export interface ReviewDeps {
  readonly cluster: Client;
  /** A client whose reads can be outdated. */
  readonly cached?: Client | undefined;
  readonly settings: () => Promise<Settings>;
  readonly now: Date;
}

export async function reviewEviction(asked: EvictionRequest, deps: ReviewDeps): Promise<Review> {
  const { cached, ...live } = deps;
  if (cached === undefined) return { ...(await review(asked, live)), isCached: false };
  const found = await review(asked, live, cached);
  const { verdict, reason, actions } = found.decision;
  const isSafe = verdict === "Deny" || reason === "PodCompleted";
  const mayStand = isSafe && actions.every((action) => isSafeOnCachedFacts(action, "Eviction"));
  return mayStand ? { ...found, isCached: true } : await reviewEviction(asked, live);
}

async function review({ key, readPod, request }: EvictionRequest, deps: ReviewDeps, cached?: Client) {
  const cluster = cached ?? deps.cluster;
  const [pod, loading] = [readPod(cluster), deps.settings()];
  const observing = observeSubject(key, pod, cluster).then(async (subject) => {
    const { vmi } = subject;
    const isNeeded = vmi !== undefined && doMigrationsDecide(vmi);
    const migrations = isNeeded ? await readMigrationsOf([vmi], cluster) : [];
    // A review on live facts reads the PodDisruptionBudgets later, when it creates the Evacuation.
    const isBudgetRead = vmi !== undefined && cached !== undefined && areBudgetsWanted(await loading);
    const budgets = isBudgetRead ? await readBudget(vmi, cached) : [];
    return { ...subject, migrations, hasBudget: budgets.length > 0 };
  });
  const [subject, settings] = await Promise.all([observing, loading]);
  const facts = { ...subject, request, settings, now: deps.now };
  return { facts, decision: decideEviction(facts) };
}
