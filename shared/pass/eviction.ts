/** Reviewing an eviction: observe, decide, and write before the answer. */
import type { Cluster } from "../cluster/cluster.ts";
import type { EvacuationFacts, NamespacedName, PodFacts } from "../policy/facts.ts";
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../policy/eviction/eviction.ts";
import type { Settings } from "../policy/settings.ts";
import { observeSubject } from "./observe-subject.ts";
import { type Performing, reviewAndPerform } from "./perform.ts";

export type Ruling = Exclude<EvictionDecision, { verdict: "Ask" }>;

export interface Review {
  readonly facts: EvictionFacts;
  readonly decision: Ruling;
  /** The Evacuation that the decision has created or joined. */
  readonly created?: EvacuationFacts | undefined;
}

export interface EvictionRequest {
  readonly key: NamespacedName;
  /** Being read. */
  readonly pod: Promise<PodFacts | undefined>;
  readonly request: EvictionFacts["request"];
}

export interface ReviewDeps {
  readonly cluster: Cluster;
  /** Read at the same time as pod and VMI. */
  readonly settings: () => Promise<Settings>;
  readonly now: Date;
  /** Told of what could not be done, and does not keep the decision from being true. */
  readonly onFailure?: Performing["onFailure"];
}

/** Decides without changing anything. */
export async function reviewEviction(r: EvictionRequest, deps: ReviewDeps): Promise<Review> {
  const [subject, settings] = await Promise.all([observeSubject(r.key, r.pod, deps.cluster), deps.settings()]);
  let facts: EvictionFacts = { ...subject, request: r.request, settings, now: deps.now };
  let decision = decideEviction(facts);
  while (decision.verdict === "Ask") {
    const migrations = facts.vmi === undefined ? [] : await deps.cluster.listMigrations(facts.vmi);
    facts = { ...facts, migrations };
    decision = decideEviction(facts);
  }
  return { facts, decision };
}

/**
 * Decides, and does what makes the decision true. `acting` may have a later deadline than what is read with; most
 * evictions need nothing done.
 */
export async function ruleOnEviction(
  r: EvictionRequest,
  deps: ReviewDeps,
  acting: () => Cluster,
): Promise<Review | undefined> {
  const performing = () => ({ cluster: acting(), onFailure: deps.onFailure });
  return await reviewAndPerform(() => reviewEviction(r, deps), performing);
}
