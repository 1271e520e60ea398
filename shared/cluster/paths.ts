/**
 * Objects in the Kubernetes API: where the few kinds we touch live, and which names objects can have (RFC 1123 subdomains).
 *
 * Names come from annotations, paths and answers too, which say what they like: `..` in a URL leads elsewhere, and half a character is in
 * no URL at all. An object of such a name does not exist.
 */
import * as z from "zod/mini";
import type { NamespacedName } from "../policy/facts.ts";

/** And version, of our own kinds. */
export const API_GROUP = "lifeboat.dev/v1alpha1";

const KINDS = {
  pods: "/api/v1",
  nodes: "/api/v1",
  configmaps: "/api/v1",
  events: "/api/v1",
  namespaces: "/api/v1",
  persistentvolumeclaims: "/api/v1",
  persistentvolumes: "/api/v1",
  resourcequotas: "/api/v1",
  leases: "/apis/coordination.k8s.io/v1",
  priorityclasses: "/apis/scheduling.k8s.io/v1",
  poddisruptionbudgets: "/apis/policy/v1",
  kubevirts: "/apis/kubevirt.io/v1",
  virtualmachines: "/apis/kubevirt.io/v1",
  virtualmachineinstances: "/apis/kubevirt.io/v1",
  virtualmachineinstancemigrations: "/apis/kubevirt.io/v1",
  plugins: "/apis/plugin.kubevirt.io/v1alpha1",
  evacuations: `/apis/${API_GROUP}`,
  lifeboatconfigurations: `/apis/${API_GROUP}`,
  validatingwebhookconfigurations: "/apis/admissionregistration.k8s.io/v1",
} as const;

export type Resource = keyof typeof KINDS;

/** All objects of a resource, in one namespace or in all. */
export function collection(resource: Resource, namespace?: string): string {
  const within = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${KINDS[resource]}${within}/${resource}`;
}

/** One object; an empty namespace for resources at cluster scope. */
export function object(resource: Resource, { namespace, name }: NamespacedName): string {
  return `${collection(resource, namespace || undefined)}/${encodeURIComponent(name)}`;
}

/** Of a VMI, which virt-api serves in a group of its own. */
export function vmiSubresource({ namespace, name }: NamespacedName, subresource: string): string {
  const where = `${encodeURIComponent(namespace)}/virtualmachineinstances/${encodeURIComponent(name)}`;
  return `/apis/subresources.kubevirt.io/v1/namespaces/${where}/${subresource}`;
}

export function isObjectName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name);
}

/** An empty namespace for objects at cluster scope. */
export function isObjectKey({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean {
  return isObjectName(name) && (namespace === "" || isObjectName(namespace));
}

export const ObjectName = z.string().check(z.refine(isObjectName, "expected the name of an object"));

/** Empty at cluster scope. */
export const ObjectNamespace = z
  .string()
  .check(z.refine((name) => name === "" || isObjectName(name), "expected the name of a namespace"));

/** Of a namespaced object that can exist. One that cannot has nothing, and must be in no path and no selector. */
export function isVmiKey(key: NamespacedName): boolean {
  return key.namespace !== "" && isObjectKey(key);
}
