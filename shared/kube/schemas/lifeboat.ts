/** Lifeboat's own kinds, as facts. */
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
import { MANAGED_BY, MANAGED_BY_LABEL, NOT_BEFORE_ANNOTATION, WHEN_BLOCKED_ANNOTATION } from "../names.ts";
import * as nodes from "../node-evacuation.ts";
import { LARGE_FACTS } from "./bounds.ts";
import { Conditions, Count, createdAt, identityOf, kind, listOf, Meta, part, Text } from "./fields.ts";
import { Template } from "./guest.ts";

const Anything = z.nullish(z.unknown());

const Words = z._default(z.string(), "");
/** The definition asks for no UID: who wrote a status by hand may have left it out. No object has an empty one. */
const NameAndUid = z.lazy(() => z.object({ name: Words, uid: Words }));

const CONDITION = { type: z.string(), status: z.string(), reason: Words, message: Words, lastTransitionTime: Words };

function wordOf<const V extends string>(values: readonly V[], fallback: NoInfer<V>) {
  return z._default(z.enum(values), fallback);
}

const PHASES = [...ACTIVE_PHASES, ...END_PHASES] as const;
/** A phase that only another version writes, as 0.1's WaitingForOwner, counts as absent: the next look at the VM sets it. */
const PhaseOfAnyVersion = z.lazy(() => z.pipe(z.pipe(Text, z.transform(knownPhase)), z.optional(z.enum(PHASES))));

function knownPhase(text: string | undefined) {
  return PHASES.find((phase) => phase === text);
}

/** 0.3 knew `EvictionRequest`, too. Such an Evacuation continues as if a person had asked for it. */
const Cause = z.lazy(() =>
  z.pipe(
    z.transform((cause: unknown) => (cause === "EvictionRequest" ? "Operator" : cause)),
    wordOf(CAUSES, "Operator"),
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
/** With no field but those above: a test compares them with the type's. */
export type EvacuationRead = z.output<typeof evacuation>;

/** Another party may add conditions of its own. They hide none of ours, and our next write removes them. */
function isOurs(condition: Record<keyof EvacuationCondition, string>): condition is EvacuationCondition {
  const { type, status } = condition;
  return CONDITION_TYPES.some((one) => one === type) && (status === "True" || status === "False");
}

const nodeEvacuation = kind(
  () => ({
    metadata: Meta,
    spec: z.object({
      nodeName: z.string(),
      intent: wordOf(["Evacuate", "Withdrawn"], "Evacuate"),
      progress: wordOf(["Running", "Paused"], "Running"),
      schedule: part({ notBefore: Text, notAfter: Text, after: Text }),
      startIf: wordOf(["Always", "WillSucceed", "WillSucceedWithShutdowns"], "Always"),
      virtualMachines: part({
        order: wordOf(nodes.ORDERS, "ByPriority"),
        concurrency: z.optional(z.number()),
        whenBlocked: wordOf(nodes.WHEN_BLOCKED, "Wait"),
        whenAttemptsFail: wordOf(["Wait", "Restart"], "Wait"),
        ownersChoice: wordOf(["Respected", "Ignored"], "Respected"),
      }),
      otherPods: wordOf(["Evict", "EvictWithLocalData", "Leave"], "Evict"),
      afterwards: part({ returnVMs: wordOf(["Never", "WhenUncordoned"], "Never") }),
    }),
    status: part({
      phase: z.optional(z.enum([...nodes.NODE_ACTIVE_PHASES, ...nodes.NODE_END_PHASES])),
      message: Text,
      verdict: Text,
      startTime: Text,
      estimatedCompletionTime: Text,
      completionTime: Text,
      lastUpdateTime: Text,
      virtualMachines: z.optional(
        z.object({
          total: Count,
          left: Count,
          moving: Count,
          waiting: Count,
          blocked: Count,
          restarted: Count,
          stopped: Count,
          shutDown: Count,
        }),
      ),
      blockers: listOf(
        z.object({
          namespace: Words,
          name: Words,
          uid: Text,
          reason: Words,
          message: Words,
          whoCanFix: Text,
          since: Text,
        }),
      ),
      shutDowns: listOf(z.object({ namespace: Words, name: Words, uid: Words, time: Text })),
      conditions: listOf(z.object(CONDITION)),
    }),
  }),
  ({ metadata, spec: { afterwards, ...spec }, status }) => {
    return {
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      createdAt: createdAt(metadata),
      isCommands: metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY,
      spec: { ...spec, returnVMs: afterwards.returnVMs },
      status: { ...status, conditions: status.conditions.filter(isNodes) },
    } satisfies nodes.NodeEvacuationFacts;
  },
  // Its blockers may be many.
  LARGE_FACTS,
);

export const NodeEvacuation: z.ZodMiniType<nodes.NodeEvacuationFacts> = nodeEvacuation;
export type NodeEvacuationRead = z.output<typeof nodeEvacuation>;

function isNodes(condition: Record<keyof nodes.NodeCondition, string>): condition is nodes.NodeCondition {
  const { type, status } = condition;
  return nodes.NODE_CONDITIONS.some((one) => one === type) && (status === "True" || status === "False");
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
    whenBlocked: nodes.WHEN_BLOCKED.find((one) => one === annotations?.[WHEN_BLOCKED_ANNOTATION]),
  }),
);

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
  LARGE_FACTS,
);
