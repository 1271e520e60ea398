/**
 * `lifeboat install`: everything that Lifeboat needs in a cluster, in the right order, as often as one likes.
 * Owns: the order, and what is said. Does not own: what is installed (plan.ts), each request (apply.ts, worker.ts).
 */
import * as z from "zod/mini";
import { type Command, connectionOf } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import { Applier, type ApplyOptions } from "./apply.ts";
import { readClusterFacts } from "./cluster-facts.ts";
import { printManifests } from "./export.ts";
import { type Manifest, nameOf } from "./manifests.ts";
import { clusterNameOf, INSTALL_FLAGS, INSTALL_USAGE, type InstallOptions, readInstall } from "./options.ts";
import { type Home, isDeployment, isWebhook, plan } from "./plan.ts";
import { scanAll, untilReady } from "./worker.ts";
import { findEntry, keepEntry } from "./worker-entry.ts";

export const install: Command = {
  words: ["install"],
  summary: "install Lifeboat in a cluster, or bring it up to date",
  usage: INSTALL_USAGE,
  flags: INSTALL_FLAGS,
  async run(args, host, opened) {
    const { values, options } = readInstall(args);
    const connection = connectionOf(values, host, opened);
    const cluster = options.worker === undefined ? "" : clusterNameOf(values.cluster, connection.context);
    const facts = await readClusterFacts(connection);
    const site = { ...facts, parts: options.parts };
    const url = `${options.worker ?? ""}/clusters/${cluster}`;
    const planned = (webhookToken: string) => plan({ ...site, home: homeOf(options, { url, webhookToken }) });
    if (options.does === "Export") {
      printManifests(planned("WEBHOOK_TOKEN"), host);
      return EXIT.done;
    }
    const { does, forceConflicts } = options;
    const applying = { applier: new Applier(connection.send), host, dryRun: does === "DryRun", forceConflicts };
    const server = values.server ?? connection.server;
    const entry = { file: values.entry ?? `lifeboat-${cluster}.json`, cluster, server };
    await applyAll(
      planned("").filter((manifest) => !isWebhook(manifest)),
      applying,
    );
    const webhookToken =
      options.worker === undefined
        ? await readyServer(planned(""), applying, options.seconds)
        : await readyWorker(url, entry, { ...applying, seconds: options.seconds });
    await applyAll(planned(webhookToken).filter(isWebhook), applying);
    if (applying.dryRun) return EXIT.done;
    if (options.worker === undefined) await untilPointed(planned(""), applying);
    host.stderr.write("Lifeboat is installed. `lifeboat doctor` looks whether all is well.\n");
    return EXIT.done;
  },
};

function homeOf({ worker, image, caBundle }: InstallOptions, at: { url: string; webhookToken: string }): Home {
  return worker === undefined ? { in: "Cluster", image } : { in: "Worker", ...at, ...caBundle };
}

export interface Applying extends ApplyOptions {
  readonly applier: Applier;
  readonly host: Host;
}

/** Says of each object what has become of it, as kubectl apply does. */
export async function applyAll(manifests: readonly Manifest[], applying: Applying): Promise<void> {
  const { applier, host, dryRun } = applying;
  for (const manifest of manifests) {
    const change = await applier.apply(manifest, applying);
    host.stdout.write(`${nameOf(manifest)} ${change}${dryRun ? " (dry run)" : ""}\n`);
    if (!dryRun && manifest.kind === "CustomResourceDefinition") await untilEstablished(manifest, applier, host);
  }
}

const LOOK_MS = 500;
const Definition = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
});
const Secret = z.object({ data: z.object({ token: z.string() }) });

async function untilEstablished(manifest: Manifest, applier: Applier, host: Host): Promise<void> {
  await until(`${nameOf(manifest)} is not served`, { host }, async () => {
    const found = Definition.safeParse(await applier.read(manifest));
    const conditions = found.success ? found.data.status.conditions : [];
    return conditions.some(({ type, status }) => type === "Established" && status === "True") || undefined;
  });
}

/** The token controller fills the Secret. */
async function tokenOfAccount({ applier, host }: Applying): Promise<string> {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "lifeboat-system", name: "lifeboat-token" },
  };
  return await until("the account's token has not been written into Secret lifeboat-token", { host }, async () => {
    const found = Secret.safeParse(await applier.read(secret));
    return found.success ? Buffer.from(found.data.data.token, "base64").toString() : undefined;
  });
}

async function until<T>(
  what: string,
  { host, seconds = 60 }: { readonly host: Host; readonly seconds?: number },
  look: () => Promise<T | undefined>,
): Promise<T> {
  const last = host.now().getTime() + seconds * 1000;
  while (host.now().getTime() <= last && !host.interrupted.aborted) {
    const found = await look();
    if (found !== undefined) return found;
    await host.wait(LOOK_MS);
  }
  throw new Failed(`${what}, after ${seconds} s`);
}

const Deployment = z.object({
  metadata: z.object({ generation: z.number() }),
  status: z.object({
    observedGeneration: z.number(),
    replicas: z.number(),
    updatedReplicas: z.number(),
    availableReplicas: z.number(),
  }),
});

/** Once every replica is of this installation, and ready. The token is the server's own, which it adds to the webhooks itself. */
export async function readyServer(
  planned: readonly Manifest[],
  { applier, host, dryRun }: Applying,
  seconds: number,
): Promise<string> {
  const [deployment] = planned.filter(isDeployment);
  if (dryRun || deployment === undefined) return "";
  await until(`${nameOf(deployment)} is not available`, { host, seconds }, async () => {
    const found = Deployment.safeParse(await applier.read(deployment));
    if (!found.success || found.data.status.observedGeneration < found.data.metadata.generation) return undefined;
    const { replicas, updatedReplicas, availableReplicas } = found.data.status;
    return (replicas === updatedReplicas && replicas === availableReplicas) || undefined;
  });
  host.stderr.write("√ every replica of Lifeboat is available\n");
  return "";
}

const Pointed = z.object({
  webhooks: z.array(
    z.object({ clientConfig: z.object({ caBundle: z.string(), service: z.object({ path: z.string() }) }) }),
  ),
});

/** Until then the API server cannot call it, and failurePolicy decides. */
async function untilPointed(planned: readonly Manifest[], { applier, host }: Applying): Promise<void> {
  for (const webhook of planned.filter(isWebhook)) {
    await until(`Lifeboat has not written its certificate into ${nameOf(webhook)}`, { host }, async () => {
      return Pointed.safeParse(await applier.read(webhook)).success || undefined;
    });
  }
  host.stderr.write("√ the API server can call Lifeboat\n");
}

interface Entry {
  readonly file: string;
  readonly cluster: string;
  readonly server: string;
}

/** The webhook token, once the Worker knows the cluster and has looked at it. */
async function readyWorker(
  url: string,
  { file, cluster, server }: Entry,
  applying: Applying & { readonly seconds: number },
): Promise<string> {
  const { host, dryRun, seconds } = applying;
  if (dryRun) return (await findEntry(file, cluster)).webhookToken;
  const tokens = await keepEntry(file, { server, token: await tokenOfAccount(applying) }, cluster);
  const worker = { url, ...tokens };
  await untilReady(worker, { host, seconds, onUnknown: () => host.stderr.write(giveEntry(file, cluster)) });
  if (host.interrupted.aborted) throw new Failed(`stopped before the webhook: run the same command again`);
  host.stderr.write("√ the Worker can work in this cluster\n");
  await scanAll(worker, { host, seconds });
  host.stderr.write("√ the Worker has looked at every VM\n");
  return tokens.webhookToken;
}

function giveEntry(file: string, cluster: string): string {
  return `The Worker does not know this cluster yet, or not with these tokens. Give it ${file} (keep that secret), one of:
    npm run cluster -- add ${cluster} --entry ${file}                          (CLUSTER_REGISTRY)
    jq '{"${cluster}": .}' ${file} | npx wrangler secret put CLUSTERS          (replaces the whole of CLUSTERS)
Waiting …
`;
}
