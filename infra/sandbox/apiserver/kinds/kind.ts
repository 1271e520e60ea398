/** Describes a kind of objects. custom.ts creates the descriptions of custom kinds from CustomResourceDefinitions. */
import type { KubeObject, Tree } from "../objects.ts";
import type { FieldError } from "../status.ts";

export type Cell = string | number | boolean | null;

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** The priority of the column. If it is above 0, kubectl shows the column only with `-o wide`. */
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
  /** The prefix of the keys of stored objects. All versions and groups of a kind have the same prefix. */
  readonly storage: string;
  readonly storageVersion: string;
  readonly custom: boolean;
  readonly hasStatus: boolean;
  /** Whether a create request may set the status. Nodes and namespaces allow this. */
  readonly keepsStatusOnCreate: boolean;
  /** Whether changes of the desired state increment metadata.generation. */
  readonly hasGeneration: boolean;
  /** Whether a PUT may create the object. */
  readonly createsOnUpdate: boolean;
  /** Whether a PUT without a resourceVersion may overwrite the current object. */
  readonly unconditionalUpdate: boolean;
  readonly subresources: readonly string[];
  readonly verbs: readonly string[];
  /** Maps the field names in field selectors to the paths of the fields. */
  readonly selectableFields: Readonly<Record<string, string>>;
  /**
   * Maps the path of a list to the keys that identify an item. If the keys are SET, the item's value identifies the
   * item. A list that is missing in this map is atomic: the whole list is one field.
   */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** Paths of atomic maps. In server-side apply, each atomic map is one field. */
  readonly atomicMaps: readonly string[];
  /** The paths of maps that a strategic merge patch replaces instead of merging. */
  readonly replacedMaps: readonly string[];
  readonly nameRule: "subdomain" | "label" | "path";
  /** The server adds this finalizer to every new object. */
  readonly finalizer?: string;
  /** The warning for clients that use a deprecated version. */
  readonly deprecation?: string;
  readonly columns: readonly Column[];
  readonly model: string | undefined;
  /** The OpenAPI schema in the CRD. Only custom kinds have a schema. */
  readonly schema: Tree | undefined;
  readonly applyDefaults: (object: KubeObject) => void;
  readonly validate: (object: KubeObject, previous: KubeObject | undefined) => readonly FieldError[];
  /**
   * Restores the fields that an update of the main resource cannot change. The server has already restored the status.
   */
  readonly prepareForUpdate: (object: KubeObject, previous: KubeObject) => void;
  /** Converts a stored object to the served version. Returns the same object if both versions are the same. */
  readonly toServed: (stored: KubeObject) => KubeObject;
  readonly toStored: (served: KubeObject) => KubeObject;
}

const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

/** Marks a list as a set of values, such as the finalizers. */
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
