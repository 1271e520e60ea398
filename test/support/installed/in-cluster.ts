/**
 * Starts a sandbox with the manifests of the in-cluster server. The clients have the permissions that the manifests
 * grant to the server.
 */
import * as z from "zod/mini";
import {
  applyManifests,
  createClient as createKubeClient,
  type KubeClient,
  kubeconfigOf,
  KUBEVIRT,
  KUBEVIRT_RBAC,
  type Sandbox,
  serviceAccounts,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { applyInCluster } from "../../../infra/lab/stage/in-cluster.ts";
import { type Client, createClient } from "../../../shared/kube/client.ts";
import { trust } from "./worker.ts";

const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

export interface Installed {
  readonly sandbox: Sandbox;
  readonly connect: () => Client;
  /** A client with the server's token. Tests send requests with it that the server itself never sends. */
  readonly server: KubeClient;
}

/** Starts the sandbox. `optional` lists paths of more manifests in infra/kubernetes. */
export async function startInstalled(optional: readonly string[] = []): Promise<Installed> {
  const sandbox = await startSandbox({ empty: true });
  const { client, url } = sandbox;
  trust(sandbox);
  await applyManifests(client, [...KUBEVIRT_RBAC, KUBEVIRT]);
  await applyInCluster(client, optional);
  const account = { namespace: "lifeboat-system", name: "lifeboat" };
  const { status } = TokenRequest.parse(await client.post(serviceAccounts, account, "token", { spec: {} }));
  const endpoint = { server: url, token: status.token, headers: {}, fetch };
  const [timeout, onOddItem] = [(ms: number) => AbortSignal.timeout(ms), () => undefined];
  const { caPem } = sandbox;
  const server = createKubeClient(kubeconfigOf({ url, caPem, user: "lifeboat", token: status.token }));
  return { sandbox, server, connect: () => createClient({ endpoint, signal: timeout(10_000), timeout, onOddItem }) };
}
