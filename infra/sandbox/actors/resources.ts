/** The Kubernetes kinds that the sandbox's components use. Timestamps are strings, as in JSON. */
import type {
  V1ClusterRole,
  V1ConfigMap,
  V1DaemonSet,
  V1Deployment,
  V1Lease,
  V1Namespace,
  V1Node,
  V1OwnerReference,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1PriorityClass,
  V1ReplicaSet,
  V1ResourceQuota,
  V1EndpointSlice,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1VolumeAttachment,
  CoreV1Event,
} from "@kubernetes/client-node";

/** Converts a client-node model to the type of its JSON form, in which dates are strings. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Key in keyof T]: Wire<T[Key]> }
      : T;

export interface Metadata {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: V1OwnerReference[];
  finalizers?: string[];
  managedFields?: { manager?: string; fieldsV1?: { "f:status"?: object } }[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
}

/** An object in a create request. */
export type Draft<T extends KubeObject> = Omit<T, "metadata"> & {
  metadata: Partial<Metadata> & { generateName?: string };
};

export interface Resource<T extends KubeObject = KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** The type of the resource's objects. This field exists only for the type checker. */
  readonly holds?: T;
}

type Model<T> = Wire<Omit<T, "metadata">> & KubeObject;
export type Pod = Model<V1Pod>;
export type Node = Model<V1Node>;
export type Namespace = Model<V1Namespace>;
export type Secret = Model<V1Secret>;
export type ServiceAccount = Model<V1ServiceAccount>;
export type Lease = Model<V1Lease>;
export type PodDisruptionBudget = Model<V1PodDisruptionBudget>;
export type ConfigMap = Model<V1ConfigMap>;
export type Deployment = Model<V1Deployment>;
export type DaemonSet = Model<V1DaemonSet>;
export type ReplicaSet = Model<V1ReplicaSet>;
export type ResourceQuota = Model<V1ResourceQuota>;
export type PersistentVolume = Model<V1PersistentVolume>;
export type PersistentVolumeClaim = Model<V1PersistentVolumeClaim>;
export type VolumeAttachment = Model<V1VolumeAttachment>;
export type PriorityClass = Model<V1PriorityClass>;
export type Service = Model<V1Service>;
export type EndpointSlice = Model<V1EndpointSlice>;
export type ClusterRole = Model<V1ClusterRole>;
export type Event = Model<CoreV1Event>;

function resource<T extends KubeObject>(apiVersion: string, kind: string, namespaced = true): Resource<T> {
  const plural = `${kind.toLowerCase()}${kind.endsWith("s") ? "es" : "s"}`;
  return { apiVersion, kind, plural, namespaced };
}

export const pods = resource<Pod>("v1", "Pod");
export const nodes = resource<Node>("v1", "Node", false);
export const events = resource<Event>("v1", "Event");
export const secrets = resource<Secret>("v1", "Secret");
export const configMaps = resource<ConfigMap>("v1", "ConfigMap");
export const namespaces = resource<Namespace>("v1", "Namespace", false);
export const serviceAccounts = resource<ServiceAccount>("v1", "ServiceAccount");
export const leases = resource<Lease>("coordination.k8s.io/v1", "Lease");
export const podDisruptionBudgets = resource<PodDisruptionBudget>("policy/v1", "PodDisruptionBudget");
export const deployments = resource<Deployment>("apps/v1", "Deployment");
export const daemonSets = resource<DaemonSet>("apps/v1", "DaemonSet");
export const replicaSets = resource<ReplicaSet>("apps/v1", "ReplicaSet");
export const resourceQuotas = resource<ResourceQuota>("v1", "ResourceQuota");
export const persistentVolumes = resource<PersistentVolume>("v1", "PersistentVolume", false);
export const persistentVolumeClaims = resource<PersistentVolumeClaim>("v1", "PersistentVolumeClaim");
export const volumeAttachments = resource<VolumeAttachment>("storage.k8s.io/v1", "VolumeAttachment", false);
export const priorityClasses = resource<PriorityClass>("scheduling.k8s.io/v1", "PriorityClass", false);
export const services = resource<Service>("v1", "Service");
export const endpointSlices = resource<EndpointSlice>("discovery.k8s.io/v1", "EndpointSlice");
export const clusterRoles = resource<ClusterRole>("rbac.authorization.k8s.io/v1", "ClusterRole", false);

/** The name and namespace of an object. Cluster-scoped objects have no namespace. */
export interface Key {
  readonly namespace?: string | undefined;
  readonly name: string;
}

export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function parseKey(key: string): Key {
  const [first = "", second] = key.split("/");
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

export function controllerOf(object: KubeObject): V1OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

export function ownerReferenceTo({ metadata }: KubeObject, { apiVersion, kind }: Resource): V1OwnerReference {
  const { name, uid } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

export function pathOf(resource: Resource, key: Partial<Key> = {}, subresource?: string): string {
  const root = resource.apiVersion.includes("/") ? `/apis/${resource.apiVersion}` : `/api/${resource.apiVersion}`;
  const scope = resource.namespaced && key.namespace !== undefined ? `/namespaces/${key.namespace}` : "";
  const object = key.name === undefined ? "" : `/${encodeURIComponent(key.name)}`;
  return `${root}${scope}/${resource.plural}${object}${subresource === undefined ? "" : `/${subresource}`}`;
}
