/** Explains the decision on a pod and the facts that led to the decision. */
import { resolveStrategy } from "../settings/strategy.ts";
import { warningsOf } from "./messages.ts";
import { called } from "../evacuation/migration-cause.ts";
import { hasMigrationStarted } from "../evacuation/not-started.ts";
import { requestersOf } from "../evacuation/requesters.ts";
import { isActive } from "../kube/evacuation.ts";
import type { MigrationFacts, VmiFacts } from "../kube/facts.ts";
import type { Settings } from "../settings/settings.ts";
import type { Review } from "./review.ts";
import { cooldownReason } from "../evacuation/cooldown.ts";
import { isFinal, keyOf } from "../kube/objects.ts";

/**
 * Says what happens to the guest if the verdict alone could mislead, keyed by reason. For example, Lifeboat refuses an
 * eviction although the VM moves.
 */
export const EXPLAINED: Readonly<Record<string, string>> = {
  StrategyNone: "the guest is shut down",
  ShutdownByStrategy: "the guest is shut down",
  EvacuationTriggered:
    "the eviction starts an evacuation of the VM; the caller repeats the eviction until the VM has left",
  EvacuationInProgress: "the VM is already being evacuated; the caller repeats the eviction until the VM has left",
};

export function explanationOf({ facts, decision }: Pick<Review, "facts" | "decision">) {
  const { pod, vmi } = facts;
  if (pod === undefined) return undefined;
  const cooldown = vmi === undefined ? undefined : cooldownReason(vmi, facts);
  const migration = facts.migrations.find((one) => !isFinal(one));
  const askedBy = facts.evacuations.filter(isActive).flatMap(requestersOf);
  return {
    pod: keyOf(pod),
    decision: {
      allowed: decision.verdict === "Allow",
      reason: decision.reason,
      ...(decision.verdict === "Deny" && { code: 429, message: decision.message }),
      warnings: warningsOf(facts, decision),
    },
    ...(cooldown === undefined ? {} : { cooldown }),
    ...(migration === undefined ? {} : { migration: movesText(migration) }),
    ...(askedBy.length > 0 && { askedBy }),
    actions: decision.actions.map((action) => action.verb).filter((verb) => verb !== "AddRequester"),
    facts: {
      pod: { phase: pod.phase, nodeName: pod.nodeName, ready: pod.ready, labels: pod.labels },
      ...(vmi === undefined ? {} : { vmi: { ...vmi, strategy: strategyInForce(vmi, facts.settings) } }),
      evacuations: facts.evacuations,
      migrations: facts.migrations,
      settings: facts.settings,
    },
  };
}

export function movesText(migration: MigrationFacts): string {
  const does =
    migration.phase === "Running"
      ? "moves the VM"
      : hasMigrationStarted(migration)
        ? "is about to move the VM"
        : "will move the VM";
  return `${called(migration)} ${does}`;
}

/** Returns the VM's effective eviction strategy. An unknown strategy is returned unchanged. */
export function strategyInForce(vmi: VmiFacts, settings: Settings): string {
  const resolved = resolveStrategy(vmi, settings);
  return resolved.known ? resolved.strategy : resolved.value;
}
