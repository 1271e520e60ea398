/**
 * Kinds that the server keeps but gives no behaviour of their own.
 * Owns: leases, persistent volume claims, resource quotas, workloads (apps). Does not own: the controllers that act on them.
 */
import { type KubeObject, childOf, fieldAt, stringAt } from "../objects.ts";
import { invalidValue, unless } from "../field-errors.ts";
import type { FieldError } from "../status.ts";
import { AGE, NAME, at, countOf, text } from "./columns.ts";
import { type KindDefinition, type ResourceKind, defineKind } from "./kind.ts";
import { POD_LISTS } from "./pods.ts";

const LEASES = defineKind({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  createsOnUpdate: true,
  unconditionalUpdate: false,
  columns: [NAME, at("Holder", "spec.holderIdentity", { absent: "" }), AGE],
  validate: (lease) => [
    ...atLeast(lease, "spec.leaseDurationSeconds", 1, "must be greater than 0"),
    ...atLeast(lease, "spec.leaseTransitions", 0, "must be greater than or equal to 0"),
  ],
});

function atLeast(object: KubeObject, path: string, least: number, otherwise: string): readonly FieldError[] {
  const value = fieldAt(object, path) ?? least;
  return unless(Number(value) >= least, invalidValue(path, value, otherwise));
}

const PERSISTENT_VOLUME_CLAIMS = defineKind({
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  shortNames: ["pvc"],
  hasStatus: true,
  lists: { "status.conditions": ["type"] },
  columns: [
    NAME,
    at("Status", "status.phase"),
    at("Volume", "spec.volumeName", { absent: "" }),
    at("Capacity", "status.capacity.storage", { absent: "" }),
    at("StorageClass", "spec.storageClassName", { absent: "" }),
    AGE,
  ],
  applyDefaults: (claim) => {
    childOf(claim, "spec").volumeMode ??= "Filesystem";
    claim.status ??= { phase: "Pending" };
  },
});

export const RESOURCE_QUOTAS = defineKind({
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  shortNames: ["quota"],
  hasStatus: true,
  columns: [NAME, AGE],
});

const TEMPLATE_LISTS = Object.fromEntries(
  Object.entries(POD_LISTS).map(([path, keys]) => [`spec.template.${path}`, keys]),
);

function workload(definition: Pick<KindDefinition, "kind" | "plural" | "shortNames" | "columns">): ResourceKind {
  return defineKind({
    ...definition,
    group: "apps",
    version: "v1",
    categories: ["all"],
    hasStatus: true,
    hasGeneration: true,
    lists: { ...TEMPLATE_LISTS, "status.conditions": ["type"] },
    atomicMaps: ["spec.selector", "spec.template.spec.nodeSelector"],
    applyDefaults: (object) => {
      object.status ??= {};
    },
  });
}

const count = (name: string, path: string) => countOf(name, (object) => Number(fieldAt(object, path) ?? 0));
const readyOf = (object: KubeObject): string =>
  `${Number(fieldAt(object, "status.readyReplicas") ?? 0)}/${stringAt(object, "spec.replicas") || "1"}`;

const WORKLOADS = [
  workload({
    kind: "Deployment",
    plural: "deployments",
    shortNames: ["deploy"],
    columns: [
      NAME,
      text("Ready", readyOf),
      count("Up-to-date", "status.updatedReplicas"),
      count("Available", "status.availableReplicas"),
      AGE,
    ],
  }),
  workload({
    kind: "ReplicaSet",
    plural: "replicasets",
    shortNames: ["rs"],
    columns: [
      NAME,
      count("Desired", "spec.replicas"),
      count("Current", "status.replicas"),
      count("Ready", "status.readyReplicas"),
      AGE,
    ],
  }),
  workload({
    kind: "StatefulSet",
    plural: "statefulsets",
    shortNames: ["sts"],
    columns: [NAME, text("Ready", readyOf), AGE],
  }),
  workload({
    kind: "DaemonSet",
    plural: "daemonsets",
    shortNames: ["ds"],
    columns: [
      NAME,
      count("Desired", "status.desiredNumberScheduled"),
      count("Current", "status.currentNumberScheduled"),
      count("Ready", "status.numberReady"),
      count("Up-to-date", "status.updatedNumberScheduled"),
      count("Available", "status.numberAvailable"),
      AGE,
    ],
  }),
];

export const OTHERS: readonly ResourceKind[] = [LEASES, PERSISTENT_VOLUME_CLAIMS, RESOURCE_QUOTAS, ...WORKLOADS];
