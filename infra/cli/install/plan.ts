/**
 * What an installation consists of: the shipped manifests, fitted to a cluster.
 * Owns: which, in which order, and what is filled in. Pure. Does not own: applying them (apply.ts).
 */
import * as z from "zod";
import { type Manifest, manifestsIn } from "./manifests.ts";
import type { Part } from "./parts.ts";

export interface Site {
  /** Of Kubernetes: 36 for 1.36. */
  readonly minor: number;
  /** Where KubeVirt is installed. */
  readonly kubevirtNamespace: string;
  readonly parts: readonly Part[];
  /** Where the API server finds Lifeboat, for one of its doors. */
  readonly doors: (door: Door) => ClientConfig;
}

export type Door = "evictions" | "deletions";

/** As in a ValidatingWebhookConfiguration. */
export interface ClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path: string;
    readonly port?: number;
  };
  readonly caBundle?: string;
}

/** Impersonation of one verb on one kind, KEP-5284: beta since then. */
const CONSTRAINED_IMPERSONATION = 36;
const SHIPPED_KUBEVIRT_NAMESPACE = "kubevirt";

const BASE = [
  "crds/evacuations.yaml",
  "crds/lifeboatconfigurations.yaml",
  "namespace.yaml",
  "serviceaccount.yaml",
  "rbac.yaml",
  "evacuation-roles.yaml",
  "evacuation-deletion.yaml",
] as const;

/** In the order in which they are applied. The webhooks are the last ones: from then on Lifeboat is asked. */
export function plan(site: Site): readonly Manifest[] {
  const impersonation =
    site.minor >= CONSTRAINED_IMPERSONATION ? "optional/constrained-impersonation.yaml" : "impersonation.yaml";
  const files = [
    ...[...BASE, impersonation].map((file) => `kubernetes/${file}`),
    ...site.parts.flatMap((part) => part.files),
    "kubernetes/webhook.yaml",
  ];
  const manifests = [...new Set(files)].flatMap(manifestsIn).map((manifest) => fitted(manifest, site));
  const all = [...manifests, ...configuration(site.parts)];
  return [...all.filter((one) => !isWebhook(one)), ...all.filter(isWebhook)];
}

export function isWebhook({ kind }: Manifest): boolean {
  return kind === "ValidatingWebhookConfiguration";
}

function fitted(manifest: Manifest, site: Site): Manifest {
  const inKubeVirts = manifest.metadata.namespace === SHIPPED_KUBEVIRT_NAMESPACE;
  const metadata = inKubeVirts ? { ...manifest.metadata, namespace: site.kubevirtNamespace } : manifest.metadata;
  return isWebhook(manifest) ? { ...manifest, metadata, webhooks: pointed(manifest, site) } : { ...manifest, metadata };
}

const Webhooks = z.array(z.looseObject({ clientConfig: z.object({ url: z.string() }) }));

function pointed(manifest: Manifest, { doors }: Site): readonly unknown[] {
  return Webhooks.parse(manifest["webhooks"]).map((webhook) => {
    const door = webhook.clientConfig.url.includes("/deletions/") ? "deletions" : "evictions";
    return { ...webhook, clientConfig: doors(door) };
  });
}

/** Only the gates: what else is set is the administrator's. */
function configuration(parts: readonly Part[]): readonly Manifest[] {
  const gates = new Set(parts.flatMap((part) => part.gates));
  if (gates.size === 0) return [];
  const featureGates = Object.fromEntries([...gates].map((gate) => [gate, true]));
  const kind = { apiVersion: "lifeboat.dev/v1alpha1", kind: "LifeboatConfiguration" };
  return [{ ...kind, metadata: { name: "lifeboat" }, spec: { featureGates } }];
}
