/**
 * A cluster on stage: a sandbox, what else the stories need in it, and Lifeboat beside it where it belongs, as its manifests say, the
 * Worker in workerd and the relay.
 */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ActorOptions } from "../../sandbox/actors/actor.ts";
import { systemClock } from "../../sandbox/actors/clock.ts";
import { configureLifeboat } from "../stage/apply.ts";
import { startLifeboat, type Lifeboat } from "../stage/lifeboat.ts";
import { serverImages } from "../stage/in-cluster.ts";
import { installInCluster } from "./in-cluster.ts";
import { installRelay, startRelayBeside, throughWorker } from "../stage/relay.ts";
import type { Sandbox, SandboxOptions } from "../../sandbox/sandbox.ts";
import { startSandboxAsChosen } from "../stage/control-plane.ts";
import { startOwner } from "./owner.ts";

export interface Cluster extends Pick<ActorOptions, "client" | "clock">, Pick<Sandbox, "stats"> {
  readonly server: string;
  /** Path of a file. */
  readonly kubeconfig: string;
  /** Absent where the story goes without. */
  readonly lifeboat?: LifeboatBeside | undefined;
}

/** Lifeboat as it is seen from outside of its cluster. */
export interface LifeboatBeside extends Pick<Lifeboat, "url" | "webhookToken"> {
  /** Path of a file: the authority of its certificate. */
  readonly caFile: string;
  /** What any scheduler may ask of it: `/reconcile`, `/deschedule`. Resolves to the answer. */
  post(path: string): Promise<unknown>;
}

export function lifeboatOf({ lifeboat, server }: Cluster): LifeboatBeside {
  if (lifeboat === undefined) throw new Error(`no Lifeboat beside ${server}`);
  return lifeboat;
}

/** Spec of a LifeboatConfiguration. */
export type Configuration = Readonly<Record<string, unknown>>;

export interface ClusterOptions extends Pick<SandboxOptions, "eviction" | "featureGates"> {
  /** Of its files. */
  readonly name: string;
  readonly folder: string;
  /** Of the Lifeboat beside it, if there is to be one. */
  readonly configuration: Configuration | undefined;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
  /** Lifeboat is pods of it, and no Worker beside it. */
  readonly inCluster: boolean;
}

export type Running<T> = T & { stop(): Promise<void> };

const MIGRATION_SECONDS = 2;
const CLUSTER = "sandbox";

export async function startCluster(options: ClusterOptions): Promise<Running<Cluster>> {
  const { name, folder, configuration, eviction, featureGates = [], inCluster } = options;
  const images = inCluster ? serverImages({ cluster: CLUSTER }) : new Map<never, never>();
  const own = { workloads: true, migrationSeconds: MIGRATION_SECONDS, images, featureGates } as const;
  const sandbox = await startSandboxAsChosen({ ...own, ...(eviction && { eviction }) });
  const { client, stats, url: server } = sandbox;
  const install = inCluster ? installInCluster : installLifeboat;
  const owner = startOwner({ client, clock: systemClock });
  const lifeboat = configuration && (await install(sandbox, configuration, options));
  const kubeconfig = join(folder, `kubeconfig-${name}`);
  await writeFile(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  return {
    client,
    clock: systemClock,
    stats,
    server,
    kubeconfig,
    lifeboat,
    async stop() {
      await owner.stop();
      await lifeboat?.stop();
      await sandbox.stop();
    },
  };
}

async function installLifeboat(
  sandbox: Sandbox,
  configuration: Configuration,
  { folder, name, optional }: ClusterOptions,
): Promise<Running<LifeboatBeside>> {
  const relaySecret = `whsec_${randomBytes(32).toString("base64")}`;
  const lifeboat = await startLifeboat(sandbox, { cluster: CLUSTER, optional, entry: { relaySecret } });
  await configureLifeboat(sandbox.client, configuration);
  const relay = startRelayBeside({
    kubeConfig: await installRelay(sandbox),
    endpoint: new URL(`${lifeboat.url}/events`),
    secret: relaySecret,
    fetch: throughWorker(() => lifeboat.worker),
  });
  const caFile = join(folder, `ca-${name}.crt`);
  await writeFile(caFile, sandbox.caPem);
  return {
    ...lifeboat,
    caFile,
    post: (path) => post(lifeboat, path),
    async stop() {
      await relay.stop();
      await lifeboat.worker.stop();
    },
  };
}

async function post({ worker, webhookToken }: Lifeboat, path: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${webhookToken}` };
  const answer = await worker.fetch(`/clusters/${CLUSTER}${path}`, { method: "POST", headers });
  const body = await answer.text();
  if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${body}`);
  return JSON.parse(body);
}
