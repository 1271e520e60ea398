/** Renders the guard and node pressure as Markdown tables for administrators. */
import { GUARD_CAUSES, GUARDED } from "../../../../shared/settings/guarded.ts";
import type { DeletionAllowReason } from "../../../../shared/guard/decide.ts";
import { code, renderTable } from "./tables.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/settings/settings.ts";
import { DEAD_NODE_TAINTS } from "../../../../shared/kube/objects.ts";

export function disruptionTable(): string {
  const rows = GUARD_CAUSES.map((cause) => {
    const { reason, gate } = GUARDED[cause];
    const shown = reason === undefined ? "none: by the requester" : code(reason);
    return [cause, shown, code(gate), `${DEFAULT_SETTINGS.guard.deadlineSeconds[cause]} s`];
  });
  return renderTable([["cause", "reason of the condition", "feature gate", "deadline"], ...rows]);
}

export const RELEASE_WORDS = {
  OtherRequester: "the requester is in neither `guard.requesters` nor `guard.nodeTerminators`",
  NotADisruption:
    "there is no such condition, it is of a node's taint, the gate is off, or, at a node's end, the pod is terminating already",
  PodCompleted: "the pod has ended, or is another one by now",
  NotAVirtualMachine: "the pod runs no VM",
  VmiGone: "the VM is gone, re-created, being deleted or final",
  NotScheduled: "the VM is on no node yet",
  NodeNotAlive: `the node is gone, not Ready, or tainted ${DEAD_NODE_TAINTS.map(code).join(", ")}`,
  NotListed: "the VM runs in another pod, and KubeVirt does not list this one in `status.activePods`",
  StrategyNone: "the strategy None asks for no protection",
  NotMigratable: "the VM cannot migrate",
  UnknownStrategy: "the strategy is none that KubeVirt knows",
  DeadlinePassed: "it has not moved in time, or its node ends before it could",
  HandlerNeedsRoom: "the scheduler makes room for virt-handler, without which no VM of that node can move",
} as const satisfies Record<DeletionAllowReason, string>;

const WITH_EVENT: readonly DeletionAllowReason[] = [
  "NotMigratable",
  "UnknownStrategy",
  "DeadlinePassed",
  "HandlerNeedsRoom",
];

export function releaseTable(): string {
  const rows = Object.entries(RELEASE_WORDS).map(([reason, because]) => {
    return [reason, because, WITH_EVENT.some((shown) => shown === reason) ? "DeletionAllowed" : ""];
  });
  return renderTable([["reason", "because", "Event"], ...rows]);
}
