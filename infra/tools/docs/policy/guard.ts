/** Renders the tables of POLICY.md about refused deletions and node pressure. */
import { GUARD_CAUSES, GUARDED } from "../../../../shared/settings/guarded.ts";
import type { DeletionAllowReason } from "../../../../shared/guard/decide.ts";
import { code, renderTable } from "./tables.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/settings/settings.ts";
import { DEAD_NODE_TAINTS } from "../../../../shared/kube/objects.ts";

export function disruptionTable(): string {
  const rows = GUARD_CAUSES.map((cause) => {
    const { reason, gate } = GUARDED[cause];
    const shown = reason === undefined ? "none: the requester tells the cause" : code(reason);
    return [cause, shown, code(gate), `${DEFAULT_SETTINGS.guard.deadlineSeconds[cause]} s`];
  });
  return renderTable([["cause", "reason of the condition", "feature gate", "deadline"], ...rows]);
}

export const RELEASE_WORDS = {
  OtherRequester: "the requester is in neither `guard.requesters` nor `guard.nodeTerminators`",
  NotADisruption:
    "the pod has no condition `DisruptionTarget`, the cause's gate is off, Karpenter deletes a terminating pod, or the cause is a node's taint (a policy decides)",
  PodCompleted: "the pod has ended, or another pod has its name by now",
  NotAVirtualMachine: "the pod runs no VM",
  VmiGone: "the VMI is gone, was re-created, is being deleted or has ended",
  NotScheduled: "the VM is on no node yet",
  NodeNotAlive: `the node is gone, not Ready, or tainted ${DEAD_NODE_TAINTS.map(code).join(", ")}`,
  NotListed: "the VM runs in another pod, and the VMI's `status.activePods` does not list this pod",
  StrategyNone: "the VM's strategy is None",
  NotMigratable: "the VM cannot migrate",
  UnknownStrategy: "the VM's strategy is invalid",
  DeadlinePassed: "the VM has not moved before the deadline, or its node is terminated before a migration could end",
  HandlerNeedsRoom: "the scheduler makes room for virt-handler, and without virt-handler no VM can leave that node",
} as const satisfies Record<DeletionAllowReason, string>;

const WITH_EVENT: readonly DeletionAllowReason[] = [
  "NotMigratable",
  "UnknownStrategy",
  "DeadlinePassed",
  "HandlerNeedsRoom",
];

export function releaseTable(): string {
  const rows = Object.entries(RELEASE_WORDS).map(([reason, because]) => {
    return [reason, because, WITH_EVENT.some((shown) => shown === reason) ? "DeletionAllowed" : "–"];
  });
  return renderTable([["reason", "why the deletion is allowed", "Event"], ...rows]);
}
