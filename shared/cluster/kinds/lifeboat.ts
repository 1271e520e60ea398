/**
 * Lifeboat's own kinds, as facts.
 * Owns: their schemas, each of which turns JSON into facts. Does not own: requests (cluster.ts), what a configuration may
 * say (shared/config), rules.
 */
import * as z from "zod/mini";
import { CAUSES } from "../../policy/cause.ts";
import type { ConfigurationObserved } from "../../policy/configuration-status.ts";
import { ACTIVE_PHASES, CONDITION_TYPES, END_PHASES } from "../../policy/evacuation/phase.ts";
import type { EvacuationCondition, EvacuationFacts } from "../../policy/facts.ts";
import { Count, createdAt, listOf, Meta, Text } from "./fields.ts";

const NameAndUid = z.lazy(() => z.object({ name: z._default(z.string(), ""), uid: z.string() }));

const Condition = z.lazy(() =>
  z.object({
    type: z.string(),
    status: z.string(),
    reason: z._default(z.string(), ""),
    message: z._default(z.string(), ""),
    lastTransitionTime: z._default(z.string(), ""),
  }),
);

export const Evacuation = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: Meta,
      spec: z.object({
        virtualMachineInstance: z.object({ name: z.string() }),
        cause: z.enum(CAUSES),
        requestedBy: z._default(z.string(), ""),
        intent: z._default(z.enum(["Evacuate", "Withdrawn"]), "Evacuate"),
        deadline: Text,
        pod: z.optional(z.object({ name: Text, uid: z.string() })),
        inherited: z.optional(z.object({ attempts: Count, notBefore: Text })),
      }),
      status: z.prefault(
        z.object({
          virtualMachineInstanceUID: Text,
          podName: Text,
          podUID: Text,
          sourceNode: Text,
          phase: z.optional(z.enum([...ACTIVE_PHASES, ...END_PHASES])),
          reason: Text,
          message: Text,
          attempts: Count,
          migration: z.optional(NameAndUid),
          lastFailedMigration: z.optional(NameAndUid),
          targetNode: Text,
          startTime: Text,
          completionTime: Text,
          nextAttemptTime: Text,
          conditions: listOf(Condition),
        }),
        {},
      ),
    }),
    z.transform(({ metadata, spec: { virtualMachineInstance, ...rest }, status }): EvacuationFacts => {
      const { namespace, name, uid, resourceVersion } = metadata;
      return {
        namespace,
        name,
        uid,
        resourceVersion,
        createdAt: createdAt(metadata),
        spec: { vmiName: virtualMachineInstance.name, ...rest },
        status: { ...status, conditions: status.conditions.filter(isOurs) },
      };
    }),
  ),
);

/** Another party may add conditions of its own. They hide none of ours, and our next write removes them. */
function isOurs(condition: Record<keyof EvacuationCondition, string>): condition is EvacuationCondition {
  const { type, status } = condition;
  return CONDITION_TYPES.some((one) => one === type) && (status === "True" || status === "False");
}

export interface ConfigurationFacts extends ConfigurationObserved {
  /** As written; shared/config parses it and reports what is wrong. */
  readonly spec: unknown;
}

export const LifeboatConfiguration = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: Meta,
      spec: z.unknown(),
      status: z.prefault(
        z.object({
          conditions: listOf(
            z.object({
              type: z.string(),
              status: z.string(),
              reason: z.string(),
              message: z.string(),
              observedGeneration: Count,
              lastTransitionTime: z.string(),
            }),
          ),
        }),
        {},
      ),
    }),
    z.transform(({ metadata, spec = {}, status }): ConfigurationFacts => {
      const { resourceVersion, generation } = metadata;
      return { resourceVersion, generation, spec, conditions: status.conditions };
    }),
  ),
);
