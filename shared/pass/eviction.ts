/**
 * Reviewing an eviction: observe, decide, and mark before the answer.
 * Owns: which facts are read when, nearly always in one round trip. Does not own: the decision (shared/policy/eviction/eviction.ts), HTTP.
 */
import type { Cluster } from "../cluster/cluster.ts";
import { isOfLiveVm } from "../policy/blind.ts";
import type { EvacuationFacts, NamespacedName, PodFacts } from "../policy/facts.ts";
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../policy/eviction/eviction.ts";
import { launcherOfHotplug, vmiNameOf } from "../policy/kube/pod-kind.ts";
import type { Settings } from "../policy/settings.ts";
import { actInOrder } from "./act-in-order.ts";

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
}

/** Between two looks another function may act; after so many times the caller had better come again. */
const LOOKS = 3;

/** Decides without changing anything. */
export async function reviewEviction(r: EvictionRequest, deps: ReviewDeps, raced = false): Promise<Review> {
  const [subject, settings] = await Promise.all([observeSubject(r, deps.cluster), deps.settings()]);
  let facts: EvictionFacts = { ...subject, request: r.request, settings, now: deps.now, raced };
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
 * Undefined: the VMI kept changing between look and mark.
 */
export async function ruleOnEviction(
  r: EvictionRequest,
  deps: ReviewDeps,
  acting: () => Cluster,
): Promise<Review | undefined> {
  for (let look = 0; look < LOOKS; look++) {
    const review = await reviewEviction(r, deps, look > 0);
    const { actions } = review.decision;
    if (actions.length === 0) return review;
    const { done, created } = await actInOrder(actions, acting(), review.facts.settings);
    if (done) return { ...review, created };
  }
  return undefined;
}

type OfVmi = Pick<EvictionFacts, "vmi" | "evacuations">;
type Subject = OfVmi & Pick<EvictionFacts, "pod" | "launcher">;

/** Pod, VMI and Evacuations at the same time, by the pod's name; read again only where the name was cut and so told wrong. */
async function observeSubject({ key, pod: reading }: EvictionRequest, cluster: Cluster): Promise<Subject> {
  const { pod, ...ofVmi } = await observeLauncher(key, reading, cluster);
  const owner = pod === undefined ? undefined : launcherOfHotplug(pod);
  if (pod === undefined || owner === undefined) return { ...(pod && { pod }), ...ofVmi };
  const ownerKey = { namespace: key.namespace, name: owner.name };
  const { pod: launcher, ...ofLauncher } = await observeLauncher(ownerKey, cluster.getPod(ownerKey), cluster);
  return { pod, ...(launcher && { launcher }), ...ofLauncher };
}

async function observeLauncher({ namespace, name }: NamespacedName, reading: EvictionRequest["pod"], cluster: Cluster) {
  const guess = guessVmiName(name);
  const guessed = observeNamed(namespace, guess, cluster);
  // It counts only if the pod turns out to be that VMI's.
  guessed.catch(() => undefined);
  const pod = await reading;
  const actual = pod === undefined || !isOfLiveVm(pod) ? undefined : vmiNameOf(pod);
  const ofVmi =
    actual !== undefined && actual === guess ? await guessed : await observeNamed(namespace, actual, cluster);
  return { ...(pod && { pod }), ...ofVmi };
}

async function observeNamed(namespace: string, name: string | undefined, cluster: Cluster): Promise<OfVmi> {
  if (name === undefined) return { evacuations: [] };
  const key = { namespace, name };
  const [vmi, evacuations] = await Promise.all([cluster.getVmi(key), cluster.listEvacuations(key)]);
  return { ...(vmi && { vmi }), evacuations };
}

/** `virt-launcher-<vmi>-<five characters>`. */
export function guessVmiName(podName: string): string | undefined {
  return /^virt-launcher-(.+)-[a-z0-9]{5}$/.exec(podName)?.[1];
}
