/**
 * Installs Lifeboat in a cluster from the shipped manifests, as an administrator does with `kubectl apply -k`.
 * Owns: filling in what is site-specific, waiting for the token. Does not own: the manifests (infra/kubernetes).
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load, loadAll } from "js-yaml";
import * as z from "zod";
import type { KubeClient } from "../sandbox/actors/client.ts";
import type { Manifest } from "../sandbox/actors/rbac.ts";
import { type KubeObject, type Resource, secrets } from "../sandbox/actors/resources.ts";
import { waitFor } from "../sandbox/actors/wait-for.ts";
import { applyManifests } from "../sandbox/manifests.ts";

export interface Site {
  /** Where the Worker answers evictions of this cluster, webhook token included; its other doors are beside that one. */
  readonly url: string;
  /** The authority of the Worker's certificate. */
  readonly caPem: string;
  /** Further files of infra/kubernetes, for example `optional/configuration/configuration.yaml`. */
  readonly optional?: readonly string[];
}

export interface Installed {
  /** The service account's, for the Worker's `CLUSTERS`. */
  readonly token: string;
}

const folder = fileURLToPath(new URL("../kubernetes/", import.meta.url));
const Kustomization = z.object({ resources: z.array(z.string()) });
const Manifests = z.array(
  z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.looseObject({ name: z.string(), namespace: z.string().exactOptional() }),
  }),
);
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
const TOKEN_SECRET = { namespace: "lifeboat-system", name: "lifeboat-token" };

export async function applyLifeboat(client: KubeClient, site: Site): Promise<Installed> {
  const manifests = shippedFiles(site.optional).flatMap(readManifests);
  await applyManifests(
    client,
    manifests.map((manifest) => (isWebhookConfiguration(manifest) ? pointTo(manifest, site) : manifest)),
  );
  const secret = await waitFor(client, {
    resource: secrets,
    key: TOKEN_SECRET,
    what: "filled with a token",
    until: ({ data }) => data?.["token"] !== undefined,
  });
  return { token: Buffer.from(secret.data?.["token"] ?? "", "base64").toString() };
}

/** Of infra/kubernetes: those of its kustomization, and further ones. */
export function shippedFiles(optional: readonly string[] = []): readonly string[] {
  const { resources } = Kustomization.parse(load(read("kustomization.yaml")));
  return [...new Set([...definitions(), ...resources, ...optional])];
}

/** Of the custom resources: before any of those, and before anything that may read them. */
export function definitions(): readonly string[] {
  return readdirSync(`${folder}crds`).map((file) => `crds/${file}`);
}

/** Replaces the spec of the cluster's LifeboatConfiguration. */
export async function configureLifeboat(client: KubeClient, spec: Readonly<Record<string, unknown>>): Promise<void> {
  if ((await client.get(lifeboatConfigurations, CONFIGURATION)) === undefined) {
    await client.create(lifeboatConfigurations, { metadata: CONFIGURATION, spec });
  } else {
    const body = [{ op: "add", path: "/spec", value: spec }];
    await client.patch(lifeboatConfigurations, CONFIGURATION, { type: "json", body });
  }
}

interface WebhookConfiguration extends Manifest {
  readonly webhooks: readonly { readonly name: string; readonly clientConfig: { readonly url: string } }[];
}

function isWebhookConfiguration(manifest: Manifest): manifest is WebhookConfiguration {
  return manifest.kind === "ValidatingWebhookConfiguration";
}

function pointTo(configuration: WebhookConfiguration, { url, caPem }: Site): Manifest {
  const caBundle = Buffer.from(caPem).toString("base64");
  const webhooks = configuration.webhooks.map((webhook) => {
    const [door = ""] = /admission\/\w+/.exec(webhook.clientConfig.url) ?? [];
    return { ...webhook, clientConfig: { url: url.replace(/admission\/\w+/, door), caBundle } };
  });
  return { ...configuration, webhooks } as Manifest;
}

/** Of a file of infra/kubernetes. */
export function readManifests(file: string): readonly Manifest[] {
  return Manifests.parse(loadAll(read(file)));
}

function read(file: string): string {
  return readFileSync(`${folder}${file}`, "utf8");
}
