/** `lifeboat install`: everything that Lifeboat needs in a cluster, in the right order, as often as one likes. */
import * as z from "zod/mini";
import { type Command, connectionOf } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import { Applier, type ApplyOptions } from "./apply.ts";
import { type ClusterFacts, readClusterFacts } from "./cluster-facts.ts";
import { printManifests } from "./export.ts";
import { type Manifest, nameOf } from "./manifests.ts";
import { clusterNameOf, INSTALL_FLAGS, INSTALL_USAGE, type InstallOptions, readInstall } from "./options.ts";
import { type Home, isDeployment, isWebhook, plan } from "./plan.ts";
import { removeRetired } from "./retired.ts";
import { createToken, isAccepted } from "./token.ts";
import { until } from "./until.ts";
import { scanAll, untilReady, type Worker } from "./worker.ts";
import { readEntry, type WorkerEntry, writeEntry } from "./worker-entry.ts";

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
    const { does, forceConflicts, seconds } = options;
    const applier = new Applier(connection.send);
    const url = `${options.worker ?? ""}/clusters/${cluster}`;
    const planned = (webhookToken: string) =>
      plan({ parts: options.parts, home: homeOf(options, { url, webhookToken }) });
    if (does === "Export") {
      printManifests(planned("WEBHOOK_TOKEN"), host);
      return EXIT.done;
    }
    requireGate(options, facts);
    const installing = { applier, host, dryRun: does === "DryRun", forceConflicts, planned, seconds };
    await applyAll(
      planned("").filter((manifest) => !isWebhook(manifest)),
      installing,
    );
    await removeRetired(facts.kubevirtNamespace, installing);
    if (options.worker === undefined) {
      await beginServer(installing);
    } else {
      const server = values.server ?? connection.server;
      const entry = { file: values.entry ?? `lifeboat-${cluster}.json`, cluster, server };
      const tokens = await tokensOf(entry, connection, installing);
      await beginWorker({ url, ...caOf(options), ...tokens }, cluster, installing);
    }
    if (installing.dryRun) return EXIT.done;
    host.stderr.write("Lifeboat is installed. `lifeboat doctor` looks whether all is well.\n");
    return EXIT.done;
  },
};

/** Before anything is applied: KubeVirt would refuse the shield's Plugin in the middle of it. */
function requireGate({ parts }: InstallOptions, { enablingPlugins }: ClusterFacts): void {
  if (enablingPlugins === undefined || !parts.some(({ name }) => name === "shield")) return;
  throw new Failed(`--with shield needs KubeVirt's feature gate Plugins, which is off. Nothing has been applied. Switch it on:
    ${enablingPlugins}`);
}

function caOf({ ca }: InstallOptions) {
  return ca === undefined ? {} : { ca };
}

function homeOf({ worker, image, ca }: InstallOptions, at: { url: string; webhookToken: string }): Home {
  const caBundle = ca === undefined ? {} : { caBundle: Buffer.from(ca).toString("base64") };
  return worker === undefined ? { in: "Cluster", image } : { in: "Worker", ...at, ...caBundle };
}

export interface Applying extends ApplyOptions {
  readonly applier: Applier;
  readonly host: Host;
}

interface Installing extends Applying {
  readonly planned: (webhookToken: string) => readonly Manifest[];
  /** How long to wait for Lifeboat. */
  readonly seconds: number;
}

async function beginServer(installing: Installing): Promise<void> {
  const planned = installing.planned("");
  await readyServer(planned, installing, installing.seconds);
  await applyAll(planned.filter(isWebhook), installing);
  if (!installing.dryRun) await untilPointed(planned, installing);
}

async function beginWorker(worker: Worker, cluster: string, installing: Installing): Promise<void> {
  const { dryRun, planned } = installing;
  if (!dryRun) await readyWorker(worker, cluster, installing);
  await applyAll(planned(worker.webhookToken).filter(isWebhook), installing);
  // Now that the webhooks are there: without them it would make budgets that it does not need, and report them missing.
  if (!dryRun) await scanAll(worker, installing);
  if (!dryRun) installing.host.stderr.write("√ the Worker has looked at every VM\n");
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

const Definition = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
});

async function untilEstablished(manifest: Manifest, applier: Applier, host: Host): Promise<void> {
  await until(`${nameOf(manifest)} is not served`, { host }, async () => {
    const found = Definition.safeParse(await applier.read(manifest));
    const conditions = found.success ? found.data.status.conditions : [];
    return conditions.some(({ type, status }) => type === "Established" && status === "True") || undefined;
  });
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

/** Once every replica is of this installation, and ready. */
export async function readyServer(
  planned: readonly Manifest[],
  { applier, host, dryRun }: Applying,
  seconds: number,
): Promise<void> {
  const [deployment] = planned.filter(isDeployment);
  if (dryRun || deployment === undefined) return;
  await until(`${nameOf(deployment)} is not available`, { host, seconds }, async () => {
    const found = Deployment.safeParse(await applier.read(deployment));
    if (!found.success || found.data.status.observedGeneration < found.data.metadata.generation) return undefined;
    const { replicas, updatedReplicas, availableReplicas } = found.data.status;
    return (replicas === updatedReplicas && replicas === availableReplicas) || undefined;
  });
  host.stderr.write("√ every replica of Lifeboat is available\n");
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

/** Those that the file holds, else new ones, which are written there. */
async function tokensOf(
  { file, cluster, server }: Entry,
  { send }: Connection,
  { host, dryRun }: Applying,
): Promise<WorkerEntry> {
  const found = await readEntry(file, cluster);
  if (found !== undefined) {
    if ((await isAccepted(send(), found.token)) === false) throw new Failed(revoked(file, cluster));
    return found;
  }
  if (dryRun) return { file, token: "TOKEN", webhookToken: "WEBHOOK_TOKEN", operatorToken: "OPERATOR_TOKEN" };
  const { token } = await createToken(send, host);
  return await writeEntry(file, { server, token });
}

/** What was revoked stays so. */
function revoked(file: string, cluster: string): string {
  const rotate = `lifeboat rotate --cluster ${cluster} --entry ${file}`;
  return `this cluster does not accept the token in ${file}: it was revoked, or has ended. To make another one: ${rotate}`;
}

async function readyWorker(worker: Worker, cluster: string, { host, seconds }: Installing): Promise<void> {
  const unknown = `The Worker does not know this cluster yet, or not with these tokens. ${giveEntry(worker.file, cluster)}`;
  await untilReady(worker, { host, seconds, onUnknown: () => host.stderr.write(unknown) });
  if (host.interrupted.aborted) throw new Failed(`stopped before the webhook: run the same command again`);
  host.stderr.write("√ the Worker can work in this cluster\n");
}

export function giveEntry(file: string, cluster: string): string {
  return `Give it ${file} (keep that secret), one of:
    npm run cluster -- add ${cluster} --entry ${file}                          (CLUSTER_REGISTRY)
    jq '{"${cluster}": .}' ${file} | npx wrangler secret put CLUSTERS          (replaces the whole of CLUSTERS)
Waiting …
`;
}
