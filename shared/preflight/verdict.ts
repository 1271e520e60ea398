/** Predicts a drain: the effect on each pod of the node, one verdict for the node, and the duration. */
import type { VmiFacts } from "../kube/facts.ts";
import type { NodeVerdict, PodOutcome, PodVerdict, Preflight, PreflightFacts, PreflightPod } from "./facts.ts";
import { durationOf } from "./duration.ts";
import { placeAll, targetsOn } from "./place.ts";
import { doubtsAbout } from "./held.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
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

/** Adds the verdict, the summary and the number of pods with each outcome. */
export function concluded(found: Omit<Preflight, "verdict" | "summary" | "counts">): Preflight {
  const { node, pods, unknown } = found;
  const verdict = verdictOf(pods, unknown);
  const counts: Partial<Record<PodOutcome, number>> = {};
  for (const { outcome } of pods) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return { ...found, verdict, summary: MESSAGES.summary(node, summaryOf(verdict, counts, pods)), counts };
}

/**
 * Returns true if a person should know about the pod before the drain. The pod stays, its guest is shut down, or its VM
 * fits on no other node.
 */
export function isInTheWay({ outcome, room }: Pick<PodVerdict, "outcome" | "room">): boolean {
  return outcome === "Blocked" || outcome === "ShutsDown" || room?.fits === false;
}

/** Returns true if the VM's next pod needs another node. This includes VMs that wait, because they move later. */
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
      return MESSAGES.willBlock(Blocked);
    case "NoRoom":
      return noRoomText(pods);
    case "Unknown":
      return MESSAGES.unknown;
    case "WillSucceedWithShutdowns":
      return MESSAGES.withShutdowns(moves, ShutsDown);
    case "WillSucceed":
      return MESSAGES.willSucceed(moves);
  }
}

function noRoomText(all: readonly PodVerdict[]): string {
  const homeless = all.filter(({ room }) => room?.fits === false);
  const vms = homeless.filter(({ vmi }) => vmi !== undefined).length;
  return MESSAGES.noRoom(vms, homeless.length - vms);
}

function notJudged(
  moving: readonly PreflightPod[],
  replaced: readonly PreflightPod[],
  f: PreflightFacts,
): readonly string[] {
  const targets = targetsOn(moving, f).filter(({ there }) => there === undefined);
  const unchecked = [...targets.map(({ pod }) => pod), ...replaced].flatMap((pod) =>
    pod.unchecked.map((field) => MESSAGES.notChecked(field, pod)),
  );
  const notRendered = targets.flatMap(({ pod, unknown = [] }) =>
    unknown.map((field) => MESSAGES.nextPodUnknown({ ...pod, name: vmiNameOf(pod) ?? "" }, field)),
  );
  const vmis = new Map(f.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const doubts = moving.flatMap((pod) => {
    const vmi = vmis.get(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }));
    return vmi === undefined ? [] : doubtsAbout(vmi, f);
  });
  return [...unchecked, ...notRendered, ...doubts, ...new Set(moving.flatMap((pod) => quotaFinding(pod, f).unknown))];
}

/**
 * Lists VMs whose next pod might fit on no other node. The pod fits only with the fewest requirements that it might
 * have.
 */
function unsureOf(pods: readonly PodVerdict[]): readonly string[] {
  return pods.flatMap(({ namespace, name, vmi = name, room }) =>
    (room?.unsure ?? []).map((field) => MESSAGES.nextPodUnsure({ namespace, name: vmi }, field)),
  );
}

/** Lists pods that stay on the node because the PodDisruptionBudget of a controller refuses their eviction. */
export function waitingForControllers(pods: readonly PodVerdict[]): readonly string[] {
  const held = pods.filter(({ reason }) => reason === "BudgetOfController");
  return held.map((pod) => MESSAGES.whenGone(pod, pod.message));
}

function mayStay(
  judged: readonly Judged[],
  held: ReadonlyMap<string, HeldByBudget>,
  f: PreflightFacts,
): readonly string[] {
  const unreplaced = judged.flatMap(({ pod }) => {
    const { budget, room } = held.get(pod.uid) ?? {};
    if (budget === undefined || room !== undefined) return [];
    return [MESSAGES.noReplacement(pod, budget)];
  });
  const leaving = judged.filter(({ verdict: { outcome } }) => outcome !== "Blocked" && outcome !== "Stays");
  const waiting = waitingForControllers(judged.map(({ verdict }) => verdict));
  const hanging = leaving.flatMap(({ pod }) => {
    const message = hangingIn(pod, f)?.message;
    return message === undefined ? [] : [MESSAGES.whenGone(pod, message)];
  });
  const isDead = !f.node.ready && leaving.length > 0;
  const dead = isDead ? [MESSAGES.kubeletNotReady(f.node.name)] : [];
  return [...unreplaced, ...waiting, ...hanging, ...dead];
}
