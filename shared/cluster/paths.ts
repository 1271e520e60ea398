/**
 * Where the few kinds we touch live in the Kubernetes API.
 * Owns: the paths. Does not own: requests.
 */
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
  priorityclasses: "/apis/scheduling.k8s.io/v1",
  poddisruptionbudgets: "/apis/policy/v1",
  kubevirts: "/apis/kubevirt.io/v1",
  virtualmachineinstances: "/apis/kubevirt.io/v1",
  virtualmachineinstancemigrations: "/apis/kubevirt.io/v1",
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
