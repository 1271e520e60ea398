/** The watched kinds: which facts the relay keeps, and which changes it reports to the Worker. */
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

/** The facts that the relay keeps of an object. */
export interface KeptObject<Facts, View = never> {
  readonly metadata: ObjectIdentity;
  readonly facts: Facts;
  /** Further facts, for Lifeboat's app in the same process. */
  readonly view?: View;
  /** Why the object's view could not be parsed. */
  readonly odd?: string;
}

/** A change that the relay reports to the Worker, before it becomes an event. */
export type Notice = { readonly [T in EventType]: { readonly type: T; readonly data: EventData<T> } }[EventType];

interface Change<Facts> {
  readonly object: ObjectIdentity;
  readonly facts: Facts;
  /** Undefined: the object is new to the relay. */
  readonly before: Facts | undefined;
  readonly gone: boolean;
}

export interface WatchedKind<Facts, View = never> {
  /** The name of the kind in metrics and in the log. */
  readonly name: string;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Returns the facts of an object. Returns undefined for an object that is ignored. Throws zod's errors. */
  readonly read: (object: unknown) => KeptObject<Facts, View> | undefined;
  /** Called when an object appears, changes its facts, or disappears. */
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

/** Returns the identity of an object. Returns undefined for a value without identity. */
export function identityIn(object: unknown): ObjectIdentity | undefined {
  return z.object({ metadata: Identified }).safeParse(object).data?.metadata;
}

export interface WatchedPod {
  readonly node: string | undefined;
  /** The reason and time of a True `DisruptionTarget`. The time distinguishes a second disruption from the first. */
  readonly disruption: string | undefined;
  readonly deleting: boolean;
  /** The pod's containers have ended, so that no guest runs in the pod any more. */
  readonly completed: boolean;
}

/**
 * Returns whether a disruption is new: `DisruptionTarget` has just become True or changed, or the disrupted pod's
 * deletion has just started. The deletion of a pod without `DisruptionTarget` is no disruption.
 */
function isDisruption({ disruption, deleting }: WatchedPod, before: WatchedPod | undefined): boolean {
  return disruption !== undefined && (disruption !== before?.disruption || (deleting && !before.deleting));
}

/**
 * A kubelet writes this reason into `DisruptionTarget` when the containers have ended. Rate limits may drop a kubelet's
 * Events, but not its conditions.
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

/** Lifeboat's budgets, for Lifeboat's app in the same process. The relay reports no changes of budgets. */
export const WATCHED_BUDGETS = watchedKind({
  name: "poddisruptionbudgets",
  path: "/apis/policy/v1/poddisruptionbudgets",
  labelSelector: `${MANAGED_BY_LABEL}=${MANAGED_BY}`,
  fields: {},
  facts: () => ({}),
  notice: () => undefined,
});

/** VMIs, with the fields that Lifeboat's decisions depend on. */
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

/**
 * Phases of a migration after KubeVirt's queue. The relay reports all of these phases as Running, because Lifeboat does
 * not need the difference.
 */
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
    // KubeVirt keeps five finished migrations of every VMI. The relay ignores migrations that ended before its start,
    // and the deletion of finished migrations.
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
    // Ignores requests to an ended Evacuation.
    const isOver = END_PHASES.some((phase) => phase === status.phase);
    const isRetried = retryAt !== undefined && retryAt !== status.observedRetryAt;
    // A new Evacuation of a person has no phase and the cause Operator, which is the default cause.
    const isNew = status.phase === undefined && (cause ?? "Operator") === "Operator";
    const asked = isNew ? "New" : isRetried ? retryAt : undefined;
    return { vmi: vmi.name, asked: isOver ? undefined : intent === "Withdrawn" ? intent : asked };
  },
  notice: ({ object: { namespace = "", name: evacuation }, facts, before, gone }) => {
    if (gone || facts.asked === undefined || facts.asked === before?.asked) return undefined;
    return { type: "dev.lifeboat.evacuation.changed.v1", data: { namespace, name: facts.vmi, evacuation } };
  },
});

/** The conditions of a node, each with its status on a healthy node. An absent condition counts as healthy. */
const HEALTHY = { Ready: "True", MemoryPressure: "False", DiskPressure: "False", PIDPressure: "False" } as const;

/** Nodes. The relay reports changes of the taints and conditions that make VMs leave, and ignores heartbeats. */
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
