/**
 * Reads the present state of a cluster: KubeVirt, and the installed optional features of Lifeboat. `install` does not
 * remove these features.
 */
import * as z from "zod/mini";
import { named } from "../../../shared/kube/client.ts";
import { parseAnswer } from "../../../shared/kube/read.ts";
import { KubeVirt } from "../../../shared/kube/schemas/kubevirt.ts";
import { type Send } from "../../../shared/kube/transport.ts";
import { PLUGINS_GATE } from "../../../shared/kube/names.ts";
import { isOld, type MinorVersions, OLDEST, type Product, versionText } from "../../../shared/settings/versions.ts";
import { CLUSTER_VARIABLE } from "../../server/names.ts";
import { type Connection } from "../connection.ts";
import { Failed, UsageError } from "../failed.ts";
import { readObject } from "./apply.ts";
import { type Manifest, manifestsIn, PARTS, type Part } from "./manifests.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import { type Home, INJECT, isDeployment, isWebhook } from "./plan.ts";

/** The image of this release, from the release workflow. */
declare const RELEASED_IMAGE: string | undefined;
export const RELEASE = typeof RELEASED_IMAGE === "undefined" ? undefined : RELEASED_IMAGE;

export type ClusterFacts = Awaited<ReturnType<typeof readClusterFacts>>;

const Named = z.object({ metadata: z.object({ name: z.string() }) });

export async function readClusterFacts(connection: Connection) {
  const cluster = connection.cluster();
  const minor = Number.parseInt((await cluster.get("version", named("version")))?.minor ?? "", 10);
  if (Number.isNaN(minor)) throw new Failed(MESSAGES.noVersion);
  const [kubevirt] = await cluster.list("kubevirts", { as: z.unknown() });
  if (kubevirt === undefined) throw new Failed(MESSAGES.noKubeVirt);
  const {
    namespace,
    featureGates,
    toleratesNoExecute = false,
    minor: ofKubeVirt,
  } = parseAnswer(KubeVirt, kubevirt, "GET of KubeVirt");
  const { name } = parseAnswer(Named, kubevirt, "GET of KubeVirt").metadata;
  const minors = { kubernetes: minor, kubevirt: ofKubeVirt };
  requireNew("kubernetes", minors);
  requireNew("kubevirt", minors);
  const developerConfiguration = { featureGates: [...featureGates, PLUGINS_GATE] };
  const body = JSON.stringify({ spec: { configuration: { developerConfiguration } } });
  return {
    minors,
    kubevirtNamespace: namespace,
    featureGates,
    toleratesNoExecute,
    /** The command that switches on KubeVirt's feature gate Plugins. Undefined if the gate is on. */
    enablingPlugins: featureGates.includes(PLUGINS_GATE)
      ? undefined
      : `kubectl -n ${namespace} patch kubevirt ${name} --type merge -p '${body}'`,
  };
}

function requireNew(of: Product, { [of]: minor }: MinorVersions): void {
  if (!isOld(of, minor)) return;
  throw new Failed(MESSAGES.tooOld(versionText(of, minor), OLDEST[of]));
}

/** Lists the optional features of which at least one object exists. */
export async function presentParts(send: () => Send): Promise<readonly Part[]> {
  const present: Part[] = [];
  for (const part of PARTS) {
    const found = part.files.flatMap(manifestsIn).map((one) => readObject(one, send()));
    if ((await Promise.all(found)).some((one) => one !== undefined)) present.push({ ...part, gates: [] });
  }
  return present;
}

const Variable = z.object({ name: z.string(), value: z.optional(z.string()) });
const Containers = z.tuple([z.object({ image: z.string(), env: z._default(z.array(Variable), []) })], z.unknown());
const Server = z.object({
  spec: z.object({ template: z.object({ spec: z.object({ containers: Containers }) }) }),
});
const ClientConfig = z.object({ url: z.optional(z.string()), caBundle: z.optional(z.string()) });
const Annotations = z._default(z.record(z.string(), z.string()), {});
const Webhooks = z.object({
  metadata: z.object({ annotations: Annotations }),
  webhooks: z.array(z.object({ clientConfig: ClientConfig })),
});

/**
 * Returns where Lifeboat runs: in the cluster, with the server's image, or as a Worker, with the Worker's URL. Returns
 * undefined if Lifeboat is not installed.
 */
export async function presentHome(send: () => Send): Promise<Home | undefined> {
  const read = async (file: string, isWanted: (one: Manifest) => boolean) => {
    const manifest = manifestsIn(file).find(isWanted);
    return manifest && (await readObject(manifest, send()));
  };
  // If a Worker and the server both exist, the webhook decides which of them is in use.
  const webhook = await read("kubernetes/webhook.yaml", isWebhook);
  const worker = webhook === undefined ? undefined : workerIn(Webhooks.parse(webhook).webhooks[0]?.clientConfig);
  if (worker !== undefined) return worker;
  const server = await read("server/kubernetes/component/deployment.yaml", isDeployment);
  if (server === undefined) return undefined;
  const [{ image, env }] = Server.parse(server).spec.template.spec.containers;
  const cluster = env.find(({ name }) => name === CLUSTER_VARIABLE)?.value;
  const isInjected = webhook !== undefined && INJECT in Webhooks.parse(webhook).metadata.annotations;
  return { in: "Cluster", image, ...(cluster && { cluster }), ...(isInjected && { certManager: true }) };
}

function workerIn({ url = "", caBundle }: z.output<typeof ClientConfig> = {}): Home | undefined {
  const [, at, webhookToken = ""] = /^(.*\/clusters\/[^/]+)\/admission\/evictions(?:\/([^/]+))?$/.exec(url) ?? [];
  if (at === undefined) return undefined;
  return { in: "Worker", url: at, webhookToken, ...(caBundle !== undefined && { caBundle }) };
}

interface Said {
  readonly inCluster?: true | undefined;
  readonly image?: string | undefined;
  readonly certManager?: true | undefined;
  /** The CA of the certificate, unless cert-manager creates the certificate. */
  readonly caBundle?: string | undefined;
}

/** Decides where Lifeboat runs if `--worker` is not given. */
export function homeOf({ inCluster, image, certManager, caBundle }: Said, present: Home | undefined): Home {
  const there = present?.in === "Cluster" ? present : undefined;
  if (inCluster || there !== undefined) {
    const kept = { certManager: false, ...there, ...(certManager && { certManager }) };
    const brought = caBundle === undefined ? {} : { certManager: false };
    return { ...kept, ...brought, in: "Cluster", image: image || imageBeside(there?.image) };
  }
  if (present !== undefined) return present;
  throw new UsageError(MESSAGES.needsForm);
}

/** Returns the image of this release, or the present image if the present image comes from another repository. */
export function imageBeside(present: string | undefined, ofRelease = RELEASE): string {
  const isOurs = present === undefined || repositoryOf(present) === repositoryOf(ofRelease ?? "");
  const image = isOurs ? ofRelease : present;
  if (image !== undefined) return image;
  throw new UsageError(MESSAGES.needsImage);
}

function repositoryOf(image: string): string {
  return image.replace(/[:@][^/]*$/, "");
}
