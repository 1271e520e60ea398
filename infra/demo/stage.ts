/**
 * The stage: the sandbox cluster with Lifeboat installed as its manifests say, and the Worker beside it in workerd.
 * Owns: starting and stopping these, and the files a person needs to look around. Does not own: what is on it (scene.ts).
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ActorOptions } from "../sandbox/actors/actor.ts";
import { systemClock } from "../sandbox/actors/clock.ts";
import { configMaps } from "../sandbox/actors/resources.ts";
import { applyLifeboat } from "../sandbox/apply.ts";
import { startSandbox, type Sandbox } from "../sandbox/sandbox.ts";
import { startWorker, type RunningWorker } from "../sandbox/worker.ts";
import { buildWorker } from "../tools/build-worker.ts";
import { startOwner } from "./owner.ts";
import { startReplicaSets } from "./replicas.ts";

export interface Stage extends Pick<ActorOptions, "client" | "clock"> {
  readonly server: string;
  /** Paths of files. */
  readonly kubeconfig: string;
  readonly caFile: string;
  /** Where Lifeboat answers for this cluster. */
  readonly lifeboat: string;
  readonly operatorToken: string;
  /** Asks Lifeboat for a full scan. */
  reconcile(): Promise<void>;
  stop(): Promise<void>;
}

const CLUSTER = "sandbox";
const MIGRATION_SECONDS = 2;

/** No KubeVirt controller evacuates here, so Lifeboat need not wait for one. */
const CONFIGURATION = `apiVersion: lifeboat.dev/v1alpha1
kind: LifeboatConfiguration
reconcilers:
  evacuation: true
`;

export async function setStage(): Promise<Stage> {
  const [sandbox] = await Promise.all([startSandbox({ migrationSeconds: MIGRATION_SECONDS }), buildWorker()]);
  const { client, url: server } = sandbox;
  const options: ActorOptions = { client, clock: systemClock };
  const actors = [startOwner(options), startReplicaSets(options)];
  const { worker, webhookToken, operatorToken } = await installLifeboat(sandbox);
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  // However this process ends, an administrator's token does not stay behind.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "kubeconfig");
  const caFile = join(folder, "ca.crt");
  await writeFile(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  await writeFile(caFile, sandbox.caPem);

  return {
    ...options,
    server,
    kubeconfig,
    caFile,
    lifeboat: `${worker.url}/clusters/${CLUSTER}`,
    operatorToken,
    async reconcile() {
      const headers = { authorization: `Bearer ${webhookToken}` };
      const answer = await worker.fetch(`/clusters/${CLUSTER}/reconcile`, { method: "POST", headers });
      const body = await answer.text();
      if (answer.status !== 200) throw new Error(`POST /reconcile: ${answer.status} ${body}`);
    },
    async stop() {
      await Promise.all(actors.map((actor) => actor.stop()));
      await worker.stop();
      await sandbox.stop();
    },
  };
}

interface Installation {
  readonly worker: RunningWorker;
  readonly webhookToken: string;
  readonly operatorToken: string;
}

async function installLifeboat({ client, authority, url: server }: Sandbox): Promise<Installation> {
  const [webhookToken, operatorToken] = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")];
  // The webhook's URL names the Worker's port, and the Worker needs the token that comes with the manifests.
  const port = await freePort();
  const url = `https://127.0.0.1:${port}/clusters/${CLUSTER}/admission/evictions/${webhookToken}`;
  const { token } = await applyLifeboat(client, { url, caPem: authority.caPem });
  await client.create(configMaps, {
    metadata: { namespace: "lifeboat-system", name: "lifeboat" },
    data: { "config.yaml": CONFIGURATION },
  });
  const clusters = { [CLUSTER]: { server, token, webhookToken, operatorToken } };
  return { worker: await startWorker({ authority, clusters, port }), webhookToken, operatorToken };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
