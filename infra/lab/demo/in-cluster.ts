/** Runs Lifeboat in a cluster as pods, with the shipped manifests. Requests Lifeboat's full scans. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isTrue, pods, type Sandbox, secrets } from "../../sandbox/index.ts";
import type { LifeboatBeside } from "../stage/beside.ts";
import { applyInCluster, codeFrom, SERVER } from "../stage/in-cluster.ts";

const PORT = 8443;
const CLUSTER = "sandbox";

/** Installs Lifeboat. Its pods are pending until the cluster has nodes. */
export async function installInCluster(sandbox: Sandbox, optional: readonly string[]): Promise<LifeboatBeside> {
  const { client } = sandbox;
  const webhookToken = randomBytes(24).toString("hex");
  await applyInCluster(client, optional, { cluster: CLUSTER, webhookToken });
  let url = "";
  return {
    get url() {
      return url;
    },
    async reconcile() {
      url = `https://localhost:${await portOfReady(sandbox)}/clusters/${CLUSTER}`;
      const ca = Buffer.from((await client.get(secrets, SERVER))?.data?.["tls.crt"] ?? "", "base64");
      const headers = { authorization: `Bearer ${webhookToken}` };
      const code = await codeFrom(`${url}/reconcile`, { ca, headers });
      if (code !== 200) throw new Error(`POST /reconcile: ${code}`);
    },
    stop: () => Promise.resolve(),
  };
}

async function portOfReady({ client, processes }: Sandbox): Promise<number> {
  for (;;) {
    const { items } = await client.list(pods, SERVER.namespace);
    const ready = items.find(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && isTrue(status?.conditions, "Ready"),
    );
    const port = ready && processes.portOf(ready.metadata.uid, PORT);
    if (port !== undefined) return port;
    await delay(100);
  }
}
