/** The objects that Lifeboat creates. */
import type { ActionOf, KubernetesEvent, NewEvacuation } from "../kube/action.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { hash8 } from "../kube/names.ts";
import * as names from "../kube/names.ts";
import { withoutFractions } from "../settings/time.ts";

const MANAGED = { [names.MANAGED_BY_LABEL]: names.MANAGED_BY };

export function migrationAnnotations({ name, spec }: Pick<EvacuationFacts, "name" | "spec">): Record<string, string> {
  return { [names.CAUSE_ANNOTATION]: spec.cause, [names.EVACUATION_ANNOTATION]: name };
}

/**
 * `spec.priority` is left out: only virt-controller may set it. So is KubeVirt's evacuation annotation: its evacuation
 * controller counts the migrations that carry it as its own.
 */
export function migration({ vmi, name, evacuation }: ActionOf<"CreateMigration">) {
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstanceMigration",
    metadata: { namespace: vmi.namespace, name, labels: MANAGED, annotations: migrationAnnotations(evacuation) },
    spec: { vmiName: vmi.name },
  };
}

export function evacuation({ namespace, name, spec }: NewEvacuation) {
  const { vmiName, ...rest } = spec;
  return {
    apiVersion: "lifeboat.dev/v1alpha1",
    kind: "Evacuation",
    metadata: { namespace, name, labels: MANAGED },
    spec: { virtualMachineInstance: { name: vmiName }, ...rest, requestedBy: userOf(spec) },
  };
}

/** As the CRD's schema allows. */
const LONGEST_USER = 1024;

export function userOf({ requestedBy }: NewEvacuation["spec"]): string {
  return requestedBy.slice(0, LONGEST_USER);
}

/** Since the epoch: a valid label value. */
export function secondsOf(now: Date): string {
  return String(Math.floor(now.getTime() / 1000));
}

/** Owned by the VMI, not as controller: KubeVirt from 1.6 deletes every budget whose controller is a VMI. */
export function budget({ vmi, name, minAvailable }: ActionOf<"CreateBudget">, now: Date) {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: {
      namespace: vmi.namespace,
      name,
      labels: { ...MANAGED, [names.TOUCHED_LABEL]: secondsOf(now) },
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid }],
    },
    spec: { minAvailable, selector: { matchLabels: { [names.CREATED_BY_LABEL]: vmi.uid } } },
  };
}

const API_VERSION = {
  VirtualMachineInstance: "kubevirt.io/v1",
  Pod: "v1",
  ConfigMap: "v1",
  ValidatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
} as const;
/** Of Events about an object that is in none: as the API server demands it. */
const NAMESPACE_OF_NONE = "default";
/** Longest object name, less the dot and hash that make an Event's name its own. */
const LONGEST_EVENT_PREFIX = 253 - 9;

/** The name depends on what is told and on what occasion: telling it twice makes one Event. */
export function event(story: KubernetesEvent, now: Date) {
  const { about, type, reason, message, occasion } = story;
  const time = withoutFractions(now.toISOString());
  const { kind, namespace, name, uid } = about;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      namespace: namespace || NAMESPACE_OF_NONE,
      name: `${name.slice(0, LONGEST_EVENT_PREFIX)}.${hash8(`${uid}/${reason}/${occasion}`)}`,
      labels: MANAGED,
    },
    involvedObject: { apiVersion: API_VERSION[kind], kind, ...(namespace && { namespace }), name, uid },
    type,
    reason,
    message: message.slice(0, 1024),
    source: { component: "lifeboat" },
    reportingComponent: "lifeboat.dev/lifeboat",
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
