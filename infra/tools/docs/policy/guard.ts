/** The guard and node pressure as tables for administrators, rendered as Markdown. */
import { GUARD_CAUSES, GUARDED } from "../../../../shared/settings/guarded.ts";
import type { ReleaseReason } from "../../../../shared/guard/decide.ts";
import { DEAD_NODE_TAINTS } from "../../../../shared/kube/taints.ts";
import { code, renderTable } from "./tables.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/settings/settings.ts";

export function disruptionTable(): string {
  const rows = GUARD_CAUSES.map((cause) => {
    const { reason, gate } = GUARDED[cause];
    const told = reason === undefined ? "none: by the requester" : code(reason);
    return [cause, told, code(gate), `${DEFAULT_SETTINGS.guard.deadlineSeconds[cause]} s`];
  });
  return renderTable([["cause", "reason of the condition", "feature gate", "deadline"], ...rows]);
}

/** What is known of the time, the first that applies. */
export function nodeEndTable(): string {
  return renderTable([
    ["what is known of the end", "the deletion is refused until"],
    ["the node's annotation `karpenter.sh/nodeclaim-termination-timestamp`", "that time"],
    ["else: the grace period of the deletion", "it is over: Karpenter asks for exactly the time that is left"],
    ["neither", `${DEFAULT_SETTINGS.guard.deadlineSeconds.NodeTermination} s have passed`],
    ["a time that is past, or a grace period of 1 s or less", "allowed at once"],
    ["less than 15 s are left, and no migration of the VM runs", "allowed at once, so that the guest can shut down"],
  ]);
}

/** Upstream: kube-scheduler's preemption executor, the taint eviction controller, Karpenter's terminator; client-go's retries. */
export function retryTable(): string {
  return renderTable([
    ["who", "which pods", "requests", "then"],
    [
      "kube-scheduler",
      "all victims but the last, at most 16 at a time; then the last",
      "11 for each",
      "at once again, with victims chosen anew, without limit",
    ],
    ["taint-eviction-controller", "each pod on its own", "5 × 11", "never again: Lifeboat finishes the deletion"],
    [
      "Karpenter, up to 1.14",
      "one pod after another; pods behind a refused one wait",
      "11",
      "again after 0.1 s to 10 s, without limit",
    ],
  ]);
}

export const RELEASE_WORDS = {
  OtherRequester: "the requester is in neither `guard.requesters` nor `guard.nodeTerminators`",
  NotADisruption:
    "there is neither such a condition nor an Evacuation for one, the gate is off, or, at a node's end, the pod is terminating already",
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
  Blind: "the API server does not answer, and the request shows no deadline that is yet to come",
} as const satisfies Record<ReleaseReason, string>;

const TOLD: readonly ReleaseReason[] = ["NotMigratable", "UnknownStrategy", "DeadlinePassed"];

export function releaseTable(): string {
  const rows = Object.entries(RELEASE_WORDS).map(([reason, because]) => {
    return [reason, because, TOLD.some((told) => told === reason) ? "DeletionAllowed" : ""];
  });
  return renderTable([["reason", "because", "Event"], ...rows]);
}
