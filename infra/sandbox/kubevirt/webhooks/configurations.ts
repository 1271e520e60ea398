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

export function webhookConfigurations(url: string, caPem: string): readonly Manifest[] {
  const caBundle = Buffer.from(caPem).toString("base64");
  const webhooks = (hooks: readonly Hook[]) =>
    hooks.map(({ name, path, operations, resource }) => ({
      name,
      clientConfig: { url: url + path, caBundle },
      rules: [{ operations, apiGroups: ["kubevirt.io"], apiVersions: ["v1", "v1alpha3"], resources: [resource] }],
      admissionReviewVersions: ["v1"],
      failurePolicy: "Fail",
      sideEffects: "None",
      timeoutSeconds: 10,
    }));
  const configuration = (kind: string, name: string, hooks: readonly Hook[]) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name, labels: { "kubevirt.io": name, "app.kubernetes.io/managed-by": "virt-operator" } },
    webhooks: webhooks(hooks),
  });
  return [
    configuration("MutatingWebhookConfiguration", "virt-api-mutator", MUTATING),
    configuration("ValidatingWebhookConfiguration", "virt-api-validator", VALIDATING),
  ];
}
