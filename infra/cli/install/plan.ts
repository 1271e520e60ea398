/** What an installation consists of: the shipped manifests, fitted to a cluster. */
import * as z from "zod";
import { type Manifest, manifestsIn, type Part } from "./manifests.ts";

export interface Site {
  readonly parts: readonly Pick<Part, "files" | "gates">[];
  readonly home: Home;
}

/** Where Lifeboat runs. */
export type Home =
  | {
      readonly in: "Worker";
      /** Of this cluster, without a trailing slash. */
      readonly url: string;
      /** Empty: the URL is without one. */
      readonly webhookToken: string;
      /** Base64; without it the API server trusts the roots of its host. */
      readonly caBundle?: string;
    }
  | { readonly in: "Cluster"; readonly image: string };

/** Before everything else: what follows may be of these kinds. */
export const DEFINITIONS = [
  "crds/evacuations.yaml",
  "crds/nodeevacuations.yaml",
  "crds/lifeboatconfigurations.yaml",
] as const;
const BASE = [
  ...DEFINITIONS,
  "namespace.yaml",
  "serviceaccount.yaml",
  "rbac.yaml",
  "evacuation-roles.yaml",
  "evacuation-deletion.yaml",
  "evacuation-requester.yaml",
  "node-evacuation.yaml",
] as const;

/** In the order of infra/server/kubernetes/component, whose patches isWanted and pointed stand for. */
const SERVER = ["lease", "poddisruptionbudget", "rbac", "secret", "service", "deployment"].map(
  (name) => `server/kubernetes/component/${name}.yaml`,
);
const SERVICE = { namespace: "lifeboat-system", name: "lifeboat-server", port: 443 };

/** In the order in which they are applied. The webhooks are the last ones: from then on Lifeboat is asked. */
export function plan(site: Site): readonly Manifest[] {
  const files = [
    ...BASE.map((file) => `kubernetes/${file}`),
    ...site.parts.flatMap((part) => part.files),
    ...(site.home.in === "Cluster" ? SERVER : []),
    "kubernetes/webhook.yaml",
  ];
  const manifests = [...new Set(files)].flatMap(manifestsIn).map((manifest) => fitted(manifest, site));
  const all = [...manifests, configuration(site.parts)];
  return [...all.filter((one) => !isWebhook(one)), ...all.filter(isWebhook)];
}

export function isWebhook({ kind }: Manifest): boolean {
  return kind === "ValidatingWebhookConfiguration";
}

export function isDeployment({ kind }: Manifest): boolean {
  return kind === "Deployment";
}

function fitted(manifest: Manifest, { home }: Site): Manifest {
  if (isWebhook(manifest)) return { ...manifest, webhooks: pointed(manifest, home) };
  if (!isDeployment(manifest) || home.in !== "Cluster") return manifest;
  return { ...manifest, spec: ofImage(manifest, home.image) };
}

const Webhooks = z.array(z.looseObject({ clientConfig: z.object({ url: z.string() }) }));

function pointed(manifest: Manifest, home: Home): readonly unknown[] {
  return Webhooks.parse(manifest["webhooks"]).map((webhook) => {
    return { ...webhook, clientConfig: clientConfigOf(webhook.clientConfig.url, home) };
  });
}

/** In the cluster the server adds the path, which holds a token, and the caBundle: applying again keeps both. */
function clientConfigOf(shipped: string, home: Home) {
  if (home.in === "Cluster") return { service: SERVICE };
  const { url, webhookToken, caBundle } = home;
  const endpoint = shipped.includes("/deletions/") ? "deletions" : "evictions";
  const path = ["admission", endpoint, webhookToken].filter(Boolean).join("/");
  return { url: `${url}/${path}`, ...(caBundle !== undefined && { caBundle }) };
}

const Spec = z.looseObject({
  template: z.looseObject({ spec: z.looseObject({ containers: z.array(z.looseObject({ image: z.string() })) }) }),
});

function ofImage(deployment: Manifest, image: string): unknown {
  const spec = Spec.parse(deployment["spec"]);
  const containers = spec.template.spec.containers.map((container) => ({ ...container, image }));
  return { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, containers } } };
}

/** Its status says how Lifeboat is. Only the gates: what else is set is the administrator's. */
function configuration(parts: Site["parts"]): Manifest {
  const featureGates = Object.fromEntries(parts.flatMap(({ gates }) => gates.map((gate) => [gate, true])));
  const kind = { apiVersion: "lifeboat.dev/v1alpha1", kind: "LifeboatConfiguration" };
  return { ...kind, metadata: { name: "lifeboat" }, spec: { featureGates } };
}

const Configured = z.looseObject({ spec: z.looseObject({ featureGates: z.record(z.string(), z.boolean()) }) });

/** A gate that is on stays on: it may be that of a part which an earlier installation added, and whose webhook is still there. */
export function withGatesOf(before: unknown, manifest: Manifest): Manifest {
  const [planned, found] = [Configured.safeParse(manifest), Configured.safeParse(before)];
  if (manifest.kind !== "LifeboatConfiguration" || !planned.success || !found.success) return manifest;
  const on = Object.entries(found.data.spec.featureGates).filter(([, isOn]) => isOn);
  const { spec } = planned.data;
  return { ...manifest, spec: { ...spec, featureGates: { ...Object.fromEntries(on), ...spec.featureGates } } };
}

const ClientConfig = z.looseObject({ url: z.string().optional(), service: z.unknown().optional() });
const Pointed = z.looseObject({ webhooks: z.array(z.looseObject({ name: z.string(), clientConfig: ClientConfig })) });

/**
 * A JSON patch for webhooks that lead to the other form of Lifeboat, a URL instead of a Service or the reverse. Fields of one form that
 * another manager has written (kubectl, or the server with its path and caBundle) would outlast an apply of the other one, and both
 * together are refused.
 */
export function turned(before: unknown, manifest: Manifest): readonly object[] {
  const [planned, found] = [Pointed.safeParse(manifest), Pointed.safeParse(before)];
  if (!isWebhook(manifest) || !planned.success || !found.success) return [];
  const byName = new Map(planned.data.webhooks.map(({ name, clientConfig }) => [name, clientConfig]));
  return found.data.webhooks.flatMap(({ name, clientConfig }, index) => {
    const value = byName.get(name);
    const isSame = value === undefined || Boolean(value.url) === Boolean(clientConfig.url);
    return isSame ? [] : [{ op: "replace", path: `/webhooks/${index}/clientConfig`, value }];
  });
}

const RBAC = "rbac.authorization.k8s.io/v1";
const OWN = { namespace: "lifeboat-system", name: "lifeboat" };

/** The binding first. */
function role(kind: "Role" | "ClusterRole", metadata: Manifest["metadata"]): readonly Manifest[] {
  return [`${kind}Binding`, kind].map((one) => ({ apiVersion: RBAC, kind: one, metadata }));
}

/** 0.1's settings, which nothing reads: an administrator wrote them. */
export const OLD_SETTINGS: Manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: OWN };

/** What an older version has put into a cluster and this one does not need. */
export function retired(kubevirtNamespace: string): readonly Manifest[] {
  return [
    ...["lifeboat-slots", "lifeboat-counters"].map((name) => {
      return { apiVersion: "v1", kind: "ConfigMap", metadata: { ...OWN, name } };
    }),
    ...role("Role", OWN),
    { apiVersion: "migrations.kubevirt.io/v1alpha1", kind: "MigrationPolicy", metadata: { name: "lifeboat-firm" } },
    ...["lifeboat-impersonation", "lifeboat-constrained-impersonation"].flatMap((name) =>
      role("Role", { namespace: kubevirtNamespace, name }),
    ),
    ...["lifeboat-constrained-impersonation", "lifeboat-marking", "lifeboat-descheduling"].flatMap((name) =>
      role("ClusterRole", { name }),
    ),
  ];
}
