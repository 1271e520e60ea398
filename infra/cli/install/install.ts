/**
 * `lifeboat install`: everything that Lifeboat needs in a cluster, in the right order, as often as one likes.
 * Owns: the order, and what is said. Does not own: what is installed (plan.ts), each request (apply.ts, worker.ts).
 */
import * as z from "zod/mini";
import { type Command, connectionOf } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import { Applier } from "./apply.ts";
import { readClusterFacts } from "./cluster-facts.ts";
import { printManifests } from "./export.ts";
import { type Manifest, nameOf } from "./manifests.ts";
import { clusterNameOf, INSTALL_FLAGS, INSTALL_USAGE, readInstall } from "./options.ts";
import { type Door, isWebhook, plan } from "./plan.ts";
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
    const cluster = clusterNameOf(values.cluster ?? connection.context);
    const url = `${options.worker}/clusters/${cluster}`;
    const facts = await readClusterFacts(connection);
    const planned = (token: string): readonly Manifest[] => {
      const doors = (door: Door) => ({ url: `${url}/admission/${door}/${token}`, ...options.caBundle });
      return plan({ ...facts, parts: options.parts, doors });
    };
    if (options.does === "Export") {
      printManifests(planned("WEBHOOK_TOKEN"), host);
      return EXIT.done;
    }
    const dryRun = options.does === "DryRun";
    const applying = { applier: new Applier(connection.send), host, dryRun };
    const file = values.entry ?? `lifeboat-${cluster}.json`;
    await applyAll(
      planned("").filter((manifest) => !isWebhook(manifest)),
      applying,
    );
    const entry = dryRun
      ? await findEntry(file, cluster)
      : await keepEntry(
          file,
          { server: values.server ?? connection.server, token: await tokenOfAccount(applying) },
          cluster,
        );
    if (!dryRun) await readyWorker({ url, ...entry }, { host, seconds: options.seconds, file, cluster });
    await applyAll(planned(entry.webhookToken).filter(isWebhook), applying);
    if (!dryRun) host.stderr.write("Lifeboat is installed. `lifeboat doctor` looks whether all is well.\n");
    return EXIT.done;
  },
};

interface Applying {
  readonly applier: Applier;
  readonly host: Host;
  readonly dryRun: boolean;
}

/** Says of each object what has become of it, as kubectl apply does. */
async function applyAll(manifests: readonly Manifest[], { applier, host, dryRun }: Applying): Promise<void> {
  for (const manifest of manifests) {
    const change = await applier.apply(manifest, dryRun);
    host.stdout.write(`${nameOf(manifest)} ${change}${dryRun ? " (dry run)" : ""}\n`);
    if (!dryRun && manifest.kind === "CustomResourceDefinition") await untilEstablished(manifest, applier, host);
  }
}

const LOOK_MS = 500;
const LOOKS = 120;
const Definition = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
});
const Secret = z.object({ data: z.object({ token: z.string() }) });

async function untilEstablished(manifest: Manifest, applier: Applier, host: Host): Promise<void> {
  await until(`${nameOf(manifest)} is not served`, host, async () => {
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
  return await until("the account's token has not been written into Secret lifeboat-token", host, async () => {
    const found = Secret.safeParse(await applier.read(secret));
    return found.success ? Buffer.from(found.data.data.token, "base64").toString() : undefined;
  });
}

async function until<T>(what: string, host: Host, look: () => Promise<T | undefined>): Promise<T> {
  for (let looks = 0; looks < LOOKS && !host.interrupted.aborted; looks++) {
    const found = await look();
    if (found !== undefined) return found;
    await host.wait(LOOK_MS);
  }
  throw new Failed(`${what}, after a minute`);
}

interface Readying {
  readonly host: Host;
  readonly seconds: number;
  readonly file: string;
  readonly cluster: string;
}

async function readyWorker(worker: Parameters<typeof untilReady>[0], { host, seconds, file, cluster }: Readying) {
  const onUnknown = () => host.stderr.write(giveEntry(file, cluster));
  await untilReady(worker, { host, seconds, onUnknown });
  if (host.interrupted.aborted) throw new Failed(`stopped before the webhook: run the same command again`);
  host.stderr.write("√ the Worker can work in this cluster\n");
  await scanAll(worker, host);
  host.stderr.write("√ the Worker has looked at every VM\n");
}

function giveEntry(file: string, cluster: string): string {
  return `The Worker does not know this cluster yet, or not with these tokens. Give it ${file} (keep that secret), one of:
    npm run cluster -- add ${cluster} --entry ${file}                          (CLUSTER_REGISTRY)
    jq '{"${cluster}": .}' ${file} | npx wrangler secret put CLUSTERS          (replaces the whole of CLUSTERS)
Waiting …
`;
}
