/** Installs and runs KubeVirt's programs on a real API server, without virt-operator. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import type { KubeClient } from "../actors/client.ts";
import type { Manifest } from "../actors/rbac.ts";
import type { KubeObject, Resource } from "../actors/resources.ts";
import type { Authority } from "../certificates.ts";
import { applyManifests } from "../manifests.ts";
import { DEPLOYED, KUBEVIRT } from "../kubevirt/manifests.ts";
import { KUBEVIRT_NAMESPACE, kubeVirts } from "../kubevirt/resources.ts";
import { SUBRESOURCES } from "../kubevirt/subresources.ts";
import { PATHS } from "../kubevirt/webhooks/configurations.ts";
import { writeCertificate } from "./kubernetes.ts";
import type { Program } from "./programs.ts";

const SERVING = "kubevirt";

interface ControllerSettings {
  readonly evacuationController: boolean;
}

export const PRINTED = [
  "crds.yaml",
  "rbac.yaml",
  "prio.yaml",
  "mutating.yaml",
  "validating.yaml",
  "apiservices.yaml",
] as const;
type Printed = (typeof PRINTED)[number];

export interface KubeVirtOptions {
  readonly client: KubeClient;
  readonly authority: Authority;
  /** The folder with the manifests of the objects that virt-operator would install. */
  readonly printed: string;
  readonly serviceAddress: string;
}

/** Installs the roles, and the objects that virt-api reads when it starts. virt-api reads all other objects later. */
export async function installRoles({ client, authority, printed }: KubeVirtOptions): Promise<void> {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: KUBEVIRT_NAMESPACE } };
  const ca = configMap("kubevirt-ca", { "ca-bundle": authority.caPem });
  await applyManifests(client, [namespace, ca, ...(await read(printed, "rbac.yaml"))]);
}

export async function installKinds({ client, printed }: KubeVirtOptions): Promise<void> {
  const [definitions, classes] = await Promise.all([read(printed, "crds.yaml"), read(printed, "prio.yaml")]);
  await applyManifests(client, [...definitions, ...classes, KUBEVIRT]);
  const body = { status: DEPLOYED };
  await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body }, { subresource: "status" });
}

/** Registers virt-api's API group and webhooks. virt-api must be listening. */
export async function registerVirtApi(options: KubeVirtOptions): Promise<void> {
  const { client, authority, printed, serviceAddress } = options;
  const caBundle = Buffer.from(authority.caPem).toString("base64");
  const [mutating, validating, services] = await Promise.all([
    read(printed, "mutating.yaml"),
    read(printed, "validating.yaml"),
    read(printed, "apiservices.yaml"),
  ]);
  const webhooks = [...mutating, ...validating].map((one) => withTrust(one, caBundle));
  const aggregated = services.map((one) => ({ ...one, spec: { ...specOf(one), caBundle } }));
  await applyManifests(client, [...serviceOf(serviceAddress), ...webhooks, ...aggregated]);
}

export function isAggregated(client: KubeClient): Promise<boolean> {
  return client.raw({ method: "GET", path: `/apis/${SUBRESOURCES}` }).then(({ code }) => code === 200);
}

export interface VirtProgramOptions {
  readonly binaries: string;
  readonly folder: string;
  readonly authority: Authority;
  readonly serviceAddress: string;
  readonly host: string;
  readonly kubeconfigOf: (user: "virtApi" | "virtController") => Promise<string>;
}

export const VIRT_CONTROLLER_PORT = 8443;

export async function virtApi(options: VirtProgramOptions): Promise<Program> {
  const { binaries, folder, authority, serviceAddress, host, kubeconfigOf } = options;
  const serving = join(folder, SERVING);
  await writeCertificate(serving, await authority.issue([serviceAddress, host, "virt-api.kubevirt.svc"]));
  const args = [
    `--kubeconfig=${await kubeconfigOf("virtApi")}`,
    `--listen=${serviceAddress}`,
    "--port=443",
    `--tls-cert-file=${serving}.crt`,
    `--tls-key-file=${serving}.key`,
    `--handler-cert-file=${serving}.crt`,
    `--handler-key-file=${serving}.key`,
    "-v=2",
  ];
  return { name: "virt-api", command: join(binaries, "virt-api"), args, comesBack: true };
}

export async function virtController(options: VirtProgramOptions, settings: ControllerSettings): Promise<Program> {
  const { binaries, folder, host, kubeconfigOf } = options;
  const serving = join(folder, SERVING);
  const args = [
    `--kubeconfig=${await kubeconfigOf("virtController")}`,
    `--listen=${host}`,
    `--port=${VIRT_CONTROLLER_PORT}`,
    `--prom-cert-file=${serving}.crt`,
    `--prom-key-file=${serving}.key`,
    "--launcher-image=registry.example.com/virt-launcher:devel",
    "--exporter-image=registry.example.com/virt-exporter:devel",
    ...(settings.evacuationController ? [] : ["--evacuation-controller-threads=0"]),
    "-v=2",
  ];
  const name = "virt-controller";
  return { name, command: join(binaries, name), args, env: { POD_NAMESPACE: KUBEVIRT_NAMESPACE }, comesBack: true };
}

export async function silenceEvictionWebhook(client: KubeClient): Promise<void> {
  for (const configuration of (await client.list(validatingWebhooks)).items) {
    const webhooks = configuration.webhooks ?? [];
    const others = webhooks.filter(({ clientConfig }) => clientConfig.service?.path !== PATHS.admitEviction);
    if (others.length < webhooks.length)
      await client.update(validatingWebhooks, { ...configuration, webhooks: others });
  }
}

const parsed = new Map<string, Promise<readonly Manifest[]>>();

function read(folder: string, file: Printed): Promise<readonly Manifest[]> {
  const path = join(folder, file);
  const found = parsed.get(path) ?? readFile(path, "utf8").then((text) => loadAll(text) as unknown as Manifest[]);
  parsed.set(path, found);
  return found;
}

function configMap(name: string, data: Readonly<Record<string, string>>) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: KUBEVIRT_NAMESPACE }, data };
}

interface WithWebhooks {
  readonly webhooks?: readonly { readonly clientConfig: { readonly service?: { readonly path?: string } } }[];
}

const validatingWebhooks: Resource<KubeObject & WithWebhooks> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

function withTrust(configuration: Manifest & WithWebhooks, caBundle: string): Manifest & WithWebhooks {
  const webhooks = (configuration.webhooks ?? []).map((webhook) => ({
    ...webhook,
    clientConfig: { ...webhook.clientConfig, caBundle },
  }));
  return { ...configuration, webhooks };
}

function specOf(manifest: Manifest): object {
  return (manifest as { readonly spec?: object }).spec ?? {};
}

/**
 * Returns virt-api's Service, and an EndpointSlice with a placeholder. The API server requires an endpoint, but
 * connects to the Service's address.
 */
function serviceOf(clusterIP: string): readonly Manifest[] {
  const name = "virt-api";
  const metadata = { name, namespace: KUBEVIRT_NAMESPACE, labels: { "kubevirt.io": name } };
  const ports = [{ port: 443 }];
  const service = { apiVersion: "v1", kind: "Service", metadata, spec: { clusterIP, ports } };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"], conditions: { ready: true } }],
    ports,
  };
  return [service, slice];
}
