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

interface Hook {
  readonly name: string;
  readonly path: string;
  readonly operations: readonly ("CREATE" | "UPDATE")[];
  readonly resource: string;
}

const MUTATING: readonly Hook[] = [
  {
    name: "virtualmachineinstances-mutator.kubevirt.io",
    path: PATHS.mutateVmi,
    operations: ["CREATE", "UPDATE"],
    resource: "virtualmachineinstances",
  },
  {
    name: "migrations-mutator.kubevirt.io",
    path: PATHS.mutateMigration,
    operations: ["CREATE"],
    resource: "virtualmachineinstancemigrations",
  },
];

const VALIDATING: readonly Hook[] = [
  {
    name: "vmi-update.kubevirt.io",
    path: PATHS.admitVmiUpdate,
    operations: ["UPDATE"],
    resource: "virtualmachineinstances",
  },
  {
    name: "migration-create.kubevirt.io",
    path: PATHS.admitMigrationCreate,
    operations: ["CREATE"],
    resource: "virtualmachineinstancemigrations",
  },
  {
    name: "migration-update.kubevirt.io",
    path: PATHS.admitMigrationUpdate,
    operations: ["UPDATE"],
    resource: "virtualmachineinstancemigrations",
  },
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

function ownKind({ name, path, operations, resource }: Hook, address: VirtApiAddress) {
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
