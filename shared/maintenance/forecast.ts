/** Forecasts a NodeEvacuation: whether the node can be drained, and which VMs are restarted or stopped. */
import type { Refusal } from "../budget/refusal.ts";
import { each } from "../facts/facts.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { isOfLiveVm, keyOf, vmiNameOf, untolerated } from "../kube/objects.ts";
import type {
  NodeVerdict,
  PodVerdict,
  Preflight,
  PreflightFacts,
  PreflightPod,
  RoomFound,
} from "../preflight/facts.ts";
import { renderStart } from "../preflight/next-pod.ts";
import { placeInTurn } from "../preflight/place.ts";
import { heldByBudget } from "../preflight/pod-verdict.ts";
import { concluded, preflight, waitingForControllers } from "../preflight/verdict.ts";
import type { NodeEvacuationSpec } from "../kube/node-evacuation.ts";
import { refusalsByBudgets } from "./budget-refusals.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";
import { virtualMachineOf } from "./questions.ts";
import { viewOf, type VmView } from "./vms.ts";
import type { NodeWorld } from "./world.ts";

export interface Forecast {
  readonly found: Preflight;
  /** The VMs whose guests the drain would shut down: by a restart, by a stop, or by an eviction. */
  readonly shutdowns: readonly VmiFacts[];
}

export function forecastOf(facts: PreflightFacts, w: NodeWorld): Forecast {
  const isLeaving = w.ne.spec.otherPods === "Leave" ? isOfLiveVm : () => true;
  const f = { ...facts, pods: facts.pods.filter(isLeaving) };
  const vmiOf = new Map(f.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const of = ({ namespace, vmi = "" }: PodVerdict) => vmiOf.get(keyOf({ namespace, name: vmi }));
  const views = new Map(each(f.vmis, (vmi) => [keyOf(vmi), viewOf(vmi, w)] as const));
  const refusals = refusalsByBudgets([...views.values()], f.pods, f.budgets);
  const before = preflight(f);
  const asked = before.pods.map((pod) => {
    const key = keyOf({ namespace: pod.namespace, name: pod.vmi ?? "" });
    const view = views.get(key);
    return view === undefined ? pod : asAsked(pod, view, refusals.get(key), { f, w });
  });
  const pods = withRestarts(asked, f, w);
  const unknown = [...new Set([...before.unknown, ...waitingForControllers(pods)])];
  const found = concluded({ ...before, pods, unknown });
  const ending = found.pods.filter(({ outcome }) => outcome === "ShutsDown").flatMap((pod) => of(pod) ?? []);
  return { found, shutdowns: [...new Set(ending)] };
}

/**
 * Checks whether each VM that is restarted fits on another node, after the migrations and earlier restarts have used
 * resources there.
 */
function withRestarts(pods: readonly PodVerdict[], f: PreflightFacts, w: NodeWorld): readonly PodVerdict[] {
  const verdictOf = new Map(pods.map((one) => [keyOf(one), one]));
  const vmiOf = new Map(f.vmis.map((vmi) => [keyOf(vmi), vmi]));
  const moved = f.pods.flatMap((pod) => {
    const nodeName = verdictOf.get(keyOf(pod))?.room?.node;
    return nodeName === undefined ? [] : [{ ...pod, nodeName }];
  });
  const restarting = f.pods.flatMap((pod) => {
    const vmi = vmiOf.get(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" }));
    return vmi !== undefined && verdictOf.get(keyOf(pod))?.reason === "Restart" ? [startOf(pod, vmi, w)] : [];
  });
  const rooms = placeInTurn(restarting, f, { gone: f.pods, moved });
  const uidOf = new Map(f.pods.map((pod) => [keyOf(pod), pod.uid]));
  return pods.map((pod) => {
    const room = rooms.get(uidOf.get(keyOf(pod)) ?? "");
    if (room === undefined) return pod;
    if (room.fits) return { ...pod, room };
    return { ...pod, outcome: "Blocked", reason: "NoRestart", message: MESSAGES.noStartBeside(room.message) };
  });
}

interface Around {
  readonly f: PreflightFacts;
  readonly w: NodeWorld;
}

/**
 * Decides whether a VM that cannot migrate is restarted or stopped, as the NodeEvacuation and the VM's owner request.
 */
function asAsked(pod: PodVerdict, view: VmView, refusal: Refusal | undefined, around: Around): PodVerdict {
  const isPinned = pod.outcome === "Blocked" && (pod.reason === "NotMigratable" || pod.reason === "BoundToNode");
  if (!isPinned && pod.outcome !== "ShutsDown") return pod;
  if (refusal !== undefined) return { ...pod, ...heldByBudget(refusal) };
  const why = whyItStays(view, around);
  if (why !== undefined) {
    return { ...pod, outcome: "Blocked", ...reasonOf(pod, view), message: why };
  }
  if (view.way === undefined) return { ...pod, outcome: "ShutsDown" };
  const { remedy: _, ...rest } = pod;
  const delay = view.blocker?.reason === "NotBefore" ? `; ${view.blocker.message}` : "";
  return { ...rest, outcome: "ShutsDown", reason: view.way, message: `${ASKED[view.way]}${delay}` };
}

function reasonOf(pod: PodVerdict, { blocker }: VmView) {
  const { reason, whoCanFix: remedy } = blocker ?? {};
  if (reason === "Unreadable" && remedy !== undefined) return { reason, remedy };
  return { reason: pod.reason === "BoundToNode" ? pod.reason : "NotMigratable" };
}

const ASKED = {
  Restart: MESSAGES.willRestart,
  ShutDown: MESSAGES.willShutDown,
} as const;

function whyItStays({ fate, way, vmi, blocker }: VmView, { f, w }: Around) {
  if (fate === "Goes") return undefined;
  if (fate === "ShutsDown" || blocker?.reason === "NotBefore")
    return way === "Restart" ? restartObstacle(vmi, f, w) : undefined;
  return blocker?.message ?? MESSAGES.isMoving;
}

const CORDON = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Returns why the VM would not start on another node. Returns undefined if there is no such reason. */
export function restartObstacle(vmi: VmiFacts, f: PreflightFacts, w: NodeWorld): string | undefined {
  const pod = f.pods.find((one) => isOfLiveVm(one) && vmiNameOf(one) === vmi.name && one.namespace === vmi.namespace);
  if (pod === undefined) return MESSAGES.podNotFound;
  const next = startOf(pod, vmi, w);
  if (untolerated([CORDON], next.pod.tolerations) === undefined) return MESSAGES.toleratesCordon;
  if (vmi.hostDisk !== undefined) return MESSAGES.hostDisk(vmi.hostDisk);
  // The old pod is deleted before the new pod starts, so the old pod uses no resources then.
  const room = placeInTurn([next], f, { gone: [pod] }).get(pod.uid);
  return notFitting(room, [...f.unread, ...next.pod.unchecked, ...(next.unknown ?? [])]);
}

function notFitting(room: RoomFound | undefined, unread: readonly string[]): string | undefined {
  const unknown = [...unread, ...(room?.unsure ?? [])];
  if (unknown.length > 0) return MESSAGES.roomUnknown(unknown);
  return room?.fits === true ? undefined : (room?.message ?? MESSAGES.noRoom);
}

function startOf(pod: PreflightPod, vmi: VmiFacts, w: NodeWorld) {
  return renderStart(pod, vmi, virtualMachineOf(vmi, w)?.start, w.settings);
}

/** Returns whether `startIf` allows the drain to start with this verdict of the forecast. */
export function mayStart(startIf: NodeEvacuationSpec["startIf"], verdict: NodeVerdict): boolean {
  switch (startIf) {
    case "Always":
      return true;
    case "WillSucceed":
      return verdict === "WillSucceed";
    case "WillSucceedWithShutdowns":
      return verdict === "WillSucceed" || verdict === "WillSucceedWithShutdowns";
  }
}
