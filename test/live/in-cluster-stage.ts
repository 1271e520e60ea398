/** Lifeboat inside a sandbox's cluster, as shipped: its manifests, and two replicas that are processes of this machine. */
import { expect } from "vitest";
import {
  createNode,
  type KubeClient,
  leases,
  type Pod,
  pods,
  type Sandbox,
  type SandboxOptions,
  secrets,
} from "../../infra/sandbox/index.ts";
import { IS_REAL, startSandboxAsChosen } from "../../infra/lab/stage/control-plane.ts";
import { applyInCluster, SERVER, serverImages } from "../../infra/lab/stage/in-cluster.ts";
import { configureLifeboat } from "../../infra/lab/stage/apply.ts";
import { keepLogsOfFailure } from "../support/setup/keep-logs.ts";
import { areWebhooksPointed } from "./in-cluster-form.ts";
import { QUICK, WEBHOOK_CONFIGURATIONS } from "./stage.ts";

export interface InCluster {
  readonly sandbox: Sandbox;
  readonly client: KubeClient;
  /** Those that are not being deleted. */
  replicas(): Promise<readonly Pod[]>;
  untilReady(): Promise<void>;
  /** Name of the pod that holds the Lease. */
  leader(): Promise<string | undefined>;
  /** A value of the server's Secret. */
  secret(key: string): Promise<string>;
  /** Asks a replica's probes' port. */
  ask(pod: Pod, path: string): Promise<{ readonly code: number; readonly text: string }>;
  /** Of the webhooks: `Fail` at first, so that nothing hides behind the shipped Ignore. */
  setFailurePolicy(value: "Fail" | "Ignore"): Promise<void>;
  stop(): Promise<void>;
}

export interface InClusterOptions extends SandboxOptions {
  readonly optional?: readonly string[];
  /** Further keys of the LifeboatConfiguration. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Of the server's Secret, before there is a server. */
  readonly secret?: Readonly<Record<string, string>>;
}

const PROBES_PORT = 8080;
/** Lifeboat says why on a migration that it has seen move: by the relay's events, which come later from a real API server. */
const MIGRATION_SECONDS = IS_REAL ? 3 : 0.3;

export async function startInCluster(given: InClusterOptions = {}): Promise<InCluster> {
  const { optional = [], secret, configuration, ...options } = given;
  const images = serverImages({ cluster: "sandbox" });
  const sandbox = await startSandboxAsChosen({
    migrationSeconds: MIGRATION_SECONDS,
    terminationSeconds: 0.05,
    images,
    ...options,
  });
  const { client } = sandbox;
  for (const name of ["node01", "node02", "node03"]) await createNode(client, name);
  if (secret !== undefined) await createSecret(client, secret);
  await applyInCluster(client, optional);
  await configureLifeboat(client, { ...QUICK, ...configuration });
  const replicas = async () => {
    const { items } = await client.list(pods, SERVER.namespace);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const stage: InCluster = {
    sandbox,
    client,
    replicas,
    untilReady: () =>
      expect.poll(async () => (await replicas()).filter(isReady).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(2),
    leader: async () => (await client.get(leases, SERVER))?.spec?.holderIdentity,
    async secret(key) {
      const { data = {} } = (await client.get(secrets, SERVER)) ?? {};
      return Buffer.from(data[key] ?? "", "base64").toString();
    },
    async ask({ metadata }, path) {
      const port = sandbox.processes.portOf(metadata.uid, PROBES_PORT) ?? 0;
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { code: answer.status, text: await answer.text() };
    },
    async setFailurePolicy(value) {
      const body = [{ op: "replace", path: "/webhooks/0/failurePolicy", value }];
      for (const { metadata } of (await client.list(WEBHOOK_CONFIGURATIONS)).items)
        if (metadata.name.startsWith("lifeboat"))
          await client.patch(WEBHOOK_CONFIGURATIONS, metadata, { type: "json", body });
    },
    async stop() {
      await keepLogsOfFailure(sandbox);
      await sandbox.stop();
    },
  };
  try {
    await stage.untilReady();
    await expect.poll(() => areWebhooksPointed(client), { timeout: 30_000 }).toBe(true);
    await stage.setFailurePolicy("Fail");
  } catch (error) {
    await sandbox.stop();
    throw error;
  }
  return stage;
}

async function createSecret(client: KubeClient, texts: Readonly<Record<string, string>>): Promise<void> {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  const namespaces = { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };
  await client.create(namespaces, { metadata: { name: SERVER.namespace } });
  await client.create(secrets, { metadata: SERVER, data });
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(({ type, status: value }) => type === "Ready" && value === "True");
}
