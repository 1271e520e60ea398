/**
 * Reviewing an eviction: observe, decide, and mark before the answer.
 * Owns: which facts are read when, mostly in one round trip. Does not own: the decision (shared/policy/eviction.ts), HTTP.
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { NamespacedName, PodFacts, VmiFacts } from "../policy/facts.ts";
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../policy/eviction.ts";
import { launcherOfHotplug, vmiNameOf } from "../policy/pod-kind.ts";
import type { Settings } from "../policy/settings.ts";
import { actInOrder } from "./act-in-order.ts";

export type Ruling = Exclude<EvictionDecision, { verdict: "Ask" }>;

export interface Review {
  readonly facts: EvictionFacts;
  readonly decision: Ruling;
}

export interface EvictionRequest {
  readonly pod: NamespacedName;
  readonly request: EvictionFacts["request"];
}

export interface ReviewDeps {
  readonly cluster: Cluster;
  /** Read at the same time as pod and VMI. */
  readonly settings: () => Promise<Settings>;
  readonly now: Date;
}

/** Between two looks somebody else may act; after so many times the caller had better come again. */
const LOOKS = 3;

/** Decides without changing anything. */
export async function reviewEviction(r: EvictionRequest, deps: ReviewDeps, raced = false): Promise<Review> {
  const [subject, settings] = await Promise.all([observeSubject(r.pod, deps.cluster), deps.settings()]);
  let facts: EvictionFacts = { ...subject, request: r.request, settings, now: deps.now, raced };
  let decision = decideEviction(facts);
  while (decision.verdict === "Ask") {
    facts = { ...facts, ...(await answer(decision.question, facts, deps.cluster)) };
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
    if (actions.length === 0 || (await actInOrder(actions, acting(), review.facts.settings))) return review;
  }
  return undefined;
}

interface Subject {
  readonly pod?: PodFacts;
  readonly launcher?: PodFacts;
  readonly vmi?: VmiFacts;
}

/** Pod and VMI at the same time, by the pod's name; read again only where the name was cut and so told wrong. */
async function observeSubject(key: NamespacedName, cluster: Cluster): Promise<Subject> {
  const { pod, vmi } = await observeLauncher(key, cluster);
  const owner = pod === undefined ? undefined : launcherOfHotplug(pod);
  if (pod === undefined || owner === undefined) return { ...(pod && { pod }), ...(vmi && { vmi }) };
  const of = await observeLauncher({ namespace: key.namespace, name: owner.name }, cluster);
  return { pod, ...(of.pod && { launcher: of.pod }), ...(of.vmi && { vmi: of.vmi }) };
}

async function observeLauncher(key: NamespacedName, cluster: Cluster): Promise<Pick<Subject, "pod" | "vmi">> {
  const named = (name: string | undefined) => (name === undefined ? undefined : { namespace: key.namespace, name });
  const guess = named(guessVmiName(key.name));
  const [pod, guessed] = await Promise.all([cluster.getPod(key), guess && cluster.getVmi(guess)]);
  const actual = pod && named(vmiNameOf(pod));
  const vmi = actual === undefined || actual.name === guess?.name ? guessed : await cluster.getVmi(actual);
  return { ...(pod && { pod }), ...(vmi && { vmi }) };
}

/** `virt-launcher-<vmi>-<five characters>`. */
export function guessVmiName(podName: string): string | undefined {
  return /^virt-launcher-(.+)-[a-z0-9]{5}$/.exec(podName)?.[1];
}

async function answer(question: "Budgets" | "Migrations", { vmi, pod }: EvictionFacts, cluster: Cluster) {
  switch (question) {
    case "Budgets":
      return { budgets: await cluster.listBudgets(pod?.namespace) };
    case "Migrations":
      return { migrations: vmi === undefined ? [] : await cluster.listMigrations(vmi) };
  }
}
