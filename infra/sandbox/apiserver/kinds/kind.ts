/**
 * The description of a kind. Built-in kinds are values of this type (the files beside). Custom kinds come from
 * CustomResourceDefinitions (custom.ts).
 */
import type { KubeObject, Tree } from "../objects.ts";
import type { FieldError } from "../status.ts";

export type Cell = string | number | boolean | null;

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** Above 0: the column is shown only with `-o wide`. */
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
  /** The key under which its objects are stored; versions and groups of one kind share it. */
  readonly storage: string;
  /** The apiVersion in which they are stored. */
  readonly storageVersion: string;
  readonly custom: boolean;
  readonly hasStatus: boolean;
  /** Nodes and namespaces may be created with a status. Other kinds with a status subresource lose it. */
  readonly keepsStatusOnCreate: boolean;
  /** Whether a change of the desired state increments metadata.generation. */
  readonly hasGeneration: boolean;
  /** Whether a PUT creates a missing object. */
  readonly createsOnUpdate: boolean;
  /** Whether a PUT without a resourceVersion may overwrite any state. */
  readonly unconditionalUpdate: boolean;
  readonly subresources: readonly string[];
  readonly verbs: readonly string[];
  /** From a field selector's label to the path of the field. */
  readonly selectableFields: Readonly<Record<string, string>>;
  /**
   * From the path of a list to the keys that identify an item. SET: the items themselves. Missing: the list is atomic.
   */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** Paths of maps that are atomic for server-side apply. */
  readonly atomicMaps: readonly string[];
  /** Paths of maps that a strategic merge patch replaces. */
  readonly replacedMaps: readonly string[];
  readonly nameRule: "subdomain" | "label" | "path";
  /** Finalizer of the server itself, which all its objects get. */
  readonly finalizer?: string;
  /** The warning for clients that use this version. */
  readonly deprecation?: string;
  readonly columns: readonly Column[];
  /** The model in the Kubernetes client library that describes its fields. */
  readonly model: string | undefined;
  /** For a custom kind: the OpenAPI schema in its definition. */
  readonly schema: Tree | undefined;
  readonly applyDefaults: (object: KubeObject) => void;
  readonly validate: (object: KubeObject, previous: KubeObject | undefined) => readonly FieldError[];
  /** Copies the fields of the old object that a write of the main resource cannot change, besides its status. */
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
