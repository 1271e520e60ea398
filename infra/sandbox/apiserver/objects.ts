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

/** Any JSON object. */
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
  return textOf(fieldAt(object, path));
}

/** Of a scalar; everything else has none. */
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

/** The map at a key, made if there is none. */
export function childOf(parent: Tree, key: string): Tree {
  const value = parent[key];
  if (isRecord(value)) return value;
  const child = {};
  parent[key] = child;
  return child;
}

/**
 * What a kind's stored objects look like, once they have been admitted and validated.
 * The only place where JSON is given a type without a check.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function viewAs<T>(value: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return value as T;
}

export function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** `pods`, `virtualmachineinstances.kubevirt.io`: how messages name a resource. */
export function qualified({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}
