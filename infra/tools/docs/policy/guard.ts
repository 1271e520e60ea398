/** The guard and node pressure as tables for administrators, rendered as Markdown. */
import { GUARD_CAUSES, GUARDED } from "../../../../shared/policy/guard/guarded.ts";
import type { ReleaseReason } from "../../../../shared/policy/guard/deletion.ts";
import { isToMove } from "../../../../shared/policy/eviction/eviction-table.ts";
import { DEAD_NODE_TAINTS } from "../../../../shared/policy/kube/taints.ts";
import { shouldEvacuate } from "../../../../shared/policy/pressure/pressure.ts";
import { CAN_MIGRATE, CELLS, code, renderTable, sample } from "./tables.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/policy/settings.ts";

const REFUSED = "refused until it has moved, up to the deadline";

export function guardTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    return [
      strategy,
      CAN_MIGRATE[mobility],
      isToMove(sample(strategy, mobility), DEFAULT_SETTINGS) ? REFUSED : "allowed",
    ];
  });
  return renderTable([["strategy", "can migrate", "the deletion is"], ...rows]);
}

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
    ["known of that time", "the deletion is refused until"],
    ["the node's annotation `karpenter.sh/nodeclaim-termination-timestamp`", "that time"],
    [
      "none, or no time; the grace period of the deletion",
      "that is over: Karpenter asks for exactly what is left of the time",
    ],
    ["neither", `${DEFAULT_SETTINGS.guard.deadlineSeconds.NodeTermination} s have passed`],
    ["a time that is past, or a grace period of 1 s or less", "allowed at once"],
    [
      "less than 15 s are left, and no migration of the VM runs",
      "allowed at once: the guest can still shut down in order",
    ],
  ]);
}

/** Upstream: kube-scheduler's preemption executor, the taint eviction controller, Karpenter's terminator; client-go's retries. */
export function retryTable(): string {
  return renderTable([
    ["who", "which pods", "how long", "then"],
    [
      "kube-scheduler",
      "all victims of a preemption but the last at a time, in parts where they are more than 16, and the last one after them",
      "eleven requests for each",
      "the first error ends the round; the next one begins at once, with victims chosen anew, without limit",
    ],
    [
      "taint-eviction-controller",
      "each pod on its own",
      "five times eleven requests",
      "never again. Lifeboat finishes the deletion",
    ],
    [
      "Karpenter, up to 1.14",
      "the pods of a node one after another",
      "eleven requests for the first one that is refused",
      "the pods behind it wait, ordinary ones too; the next round begins after 0.1 s to 10 s, without limit",
    ],
    [
      "pod garbage collector, node controller, device-taint-eviction-controller",
      "",
      "",
      "not asked about: [what it cannot do](../../README.md#what-it-cannot-do)",
    ],
  ]);
}

const { requesters, nodeTerminators } = DEFAULT_SETTINGS.guard;

export const RELEASE_WORDS = {
  OtherRequester: `the requester is none of ${[...requesters, ...nodeTerminators].map(code).join(", ")}`,
  NotADisruption:
    "no such condition that is True and no Evacuation because of one, or its gate is off; at a node's end: the pod ends already",
  PodCompleted: "the pod has ended, or is another one by now",
  NotAVirtualMachine: "the pod runs no VM",
  VmiGone: "the VM is gone, made anew, being deleted or final",
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

export function pressureTable(): string {
  const rows = CELLS.map(({ strategy, mobility }) => {
    const saved = shouldEvacuate(sample(strategy, mobility), DEFAULT_SETTINGS);
    return [strategy, CAN_MIGRATE[mobility], saved ? "yes" : "no"];
  });
  return renderTable([["strategy", "can migrate", "moves instead of shutting down"], ...rows]);
}
