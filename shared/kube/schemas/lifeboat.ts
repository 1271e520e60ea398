/** Lifeboat's own kinds, as facts. */
import * as z from "zod/mini";
import {
  ACTIVE_PHASES,
  CAUSES,
  CONDITION_TYPES,
  END_PHASES,
  type EvacuationCondition,
  type EvacuationFacts,
} from "../evacuation.ts";
import type { ConfigurationObserved } from "../facts.ts";
import { Count, createdAt, identityOf, kind, listOf, Meta, part, Text } from "./fields.ts";

const Words = z._default(z.string(), "");
/** The definition asks for no UID: who wrote a status by hand may have left it out. No object has an empty one. */
const NameAndUid = z.lazy(() => z.object({ name: Words, uid: Words }));

const CONDITION = { type: z.string(), status: z.string(), reason: Words, message: Words, lastTransitionTime: Words };

export const Evacuation = kind(
  () => ({
    metadata: Meta,
    spec: z.object({
      virtualMachineInstance: z.object({ name: z.string() }),
      cause: z.enum(CAUSES),
      requestedBy: Words,
      intent: z._default(z.enum(["Evacuate", "Withdrawn"]), "Evacuate"),
      retryAt: Text,
      deadline: Text,
      pod: z.optional(z.object({ name: Text, uid: z.string() })),
      inherited: z.optional(z.object({ attempts: Count, notBefore: Text })),
    }),
    status: part({
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
      observedRetryAt: Text,
      conditions: listOf(z.object(CONDITION)),
    }),
  }),
  ({ metadata, spec: { virtualMachineInstance, ...spec }, status }): EvacuationFacts => {
    const { deleting: _, ...identity } = identityOf(metadata);
    return {
      ...identity,
      createdAt: createdAt(metadata),
      spec: { vmiName: virtualMachineInstance.name, ...spec },
      status: { ...status, conditions: status.conditions.filter(isOurs) },
    };
  },
);

/** Another party may add conditions of its own. They hide none of ours, and our next write removes them. */
function isOurs(condition: Record<keyof EvacuationCondition, string>): condition is EvacuationCondition {
  const { type, status } = condition;
  return CONDITION_TYPES.some((one) => one === type) && (status === "True" || status === "False");
}

export interface ConfigurationFacts extends ConfigurationObserved {
  /** As written; shared/settings parses it and reports what is wrong. */
  readonly spec: unknown;
}

export const LifeboatConfiguration = kind(
  () => ({
    metadata: Meta,
    spec: z.unknown(),
    status: part({ conditions: listOf(z.object({ ...CONDITION, observedGeneration: Count })) }),
  }),
  ({ metadata: { resourceVersion, generation }, spec = {}, status }): ConfigurationFacts => {
    return { resourceVersion, generation, spec, conditions: status.conditions };
  },
);
