/**
 * The description of a kind. The files in this folder describe built-in kinds as values of this type. Custom kinds come
 * from CustomResourceDefinitions (custom.ts).
 */
import type { KubeObject, Tree } from "../objects.ts";
import type { FieldError } from "../status.ts";

export type Cell = string | number | boolean | null;

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** The priority of the column. If it is above 0, the column is shown only with `-o wide`. */
  readonly priority?: number;
  readonly cell: (object: KubeObject, now: Date) => Cell;
}

export interface ResourceKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** The key under which objects of the kind are stored. Versions and groups of one kind share the key. */
  readonly storage: string;
  /** The apiVersion of stored objects. */
  readonly storageVersion: string;
  readonly custom: boolean;
  readonly hasStatus: boolean;
  /**
   * Whether an object may be created with a status, as nodes and namespaces may. For other kinds with a status
   * subresource, the status is removed.
   */
  readonly keepsStatusOnCreate: boolean;
  /** Whether a change of the desired state increments metadata.generation. */
  readonly hasGeneration: boolean;
  /** Whether a PUT creates a missing object. */
  readonly createsOnUpdate: boolean;
  /** Whether a PUT without a resourceVersion may overwrite any state. */
  readonly unconditionalUpdate: boolean;
  readonly subresources: readonly string[];
  readonly verbs: readonly string[];
  /** The paths of fields, by their names in field selectors. */
  readonly selectableFields: Readonly<Record<string, string>>;
  /**
   * The keys that identify an item, by the path of the list. SET: the items identify themselves. Missing: the list is
   * atomic.
   */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** Paths of maps that are atomic for server-side apply. */
  readonly atomicMaps: readonly string[];
  /** Paths of maps that a strategic merge patch replaces. */
  readonly replacedMaps: readonly string[];
  readonly nameRule: "subdomain" | "label" | "path";
  /** A finalizer of the server itself, which every new object of the kind gets. */
  readonly finalizer?: string;
  /** The warning for clients that use this version. */
  readonly deprecation?: string;
  readonly columns: readonly Column[];
  /** The model in the Kubernetes client library that describes the kind's fields. */
  readonly model: string | undefined;
  /** For a custom kind: the OpenAPI schema in its CRD. */
  readonly schema: Tree | undefined;
  readonly applyDefaults: (object: KubeObject) => void;
  readonly validate: (object: KubeObject, previous: KubeObject | undefined) => readonly FieldError[];
  /** Copies the fields of the old object, besides its status, that a write of the main resource cannot change. */
  readonly prepareForUpdate: (object: KubeObject, previous: KubeObject) => void;
  /** Converts between the stored and the served version. Changes nothing if both are the same. */
  readonly toServed: (stored: KubeObject) => KubeObject;
  readonly toStored: (served: KubeObject) => KubeObject;
}

const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

/** A list whose items identify themselves, like metadata.finalizers. */
export const SET: readonly string[] = [];

const META_LISTS: Readonly<Record<string, readonly string[]>> = {
  "metadata.ownerReferences": ["uid"],
  "metadata.finalizers": SET,
};

export type KindDefinition = Pick<ResourceKind, "version" | "kind" | "plural"> & Partial<ResourceKind>;

export function defineKind(definition: KindDefinition): ResourceKind {
  const group = definition.group ?? "";
  const { version, kind, plural } = definition;
  const selectable = { "metadata.name": "metadata.name", ...(definition.namespaced !== false && NAMESPACE_FIELD) };
  return {
    group,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    storage: group === "" ? plural : `${group}/${plural}`,
    storageVersion: group === "" ? version : `${group}/${version}`,
    custom: false,
    hasStatus: false,
    keepsStatusOnCreate: false,
    hasGeneration: false,
    createsOnUpdate: false,
    unconditionalUpdate: true,
    subresources: [],
    verbs: ALL_VERBS,
    atomicMaps: [],
    replacedMaps: [],
    nameRule: "subdomain",
    columns: [],
    model: `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`,
    schema: undefined,
    applyDefaults: () => {},
    validate: () => [],
    prepareForUpdate: () => {},
    toServed: (object) => object,
    toStored: (object) => object,
    ...definition,
    selectableFields: { ...selectable, ...definition.selectableFields },
    lists: { ...META_LISTS, ...definition.lists },
  };
}

const NAMESPACE_FIELD = { "metadata.namespace": "metadata.namespace" };
