/**
 * The arguments of the plugins that nominate: keys, defaults and rules as upstream has them. Upstream: kubernetes-sigs/descheduler,
 * pkg/framework/plugins/<name>/{types,defaults,validation}.go.
 */
import * as z from "zod/mini";
import type {
  LowNodeUtilizationArguments,
  NodeAffinityArguments,
  NodeTaintsArguments,
  PodLifeTimeArguments,
} from "../plugins/arguments.ts";
import { Count, emptyList, flag, Int32, listOf, mapping, oneOfLists, Selector, text, unsupported } from "./fields.ts";

type SchemaOf<Arguments> = z.ZodMiniType<Arguments>;

/** Not of the descheduler: whether pods whose evacuation is in progress come first. */
const common = { sort: z.lazy(() => flag(true)) };

const selection = {
  ...common,
  namespaces: z.exactOptional(z.lazy(() => oneOfLists("name of a namespace"))),
  labelSelector: z.exactOptional(Selector),
};

const PERCENT = "expected a percentage, from 0 to 100";
const Thresholds = z.lazy(() =>
  z
    .record(
      text("expected the name of a resource"),
      z.number(PERCENT).check(z.minimum(0, PERCENT), z.maximum(100, PERCENT)),
      "expected percentages by resource",
    )
    .check(z.refine((thresholds) => Object.keys(thresholds).length > 0, "expected at least one resource")),
);

const sameKeys = (a: object, b: object) =>
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => Object.hasOwn(b, key));

export const LowNodeUtilization: SchemaOf<LowNodeUtilizationArguments> = z.lazy(() =>
  mapping({
    ...common,
    useDeviationThresholds: flag(false),
    thresholds: Thresholds,
    targetThresholds: Thresholds,
    numberOfNodes: z._default(Count, 0),
    evictableNamespaces: z.exactOptional(
      mapping({
        include: emptyList("not possible here: expected exclude only"),
        exclude: listOf(text("expected the name of a namespace")),
      }),
    ),
    evictionLimits: z.exactOptional(mapping({ node: z.exactOptional(Count) })),
    metricsUtilization: unsupported("not supported by Lifeboat, which goes by what pods request"),
  }).check(
    z.refine(({ thresholds, targetThresholds }) => sameKeys(thresholds, targetThresholds), {
      path: ["targetThresholds"],
      error: "expected the same resources as in thresholds",
    }),
    z.superRefine(({ thresholds, targetThresholds, useDeviationThresholds }, context) => {
      if (useDeviationThresholds) return;
      for (const [resource, low] of Object.entries(thresholds)) {
        const target = targetThresholds[resource];
        if (target === undefined || low <= target) continue;
        context.addIssue({
          code: "custom",
          path: ["thresholds", resource],
          message: "expected no more than in targetThresholds",
        });
      }
    }),
  ),
);

const TAINT = "expected the key of a taint, or key=value";

export const NodeTaints: SchemaOf<NodeTaintsArguments> = z.lazy(() =>
  mapping({
    ...selection,
    includePreferNoSchedule: flag(false),
    excludedTaints: listOf(text(TAINT)),
    includedTaints: listOf(text(TAINT)),
  }).check(
    z.refine(({ excludedTaints, includedTaints }) => excludedTaints.length === 0 || includedTaints.length === 0, {
      path: ["includedTaints"],
      error: "expected excludedTaints or includedTaints, not both",
    }),
  ),
);

const AFFINITY_TYPES = [
  "requiredDuringSchedulingIgnoredDuringExecution",
  "preferredDuringSchedulingIgnoredDuringExecution",
] as const;
const AFFINITY_TYPE = `expected ${AFFINITY_TYPES.join(" or ")}`;

export const NodeAffinity: SchemaOf<NodeAffinityArguments> = z.lazy(() =>
  mapping({
    ...selection,
    nodeAffinityType: z
      .array(z.enum(AFFINITY_TYPES, AFFINITY_TYPE), "expected a list")
      .check(z.minLength(1, "expected at least one type")),
  }),
);

// prettier-ignore
const STATES = [
  // Phases
  "Running", "Pending", "Succeeded", "Failed", "Unknown",
  // Reasons of pods
  "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
  // What containers wait for
  "PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError",
  "ErrImagePull", "CreateContainerError", "InvalidImageName",
  // Why containers ended
  "OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
] as const;

const Condition = z.lazy(() =>
  mapping({
    type: z.exactOptional(text("expected the type of a condition")),
    status: z.exactOptional(text("expected the status of a condition")),
    reason: z.exactOptional(text("expected the reason of a condition")),
    minTimeSinceLastTransitionSeconds: z.exactOptional(Count),
  }).check(
    z.refine(
      (condition) => Object.keys(condition).length > 0,
      "expected type, status, reason or minTimeSinceLastTransitionSeconds",
    ),
  ),
);

export const PodLifeTime: SchemaOf<PodLifeTimeArguments> = z.lazy(() =>
  mapping({
    ...selection,
    maxPodLifeTimeSeconds: z.exactOptional(Count),
    states: listOf(z.enum(STATES, `expected one of ${STATES.join(", ")}`)),
    conditions: listOf(Condition),
    exitCodes: listOf(Int32),
    ownerKinds: z.exactOptional(oneOfLists("kind of an owner")),
    includingInitContainers: flag(false),
    includingEphemeralContainers: flag(false),
  }).check(
    z.refine(
      ({ maxPodLifeTimeSeconds, states, conditions, exitCodes }) =>
        maxPodLifeTimeSeconds !== undefined || states.length + conditions.length + exitCodes.length > 0,
      "expected maxPodLifeTimeSeconds, states, conditions or exitCodes",
    ),
  ),
);
