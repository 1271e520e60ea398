/** Kinds without any special behaviour. */
import { type KubeObject, fieldAt, stringAt } from "../objects.ts";
import { builtIn } from "./built-in.ts";
import { PODS } from "./pods.ts";

export const RESOURCE_QUOTAS = builtIn("ResourceQuota");

const TEMPLATE_LISTS = Object.entries(PODS.lists).map(([path, keys]) => [`spec.template.${path}`, keys]);
const WORKLOAD = { lists: { ...Object.fromEntries(TEMPLATE_LISTS), "status.conditions": ["type"] } };
const WITH_READY = { ...WORKLOAD, cells: { Ready: readyOf } };

function readyOf(object: KubeObject): string {
  return `${Number(fieldAt(object, "status.readyReplicas") ?? 0)}/${stringAt(object, "spec.replicas") || "1"}`;
}

export const OTHERS = [
  builtIn("Lease"),
  builtIn("Service"),
  builtIn("PersistentVolume"),
  builtIn("PersistentVolumeClaim"),
  builtIn("VolumeAttachment", { cells: { Attached: (object) => fieldAt(object, "status.attached") === true } }),
  RESOURCE_QUOTAS,
  builtIn("Deployment", WITH_READY),
  builtIn("ReplicaSet", WORKLOAD),
  builtIn("StatefulSet", WITH_READY),
  builtIn("DaemonSet", WORKLOAD),
];
