/** The watched kinds. For each kind, defines the fields that the relay stores and the changes that it reports. */
import * as z from "zod/mini";
import { listOf, part, Text } from "../../shared/kube/schemas/fields.ts";
import type { EventData, EventType } from "../../shared/events/cloud-event.ts";
import { END_PHASES } from "../../shared/kube/evacuation.ts";
import {
  COMPONENT_LABEL,
  HOTPLUG_COMPONENT,
  LAUNCHER_COMPONENT,
  MANAGED_BY,
  MANAGED_BY_LABEL,
} from "../../shared/kube/names.ts";

export interface ObjectIdentity {
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface KeptObject<Facts, View = never> {
  readonly metadata: ObjectIdentity;
  readonly facts: Facts;
  /** Additional fields, for Lifeboat's app in the same process. */
  readonly view?: View;
  /** Why `view` could not be parsed. */
  readonly odd?: string;
}

/** A change that the relay reports to the Worker, before it becomes an event. */
export type Notice = { readonly [T in EventType]: { readonly type: T; readonly data: EventData<T> } }[EventType];

interface Change<Facts> {
  readonly object: ObjectIdentity;
  readonly facts: Facts;
  /** Undefined if the object is new to the relay. */
  readonly before: Facts | undefined;
  readonly gone: boolean;
}

export interface WatchedKind<Facts, View = never> {
  readonly name: string;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Returns the stored fields of an object. Returns undefined for an ignored object. Throws zod's errors. */
  readonly read: (object: unknown) => KeptObject<Facts, View> | undefined;
  /** Called when an object appears, changes or disappears. Returns the notice for the Worker, or undefined. */
  readonly notice: (change: Change<Facts>) => Notice | undefined;
}

type Shape = Readonly<Record<string, z.ZodMiniType>>;

interface Kind<Fields extends Shape, Facts> extends Omit<WatchedKind<Facts>, "read"> {
  readonly fields: Fields;
  readonly facts: (object: z.output<ReturnType<typeof z.object<Fields>>>, deleting: boolean) => Facts | undefined;
}

export function watchedKind<Fields extends Shape, Facts>({ fields, facts, ...kept }: Kind<Fields, Facts>) {
  const [Own, Common] = [z.object(fields), z.object({ metadata: Metadata })];
  const read = (object: unknown): KeptObject<Facts> | undefined => {
    const { deletionTimestamp, ...metadata } = Common.parse(object).metadata;
    const found = facts(Own.parse(object), deletionTimestamp !== undefined);
    return found && { metadata, facts: found };
  };
  return { ...kept, read } satisfies WatchedKind<Facts>;
}

const Conditions = listOf(z.object({ type: z.string(), status: z.string(), reason: Text, lastTransitionTime: Text }));
const Identified = z.object({
  namespace: z.exactOptional(z.string()),
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
});
const Metadata = z.extend(Identified, { deletionTimestamp: Text });

export function identityIn(object: unknown): ObjectIdentity | undefined {
  return z.object({ metadata: Identified }).safeParse(object).data?.metadata;
}

export interface WatchedPod {
  readonly node: string | undefined;
  /**
   * The reason and the time of the condition `DisruptionTarget` if its status is True. The time distinguishes a second
   * disruption from the first.
   */
  readonly disruption: string | undefined;
  readonly deleting: boolean;
  /** True if the pod's containers have ended. Then no guest runs in the pod. */
  readonly completed: boolean;
}

/**
 * Returns whether a disruption is new. Either `DisruptionTarget` has become True or changed, or the deletion of the
 * disrupted pod has started. The deletion of a pod without `DisruptionTarget` is not a disruption.
 */
function isDisruption({ disruption, deleting }: WatchedPod, before: WatchedPod | undefined): boolean {
  return disruption !== undefined && (disruption !== before?.disruption || (deleting && !before.deleting));
}

/**
 * The reason that a kubelet writes into `DisruptionTarget` when the containers have ended. The relay needs this
 * condition in addition to Events, because rate limits can drop a kubelet's Events, but not its conditions.
 */
const KUBELET = "TerminationByKubelet";

/** Returns whether a kubelet ended the pod. Ignores pods that ended before the relay started. */
function isKubelets({ disruption, completed }: WatchedPod, before: WatchedPod | undefined): boolean {
  const isNew = disruption !== before?.disruption && (before !== undefined || !completed);
  return isNew && disruption?.split(" ")[0] === KUBELET;
}

export const PODS = watchedKind({
  name: "pods",
  path: "/api/v1/pods",
  labelSelector: `${COMPONENT_LABEL} in (${LAUNCHER_COMPONENT}, ${HOTPLUG_COMPONENT})`,
  fields: {
    spec: z.object({ nodeName: Text }),
    status: part({ phase: Text, conditions: Conditions }),
  },
  facts: ({ spec, status }, deleting): WatchedPod => {
    const target = status.conditions.find(({ type }) => type === "DisruptionTarget");
    return {
      node: spec.nodeName,
      disruption: target?.status === "True" ? [target.reason, target.lastTransitionTime].join(" ") : undefined,
      deleting,
      completed: status.phase === "Succeeded" || status.phase === "Failed",
    };
  },
  notice: ({ object: { namespace = "", name, uid }, facts, before, gone }) => {
    if (gone) return undefined;
    if (isKubelets(facts, before)) {
      return { type: "dev.lifeboat.pod.killing.v1", data: { namespace, name, uid, reason: KUBELET } };
    }
    if (facts.completed || !isDisruption(facts, before)) return undefined;
    const { node } = facts;
    return {
      type: "dev.lifeboat.pod.disrupted.v1",
      data: { namespace, name, uid, ...(node !== undefined && { node }) },
    };
  },
});

/** Lifeboat's PodDisruptionBudgets, for Lifeboat's app in the same process. The relay does not report their changes. */
export const WATCHED_BUDGETS = watchedKind({
  name: "poddisruptionbudgets",
  path: "/apis/policy/v1/poddisruptionbudgets",
  labelSelector: `${MANAGED_BY_LABEL}=${MANAGED_BY}`,
  fields: {},
  facts: () => ({}),
  notice: () => undefined,
});

export const VIRTUAL_MACHINE_INSTANCES = watchedKind({
  name: "virtualmachineinstances",
  path: "/apis/kubevirt.io/v1/virtualmachineinstances",
  fields: {
    spec: z.object({ evictionStrategy: Text }),
    status: part({ phase: Text, nodeName: Text, evacuationNodeName: Text, conditions: Conditions }),
  },
  facts: ({ spec: { evictionStrategy }, status: { conditions, ...status } }, deleting) => {
    const liveMigratable = conditions.find(({ type }) => type === "LiveMigratable")?.status;
    return { ...status, evictionStrategy, liveMigratable, deleting };
  },
  notice: ({ object: { namespace = "", name, uid } }) => ({
    type: "dev.lifeboat.vmi.changed.v1",
    data: { namespace, name, uid },
  }),
});

/** The phases of a migration after it has left KubeVirt's queue. The relay does not report a change between them. */
const ON_THE_WAY = new Set(["Scheduling", "Scheduled", "PreparingTarget", "TargetReady"]);

export const MIGRATIONS = watchedKind({
  name: "virtualmachineinstancemigrations",
  path: "/apis/kubevirt.io/v1/virtualmachineinstancemigrations",
  fields: { spec: z.object({ vmiName: z.string() }), status: part({ phase: Text }) },
  facts: ({ spec, status: { phase = "Pending" } }, deleting) => ({
    vmi: spec.vmiName,
    phase: ON_THE_WAY.has(phase) ? "Running" : phase,
    deleting,
  }),
  notice: ({ object: { namespace = "", name: migration }, facts: { vmi: name, phase }, before, gone }) => {
    // KubeVirt stores five finished migrations of every VMI. The relay ignores migrations that had finished before the
    // relay started, and the deletion of finished migrations.
    const isFinished = phase === "Succeeded" || phase === "Failed";
    if (isFinished && (gone || before === undefined)) return undefined;
    return { type: "dev.lifeboat.migration.changed.v1", data: { namespace, name, migration } };
  },
});

/** Evacuations. The relay reports Evacuations that a person creates, cancels or retries. */
export const EVACUATIONS = watchedKind({
  name: "evacuations",
  path: "/apis/lifeboat.dev/v1alpha1/evacuations",
  fields: {
    spec: z.object({
      virtualMachineInstance: z.object({ name: z.string() }),
      intent: Text,
      retryAt: Text,
      cause: Text,
    }),
    status: part({ phase: Text, observedRetryAt: Text }),
  },
  facts: ({ spec: { virtualMachineInstance: vmi, intent, retryAt, cause }, status }) => {
    // Ignores changes of an ended Evacuation's spec.
    const isOver = END_PHASES.some((phase) => phase === status.phase);
    const isRetried = retryAt !== undefined && retryAt !== status.observedRetryAt;
    // A person's new Evacuation has no phase, and the default cause Operator.
    const isNew = status.phase === undefined && (cause ?? "Operator") === "Operator";
    const asked = isNew ? "New" : isRetried ? retryAt : undefined;
    return { vmi: vmi.name, asked: isOver ? undefined : intent === "Withdrawn" ? intent : asked };
  },
  notice: ({ object: { namespace = "", name: evacuation }, facts, before, gone }) => {
    if (gone || facts.asked === undefined || facts.asked === before?.asked) return undefined;
    return { type: "dev.lifeboat.evacuation.changed.v1", data: { namespace, name: facts.vmi, evacuation } };
  },
});

/** The conditions of a node, each with its status on a healthy node. An absent condition is treated as healthy. */
const HEALTHY = { Ready: "True", MemoryPressure: "False", DiskPressure: "False", PIDPressure: "False" } as const;

/** Nodes. The relay reports changes of taints and conditions that make VMs leave the node. */
export const NODES = watchedKind({
  name: "nodes",
  path: "/api/v1/nodes",
  fields: {
    spec: part({ taints: listOf(z.object({ key: z.string(), value: Text, effect: z.string() })) }),
    status: part({ conditions: Conditions }),
  },
  facts: ({ spec, status }) => {
    const taints = spec.taints.map(({ key, value = "", effect }) => `${key}=${value}:${effect}`);
    const statusOf = new Map(status.conditions.map((condition) => [condition.type, condition.status]));
    const all = Object.entries(HEALTHY).map(([type, healthy]) => [type, statusOf.get(type) ?? healthy, healthy]);
    const troubles = all.flatMap(([type, is, healthy]) => (is === healthy ? [] : [`${type}=${is}`]));
    return { taints: taints.toSorted(), troubles };
  },
  notice: ({ object, facts, before, gone }) => {
    const isHealthy = facts.taints.length === 0 && facts.troubles.length === 0;
    if (before === undefined && isHealthy && !gone) return undefined;
    return { type: "dev.lifeboat.node.changed.v1", data: { name: object.name } };
  },
});
