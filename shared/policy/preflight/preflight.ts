/** Will this drain succeed? What happens to every pod of a node, and one verdict for all of them. */
import { keyOf, type VmiFacts } from "../facts.ts";
import { isLauncher } from "../kube/pod-kind.ts";
import { durationOf } from "./duration.ts";
import type { PreflightFacts } from "./facts.ts";
import { placeAll } from "./placing.ts";
import { verdictOfPod } from "./pod-verdict.ts";
import { heldByBudgets } from "./replacements.ts";
import type { NodeVerdict, Outcome, PodVerdict, Preflight } from "./result.ts";
import { type Judged, unknownOf } from "./unknown.ts";

export function preflight(f: PreflightFacts): Preflight {
  const judged = f.pods.map((pod) => ({ pod, verdict: verdictOfPod(pod, f) }));
  const moving = judged.filter(needsRoom).map(({ pod }) => pod);
  const rooms = placeAll(moving, f);
  const held = heldByBudgets(
    judged.filter(isEvicted).map(({ pod }) => pod),
    f,
  );
  const pods = judged.map(({ pod, verdict }) => {
    const room = rooms.get(pod.uid) ?? held.get(pod.uid)?.room;
    return room === undefined ? verdict : { ...verdict, room };
  });
  const unknown = unknownOf({ judged, moving, pods, held }, f);
  const verdict = verdictOf(pods, unknown);
  const time = durationOf(vmisOf(pods, f), f);
  const counts = countsOf(pods);
  const summary = summaryOf(f.node.name, verdict, counts, pods);
  return { node: f.node.name, verdict, summary, counts, ...(time && { time }), pods, unknown };
}

/** A VM that waits moves later. */
function needsRoom({ pod, verdict: { outcome } }: Judged): boolean {
  return (outcome === "Moves" || outcome === "Waits") && isLauncher(pod);
}

function isEvicted({ pod, verdict: { outcome } }: Judged): boolean {
  return (outcome === "Evicted" || outcome === "ShutsDown") && !pod.deleting;
}

function verdictOf(pods: readonly PodVerdict[], unknown: readonly string[]): NodeVerdict {
  const has = (outcome: Outcome) => pods.some((pod) => pod.outcome === outcome);
  if (has("Blocked")) return "WillBlock";
  if (pods.some(({ room }) => room?.fits === false)) return "NoRoom";
  if (unknown.length > 0) return "Unknown";
  return has("ShutsDown") ? "WillSucceedWithShutdowns" : "WillSucceed";
}

function vmisOf(pods: readonly PodVerdict[], { vmis }: PreflightFacts): readonly VmiFacts[] {
  const moving = new Set(
    pods.flatMap(({ namespace, vmi, outcome, room }) => {
      const isToMove = (outcome === "Moves" || outcome === "Waits") && room !== undefined;
      return vmi !== undefined && isToMove ? [keyOf({ namespace, name: vmi })] : [];
    }),
  );
  return vmis.filter((vmi) => moving.has(keyOf(vmi)));
}

function countsOf(pods: readonly PodVerdict[]): Preflight["counts"] {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of pods) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

function summaryOf(
  node: string,
  verdict: NodeVerdict,
  counts: Preflight["counts"],
  pods: readonly PodVerdict[],
): string {
  const { Moves = 0, Waits = 0, ShutsDown = 0, Blocked = 0 } = counts;
  const homeless = pods.filter(({ room }) => room?.fits === false);
  switch (verdict) {
    case "WillBlock":
      return `draining ${node} will block: ${count(Blocked, "pod")} cannot be evicted`;
    case "NoRoom":
      return `draining ${node} will block: no other node has room for ${homelessIn(homeless)}`;
    case "Unknown":
      return `nothing is known to block draining ${node}, but not everything can be judged`;
    case "WillSucceedWithShutdowns":
      return `draining ${node} will succeed; VMs that move: ${Moves + Waits}, that are shut down: ${ShutsDown}`;
    case "WillSucceed":
      return `draining ${node} will succeed; VMs that move: ${Moves + Waits}, that are shut down: none`;
  }
}

function homelessIn(homeless: readonly PodVerdict[]): string {
  const vms = homeless.filter(({ vmi }) => vmi !== undefined).length;
  const pods = homeless.length - vms;
  const waiting = `the replacements that ${count(pods, "pod")} ${pods === 1 ? "waits" : "wait"} for`;
  return [...(vms > 0 ? [`${count(vms, "VM")} of it`] : []), ...(pods > 0 ? [waiting] : [])].join(", nor for ");
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
