/** Predicts a drain: the effect on every pod of a node, one verdict for all of them, and an estimate of its time. */
import type { VmiFacts } from "../kube/facts.ts";
import type { NodeVerdict, PodOutcome, PodVerdict, Preflight, PreflightFacts, PreflightPod } from "./facts.ts";
import { durationOf } from "./duration.ts";
import { placeAll, targetsOn } from "./place.ts";
import { doubtsAbout } from "./held.ts";
import { hangingIn, verdictOfPod } from "./pod-verdict.ts";
import { type HeldByBudget, heldByBudgets, quotaFinding } from "./refusals.ts";
import { isLauncher, keyOf, vmiNameOf } from "../kube/objects.ts";

interface Judged {
  readonly pod: PreflightPod;
  readonly verdict: PodVerdict;
}

export function preflight(f: PreflightFacts): Preflight {
  const judged = f.pods.map((pod) => ({ pod, verdict: verdictOfPod(pod, f) }));
  const moving = judged.filter(needsRoom).map(({ pod }) => pod);
  const evicted = judged.filter(isEvicted).map(({ pod }) => pod);
  const rooms = placeAll(moving, f);
  const { held, replaced } = heldByBudgets(evicted, f);
  const pods = judged.map(({ pod, verdict }) => {
    const room = rooms.get(pod.uid) ?? held.get(pod.uid)?.room;
    return room === undefined ? verdict : { ...verdict, room };
  });
  const unknown = [...f.unread, ...notJudged(moving, replaced, f), ...unsureOf(pods), ...mayStay(judged, held, f)];
  const time = durationOf(vmisOf(pods, f), f);
  return concluded({ node: f.node.name, ...(time && { time }), pods, unknown });
}

/** Adds the verdict, the summary and the counts for all pods. */
export function concluded(found: Omit<Preflight, "verdict" | "summary" | "counts">): Preflight {
  const { node, pods, unknown } = found;
  const verdict = verdictOf(pods, unknown);
  const counts: Partial<Record<PodOutcome, number>> = {};
  for (const { outcome } of pods) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return { ...found, verdict, summary: `draining ${node} ${summaryOf(verdict, counts, pods)}`, counts };
}

/**
 * Returns whether a person has to know before a drain: the pod stays, its guest ends, or its VM has no room elsewhere.
 */
export function isInTheWay({ outcome, room }: Pick<PodVerdict, "outcome" | "room">): boolean {
  return outcome === "Blocked" || outcome === "ShutsDown" || room?.fits === false;
}

/** Returns whether the pod needs room. A VM that waits moves later. */
function needsRoom({ pod, verdict: { outcome } }: Judged): boolean {
  return (outcome === "Moves" || outcome === "Waits") && isLauncher(pod);
}

function isEvicted({ pod, verdict: { outcome } }: Judged): boolean {
  return (outcome === "Evicted" || outcome === "ShutsDown") && !pod.deleting;
}

function verdictOf(pods: readonly PodVerdict[], unknown: readonly string[]): NodeVerdict {
  const has = (outcome: PodOutcome) => pods.some((pod) => pod.outcome === outcome);
  if (has("Blocked")) return "WillBlock";
  if (pods.some(({ room }) => room?.fits === false)) return "NoRoom";
  if (unknown.length > 0) return "Unknown";
  return has("ShutsDown") ? "WillSucceedWithShutdowns" : "WillSucceed";
}

function isToMove({ outcome, room }: PodVerdict): boolean {
  return (outcome === "Moves" || outcome === "Waits") && room !== undefined;
}

function vmisOf(pods: readonly PodVerdict[], { vmis }: PreflightFacts): readonly VmiFacts[] {
  const moving = new Set(pods.filter(isToMove).map(({ namespace, vmi = "" }) => keyOf({ namespace, name: vmi })));
  return vmis.filter((vmi) => moving.has(keyOf(vmi)));
}

function summaryOf(verdict: NodeVerdict, counts: Preflight["counts"], pods: readonly PodVerdict[]): string {
  const { ShutsDown = 0, Blocked = 0 } = counts;
  const moves = pods.filter(
    ({ outcome, vmi }) => outcome === "Moves" || (outcome === "Waits" && vmi !== undefined),
  ).length;
  switch (verdict) {
    case "WillBlock":
      return `will block: ${counted(Blocked, "pod")} cannot be evicted`;
    case "NoRoom":
      return `will block: no other node has room for ${homelessAmong(pods)}`;
    case "Unknown":
      return "is not known to block, but not everything can be judged";
    case "WillSucceedWithShutdowns":
      return `will succeed: ${movesText(moves)}, and ${counted(ShutsDown, "guest")} ${ShutsDown === 1 ? "ends" : "end"}`;
    case "WillSucceed":
      return `will succeed: ${movesText(moves)}, and no guest ends`;
  }
}

function homelessAmong(all: readonly PodVerdict[]): string {
  const homeless = all.filter(({ room }) => room?.fits === false);
  const vms = homeless.filter(({ vmi }) => vmi !== undefined).length;
  const pods = homeless.length - vms;
  const waiting = `the replacements that ${counted(pods, "pod")} ${pods === 1 ? "waits" : "wait"} for`;
  return [...(vms > 0 ? [`${vms} of its VMs`] : []), ...(pods > 0 ? [waiting] : [])].join(", nor for ");
}

function movesText(vms: number): string {
  return `${counted(vms, "VM")} ${vms === 1 ? "moves" : "move"}`;
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/** Lists unchecked requirements of moving VMs and of replacements. */
function notJudged(
  moving: readonly PreflightPod[],
  replaced: readonly PreflightPod[],
  f: PreflightFacts,
): readonly string[] {
  const targets = targetsOn(moving, f).filter(({ there }) => there === undefined);
  const unchecked = [...targets.map(({ pod }) => pod), ...replaced].flatMap((pod) =>
    pod.unchecked.map((field) => `${field} of pod ${keyOf(pod)}: not checked`),
  );
  const notRendered = targets.flatMap(({ pod, unknown = [] }) =>
    unknown.map((field) => `what the next pod of VM ${pod.namespace}/${vmiNameOf(pod) ?? ""} asks for: ${field}`),
  );
  const vmis = new Map(f.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const doubts = moving.flatMap((pod) => {
    const vmi = vmis.get(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }));
    return vmi === undefined ? [] : doubtsAbout(vmi, f);
  });
  return [...unchecked, ...notRendered, ...doubts, ...new Set(moving.flatMap((pod) => quotaFinding(pod, f).unknown))];
}

/** Lists VMs for whose next pods there is room only if KubeVirt renders them in one of two ways. */
function unsureOf(pods: readonly PodVerdict[]): readonly string[] {
  return pods.flatMap(({ namespace, name, vmi = name, room }) =>
    (room?.unsure ?? []).map(
      (field) => `whether the next pod of VM ${namespace}/${vmi} has ${field}: then it fits nowhere`,
    ),
  );
}

/** Lists pods whose budgets belong to controllers. */
export function waitingForControllers(pods: readonly PodVerdict[]): readonly string[] {
  const held = pods.filter(({ reason }) => reason === "BudgetOfController");
  return held.map((pod) => `when pod ${keyOf(pod)} leaves: ${pod.message}`);
}

/** Lists pods that may stay for ever, though no fact says so. */
function mayStay(
  judged: readonly Judged[],
  held: ReadonlyMap<string, HeldByBudget>,
  f: PreflightFacts,
): readonly string[] {
  const unreplaced = judged.flatMap(({ pod }) => {
    const { budget, room } = held.get(pod.uid) ?? {};
    if (budget === undefined || room !== undefined) return [];
    return [`when pod ${keyOf(pod)} leaves: PodDisruptionBudget ${budget} waits for a pod that no controller replaces`];
  });
  const leaving = judged.filter(({ verdict: { outcome } }) => outcome !== "Blocked" && outcome !== "Stays");
  const waiting = waitingForControllers(judged.map(({ verdict }) => verdict));
  const hanging = leaving.flatMap(({ pod }) => {
    const message = hangingIn(pod, f)?.message;
    return message === undefined ? [] : [`when pod ${keyOf(pod)} leaves: ${message}`];
  });
  const isDead = !f.node.ready && leaving.length > 0;
  const dead = isDead ? [`when the pods of ${f.node.name} leave: its kubelet is not ready, and ends no pod`] : [];
  return [...unreplaced, ...waiting, ...hanging, ...dead];
}
