/** Defines the table of resources, with their path in the Kubernetes API and the facts that Lifeboat reads. */
import * as z from "zod/mini";
import { Access, Budget, ConfigMap, Node, Pod, RepeatedEvent, TokenReview, Version } from "./schemas/kubernetes.ts";
import { Lease } from "./schemas/lease.ts";
import { KubeVirt, Migration } from "./schemas/kubevirt.ts";
import { Vmi } from "./schemas/vmi.ts";
import { Evacuation, LifeboatConfiguration, VirtualMachine } from "./schemas/lifeboat.ts";
import { NodeEvacuation, RollingMaintenance } from "./schemas/maintenance.ts";
import { VolumeAttachment } from "./schemas/storage.ts";
import { WebhookConfiguration } from "./schemas/webhooks.ts";

export const API_GROUP = "lifeboat.dev/v1alpha1";

const CORE = "/api/v1";
const KUBEVIRT = "/apis/kubevirt.io/v1";
const AUTHORIZATION = "/apis/authorization.k8s.io/v1";
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
  volumeattachments: { api: "/apis/storage.k8s.io/v1", facts: VolumeAttachment },
  leases: { api: "/apis/coordination.k8s.io/v1", facts: Lease },
  poddisruptionbudgets: { api: "/apis/policy/v1", facts: Budget },
  kubevirts: { api: KUBEVIRT, facts: KubeVirt },
  virtualmachines: { api: KUBEVIRT, facts: VirtualMachine },
  virtualmachineinstances: { api: KUBEVIRT, facts: Vmi },
  virtualmachineinstancemigrations: { api: KUBEVIRT, facts: Migration },
  plugins: { api: "/apis/plugin.kubevirt.io/v1alpha1", facts: OWN_VIEW },
  evacuations: { api: `/apis/${API_GROUP}`, facts: Evacuation },
  nodeevacuations: { api: `/apis/${API_GROUP}`, facts: NodeEvacuation },
  rollingmaintenances: { api: `/apis/${API_GROUP}`, facts: RollingMaintenance },
  lifeboatconfigurations: { api: `/apis/${API_GROUP}`, facts: LifeboatConfiguration },
  validatingwebhookconfigurations: { api: "/apis/admissionregistration.k8s.io/v1", facts: WebhookConfiguration },
  mutatingwebhookconfigurations: { api: "/apis/admissionregistration.k8s.io/v1", facts: WebhookConfiguration },
  validatingadmissionpolicies: { api: "/apis/admissionregistration.k8s.io/v1", facts: OWN_VIEW },
  validatingadmissionpolicybindings: { api: "/apis/admissionregistration.k8s.io/v1", facts: OWN_VIEW },
  tokenreviews: { api: "/apis/authentication.k8s.io/v1", facts: TokenReview },
  subjectaccessreviews: { api: AUTHORIZATION, facts: Access },
  selfsubjectaccessreviews: { api: AUTHORIZATION, facts: Access },
  version: { api: "", facts: Version },
} as const;

export type Resource = keyof typeof RESOURCES;
export type FactsOf<R extends Resource> = z.output<(typeof RESOURCES)[R]["facts"]>;

export const SCHEMAS: { readonly [R in Resource]: { readonly facts: z.ZodMiniType<FactsOf<R>> } } = RESOURCES;
