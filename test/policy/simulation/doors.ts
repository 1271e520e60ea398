/**
 * Lifeboat's doors over a simulated cluster, in steps: a request is reviewed, and what admission lets through is done.
 * Owns: the order in which a review reads, decides and acts. Does not own: the decisions, what can go wrong with a request
 * (requests.ts).
 */
import type { Action } from "../../../shared/policy/action.ts";
import type { Cause } from "../../../shared/policy/cause.ts";
import { decideDeletion } from "../../../shared/policy/deletion.ts";
import { CAUSE_OF_REASON, type GuardCause } from "../../../shared/policy/disruption-cause.ts";
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../../../shared/policy/eviction.ts";
import { keyOf, type PodFacts } from "../../../shared/policy/facts.ts";
import { decideCancel } from "../../../shared/policy/giving-up.ts";
import { vmiNameOf } from "../../../shared/policy/pod-kind.ts";
import { node, REQUESTER } from "../disruptions.ts";
import type { SimulatedCluster, Verdict } from "./cluster.ts";
import { isEvictable, nodesOf } from "./control-plane.ts";
import { act, FAILED, read, type Steps } from "./requests.ts";

/** By how much the clock of the function is fast. */
type Skew = number;

const LOOKS = 3;

function clock(cluster: SimulatedCluster, skewMs: Skew): Date {
  return new Date(cluster.now.getTime() + skewMs);
}

function vmiOf(cluster: SimulatedCluster, pod: PodFacts) {
  return cluster.vmis.get(keyOf({ namespace: pod.namespace, name: vmiNameOf(pod) ?? "" }));
}

/** A person evicts the pod: reviewed, and if it is let through the API server has the last word. */
export function* eviction(cluster: SimulatedCluster, uid: string, cause: Cause, skewMs: Skew): Steps<void> {
  const since = cluster.now;
  try {
    const decision = yield* reviewedEviction(cluster, uid, cause, skewMs);
    yield;
    const pod = cluster.pods.get(uid);
    if (decision?.verdict !== "Allow" || pod === undefined) return;
    if (isEvictable(cluster, pod)) cluster.endPod(uid, { because: `Evicted: ${decision.reason}`, since });
  } finally {
    cluster.answering.delete(uid);
  }
}

/** Undefined: refused, because nothing is known. */
function* reviewedEviction(
  cluster: SimulatedCluster,
  uid: string,
  cause: Cause,
  skewMs: Skew,
): Steps<Exclude<EvictionDecision, { verdict: "Ask" }> | undefined> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const facts = yield* subject(cluster, uid, cause, skewMs);
    if (facts === undefined) return undefined;
    const decision = yield* decided({ ...facts, raced: looks > 0 }, cluster);
    if (decision === undefined) return undefined;
    const acted = yield* inOrder(decision.actions, cluster);
    if (acted !== "Conflict") return acted === "Done" ? decision : undefined;
  }
  return undefined;
}

function* subject(
  cluster: SimulatedCluster,
  uid: string,
  cause: Cause,
  skewMs: Skew,
): Steps<EvictionFacts | undefined> {
  const now = clock(cluster, skewMs);
  const pod = yield* read(cluster, (c) => c.pods.get(uid));
  if (pod === FAILED) return undefined;
  const vmi = pod && (yield* read(cluster, (c) => vmiOf(c, pod)));
  if (vmi === FAILED) return undefined;
  const request = { username: "admin", cause } as const;
  return { ...(pod && { pod }), ...(vmi && { vmi }), request, settings: cluster.settings, now };
}

function* decided(
  facts: EvictionFacts,
  cluster: SimulatedCluster,
): Steps<Exclude<EvictionDecision, { verdict: "Ask" }> | undefined> {
  const decision = decideEviction(facts);
  if (decision.verdict !== "Ask") return decision;
  const found = yield* read(cluster, ({ budgets, migrations }) => ({
    Budgets: { budgets: [...budgets.values()] },
    Migrations: { migrations: [...migrations.values()].filter((m) => m.vmiName === facts.vmi?.name) },
  }));
  if (found === FAILED) return undefined;
  if (facts.pod !== undefined) cluster.answering.add(facts.pod.uid);
  return yield* decided({ ...facts, ...found[decision.question] }, cluster);
}

function* inOrder(
  actions: readonly Action[],
  cluster: SimulatedCluster,
  seen?: Date,
): Steps<"Done" | "Conflict" | typeof FAILED> {
  for (const action of actions) {
    const result = yield* act(cluster, action, seen);
    if (action.verb === "Event" && result === FAILED) continue;
    if (result !== "Done") return result === FAILED ? FAILED : "Conflict";
  }
  return "Done";
}

/** The scheduler or the taint manager deletes the pod, as it is now: let go, or held, which is to be asked for again. */
export function* deletion(cluster: SimulatedCluster, pod: PodFacts, cause: GuardCause, skewMs: Skew): Steps<void> {
  const since = cluster.now;
  const now = clock(cluster, skewMs);
  const vmi = yield* read(cluster, (c) => vmiOf(c, pod));
  const around = yield* read(cluster, (c) => ({
    node: nodesOf(c).find(({ name }) => name === pod.nodeName),
    neighbours: c.pods.all().filter(({ nodeName }) => nodeName === pod.nodeName),
    evacuating: [...c.vmis.values()].filter(({ evacuationLabel }) => evacuationLabel !== undefined),
  }));
  if (vmi === FAILED || around === FAILED) return;
  const requester = { requester: REQUESTER[cause], patienceSeconds: 25, serverMinor: 36 };
  const { settings } = cluster;
  const place = { ...around, node: around.node ?? node({ name: pod.nodeName ?? "" }) };
  const decision = decideDeletion({ pod, ...(vmi && { vmi }), ...place, ...requester, settings, now });
  if (decision.verdict === "Hold") return void (yield* inOrder(decision.actions, cluster));
  yield;
  cluster.endPod(pod.uid, { because: `Deleted: ${decision.reason}`, since, ...shownBy(pod) });
}

/** What the deletion itself tells. */
function shownBy({ disruptionTarget }: PodFacts): Pick<Verdict, "cause" | "chosenAt"> {
  const cause = CAUSE_OF_REASON[disruptionTarget?.reason ?? ""];
  if (disruptionTarget === undefined || cause === undefined) return {};
  return { cause, chosenAt: new Date(disruptionTarget.since) };
}

/** DELETE …/evacuations: what is done halfway may be asked for again. */
export function* cancellation(cluster: SimulatedCluster, key: string, skewMs: Skew): Steps<void> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const seen = cluster.now;
    const now = clock(cluster, skewMs);
    const vmi = yield* read(cluster, (c) => c.vmis.get(key));
    const found = yield* read(cluster, (c) => ({ migrations: [...c.migrations.values()], tainted: c.tainted }));
    if (vmi === FAILED || found === FAILED || vmi === undefined) return;
    const migrations = found.migrations.filter((m) => m.vmiName === vmi.name);
    const tainted = found.tainted.has(vmi.nodeName ?? "");
    const decision = decideCancel({ vmi, migrations, tainted }, { settings: cluster.settings, now });
    if (decision.verdict !== "Cancel") return;
    if ((yield* inOrder(decision.actions, cluster, seen)) !== "Conflict") return;
  }
}
