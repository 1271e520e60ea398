/** A stage for the pages: a sandbox cluster, and the bundled Worker in workerd. */
import { applyLifeboat } from "../../../infra/lab/stage/apply.ts";
import { type RunningWorker, startWorker } from "../../../infra/lab/stage/worker.ts";
import { createNode, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import { type ApiProxy, startApiProxy } from "../../support/setup/api-proxy.ts";
import { trust } from "../../support/installed/worker.ts";

export const CLUSTERS = ["harbour", "quay"] as const;
export const NODE = "node01";
export const OPERATOR_TOKEN = "the-operator-token-of-pages";

export interface PageStage {
  readonly sandbox: Sandbox;
  readonly worker: RunningWorker;
  readonly proxy: ApiProxy;
  stop(): Promise<void>;
}

export async function startPageStage(): Promise<PageStage> {
  const sandbox = await startSandbox({ migrationSeconds: 0.2, terminationSeconds: 0.05 });
  trust(sandbox);
  const { client, authority, caPem } = sandbox;
  const site = { url: "https://127.0.0.1:1", webhookToken: "the-webhook-token-of-pages", caPem };
  const optional = ["optional/maintenance/maintenance.yaml"];
  const { token } = await applyLifeboat(client, { ...site, optional });
  const proxy = await startApiProxy(sandbox);
  const entry = { server: proxy.url, token, webhookToken: site.webhookToken, operatorToken: OPERATOR_TOKEN };
  const clusters = Object.fromEntries(CLUSTERS.map((name) => [name, entry]));
  const worker = await startWorker({ authority, clusters });
  for (const name of [NODE, "node02"]) await createNode(client, name);
  return {
    sandbox,
    worker,
    proxy,
    async stop() {
      await worker.stop();
      await sandbox.stop();
      await proxy.stop();
    },
  };
}
