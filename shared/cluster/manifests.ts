/**
 * The objects that Lifeboat creates.
 * Owns: their JSON. Does not own: whether they are wanted (shared/policy).
 */
import type { Story } from "../policy/action.ts";
import type { VmiFacts } from "../policy/facts.ts";
import { hash8 } from "../policy/hash.ts";
import * as names from "../policy/names.ts";
import type { Slot } from "../policy/slots.ts";

const MANAGED = { [names.MANAGED_BY_LABEL]: names.MANAGED_BY };

export function migrationAnnotations(slot: Pick<Slot, "cause" | "id" | "attempt">): Record<string, string> {
  return {
    [names.CAUSE_ANNOTATION]: slot.cause,
    [names.EVACUATION_ID_ANNOTATION]: slot.id,
    [names.ATTEMPT_ANNOTATION]: String(slot.attempt),
  };
}

/** `spec.priority` is left out: only virt-controller may set it. */
export function migration(slot: Slot): unknown {
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstanceMigration",
    metadata: {
      namespace: slot.namespace,
      name: slot.name,
      labels: MANAGED,
      annotations: { [names.EVACUATION_MIGRATION_ANNOTATION]: slot.node, ...migrationAnnotations(slot) },
    },
    spec: { vmiName: slot.vmi },
  };
}

/** Owned by the VMI, not as controller: KubeVirt from 1.6 deletes every budget whose controller is a VMI. */
export function budget(vmi: VmiFacts, name: string, minAvailable: number): unknown {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: {
      namespace: vmi.namespace,
      name,
      labels: MANAGED,
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid }],
    },
    spec: { minAvailable, selector: { matchLabels: { [names.CREATED_BY_LABEL]: vmi.uid } } },
  };
}

export function configMap(name: string, data: Readonly<Record<string, string>>): unknown {
  const metadata = { namespace: names.LIFEBOAT_NAMESPACE, name, labels: MANAGED };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

const API_VERSION = { VirtualMachineInstance: "kubevirt.io/v1", Pod: "v1", ConfigMap: "v1" } as const;
/** Longest object name, less the dot and hash that make an Event's name its own. */
const LONGEST_EVENT_PREFIX = 253 - 9;

/** The name depends on what is told and on what occasion: telling it twice makes one Event. */
export function event({ about, type, reason, message, occasion }: Story, now: Date): unknown {
  const time = now.toISOString().replace(/\.\d+Z$/, "Z");
  const { kind, namespace, name, uid } = about;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      namespace,
      name: `${name.slice(0, LONGEST_EVENT_PREFIX)}.${hash8(`${uid}/${reason}/${occasion}`)}`,
      labels: MANAGED,
    },
    involvedObject: { apiVersion: API_VERSION[kind], kind, namespace, name, uid },
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
