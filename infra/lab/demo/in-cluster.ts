/** Lifeboat as pods of a cluster on stage: the shipped manifests, and how a story asks it something. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isTrue } from "../../sandbox/actors/conditions.ts";
import { pods, secrets } from "../../sandbox/actors/resources.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { configureLifeboat } from "../stage/apply.ts";
import { applyInCluster, SERVER } from "../stage/in-cluster.ts";
import type { ClusterOptions, Configuration, LifeboatBeside, Running } from "./cluster.ts";

const PATH = "/clusters/sandbox";
const PORT = 8443;

/** Its pods wait for the scene's nodes. */
export async function installInCluster(
  sandbox: Sandbox,
  configuration: Configuration,
  { folder, name, optional }: ClusterOptions,
): Promise<Running<LifeboatBeside>> {
  const { client } = sandbox;
  await applyInCluster(client, optional);
  const webhookToken = randomBytes(24).toString("hex");
  const data = { webhookToken: base64(webhookToken) };
  await client.patch(secrets, SERVER, { type: "merge", body: { data } });
  await configureLifeboat(client, configuration);
  const caFile = join(folder, `ca-${name}.crt`);
  let url = "";
  return {
    webhookToken,
    caFile,
    get url() {
      return url;
    },
    async post(path) {
      const port = await portOfReady(sandbox);
      const ca = Buffer.from((await client.get(secrets, SERVER))?.data?.["tls.crt"] ?? "", "base64");
      await writeFile(caFile, ca);
      url = `https://localhost:${port}${PATH}`;
      const headers = { authorization: `Bearer ${webhookToken}` };
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        request(`${url}${path}`, { method: "POST", ca, headers }).on("response", resolve).on("error", reject).end();
      });
      answer.setEncoding("utf8");
      const body = (await answer.toArray()).join("");
      if (answer.statusCode !== 200) throw new Error(`POST ${path}: ${answer.statusCode} ${body}`);
      return JSON.parse(body);
    },
    // With the cluster.
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

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
