/** The fields that all Kubernetes objects have, and functions that read fields. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  time?: string;
  fieldsType: "FieldsV1";
  fieldsV1: Fields;
  subresource?: string;
}

/**
 * The FieldsV1 format. The keys are `f:name`, `k:{…}`, `v:…` and `.`. The value of a key contains the fields below it.
 */
export interface Fields {
  [key: string]: Fields;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

export type Tree = Record<string, unknown>;

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

export function isRecord(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value at a dotted path of plain keys, like `spec.nodeName`. */
export function fieldAt(object: unknown, path: string): unknown {
  let value = object;
  for (const key of path.split(".")) {
    if (!isRecord(value)) return undefined;
    value = value[key];
  }
  return value;
}

export function stringAt(object: unknown, path: string): string {
  return textOf(fieldAt(object, path));
}

export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

export function recordAt(object: unknown, path: string): Tree {
  const value = fieldAt(object, path);
  return isRecord(value) ? value : {};
}

export function recordsAt(object: unknown, path: string): Tree[] {
  const value = fieldAt(object, path);
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function stringsAt(object: unknown, path: string): string[] {
  const value = fieldAt(object, path);
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

export function childOf(parent: Tree, key: string): Tree {
  const value = parent[key];
  if (isRecord(value)) return value;
  const child = {};
  parent[key] = child;
  return child;
}

/** Returns a value as the type T without a check. Admission and validation have already checked stored objects. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function viewAs<T>(value: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return value as T;
}

export function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Returns the name of a resource in messages: `pods`, `virtualmachineinstances.kubevirt.io`. */
export function qualified({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}
