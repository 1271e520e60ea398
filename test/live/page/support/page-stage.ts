/** A sandbox cluster, the bundled Worker in workerd, and a visitor who has signed in. */
import { applyLifeboat, configureLifeboat } from "../../../../infra/lab/stage/apply.ts";
import { createNode, type Sandbox, startSandbox } from "../../../../infra/sandbox/index.ts";
import { type RunningWorker, startWorker } from "../../../../infra/lab/stage/worker.ts";
import { COOKIE, NODE_RIGHTS, signGrant } from "../../../../functions/page/session.ts";
import { trust } from "../../../support/test-cluster.ts";
import { type ApiProxy, startApiProxy } from "../../../support/setup/api-proxy.ts";

export const CLUSTER = "harbour";
/** The same one by another name. */
export const OTHER = "quay";
export const NODES = ["node01", "node02", "node03"] as const;
export const TOKENS = {
  webhookToken: "the-webhook-token-of-pages",
  operatorToken: "the-operator-token-of-pages",
} as const;

export interface PageStage {
  readonly sandbox: Sandbox;
  readonly worker: RunningWorker;
  /** On the Worker's way to the API server. */
  readonly proxy: ApiProxy;
  /** Of one who may act; `false`: of one who only looks. */
  cookie(mayAct?: boolean): Promise<string>;
  stop(): Promise<void>;
}

export async function startPageStage(names: readonly string[] = [CLUSTER]): Promise<PageStage> {
  const sandbox = await startSandbox({ migrationSeconds: 0.2, terminationSeconds: 0.05 });
  trust(sandbox);
  const { client, caPem, authority } = sandbox;
  const proxy = await startApiProxy(sandbox);
  const { token } = await applyLifeboat(client, {
    url: "https://127.0.0.1:1",
    webhookToken: TOKENS.webhookToken,
    caPem,
  });
  const entry = { server: proxy.url, token, ...TOKENS };
  const worker = await startWorker({ authority, clusters: Object.fromEntries(names.map((name) => [name, entry])) });
  const url = `${worker.url}/clusters/${CLUSTER}`;
  const optional = ["optional/maintenance/maintenance.yaml"];
  await applyLifeboat(client, { url, webhookToken: TOKENS.webhookToken, caPem, optional });
  await configureLifeboat(client, { evacuation: { backoffSeconds: 0.2 } });
  for (const name of NODES) await createNode(client, name);
  return {
    sandbox,
    worker,
    proxy,
    async cookie(mayAct = true) {
      const until = Math.floor(Date.now() / 1000) + 3600;
      const grant = { name: "operator", mayAct, maintains: mayAct ? NODE_RIGHTS : [], until };
      const grants = names.map((cluster) => signGrant({ ...grant, cluster }, { ...entry, headers: {} }));
      return `${COOKIE}=${(await Promise.all(grants)).join("~")}`;
    },
    async stop() {
      await worker.stop();
      await sandbox.stop();
      await proxy.stop();
    },
  };
}
