/**
 * The cluster as the demo sees it: the few fields of the few objects that tell the story of a drain.
 * Owns: parsing watched objects into these views. Does not own: the watches (watch.ts), what it all means (story.ts).
 */
import * as z from "zod/mini";

const Meta = z.object({
  name: z.string(),
  namespace: z.optional(z.string()),
  uid: z.string(),
  deletionTimestamp: z.optional(z.string()),
  labels: z.prefault(z.record(z.string(), z.string()), {}),
});

const Condition = z.object({ type: z.string(), status: z.string(), reason: z.optional(z.string()) });

const Vmi = z.object({
  metadata: Meta,
  spec: z.object({ evictionStrategy: z.prefault(z.string(), "None") }),
  status: z.prefault(
    z.object({
      phase: z.prefault(z.string(), "Pending"),
      nodeName: z.optional(z.string()),
      evacuationNodeName: z.prefault(z.string(), ""),
      conditions: z.prefault(z.array(Condition), []),
    }),
    {},
  ),
});

const Migration = z.object({
  metadata: z.extend(Meta, { creationTimestamp: z.string() }),
  spec: z.object({ vmiName: z.string() }),
  status: z.optional(
    z.object({
      phase: z.optional(z.string()),
      migrationState: z.optional(z.object({ targetNode: z.optional(z.string()) })),
    }),
  ),
});

const Pod = z.object({
  metadata: Meta,
  spec: z.object({ nodeName: z.optional(z.string()) }),
  status: z.optional(z.object({ phase: z.optional(z.string()) })),
});

const Node = z.object({ metadata: Meta, spec: z.optional(z.object({ unschedulable: z.optional(z.boolean()) })) });

const Event = z.object({
  metadata: Meta,
  involvedObject: z.object({ kind: z.string(), uid: z.optional(z.string()) }),
  reason: z.optional(z.string()),
});

export interface VirtualMachine {
  readonly key: string;
  readonly uid: string;
  readonly strategy: string;
  /** The reason why KubeVirt cannot migrate it; absent if it can. */
  readonly pinnedBecause?: string;
  readonly phase: string;
  readonly nodeName?: string;
  readonly deleting: boolean;
  readonly marked: boolean;
}

export interface MigrationView {
  readonly vmi: string;
  readonly createdAt: string;
  readonly phase: string;
  readonly targetNode?: string;
}

export interface PodView {
  readonly key: string;
  readonly nodeName?: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** UID of the VMI whose launcher this is. */
  readonly launcherOf?: string;
}

export interface NodeView {
  readonly name: string;
  readonly cordoned: boolean;
}

/** A sentence told about an object by an Event. */
export interface Told {
  readonly uid: string;
  readonly reason: string;
}

/** Every map is keyed by UID. */
export interface World {
  readonly vmis: ReadonlyMap<string, VirtualMachine>;
  readonly migrations: ReadonlyMap<string, MigrationView>;
  readonly pods: ReadonlyMap<string, PodView>;
  readonly nodes: ReadonlyMap<string, NodeView>;
  readonly events: ReadonlyMap<string, Told>;
}

export function emptyWorld(): World {
  return { vmis: new Map(), migrations: new Map(), pods: new Map(), nodes: new Map(), events: new Map() };
}

function keyOf(meta: { namespace?: string | undefined; name: string }): string {
  return meta.namespace === undefined ? meta.name : `${meta.namespace}/${meta.name}`;
}

export function parseVmi(object: unknown): VirtualMachine {
  const { metadata, spec, status } = z.parse(Vmi, object);
  const { nodeName } = status;
  const migratable = status.conditions.find((condition) => condition.type === "LiveMigratable");
  return {
    key: keyOf(metadata),
    uid: metadata.uid,
    strategy: spec.evictionStrategy,
    ...(migratable?.status !== "True" && { pinnedBecause: migratable?.reason ?? "unknown" }),
    phase: status.phase,
    ...(nodeName !== undefined && { nodeName }),
    deleting: metadata.deletionTimestamp !== undefined,
    marked: status.evacuationNodeName !== "",
  };
}

export function parseMigration(object: unknown): MigrationView {
  const { metadata, spec, status } = z.parse(Migration, object);
  return {
    vmi: keyOf({ namespace: metadata.namespace, name: spec.vmiName }),
    createdAt: metadata.creationTimestamp,
    phase: status?.phase ?? "Pending",
    ...(status?.migrationState?.targetNode !== undefined && { targetNode: status?.migrationState?.targetNode }),
  };
}

export function parsePod(object: unknown): PodView {
  const { metadata, spec, status } = z.parse(Pod, object);
  const launcherOf = metadata.labels["kubevirt.io/created-by"];
  return {
    key: keyOf(metadata),
    ...(spec.nodeName !== undefined && { nodeName: spec.nodeName }),
    phase: status?.phase ?? "Pending",
    deleting: metadata.deletionTimestamp !== undefined,
    ...(launcherOf !== undefined && { launcherOf }),
  };
}

export function parseNode(object: unknown): NodeView {
  const { metadata, spec } = z.parse(Node, object);
  return { name: metadata.name, cordoned: spec?.unschedulable === true };
}

export function parseEvent(object: unknown): Told {
  const { involvedObject, reason } = z.parse(Event, object);
  return { uid: involvedObject.uid ?? "", reason: reason ?? "" };
}
