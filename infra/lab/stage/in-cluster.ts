/**
 * Installs Lifeboat in a sandbox's cluster, like `lifeboat install --in-cluster`. The containers run as processes of
 * this machine.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { IncomingMessage } from "node:http";
import { request, type RequestOptions } from "node:https";
import { fileURLToPath } from "node:url";
import * as z from "zod/mini";
import { IMAGE_FOLDER } from "../../tools/build-image.ts";
import { giveIdentity, settle } from "../../cli/install/identity.ts";
import type { Manifest } from "../../cli/install/manifests.ts";
import { type Inside, isWebhook } from "../../cli/install/plan.ts";
import {
  type Container,
  deployments,
  type Images,
  type KubeClient,
  type Program,
  secrets,
  waitFor,
} from "../../sandbox/index.ts";
import { HOST } from "../../server/names.ts";
import { applyAsCommand, plannedFor, sendOver } from "./apply.ts";
import { quietHost } from "./host.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
export const SERVER = { namespace: "lifeboat-system", name: "lifeboat-server" } as const;
export const IMAGE = "lifeboat.example.com/server";

/** Lists the manifests. `optional` contains paths of additional manifests in infra/kubernetes. */
export function inClusterManifests(optional: readonly string[] = [], home: Partial<Inside> = {}): readonly Manifest[] {
  return plannedFor({ in: "Cluster", image: IMAGE, ...home }, optional);
}

export interface InClusterOptions extends Pick<Inside, "cluster"> {
  /**
   * The API server uses this token to call the webhooks, and a person uses it to request a full scan. The default is
   * the existing token, or a new token if no token exists.
   */
  readonly webhookToken?: string;
  readonly isWanted?: (manifest: Manifest) => boolean;
}

/** Applies the manifests. Creates a certificate and tokens if they do not exist. */
export async function applyInCluster(
  client: KubeClient,
  optional: readonly string[] = [],
  { cluster, webhookToken, isWanted = () => true }: InClusterOptions = {},
): Promise<void> {
  const home: Inside = { in: "Cluster", image: IMAGE, ...(cluster !== undefined && { cluster }) };
  const all = inClusterManifests(optional, home);
  await applyAsCommand(
    client,
    all.filter((one) => !isWebhook(one) && isWanted(one)),
  );
  if (webhookToken !== undefined) {
    const token = Buffer.from(webhookToken).toString("base64");
    const body = { data: { webhookToken: token, operatorToken: token } };
    await client.patch(secrets, SERVER, { type: "merge", body });
  }
  const apply = (to: Inside) => applyAsCommand(client, inClusterManifests(optional, to).filter(isWebhook));
  const webhooks = all.filter(isWebhook);
  const giving = { send: () => sendOver(client), host: quietHost(), seconds: 10, webhooks, apply };
  const given = await giveIdentity(home, giving);
  await apply(given.home);
  await settle(given, giving);
}

export async function untilReplicasAreReady(client: KubeClient): Promise<void> {
  await waitFor(client, {
    resource: deployments,
    key: SERVER,
    what: "ready",
    until: ({ status }) => status?.readyReplicas === 2,
    timeoutMs: 120_000,
  });
}

export interface ImageOptions {
  readonly onOutput?: (text: string) => void;
}

/**
 * Returns the status code of a replica's answer to a POST. The replica's certificate must be valid for the Service's
 * name, even if `url` contains another address.
 */
export async function codeFrom(url: string, options: RequestOptions): Promise<number> {
  const asked = request(url, { method: "POST", servername: HOST, ...options }).end("{}");
  const [answer] = z.tuple([z.instanceof(IncomingMessage)]).parse(await once(asked, "response"));
  answer.resume();
  return answer.statusCode ?? 0;
}

/**
 * Returns the server's image, which infra/tools/build-image.ts builds. Its container runs as a process with this
 * process's version of Node.js.
 */
export function serverImages({ onOutput }: ImageOptions = {}): Images {
  const run = ({ env, root: POD_ROOT, portOf }: Container): Program => ({
    command: process.execPath,
    args: imageArguments(),
    cwd: IMAGE_FOLDER,
    env: {
      ...env,
      POD_ROOT,
      HTTPS_PORT: String(portOf(8443)),
      PORT: String(portOf(8080)),
    },
    ...(onOutput && { onOutput }),
  });
  return new Map([[IMAGE, run]]);
}

export function imageArguments(): readonly string[] {
  const [, words = "[]"] = /^CMD (.*)$/m.exec(readFileSync(`${root}infra/Dockerfile`, "utf8")) ?? [];
  return z.array(z.string()).parse(JSON.parse(words));
}
