/** What is installed in a cluster already: `install` keeps it. */
import * as z from "zod/mini";
import type { Send } from "../../../shared/cluster/transport.ts";
import { readObject } from "./apply.ts";
import { type Manifest, manifestsIn } from "./manifests.ts";
import { PARTS, type Part } from "./parts.ts";
import { type Home, isDeployment, isWebhook } from "./plan.ts";

/** Those of whose objects the first is there. Which gates are on is the administrator's to say. */
export async function presentParts(send: () => Send): Promise<readonly Part[]> {
  const present: Part[] = [];
  for (const part of PARTS) {
    const [first] = part.files.flatMap(manifestsIn);
    if (first !== undefined && (await readObject(first, send())) !== undefined) present.push({ ...part, gates: [] });
  }
  return present;
}

const Containers = z.tuple([z.object({ image: z.string() })], z.unknown());
const Server = z.object({
  spec: z.object({ template: z.object({ spec: z.object({ containers: Containers }) }) }),
});
const ClientConfig = z.object({ url: z.optional(z.string()), caBundle: z.optional(z.string()) });
const Webhooks = z.object({ webhooks: z.array(z.object({ clientConfig: ClientConfig })) });

/** Where Lifeboat runs, with its image or its address; undefined: nowhere, or where this command never puts it. */
export async function presentHome(send: () => Send): Promise<Home | undefined> {
  const read = async (file: string, isWanted: (one: Manifest) => boolean) => {
    const manifest = manifestsIn(file).find(isWanted);
    return manifest && (await readObject(manifest, send()));
  };
  const server = await read("server/kubernetes/component/deployment.yaml", isDeployment);
  if (server !== undefined) {
    return { in: "Cluster", image: Server.parse(server).spec.template.spec.containers[0].image };
  }
  const webhook = await read("kubernetes/webhook.yaml", isWebhook);
  return webhook === undefined ? undefined : workerIn(Webhooks.parse(webhook).webhooks[0]?.clientConfig);
}

function workerIn({ url = "", caBundle }: z.output<typeof ClientConfig> = {}): Home | undefined {
  const [, at, webhookToken = ""] = /^(.*\/clusters\/[^/]+)\/admission\/evictions(?:\/([^/]+))?$/.exec(url) ?? [];
  if (at === undefined) return undefined;
  return { in: "Worker", url: at, webhookToken, ...(caBundle !== undefined && { caBundle }) };
}
