/** Installs Lifeboat in a cluster, like `lifeboat install`. */
import { guard } from "../../../shared/guard/feature.ts";
import type { Send } from "../../../shared/kube/transport.ts";
import { applyAll } from "../../cli/install/apply.ts";
import { type Manifest, manifestsIn } from "../../cli/install/manifests.ts";
import { DEFINITIONS, type Home, plan } from "../../cli/install/plan.ts";
import { createToken, listTokens } from "../../cli/install/token.ts";
import { type KubeClient, type KubeObject, KUBEVIRT, kubeVirts, type Resource } from "../../sandbox/index.ts";
import { quietHost } from "./host.ts";

export interface Site {
  /** The Worker's URL for this cluster, without a trailing slash. */
  readonly url: string;
  readonly webhookToken: string;
  readonly caPem: string;
  /** Paths of additional manifests in infra/kubernetes, for example `optional/configuration/configuration.yaml`. */
  readonly optional?: readonly string[];
}

export interface Installed {
  /** The token of Lifeboat's service account, for the Worker's `CLUSTERS`. */
  readonly token: string;
}

/** The manifests of Lifeboat's webhooks and policies that refuse deletions. */
export const GUARD_FILES = guard.manifests.map((name) => `optional/guard/${name}.yaml`);

export interface LifeboatConfiguration extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly conditions?: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[];
  };
}

export const lifeboatConfigurations: Resource<LifeboatConfiguration> = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "LifeboatConfiguration",
  plural: "lifeboatconfigurations",
  namespaced: false,
};
const CONFIGURATION = { name: "lifeboat" };

export async function applyLifeboat(client: KubeClient, site: Site): Promise<Installed> {
  const { url, webhookToken, caPem, optional } = site;
  const home = { in: "Worker", url, webhookToken, caBundle: Buffer.from(caPem).toString("base64") } as const;
  await applyAsCommand(client, plannedFor(home, optional));
  const send = () => sendOver(client);
  const [there] = await listTokens(send());
  return { token: there?.token ?? (await createToken(send, SILENT)).token };
}

/** Returns the manifests of an installation. `optional` contains paths of additional manifests in infra/kubernetes. */
export function plannedFor(home: Home, optional: readonly string[] = []): readonly Manifest[] {
  const parts = [{ files: optional.map((file) => `kubernetes/${file}`), gates: [] }];
  return plan({ parts, home });
}

export async function applyAsCommand(client: KubeClient, manifests: readonly Manifest[]): Promise<void> {
  await applyAll(manifests, { send: () => sendOver(client), host: SILENT, forceConflicts: true });
}

const SILENT = quietHost();

export function sendOver(client: KubeClient): Send {
  return async ({ expect = [], ...request }) => {
    const contentType = Array.isArray(request.body) ? "application/json-patch+json" : "application/json";
    const { code, body } = await client.raw({ contentType, ...request });
    if (code < 300 || expect.includes(code)) return { code, body, bytes: 0 };
    throw new Error(`${request.method} ${request.path}: ${code} ${JSON.stringify(body)}`);
  };
}

/** Returns the CRDs. They are applied before any program uses them. */
export function definitions(): readonly Manifest[] {
  return DEFINITIONS.flatMap((file) => manifestsIn(`kubernetes/${file}`));
}

export async function configureLifeboat(client: KubeClient, spec: Readonly<Record<string, unknown>>): Promise<void> {
  if ((await client.get(lifeboatConfigurations, CONFIGURATION)) === undefined) {
    await client.create(lifeboatConfigurations, { metadata: CONFIGURATION, spec });
  } else {
    const body = [{ op: "add", path: "/spec", value: spec }];
    await client.patch(lifeboatConfigurations, CONFIGURATION, { type: "json", body });
  }
}

export async function configureKubeVirt(client: KubeClient, configuration: object): Promise<void> {
  await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: { spec: { configuration } } });
}
