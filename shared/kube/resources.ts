/**
 * The resources that Lifeboat touches: where each lives in the Kubernetes API, and the facts that are read of its objects.
 *
 * Names come from annotations, paths and answers too, which say what they like: `..` in a URL leads elsewhere, and half a character is in
 * no URL at all. An object of such a name does not exist.
 */
import * as z from "zod/mini";
import type { NamespacedName } from "./facts.ts";
import { isObjectName } from "./schemas/fields.ts";
import {
  Access,
  Budget,
  ConfigMap,
  Lease,
  Node,
  Pod,
  RepeatedEvent,
  TokenReview,
  Version,
} from "./schemas/kubernetes.ts";
import { KubeVirt, Migration } from "./schemas/kubevirt.ts";
import { Vmi } from "./schemas/vmi.ts";
import { Evacuation, LifeboatConfiguration } from "./schemas/lifeboat.ts";
import { WebhookConfiguration } from "./schemas/webhooks.ts";

/** And version, of our own kinds. */
export const API_GROUP = "lifeboat.dev/v1alpha1";

const CORE = "/api/v1";
const KUBEVIRT = "/apis/kubevirt.io/v1";
const AUTHORIZATION = "/apis/authorization.k8s.io/v1";
/** Of objects that each reader has its own view of. */
const OWN_VIEW = z.unknown();

export const RESOURCES = {
  pods: { api: CORE, facts: Pod },
  nodes: { api: CORE, facts: Node },
  configmaps: { api: CORE, facts: ConfigMap },
  secrets: { api: CORE, facts: OWN_VIEW },
  events: { api: CORE, facts: RepeatedEvent },
  persistentvolumeclaims: { api: CORE, facts: OWN_VIEW },
  persistentvolumes: { api: CORE, facts: OWN_VIEW },
  resourcequotas: { api: CORE, facts: OWN_VIEW },
  leases: { api: "/apis/coordination.k8s.io/v1", facts: Lease },
  poddisruptionbudgets: { api: "/apis/policy/v1", facts: Budget },
  kubevirts: { api: KUBEVIRT, facts: KubeVirt },
  virtualmachines: { api: KUBEVIRT, facts: OWN_VIEW },
  virtualmachineinstances: { api: KUBEVIRT, facts: Vmi },
  virtualmachineinstancemigrations: { api: KUBEVIRT, facts: Migration },
  plugins: { api: "/apis/plugin.kubevirt.io/v1alpha1", facts: OWN_VIEW },
  evacuations: { api: `/apis/${API_GROUP}`, facts: Evacuation },
  lifeboatconfigurations: { api: `/apis/${API_GROUP}`, facts: LifeboatConfiguration },
  validatingwebhookconfigurations: { api: "/apis/admissionregistration.k8s.io/v1", facts: WebhookConfiguration },
  tokenreviews: { api: "/apis/authentication.k8s.io/v1", facts: TokenReview },
  subjectaccessreviews: { api: AUTHORIZATION, facts: Access },
  selfsubjectaccessreviews: { api: AUTHORIZATION, facts: Access },
  /** Of the API server: there is one, without a name. */
  version: { api: "", facts: Version },
} as const;

export type Resource = keyof typeof RESOURCES;
export type Facts<R extends Resource> = z.output<(typeof RESOURCES)[R]["facts"]>;

/** The same table, as a resource that is not known yet finds its facts in it. */
export const SCHEMAS: { readonly [R in Resource]: { readonly facts: z.ZodMiniType<Facts<R>> } } = RESOURCES;

/** All objects of a resource, in one namespace or in all. */
export function collection(resource: Resource, namespace?: string): string {
  const within = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${RESOURCES[resource].api}${within}/${resource}`;
}

/** One object; an empty namespace for resources at cluster scope. */
export function object(resource: Resource, { namespace, name }: NamespacedName): string {
  const all = collection(resource, namespace || undefined);
  return resource === "version" ? all : `${all}/${encodeURIComponent(name)}`;
}

/** Of a VMI, which virt-api serves in a group of its own. */
export function vmiSubresource({ namespace, name }: NamespacedName, subresource: string): string {
  const where = `${encodeURIComponent(namespace)}/virtualmachineinstances/${encodeURIComponent(name)}`;
  return `/apis/subresources.kubevirt.io/v1/namespaces/${where}/${subresource}`;
}

/** An empty namespace for objects at cluster scope. */
export function isObjectKey({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean {
  return isObjectName(name) && (namespace === "" || isObjectName(namespace));
}

/** Of a namespaced object that can exist. One that cannot has nothing, and must be in no path and no selector. */
export function isVmiKey(key: NamespacedName): boolean {
  return key.namespace !== "" && isObjectKey(key);
}
