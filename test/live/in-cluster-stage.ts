/** Lifeboat inside a sandbox's cluster, as shipped: its manifests, and two replicas that are processes of this machine. */
import { createNode, type KubeClient, leases, type Pod, pods, type Sandbox } from "../../infra/sandbox/index.ts";
import { IS_REAL, startSandboxAsChosen } from "../../infra/lab/stage/control-plane.ts";
import { applyInCluster, SERVER, serverImages } from "../../infra/lab/stage/in-cluster.ts";
import { configureLifeboat } from "../../infra/lab/stage/apply.ts";
import { keepLogsOfFailure } from "../support/setup/keep-logs.ts";
import { areWebhooksPointed, until } from "./in-cluster-form.ts";
import { QUICK, WEBHOOK_CONFIGURATIONS } from "./stage.ts";

export interface InCluster {
  readonly sandbox: Sandbox;
  readonly client: KubeClient;
  /** Those that are not being deleted. */
  replicas(): Promise<readonly Pod[]>;
  untilReady(): Promise<void>;
  /** Name of the pod that holds the Lease. */
  leader(): Promise<string | undefined>;
  /** Asks a replica's probes' port. */
  ask(pod: Pod, path: string): Promise<{ readonly code: number; readonly text: string }>;
  /** Of the webhooks: `Fail` at first, so that nothing hides behind the shipped Ignore. */
  setFailurePolicy(value: "Fail" | "Ignore"): Promise<void>;
  stop(): Promise<void>;
}

const PROBES_PORT = 8080;
/** Lifeboat says why on a migration that it has seen move: by the relay's events, which come later from a real API server. */
const MIGRATION_SECONDS = IS_REAL ? 3 : 0.3;

/** With the guard. */
export async function startInCluster(): Promise<InCluster> {
  const images = serverImages({ cluster: "sandbox" });
  const sandbox = await startSandboxAsChosen({
    migrationSeconds: MIGRATION_SECONDS,
    terminationSeconds: 0.05,
    images,
  });
  const { client } = sandbox;
  for (const name of ["node01", "node02", "node03"]) await createNode(client, name);
  await applyInCluster(client, ["optional/guard/guard.yaml"]);
  await configureLifeboat(client, { ...QUICK, featureGates: { PreemptionEvictionLiveMigration: true } });
  const replicas = async () => {
    const { items } = await client.list(pods, SERVER.namespace);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const stage: InCluster = {
    sandbox,
    client,
    replicas,
    untilReady: () => until("is ready twice", async () => (await replicas()).filter(isReady).length >= 2),
    leader: async () => (await client.get(leases, SERVER))?.spec?.holderIdentity,
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
    await until("is asked", () => areWebhooksPointed(client));
    await stage.setFailurePolicy("Fail");
  } catch (error) {
    await sandbox.stop();
    throw error;
  }
  return stage;
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(({ type, status: value }) => type === "Ready" && value === "True");
}
