/**
 * Ruling on a deletion that may be a disruption: observe, decide, begin the evacuation before the hold.
 * Owns: which facts are read, once and while holding. Does not own: the decision (shared/policy/guard/deletion.ts), the hold.
 */
import type { Cluster } from "../cluster/cluster.ts";
import { decideDeletion, type DeletionDecision, type DeletionFacts, release } from "../policy/guard/deletion.ts";
import { mayBeHeld } from "../policy/guard/guarded.ts";
import { byAge, podUIDOf } from "../policy/evacuation/identity.ts";
import type { EvacuationFacts, PodFacts } from "../policy/facts.ts";
import type { DeletionTerms } from "../policy/guard/node-termination.ts";
import { isLauncher } from "../policy/kube/pod-kind.ts";
import type { Settings } from "../policy/settings.ts";
import { actInOrder, lookAndAct } from "./act-in-order.ts";
import { observeSubjectOf } from "./observe-subject.ts";

export interface DeletionRequest extends DeletionTerms {
  /** As the API server sent it: of an ordinary deletion nothing needs to be read. */
  readonly pod: PodFacts;
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
  const [subject, node, active] = await Promise.all([
    observeSubjectOf(r.pod, cluster),
    nodeName === undefined ? undefined : cluster.getNode(nodeName),
    cluster.listEvacuations("Active"),
  ]);
  const neighbours = await neighboursOf(r.pod, active, deps);
  const facts: DeletionFacts = { ...plain, ...subject, ...(node && { node }), neighbours, active };
  return { facts, decision: decideDeletion(facts) };
}

/**
 * The pods of VMs that leave the node for a preemption, by their Evacuations, the oldest first: no more than `maxHolds` are
 * held at a time. A list of the node's pods would be as large as tenants make it.
 */
async function neighboursOf(
  { uid, nodeName }: PodFacts,
  active: readonly EvacuationFacts[],
  { cluster, settings }: DeletionDeps,
): Promise<readonly PodFacts[]> {
  const preempted = active.filter((e) => e.spec.cause === "Preemption" && podUIDOf(e) !== uid);
  const near = preempted.filter(({ status: { sourceNode = nodeName } }) => sourceNode === nodeName).toSorted(byAge);
  const keys = near.flatMap(({ namespace, spec, status }) => {
    const name = status.podName ?? spec.pod?.name;
    return name === undefined ? [] : [{ namespace, name }];
  });
  const pods = await Promise.all(keys.slice(0, settings.guard.maxHolds).map((key) => cluster.getPod(key)));
  return pods.flatMap((pod) => (pod !== undefined && pod.nodeName === nodeName && isLauncher(pod) ? [pod] : []));
}

/** Decides, and begins the evacuation. Undefined: the VMI kept changing between look and mark. */
export async function ruleOnDeletion(r: DeletionRequest, deps: DeletionDeps): Promise<DeletionReview | undefined> {
  return await lookAndAct(async () => {
    const review = await reviewDeletion(r, deps);
    const { done } = await actInOrder(review.decision.actions, deps, "EvacuationFirst");
    return done ? review : undefined;
  });
}

/**
 * While holding: pod, VMI and node as they are now. For a pod that is gone, or another one of the same name, nothing is held.
 * The deletion stays what it was when it was asked for, though kube-controller-manager may have reset the condition since.
 */
export async function lookAgain(before: DeletionFacts, cluster: Cluster, now: Date): Promise<DeletionDecision> {
  const { nodeName } = before.pod;
  const [pod, subject, node] = await Promise.all([
    cluster.getPod(before.pod),
    observeSubjectOf(before.pod, cluster),
    nodeName === undefined ? undefined : cluster.getNode(nodeName),
  ]);
  if (pod?.uid !== before.pod.uid) return release("PodCompleted");
  const { vmi: _, launcher: __, node: ___, ...rest } = before;
  const { disruptionTarget = pod.disruptionTarget } = before.pod;
  const asked = { ...pod, ...(disruptionTarget && { disruptionTarget }) };
  const decision = decideDeletion({ ...rest, ...subject, ...(node && { node }), pod: asked, now });
  if (decision.verdict === "Release") await actInOrder(decision.actions, { cluster, settings: before.settings });
  return decision;
}
