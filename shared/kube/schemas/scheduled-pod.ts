/**
 * Defines the schemas of a scheduled pod and a node. The schemas are small, because a Worker can read fifty thousand
 * pods.
 */
import * as z from "zod/mini";
import type { Labels, ScheduledNode, ScheduledPod } from "../scheduled-pod.ts";
import * as names from "../names.ts";
import { checkSize, checkTexts, LARGEST_FACTS, lengthOf } from "./bounds.ts";
import { Conditions, knownOf, listOf, ObjectName, ObjectNamespace, Owner, part, Text, TextsOrNone } from "./fields.ts";
import { nodeFacts, NodeObject } from "./kubernetes.ts";
import { AntiAffinity, PodRequirements, Computed, resourcesOf, Spread, Tolerations } from "./pod-requirements.ts";

const KNOWN_ANNOTATIONS = [
  names.DOMAIN_ANNOTATION,
  names.REQUEST_EVICT_ONLY_ANNOTATION,
  names.EVICTION_IN_PROGRESS_ANNOTATION,
  names.EVICT_ANNOTATION,
  names.PREFER_NO_EVICTION_ANNOTATION,
  names.MIRROR_POD_ANNOTATION,
  names.CONFIG_SOURCE_ANNOTATION,
];

const TIME = "expected a time";
export const Time = z.lazy(() =>
  z.pipe(
    z.string(TIME).check(z.refine((text) => !Number.isNaN(Date.parse(text)), TIME)),
    z.transform((text) => Date.parse(text)),
  ),
);

const Anything = z.nullish(z.unknown());
const NodeName = "expected the name of a node";

const Volume = z.lazy(() =>
  z.object({
    name: Text,
    ephemeral: Anything,
    emptyDir: Anything,
    hostPath: Anything,
    persistentVolumeClaim: z.nullish(z.object({ claimName: z.string() })),
  }),
);

const ScheduledPodObject = z.lazy(() =>
  z.object({
    metadata: z.object({
      namespace: ObjectNamespace,
      name: ObjectName,
      uid: z.string(),
      creationTimestamp: Time,
      deletionTimestamp: Text,
      labels: TextsOrNone,
      annotations: TextsOrNone,
      ownerReferences: listOf(Owner),
    }),
    spec: z.object({
      nodeName: z.string(NodeName).check(z.minLength(1, NodeName)),
      priority: z.nullish(z.number()),
      tolerations: Anything,
      nodeSelector: Anything,
      affinity: z.nullish(
        z.object({
          nodeAffinity: Anything,
          podAntiAffinity: z.nullish(z.object({ requiredDuringSchedulingIgnoredDuringExecution: Anything })),
        }),
      ),
      containers: listOf(z.object({ resources: Anything })),
      initContainers: listOf(z.object({ restartPolicy: Text, resources: Anything })),
      overhead: Anything,
      resources: Anything,
      topologySpreadConstraints: listOf(Anything),
      volumes: listOf(Volume),
      resourceClaims: listOf(z.unknown()),
    }),
    status: part({
      phase: z._default(z.string(), ""),
      qosClass: z.nullish(z.enum(["BestEffort", "Burstable", "Guaranteed"])),
      conditions: Conditions,
    }),
  }),
);

export const NodeWithResources = z.lazy(() =>
  z.pipe(
    NodeObject,
    z.transform((node): ScheduledNode => {
      const { allocatable, capacity } = node.status;
      return {
        ...nodeFacts(node),
        labels: node.metadata.labels ?? {},
        allocatable: resourcesOf(Object.keys(allocatable).length === 0 ? capacity : allocatable),
      };
    }),
  ),
);

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

type PodObject = z.output<typeof ScheduledPodObject>;

export function scheduledPodSchema() {
  const memory = newMemory();
  return z.pipe(
    ScheduledPodObject,
    z.transform((pod, { issues }): ScheduledPod => scheduledPod(pod, memory, issues)),
  );
}

type Memory = ReturnType<typeof newMemory>;

function newMemory() {
  return {
    computed: remembered(Computed, ["spec"]),
    placement: remembered(PodRequirements, ["spec"]),
    antiAffinity: remembered(AntiAffinity, ["spec", "affinity", "podAntiAffinity", REQUIRED]),
    spread: remembered(Spread, ["spec", "topologySpreadConstraints"]),
    tolerations: remembered(Tolerations, ["spec", "tolerations"]),
    text: rememberedText(),
    labels: boundedLabels(),
  };
}

/**
 * The maximum length of the labels of all pods in a list together, in characters. Above this limit, a pod is rejected
 * if its own labels have more than FEW_LABELS characters.
 */
const LABELS_OF_A_LIST = 24 * 1024 * 1024;
const FEW_LABELS = 1024;

function boundedLabels() {
  let all = 0;
  return ({ labels, annotations }: PodObject["metadata"], issues: Issues): Labels => {
    checkTexts([labels, annotations], issues);
    const own = lengthOf(labels);
    all += own;
    if (all > LABELS_OF_A_LIST)
      checkSize(own, FEW_LABELS, { of: "labels for a pod in a list with so many labels", issues });
    return labels;
  };
}

function scheduledPod({ metadata, spec, status }: PodObject, memory: Memory, issues: Issues): ScheduledPod {
  const { nodeSelector, affinity, topologySpreadConstraints: spread } = spec;
  const antiAffinity = affinity?.podAntiAffinity?.[REQUIRED];
  const { requests, qosClass } = memory.computed(computedFrom(spec), issues);
  return {
    namespace: memory.text(metadata.namespace),
    name: metadata.name,
    uid: metadata.uid,
    deleting: metadata.deletionTimestamp !== undefined,
    phase: memory.text(status.phase),
    nodeName: memory.text(spec.nodeName),
    ready: status.conditions.some(({ type, status }) => type === "Ready" && status === "True"),
    labels: memory.labels(metadata, issues),
    annotations: knownOf(metadata.annotations, KNOWN_ANNOTATIONS),
    owners: bounded(metadata.ownerReferences, issues).map((owner) => ({ ...owner, kind: memory.text(owner.kind) })),
    ...(spec.priority === undefined || spec.priority === null ? {} : { priority: spec.priority }),
    tolerations: memory.tolerations(spec.tolerations, issues),
    createdAt: metadata.creationTimestamp,
    qosClass: status.qosClass ?? qosClass,
    requests,
    placement: memory.placement({ nodeSelector, nodeAffinity: affinity?.nodeAffinity }, issues),
    antiAffinity: memory.antiAffinity(antiAffinity, issues),
    ...(spread.length > 0 && { spread: memory.spread(spread, issues) }),
    localStorage: spec.volumes.some(({ emptyDir, hostPath }) => Boolean(emptyDir) || Boolean(hostPath)),
    claims: bounded(claimsOf(spec), issues),
    ...ephemeralClaimsOf(metadata, spec, issues),
    hasResourceClaims: spec.resourceClaims.length > 0,
  };
}

/** Limits the length of a list that usually has one or two items. */
function bounded<T>(items: readonly T[], issues: Issues): readonly T[] {
  if (items.length > MOST_ITEMS)
    checkSize(JSON.stringify(items).length, LARGEST_FACTS, { of: "owners or claims", issues });
  return items;
}
const MOST_ITEMS = 20;

const NO_CLAIMS: readonly string[] = [];

function claimsOf({ volumes }: PodObject["spec"]): readonly string[] {
  const claims = volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? NO_CLAIMS);
  return claims.length === 0 ? NO_CLAIMS : [...claims];
}

/**
 * Returns the claims that Kubernetes creates and deletes with the pod. Upstream: component-helpers `VolumeClaimName`.
 */
function ephemeralClaimsOf({ name: pod }: PodObject["metadata"], { volumes }: PodObject["spec"], issues: Issues) {
  const own = volumes.filter(({ ephemeral }) => Boolean(ephemeral));
  return (
    own.length > 0 && {
      ephemeralClaims: bounded(
        own.map(({ name = "" }) => `${pod}-${name}`),
        issues,
      ),
    }
  );
}

function computedFrom({ containers, initContainers, overhead, resources }: PodObject["spec"]) {
  return { containers: containers.map((container) => container.resources), initContainers, overhead, pod: resources };
}

export type Issues = z.core.ParsePayload["issues"];

/**
 * Returns a parser for the part at the path `at` of each item of a list. Equal parts become one shared object, to save
 * memory.
 */
function remembered<S extends z.ZodMiniType>(schema: S, at: readonly string[]) {
  const seen = new Map<string, z.output<S>>();
  return (input: unknown, issues: Issues): z.output<S> => {
    const text = JSON.stringify(input) ?? "";
    const known = seen.get(text);
    if (known !== undefined) return known;
    checkSize(text.length, LARGEST_FACTS, { of: at.join("."), issues });
    const parsed = schema.safeParse(input);
    if (parsed.success && text.length > LARGEST_FACTS) return parsed.data;
    if (parsed.success) seen.set(text, parsed.data);
    else issues.push(...parsed.error.issues.map((issue) => issueAt(issue, at, input)));
    return parsed.success ? parsed.data : z.NEVER;
  };
}

function issueAt({ path, message }: z.core.$ZodIssue, at: readonly string[], input: unknown): Issues[number] {
  return { code: "custom", input, path: [...at, ...path], message };
}

function rememberedText(): (text: string) => string {
  const seen = new Map<string, string>();
  return (text) => {
    const known = seen.get(text);
    if (known === undefined) seen.set(text, text);
    return known ?? text;
  };
}
