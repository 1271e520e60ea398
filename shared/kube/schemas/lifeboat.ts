/** Defines the schemas of Lifeboat's own kinds. */
import * as z from "zod/mini";
import {
  ACTIVE_PHASES,
  CAUSES,
  CONDITION_TYPES,
  END_PHASES,
  type EvacuationCondition,
  type EvacuationFacts,
  WAYS,
} from "../evacuation.ts";
import type { ConfigurationObserved } from "../facts.ts";
import { NOT_BEFORE_ANNOTATION, WHEN_BLOCKED_ANNOTATION } from "../names.ts";
import * as nodes from "../node-evacuation.ts";
import { LARGE_FACTS } from "./bounds.ts";
import { Conditions, Count, createdAt, identityOf, kind, listOf, Meta, part, Text } from "./fields.ts";
import { Template } from "./guest.ts";

const Anything = z.nullish(z.unknown());

export const Words = z._default(z.string(), "");
const NameAndUid = z.lazy(() => z.object({ name: Words, uid: Words }));

export const CONDITION = {
  type: z.string(),
  status: z.string(),
  reason: Words,
  message: Words,
  lastTransitionTime: Words,
};

export function wordOf<const V extends string>(values: readonly V[], fallback: NoInfer<V>) {
  return z._default(z.enum(values), fallback);
}

const PHASES = [...ACTIVE_PHASES, ...END_PHASES] as const;
/** An unknown phase, such as WaitingForOwner of Lifeboat 0.1, is treated as absent. */
const PhaseOfAnyVersion = z.lazy(() => z.pipe(z.pipe(Text, z.transform(knownPhase)), z.optional(z.enum(PHASES))));

function knownPhase(text: string | undefined) {
  return PHASES.find((phase) => phase === text);
}

/** Lifeboat 0.3 also had the cause `EvictionRequest`, which is now treated as `Operator`. */
const Cause = z.lazy(() =>
  z.pipe(
    z.transform((cause: unknown) => (cause === "EvictionRequest" ? "Operator" : cause)),
    wordOf(CAUSES, "Operator"),
  ),
);

const Names = z.lazy(() =>
  z.pipe(
    z.nullish(z.array(z.string())),
    z.transform((names) => names ?? undefined),
  ),
);

const evacuation = kind(
  () => ({
    metadata: Meta,
    spec: z.object({
      virtualMachineInstance: z.object({ name: z.string() }),
      cause: Cause,
      requestedBy: Words,
      intent: z._default(z.enum(["Evacuate", "Withdrawn"]), "Evacuate"),
      retryAt: Text,
      deadline: Text,
      pod: z.optional(z.object({ name: Text, uid: z.string() })),
      inherited: z.optional(z.object({ attempts: Count, notBefore: Text })),
      nodeEvacuation: z.optional(NameAndUid),
      by: z.optional(z.enum(WAYS)),
      runStrategy: Text,
    }),
    status: part({
      virtualMachineInstanceUID: Text,
      podName: Text,
      podUID: Text,
      sourceNode: Text,
      phase: PhaseOfAnyVersion,
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
      requesters: Names,
      conditions: listOf(z.object(CONDITION)),
    }),
  }),
  ({ metadata, spec: { virtualMachineInstance, ...spec }, status }) => {
    const { deleting: _, ...identity } = identityOf(metadata);
    return {
      ...identity,
      createdAt: createdAt(metadata),
      spec: { vmiName: virtualMachineInstance.name, ...spec },
      status: { ...status, conditions: status.conditions.filter(isOurs) },
    } satisfies EvacuationFacts;
  },
);

export const Evacuation: z.ZodMiniType<EvacuationFacts> = evacuation;
/** A test checks that this type has the same fields as `EvacuationFacts`. */
export type EvacuationRead = z.output<typeof evacuation>;

/** Returns whether the condition is one of Lifeboat's types. Lifeboat's next write removes all other conditions. */
function isOurs(condition: Record<keyof EvacuationCondition, string>): condition is EvacuationCondition {
  const { type, status } = condition;
  return CONDITION_TYPES.some((one) => one === type) && (status === "True" || status === "False");
}

export const VirtualMachine = kind(
  () => ({
    metadata: Meta,
    spec: z.object({
      runStrategy: Text,
      running: z.nullish(z.boolean()),
      instancetype: Anything,
      template: part({ spec: z.nullish(Template) }),
    }),
    status: part({ stateChangeRequests: listOf(z.unknown()), conditions: Conditions }),
  }),
  ({
    metadata: { namespace, name, uid, annotations },
    spec: { runStrategy, running, instancetype, template },
    status,
  }): nodes.VirtualMachineFacts => ({
    namespace,
    name,
    uid,
    start: {
      template: template.spec ?? undefined,
      hasInstancetype: instancetype !== undefined && instancetype !== null,
      restartRequired: status.conditions.some((one) => one.type === "RestartRequired" && one.status === "True"),
    },
    runStrategy: runStrategy ?? (running === true ? "Always" : "Halted"),
    isChanging: status.stateChangeRequests.length > 0,
    notBefore: annotations?.[NOT_BEFORE_ANNOTATION],
    whenBlocked: wayIn(annotations?.[WHEN_BLOCKED_ANNOTATION]),
  }),
);

/** Returns `Wait` for an unknown value, because the VM's owner did not clearly request a restart or a stop. */
function wayIn(annotation: string | undefined): nodes.VirtualMachineFacts["whenBlocked"] {
  return annotation === undefined ? undefined : (nodes.WHEN_BLOCKED.find((one) => one === annotation) ?? "Wait");
}

export interface ConfigurationFacts extends ConfigurationObserved {
  /** The spec as written. shared/settings parses it and reports mistakes. */
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
  LARGE_FACTS,
);
