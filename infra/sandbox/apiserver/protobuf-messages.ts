/**
 * The protobuf messages of the kinds that kubectl creates through typed clients.
 * Owns: field numbers, as data, from the generated.proto files of k8s.io/api and k8s.io/apimachinery.
 * Does not own: the wire format (protobuf.ts).
 */
export type Field = readonly [name: string, type: string, shape?: "list" | "map"];

type Message = Readonly<Record<number, Field>>;

/** A kind → the message it is. */
export const KINDS: Readonly<Record<string, string>> = {
  ClusterRole: "Role",
  ClusterRoleBinding: "RoleBinding",
  ConfigMap: "ConfigMap",
  DeleteOptions: "DeleteOptions",
  Eviction: "Eviction",
  Lease: "Lease",
  Namespace: "Namespace",
  PodDisruptionBudget: "PodDisruptionBudget",
  PriorityClass: "PriorityClass",
  Role: "Role",
  RoleBinding: "RoleBinding",
  Secret: "Secret",
  SelfSubjectAccessReview: "SelfSubjectAccessReview",
  SelfSubjectReview: "SelfSubjectReview",
  SelfSubjectRulesReview: "SelfSubjectRulesReview",
  ServiceAccount: "ServiceAccount",
  TokenRequest: "TokenRequest",
};

const METADATA: Field = ["metadata", "ObjectMeta"];

export const MESSAGES: Readonly<Record<string, Message>> = {
  Unknown: { 1: ["typeMeta", "TypeMeta"], 2: ["raw", "raw"] },
  TypeMeta: { 1: ["apiVersion", "string"], 2: ["kind", "string"] },
  Time: { 1: ["seconds", "int"], 2: ["nanos", "int"] },
  MicroTime: { 1: ["seconds", "int"], 2: ["nanos", "int"] },
  IntOrString: { 1: ["type", "int"], 2: ["intVal", "int"], 3: ["strVal", "string"] },
  ObjectMeta: {
    1: ["name", "string"],
    2: ["generateName", "string"],
    3: ["namespace", "string"],
    5: ["uid", "string"],
    6: ["resourceVersion", "string"],
    7: ["generation", "int"],
    8: ["creationTimestamp", "Time"],
    11: ["labels", "string", "map"],
    12: ["annotations", "string", "map"],
    13: ["ownerReferences", "OwnerReference", "list"],
    14: ["finalizers", "string", "list"],
  },
  OwnerReference: {
    1: ["kind", "string"],
    3: ["name", "string"],
    4: ["uid", "string"],
    5: ["apiVersion", "string"],
    6: ["controller", "bool"],
    7: ["blockOwnerDeletion", "bool"],
  },
  LabelSelector: { 1: ["matchLabels", "string", "map"], 2: ["matchExpressions", "LabelSelectorRequirement", "list"] },
  LabelSelectorRequirement: { 1: ["key", "string"], 2: ["operator", "string"], 3: ["values", "string", "list"] },
  ObjectReference: { 1: ["kind", "string"], 2: ["namespace", "string"], 3: ["name", "string"], 4: ["uid", "string"] },
  LocalObjectReference: { 1: ["name", "string"] },

  Namespace: { 1: METADATA, 2: ["spec", "NamespaceSpec"] },
  NamespaceSpec: { 1: ["finalizers", "string", "list"] },
  ConfigMap: {
    1: METADATA,
    2: ["data", "string", "map"],
    3: ["binaryData", "base64", "map"],
    4: ["immutable", "bool"],
  },
  Secret: {
    1: METADATA,
    2: ["data", "base64", "map"],
    3: ["type", "string"],
    4: ["stringData", "string", "map"],
    5: ["immutable", "bool"],
  },
  ServiceAccount: {
    1: METADATA,
    2: ["secrets", "ObjectReference", "list"],
    3: ["imagePullSecrets", "LocalObjectReference", "list"],
    4: ["automountServiceAccountToken", "bool"],
  },

  Eviction: { 1: METADATA, 2: ["deleteOptions", "DeleteOptions"] },
  DeleteOptions: {
    1: ["gracePeriodSeconds", "int"],
    2: ["preconditions", "Preconditions"],
    3: ["orphanDependents", "bool"],
    4: ["propagationPolicy", "string"],
    5: ["dryRun", "string", "list"],
  },
  Preconditions: { 1: ["uid", "string"], 2: ["resourceVersion", "string"] },
  PodDisruptionBudget: { 1: METADATA, 2: ["spec", "PodDisruptionBudgetSpec"] },
  PodDisruptionBudgetSpec: {
    1: ["minAvailable", "IntOrString"],
    2: ["selector", "LabelSelector"],
    3: ["maxUnavailable", "IntOrString"],
    4: ["unhealthyPodEvictionPolicy", "string"],
  },
  PriorityClass: {
    1: METADATA,
    2: ["value", "int"],
    3: ["globalDefault", "bool"],
    4: ["description", "string"],
    5: ["preemptionPolicy", "string"],
  },
  Lease: { 1: METADATA, 2: ["spec", "LeaseSpec"] },
  LeaseSpec: {
    1: ["holderIdentity", "string"],
    2: ["leaseDurationSeconds", "int"],
    3: ["acquireTime", "MicroTime"],
    4: ["renewTime", "MicroTime"],
    5: ["leaseTransitions", "int"],
  },

  Role: { 1: METADATA, 2: ["rules", "PolicyRule", "list"] },
  PolicyRule: {
    1: ["verbs", "string", "list"],
    2: ["apiGroups", "string", "list"],
    3: ["resources", "string", "list"],
    4: ["resourceNames", "string", "list"],
    5: ["nonResourceURLs", "string", "list"],
  },
  RoleBinding: { 1: METADATA, 2: ["subjects", "Subject", "list"], 3: ["roleRef", "RoleRef"] },
  Subject: { 1: ["kind", "string"], 2: ["apiGroup", "string"], 3: ["name", "string"], 4: ["namespace", "string"] },
  RoleRef: { 1: ["apiGroup", "string"], 2: ["kind", "string"], 3: ["name", "string"] },

  TokenRequest: { 1: METADATA, 2: ["spec", "TokenRequestSpec"] },
  TokenRequestSpec: { 1: ["audiences", "string", "list"], 4: ["expirationSeconds", "int"] },
  SelfSubjectReview: { 1: METADATA },
  SelfSubjectRulesReview: { 1: METADATA, 2: ["spec", "SelfSubjectRulesReviewSpec"] },
  SelfSubjectRulesReviewSpec: { 1: ["namespace", "string"] },
  SelfSubjectAccessReview: { 1: METADATA, 2: ["spec", "SelfSubjectAccessReviewSpec"] },
  SelfSubjectAccessReviewSpec: {
    1: ["resourceAttributes", "ResourceAttributes"],
    2: ["nonResourceAttributes", "NonResourceAttributes"],
  },
  ResourceAttributes: {
    1: ["namespace", "string"],
    2: ["verb", "string"],
    3: ["group", "string"],
    4: ["version", "string"],
    5: ["resource", "string"],
    6: ["subresource", "string"],
    7: ["name", "string"],
  },
  NonResourceAttributes: { 1: ["path", "string"], 2: ["verb", "string"] },
};
