/**
 * How virt-api registers its webhooks.
 * Owns: both webhook configurations. Does not own: the answers.
 */
import type { Manifest } from "../../actors/rbac.ts";

export const PATHS = {
  mutateVmi: "/virtualmachineinstances-mutate",
  mutateMigration: "/migration-mutate-create",
  admitVmiUpdate: "/virtualmachineinstances-validate-update",
  admitMigrationCreate: "/migration-validate-create",
  admitMigrationUpdate: "/migration-validate-update",
  admitEviction: "/pod-eviction-validate",
} as const;

type Hook = readonly [name: string, path: string, operations: readonly ("CREATE" | "UPDATE")[], resource: string];

// prettier-ignore
const MUTATING: readonly Hook[] = [
  ["virtualmachineinstances-mutator.kubevirt.io", PATHS.mutateVmi,       ["CREATE", "UPDATE"], "virtualmachineinstances"],
  ["migrations-mutator.kubevirt.io",              PATHS.mutateMigration, ["CREATE"],           "virtualmachineinstancemigrations"],
];

// prettier-ignore
const VALIDATING: readonly Hook[] = [
  ["vmi-update.kubevirt.io",       PATHS.admitVmiUpdate,       ["UPDATE"], "virtualmachineinstances"],
  ["migration-create.kubevirt.io", PATHS.admitMigrationCreate, ["CREATE"], "virtualmachineinstancemigrations"],
  ["migration-update.kubevirt.io", PATHS.admitMigrationUpdate, ["UPDATE"], "virtualmachineinstancemigrations"],
];

/** Evictions are named after their pods, so ordinary ones never come here. */
const EVICTIONS = [
  ["virt-launcher-eviction-interceptor.kubevirt.io", "only-vms", "virt-launcher"],
  ["hotplug-pod-eviction-interceptor.kubevirt.io", "only-hotplug-pods", "hp-volume-"],
] as const;

export interface VirtApiAddress {
  readonly url: string;
  readonly caPem: string;
}

export interface Registration {
  /** Whether virt-api is asked about evictions. */
  readonly evictionWebhook: boolean;
}

export function webhookConfigurations(address: VirtApiAddress, { evictionWebhook }: Registration): readonly Manifest[] {
  const own = (hooks: readonly Hook[]) => hooks.map((hook) => ownKind(hook, address));
  const evictions = evictionWebhook ? EVICTIONS.map((hook) => eviction(hook, address)) : [];
  return [
    configuration("MutatingWebhookConfiguration", "virt-api-mutator", own(MUTATING)),
    configuration("ValidatingWebhookConfiguration", "virt-api-validator", [...own(VALIDATING), ...evictions]),
  ];
}

function configuration(kind: string, name: string, webhooks: readonly object[]) {
  const labels = { "kubevirt.io": name, "app.kubernetes.io/managed-by": "virt-operator" };
  return { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name, labels }, webhooks };
}

function ownKind([name, path, operations, resource]: Hook, address: VirtApiAddress) {
  const rule = { operations, apiGroups: ["kubevirt.io"], apiVersions: ["v1", "v1alpha3"], resources: [resource] };
  return { ...webhook(name, path, address), rules: [rule], sideEffects: "None" };
}

function eviction([name, condition, prefix]: (typeof EVICTIONS)[number], address: VirtApiAddress) {
  const rule = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"] };
  const matchConditions = [{ name: condition, expression: `object.metadata.name.startsWith("${prefix}")` }];
  return {
    ...webhook(name, PATHS.admitEviction, address),
    rules: [rule],
    matchConditions,
    sideEffects: "NoneOnDryRun",
  };
}

function webhook(name: string, path: string, { url, caPem }: VirtApiAddress) {
  const clientConfig = { url: url + path, caBundle: Buffer.from(caPem).toString("base64") };
  return { name, clientConfig, admissionReviewVersions: ["v1"], failurePolicy: "Fail", timeoutSeconds: 10 };
}
