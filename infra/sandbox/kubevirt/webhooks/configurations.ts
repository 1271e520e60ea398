/** The configurations of virt-api's webhooks, from configurations.yaml. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import type { Manifest } from "../../actors/rbac.ts";

export const PATHS = {
  mutateVmi: "/virtualmachineinstances-mutate",
  mutateMigration: "/migration-mutate-create",
  admitVmiUpdate: "/virtualmachineinstances-validate-update",
  admitMigrationCreate: "/migration-validate-create",
  admitMigrationUpdate: "/migration-validate-update",
  admitPlugin: "/plugin-validate",
  admitEviction: "/pod-eviction-validate",
} as const;

interface Configuration {
  readonly kind: string;
  readonly name: string;
  readonly webhooks: readonly { readonly path: string }[];
}

const file = new URL("configurations.yaml", import.meta.url);
const CONFIGURATIONS = load(readFileSync(file, "utf8")) as readonly Configuration[];
const COMMON = { admissionReviewVersions: ["v1"], failurePolicy: "Fail", timeoutSeconds: 10 };

export interface VirtApiAddress {
  readonly url: string;
  readonly caPem: string;
}

export interface Registration {
  readonly evictionWebhook: boolean;
}

export function webhookConfigurations(
  { url, caPem }: VirtApiAddress,
  { evictionWebhook }: Registration,
): readonly Manifest[] {
  const caBundle = Buffer.from(caPem).toString("base64");
  return CONFIGURATIONS.map(({ kind, name, webhooks }) => {
    const labels = { "kubevirt.io": name, "app.kubernetes.io/managed-by": "virt-operator" };
    const asked = webhooks
      .filter(({ path }) => evictionWebhook || path !== PATHS.admitEviction)
      .map(({ path, ...webhook }) => ({ ...webhook, ...COMMON, clientConfig: { url: url + path, caBundle } }));
    return { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name, labels }, webhooks: asked };
  });
}
