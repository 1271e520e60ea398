/**
 * Kinds that the server keeps but gives no behaviour of their own.
 * Owns: leases, persistent volume claims, resource quotas, workloads (apps). Does not own: the controllers that act on them.
 */
import { type KubeObject, fieldAt, stringAt } from "../objects.ts";
import { invalidValue, unless } from "../field-errors.ts";
import type { FieldError } from "../status.ts";
import { builtIn } from "./built-in.ts";
import type { ResourceKind } from "./kind.ts";
import { PODS } from "./pods.ts";

const LEASES = builtIn("Lease", {
  validate: (lease) => [
    ...atLeast(lease, "spec.leaseDurationSeconds", 1, "must be greater than 0"),
    ...atLeast(lease, "spec.leaseTransitions", 0, "must be greater than or equal to 0"),
  ],
});

function atLeast(object: KubeObject, path: string, least: number, otherwise: string): readonly FieldError[] {
  const value = fieldAt(object, path) ?? least;
  return unless(Number(value) >= least, invalidValue(path, value, otherwise));
}

export const RESOURCE_QUOTAS = builtIn("ResourceQuota");

const TEMPLATE_LISTS = Object.entries(PODS.lists).map(([path, keys]) => [`spec.template.${path}`, keys]);
const WORKLOAD = { lists: { ...Object.fromEntries(TEMPLATE_LISTS), "status.conditions": ["type"] } };
const WITH_READY = { ...WORKLOAD, cells: { Ready: readyOf } };

function readyOf(object: KubeObject): string {
  return `${Number(fieldAt(object, "status.readyReplicas") ?? 0)}/${stringAt(object, "spec.replicas") || "1"}`;
}

export const OTHERS: readonly ResourceKind[] = [
  LEASES,
  builtIn("PersistentVolumeClaim"),
  RESOURCE_QUOTAS,
  builtIn("Deployment", WITH_READY),
  builtIn("ReplicaSet", WORKLOAD),
  builtIn("StatefulSet", WITH_READY),
  builtIn("DaemonSet", WORKLOAD),
];
