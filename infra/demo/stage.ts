/**
 * The stage: two sandbox clusters that are alike, of which one has Lifeboat, as its manifests say, the Worker beside it
 * in workerd and the relay.
 * Owns: starting and stopping these, and the files a person needs to look around. Does not own: what is on it (*-story.ts).
 */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dump } from "js-yaml";
import type { ActorOptions } from "../sandbox/actors/actor.ts";
import { systemClock } from "../sandbox/actors/clock.ts";
import { configMaps } from "../sandbox/actors/resources.ts";
import { startLifeboat, type Lifeboat } from "../sandbox/lifeboat.ts";
import { startSandbox, type Sandbox, type SandboxOptions } from "../sandbox/sandbox.ts";
import { buildWorker } from "../tools/build-worker.ts";
import { startOwner } from "./owner.ts";
import { startRelayBeside } from "./relay.ts";
import { startReplicaSets } from "./replicas.ts";

/** The same of each of the two clusters. */
export interface Pair<T> {
  readonly without: T;
  readonly withLifeboat: T;
}

export async function both<T, U>({ without, withLifeboat }: Pair<T>, to: (of: T) => Promise<U>): Promise<Pair<U>> {
  const [first, second] = await Promise.all([to(without), to(withLifeboat)]);
  return { without: first, withLifeboat: second };
}

/** What a story needs its clusters to be like. */
export interface Setting extends Pick<SandboxOptions, "eviction"> {
  /** Keys of the LifeboatConfiguration. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
}

export interface Cluster extends Pick<ActorOptions, "client" | "clock">, Pick<Sandbox, "stats"> {
  readonly server: string;
  /** Path of a file. */
  readonly kubeconfig: string;
}

export interface Stage extends Pair<Cluster> {
  /** Path of a file: the authority of Lifeboat's certificate. */
  readonly caFile: string;
  /** Where Lifeboat answers for its cluster. */
  readonly lifeboat: string;
  readonly operatorToken: string;
  /** Asks Lifeboat for a full scan. */
  reconcile(): Promise<void>;
  stop(): Promise<void>;
}

const CLUSTER = "sandbox";
const MIGRATION_SECONDS = 2;

export async function setStage(setting: Setting): Promise<Stage> {
  const start = () => startSandbox({ migrationSeconds: MIGRATION_SECONDS, ...setting });
  const [without, withLifeboat] = await Promise.all([start(), start(), buildWorker()]);
  const sandboxes = { without, withLifeboat };
  const actors = [without, withLifeboat].flatMap(({ client }) => {
    const options: ActorOptions = { client, clock: systemClock };
    return [startOwner(options), startReplicaSets(options)];
  });
  const { lifeboat, relay } = await installLifeboat(withLifeboat, setting);
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  // However this process ends, an administrator's token does not stay behind.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const caFile = join(folder, "ca.crt");
  await writeFile(caFile, withLifeboat.caPem);

  const clusterOf = async (name: keyof typeof sandboxes): Promise<Cluster> => {
    const { client, stats, url: server, kubeconfig: text } = sandboxes[name];
    const kubeconfig = join(folder, name === "without" ? "kubeconfig-without" : "kubeconfig");
    await writeFile(kubeconfig, text, { mode: 0o600 });
    return { client, clock: systemClock, stats, server, kubeconfig };
  };
  return {
    without: await clusterOf("without"),
    withLifeboat: await clusterOf("withLifeboat"),
    caFile,
    lifeboat: lifeboat.url,
    operatorToken: lifeboat.operatorToken,
    reconcile: () => reconcile(lifeboat),
    async stop() {
      await Promise.all([relay, ...actors].map((actor) => actor.stop()));
      await lifeboat.worker.stop();
      await Promise.all([without.stop(), withLifeboat.stop()]);
    },
  };
}

async function installLifeboat(sandbox: Sandbox, { configuration, optional }: Setting) {
  const relaySecret = `whsec_${randomBytes(32).toString("base64")}`;
  const lifeboat = await startLifeboat(sandbox, { cluster: CLUSTER, optional, entry: { relaySecret } });
  const keys = { apiVersion: "lifeboat.dev/v1alpha1", kind: "LifeboatConfiguration", ...configuration };
  await sandbox.client.create(configMaps, {
    metadata: { namespace: "lifeboat-system", name: "lifeboat" },
    data: { "config.yaml": dump(keys) },
  });
  return { lifeboat, relay: await startRelayBeside(sandbox, lifeboat, relaySecret) };
}

async function reconcile({ worker, webhookToken }: Lifeboat): Promise<void> {
  const headers = { authorization: `Bearer ${webhookToken}` };
  const answer = await worker.fetch(`/clusters/${CLUSTER}/reconcile`, { method: "POST", headers });
  const body = await answer.text();
  if (answer.status !== 200) throw new Error(`POST /reconcile: ${answer.status} ${body}`);
}
