/**
 * What every Kubernetes object looks like, and how to look into one.
 * Owns: the types of objects and their metadata. Does not own: what any kind means (kinds/).
 */
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

/** The FieldsV1 format: `f:name`, `k:{…}`, `v:…` and `.` are the keys, each holding what lies below. */
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

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a dotted path of plain keys, like `spec.nodeName`. */
export function fieldAt(object: unknown, path: string): unknown {
  let value = object;
  for (const key of path.split(".")) {
    if (!isRecord(value)) return undefined;
    value = value[key];
  }
  return value;
}

export function stringAt(object: unknown, path: string): string {
  const value = fieldAt(object, path);
  return value === undefined || value === null ? "" : String(value as string | number | boolean);
}

export function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** `pods`, `virtualmachineinstances.kubevirt.io`: how messages name a resource. */
export function qualified({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}
