/**
 * What the server knows of a kind. Built-in kinds are values of this type (the files beside), custom kinds are made
 * from CustomResourceDefinitions (custom.ts).
 * Owns: the type and its defaults. Does not own: any particular kind.
 */
import type { KubeObject, Tree } from "../objects.ts";
import type { FieldError } from "../status.ts";

export type Cell = string | number | boolean | null;

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
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
  /** Where its objects are kept; versions and groups of one kind share a place. */
  readonly storage: string;
  /** The apiVersion in which they are kept. */
  readonly storageVersion: string;
  readonly custom: boolean;
  readonly hasStatus: boolean;
  /** Nodes and namespaces may be created with a status; other kinds with a status subresource start without. */
  readonly keepsStatusOnCreate: boolean;
  /** Does a change of the desired state count in metadata.generation? */
  readonly hasGeneration: boolean;
  /** Does a PUT of what is not there create it? */
  readonly createsOnUpdate: boolean;
  /** May a PUT come without a resourceVersion, and overwrite whatever is there? */
  readonly unconditionalUpdate: boolean;
  readonly subresources: readonly string[];
  readonly verbs: readonly string[];
  /** Field selector label → path of the field. */
  readonly selectableFields: Readonly<Record<string, string>>;
  /** Path of a list → the keys that identify an item; SET: the items themselves; absent: the list is atomic. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** Paths of maps that server-side apply takes as one value. */
  readonly atomicMaps: readonly string[];
  /** Paths of maps that a strategic merge patch replaces. */
  readonly replacedMaps: readonly string[];
  readonly nameRule: "subdomain" | "label" | "path";
  /** What its objects wait for when they are deleted, for something of the server's own. */
  readonly finalizer?: string;
  /** Whoever uses this version is warned. */
  readonly deprecation?: string;
  readonly columns: readonly Column[];
  /** The name of the model in the Kubernetes client library that describes its fields. */
  readonly model: string | undefined;
  /** Of a custom kind: the OpenAPI schema in its definition. */
  readonly schema: Tree | undefined;
  readonly applyDefaults: (object: KubeObject) => void;
  readonly validate: (object: KubeObject, previous: KubeObject | undefined) => readonly FieldError[];
  /** What is kept of the old object when the main resource is written, beyond its status. */
  readonly prepareForUpdate: (object: KubeObject, previous: KubeObject) => void;
  /** Between the stored and the served version; identity where both look the same. */
  readonly toServed: (stored: KubeObject) => KubeObject;
  readonly toStored: (served: KubeObject) => KubeObject;
}

const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

/** A list whose items are its identity, like metadata.finalizers. */
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
