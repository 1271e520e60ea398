/** Runs a Worker and a relay outside of a sandbox's cluster. */
import { randomBytes } from "node:crypto";
import type { Sandbox } from "../../sandbox/index.ts";
import { startLifeboat } from "./lifeboat.ts";
import { installRelay, startRelayBeside, throughWorker } from "./relay.ts";

export interface LifeboatBeside {
  readonly url: string;
  reconcile(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a Worker and a relay. `optional` contains paths of additional manifests in infra/kubernetes. */
export async function startBeside(sandbox: Sandbox, optional: readonly string[]): Promise<LifeboatBeside> {
  const relaySecret = `whsec_${randomBytes(32).toString("base64")}`;
  const { worker, url, webhookToken } = await startLifeboat(sandbox, { optional, entry: { relaySecret } });
  const relay = startRelayBeside({
    kubeConfig: await installRelay(sandbox),
    endpoint: new URL(`${url}/events`),
    secret: relaySecret,
    fetch: throughWorker(() => worker),
  });
  return {
    url,
    async reconcile() {
      const headers = { authorization: `Bearer ${webhookToken}` };
      const answer = await worker.fetch(`${new URL(url).pathname}/reconcile`, { method: "POST", headers });
      if (answer.status !== 200) throw new Error(`POST /reconcile: ${answer.status} ${await answer.text()}`);
    },
    async stop() {
      await relay.stop();
      await worker.stop();
    },
  };
}
