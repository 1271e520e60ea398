/** Plans an installation: adapts the manifests of Lifeboat to a cluster. */
import * as z from "zod";
import { CLUSTER_VARIABLE, DEFAULT_CLUSTER } from "../../server/names.ts";
import { fitCondition, fitPolicy, type GuardSite, isGuardPolicy, isPolicyPlanned } from "./guard.ts";
import { type Manifest, manifestsIn, type Part } from "./manifests.ts";

export interface Site {
  readonly parts: readonly Pick<Part, "files" | "gates">[];
  readonly home: Home;
  /** The values for the guard's policies. If absent, the policies are not adapted. */
  readonly guard?: GuardSite | undefined;
}

export type Home =
  | {
      readonly in: "Worker";
      /** The Worker's URL for this cluster, without a trailing slash. */
      readonly url: string;
      /** The token in the webhooks' URL, or an empty string if the URL has no token. */
      readonly webhookToken: string;
      /** The CA in base64. If absent, the API server trusts the CAs of its host. */
      readonly caBundle?: string;
    }
  | Inside;

export interface Inside {
  readonly in: "Cluster";
  readonly image: string;
  /** The name of the cluster in the paths of the endpoints. If absent, the server uses its default name. */
  readonly cluster?: string;
  /** The token in the webhooks' path. Absent until `install` has created or read the token. */
  readonly webhookToken?: string;
  /** The CA in base64. */
  readonly caBundle?: string;
  /** If set, cert-manager creates the certificate and writes the caBundle. */
  readonly certManager?: boolean;
}

/** The CRDs, which are applied first. */
export const DEFINITIONS = [
  "crds/evacuations.yaml",
  "crds/nodeevacuations.yaml",
  "crds/rollingmaintenances.yaml",
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
  "rolling-maintenance.yaml",
] as const;

/**
 * The manifests of the server, in the order of infra/server/kubernetes/component. The function `pointed` changes the
 * webhooks as the patches in that folder do.
 */
const SERVER = ["lease", "poddisruptionbudget", "rbac", "secret", "service", "deployment"].map(
  (name) => `server/kubernetes/component/${name}.yaml`,
);
export const SERVICE = { namespace: "lifeboat-system", name: "lifeboat-server", port: 443 };
/** The annotation that makes cert-manager write the caBundle. The value is the name of a Certificate. */
export const INJECT = "cert-manager.io/inject-ca-from";

/**
 * Lists the objects in the order in which they are applied. The webhooks are last, because the API server calls a
 * webhook as soon as it exists.
 */
export function plan(site: Site): readonly Manifest[] {
  const files = [
    ...BASE.map((file) => `kubernetes/${file}`),
    ...site.parts.flatMap((part) => part.files),
    ...(site.home.in === "Cluster" ? SERVER : []),
    "kubernetes/webhook.yaml",
  ];
  const { guard } = site;
  const isWanted = (one: Manifest) => guard === undefined || !isGuardPolicy(one) || isPolicyPlanned(one, guard);
  const manifests = [...new Set(files)]
    .flatMap(manifestsIn)
    .filter(isWanted)
    .map((manifest) => fitted(manifest, site));
  const all = [...manifests, configuration(site.parts)];
  return [...all.filter((one) => !isWebhook(one)), ...all.filter(isWebhook)];
}

export function isWebhook({ kind }: Manifest): boolean {
  return kind.endsWith("WebhookConfiguration");
}

export function isDeployment({ kind }: Manifest): boolean {
  return kind === "Deployment";
}

function fitted(manifest: Manifest, { home, guard }: Site): Manifest {
  if (isWebhook(manifest)) {
    return { ...injected(manifest, home), webhooks: pointed(manifest, home).map((one) => asking(one, guard)) };
  }
  if (isGuardPolicy(manifest)) return guard === undefined ? manifest : fitPolicy(manifest, guard);
  if (!isDeployment(manifest) || home.in !== "Cluster") return manifest;
  return { ...manifest, spec: ofImage(manifest, home) };
}

function injected(manifest: Manifest, home: Home): Manifest {
  if (home.in !== "Cluster" || home.certManager !== true) return manifest;
  const annotations = { [INJECT]: `${SERVICE.namespace}/${SERVICE.name}` };
  return { ...manifest, metadata: { ...manifest.metadata, annotations } };
}

const Webhooks = z.array(
  z.looseObject({
    clientConfig: z.object({ url: z.string() }),
    matchConditions: z.array(z.looseObject({ name: z.string(), expression: z.string() })),
  }),
);
type Webhook = Pick<z.output<typeof Webhooks>[number], "matchConditions">;

function asking(webhook: Webhook, guard: GuardSite | undefined): Webhook {
  if (guard === undefined) return webhook;
  return { ...webhook, matchConditions: webhook.matchConditions.map((one) => fitCondition(one, guard)) };
}

function pointed(manifest: Manifest, home: Home): readonly Webhook[] {
  return Webhooks.parse(manifest["webhooks"]).map((webhook) => {
    return { ...webhook, clientConfig: clientConfigOf(webhook.clientConfig.url, home) };
  });
}

function clientConfigOf(shipped: string, home: Home) {
  const endpoint = shipped.includes("/deletions/") ? "deletions" : "evictions";
  const { webhookToken, caBundle } = home;
  const trust = caBundle !== undefined && { caBundle };
  if (home.in === "Worker") {
    const path = ["admission", endpoint, webhookToken].filter(Boolean).join("/");
    return { url: `${home.url}/${path}`, ...trust };
  }
  const token = encodeURIComponent(webhookToken ?? "");
  const path = `/clusters/${home.cluster ?? DEFAULT_CLUSTER}/admission/${endpoint}/${token}`;
  return { service: { ...SERVICE, ...(webhookToken !== undefined && { path }) }, ...trust };
}

const Container = z.looseObject({ image: z.string(), env: z.array(z.unknown()).default([]) });
const Spec = z.looseObject({
  template: z.looseObject({ spec: z.looseObject({ containers: z.array(Container) }) }),
});

function ofImage(deployment: Manifest, { image, cluster = DEFAULT_CLUSTER }: Inside): unknown {
  const spec = Spec.parse(deployment["spec"]);
  const named = cluster === DEFAULT_CLUSTER ? [] : [{ name: CLUSTER_VARIABLE, value: cluster }];
  const containers = spec.template.spec.containers.map((one) => ({ ...one, image, env: [...one.env, ...named] }));
  return { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, containers } } };
}

/** Returns the LifeboatConfiguration. Sets only feature gates, because the administrator owns the other settings. */
function configuration(parts: Site["parts"]): Manifest {
  const featureGates = Object.fromEntries(parts.flatMap(({ gates }) => gates.map((gate) => [gate, true])));
  const kind = { apiVersion: "lifeboat.dev/v1alpha1", kind: "LifeboatConfiguration" };
  return { ...kind, metadata: { name: "lifeboat" }, spec: { featureGates } };
}

/** A feature gate of Lifeboat 0.3. While the spec contains this gate, the CRD refuses every change of the gates. */
const GATE_OF_0_3 = "EvictionRequests";

/** Returns a JSON patch that removes the feature gate of Lifeboat 0.3, even if another field manager owns the gate. */
export function withoutOldGate(before: unknown, { kind }: Manifest): readonly object[] {
  const found = Configured.safeParse(before);
  const isThere = kind === "LifeboatConfiguration" && found.success && GATE_OF_0_3 in found.data.spec.featureGates;
  return isThere ? [{ op: "remove", path: `/spec/featureGates/${GATE_OF_0_3}` }] : [];
}

const Configured = z.looseObject({ spec: z.looseObject({ featureGates: z.record(z.string(), z.boolean()) }) });

/** Keeps the feature gates that are already on, because installed features may need them. */
export function withGatesOf(before: unknown, manifest: Manifest): Manifest {
  const [planned, found] = [Configured.safeParse(manifest), Configured.safeParse(before)];
  if (manifest.kind !== "LifeboatConfiguration" || !planned.success || !found.success) return manifest;
  const on = Object.entries(found.data.spec.featureGates).filter(([gate, isOn]) => isOn && gate !== GATE_OF_0_3);
  const { spec } = planned.data;
  return { ...manifest, spec: { ...spec, featureGates: { ...Object.fromEntries(on), ...spec.featureGates } } };
}

const ClientConfig = z.looseObject({
  url: z.string().optional(),
  caBundle: z.string().optional(),
  service: z.looseObject({ path: z.string().optional() }).optional(),
});
const Pointed = z.looseObject({ webhooks: z.array(z.looseObject({ name: z.string(), clientConfig: ClientConfig })) });
type ClientConfig = z.output<typeof ClientConfig>;

/**
 * Returns a JSON patch for webhooks that change between a URL and the Service, or whose Service path or caBundle
 * changes. A patch is needed, because server-side apply cannot replace fields of another manager.
 */
export function turned(before: unknown, manifest: Manifest): readonly object[] {
  const [planned, found] = [Pointed.safeParse(manifest), Pointed.safeParse(before)];
  if (!isWebhook(manifest) || !planned.success || !found.success) return [];
  const byName = new Map(planned.data.webhooks.map(({ name, clientConfig }) => [name, clientConfig]));
  return found.data.webhooks.flatMap(({ name, clientConfig }, index) => {
    const value = byName.get(name);
    if (value === undefined || leadsAs(value, clientConfig)) return [];
    const isSameForm = Boolean(value.url) === Boolean(clientConfig.url);
    // Keeps the caBundle that cert-manager has written.
    const { caBundle = isSameForm ? clientConfig.caBundle : undefined } = value;
    return [
      {
        op: "replace",
        path: `/webhooks/${index}/clientConfig`,
        value: { ...value, ...(caBundle !== undefined && { caBundle }) },
      },
    ];
  });
}

function leadsAs(planned: ClientConfig, found: ClientConfig): boolean {
  if (Boolean(planned.url) !== Boolean(found.url)) return false;
  if (planned.url !== undefined) return true;
  const { caBundle = found.caBundle, service: { path = found.service?.path } = {} } = planned;
  return caBundle === found.caBundle && path === found.service?.path;
}

/** Objects of Lifeboat 0.3 that this version does not need. */
export const LEFT_BY_0_3: readonly Manifest[] = [
  ...["MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"].map((kind) => {
    return { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name: "lifeboat-eviction-requests" } };
  }),
  ...["ClusterRoleBinding", "ClusterRole"].map((kind) => {
    return { apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name: "lifeboat-eviction-requests" } };
  }),
];
