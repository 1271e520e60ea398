/**
 * Ruling on a deletion that may be a disruption: observe, decide, begin the evacuation before the hold.
 * Owns: which facts are read, once and while holding. Does not own: the decision (shared/policy/guard/deletion.ts), the hold.
 */
import type { Cluster } from "../cluster/cluster.ts";
import { decideDeletion, type DeletionDecision, type DeletionFacts } from "../policy/guard/deletion.ts";
import { mayBeHeld } from "../policy/guard/guarded.ts";
import type { NamespacedName, PodFacts } from "../policy/facts.ts";
import { isLauncher, launcherOfHotplug, vmiNameOf } from "../policy/kube/pod-kind.ts";
import type { Settings } from "../policy/settings.ts";
import type { Action } from "../policy/action.ts";
import { actInOrder } from "./act-in-order.ts";

export interface DeletionRequest {
  /** As the API server sent it: of an ordinary deletion nothing needs to be read. */
  readonly pod: PodFacts;
  readonly requester: string;
  readonly patienceSeconds: number;
}

export interface DeletionDeps {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly now: Date;
}

export interface DeletionReview {
  readonly facts: DeletionFacts;
  readonly decision: DeletionDecision;
}

/** Decides without changing anything. */
export async function reviewDeletion(r: DeletionRequest, deps: DeletionDeps): Promise<DeletionReview> {
  const { settings, now, cluster } = deps;
  const plain: DeletionFacts = { ...r, settings, now, neighbours: [], evacuations: [], active: [] };
  if (!mayBeHeld(r.requester, settings)) return { facts: plain, decision: decideDeletion(plain) };
  const { nodeName } = r.pod;
  const [subject, node, pods, active] = await Promise.all([
    observeOwner(r.pod, cluster),
    nodeName === undefined ? undefined : cluster.getNode(nodeName),
    nodeName === undefined ? [] : cluster.listPodsOn(nodeName),
    cluster.listEvacuations("Active"),
  ]);
  const neighbours = pods.filter(isLauncher);
  const facts: DeletionFacts = { ...plain, ...subject, ...(node && { node }), neighbours, active };
  return { facts, decision: decideDeletion(facts) };
}

/** Between two looks another function may act; the deletion will be asked for again. */
const LOOKS = 3;

/** Decides, and begins the evacuation. Undefined: the VMI kept changing between look and mark. */
export async function ruleOnDeletion(r: DeletionRequest, deps: DeletionDeps): Promise<DeletionReview | undefined> {
  for (let look = 0; look < LOOKS; look++) {
    const review = await reviewDeletion(r, deps);
    if (review.decision.verdict === "Release") return review;
    if (await isBegun(review.decision.actions, deps)) return review;
  }
  return undefined;
}

/**
 * The Evacuation before the mark: a look that finds a mark alone takes it for KubeVirt's and begins an evacuation of another
 * cause, which knows no deadline and goes on when the taint is gone.
 */
async function isBegun(actions: readonly Action[], { cluster, settings }: DeletionDeps): Promise<boolean> {
  for (const action of actions) {
    if (!(await actInOrder([action], cluster, settings)).done) return false;
  }
  return true;
}

/**
 * While holding: pod, VMI and node as they are now. For a pod that is gone, or another one of the same name, nothing is held.
 * The deletion stays what it was when it was asked for, though kube-controller-manager may have reset the condition since.
 */
export async function lookAgain(before: DeletionFacts, cluster: Cluster, now: Date): Promise<DeletionDecision> {
  const { nodeName } = before.pod;
  const [pod, subject, node] = await Promise.all([
    cluster.getPod(before.pod),
    observeOwner(before.pod, cluster),
    nodeName === undefined ? undefined : cluster.getNode(nodeName),
  ]);
  if (pod?.uid !== before.pod.uid) return { verdict: "Release", reason: "PodCompleted", story: [] };
  const { vmi: _, launcher: __, node: ___, ...rest } = before;
  const { disruptionTarget = pod.disruptionTarget } = before.pod;
  const asked = { ...pod, ...(disruptionTarget && { disruptionTarget }) };
  return decideDeletion({ ...rest, ...subject, ...(node && { node }), pod: asked, now });
}

type Owner = Pick<DeletionFacts, "vmi" | "launcher" | "evacuations">;

async function observeOwner(pod: PodFacts, cluster: Cluster): Promise<Owner> {
  const owner = launcherOfHotplug(pod);
  const launcher = owner && (await cluster.getPod({ namespace: pod.namespace, name: owner.name }));
  const name = vmiNameOf(launcher ?? pod);
  if (name === undefined) return { ...(launcher && { launcher }), evacuations: [] };
  const key: NamespacedName = { namespace: pod.namespace, name };
  const [vmi, evacuations] = await Promise.all([cluster.getVmi(key), cluster.listEvacuations(key)]);
  return { ...(launcher && { launcher }), ...(vmi && { vmi }), evacuations };
}
