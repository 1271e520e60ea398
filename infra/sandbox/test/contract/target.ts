/**
 * The server that answers the contract's questions: the sandbox's API server, or a real one. TEST_KUBECONFIG names a cluster (tests change
 * it); KUBEBUILDER_ASSETS, the convention of envtest, a folder with etcd and kube-apiserver. Without either it is the sandbox.
 */
import { createAuthority } from "../../certificates.ts";
import { startApiServer } from "../../apiserver/server.ts";
import { type Endpoint, type Target, targetOf } from "./client.ts";
import { startKubeApiServer } from "./kube-apiserver.ts";

/** With controllers, where possible: a folder of binaries has none. */
export async function connect({ controllers = false } = {}): Promise<Target> {
  const { TEST_KUBECONFIG: kubeconfig, KUBEBUILDER_ASSETS: assets } = process.env;
  if (kubeconfig) return targetOf(await clusterOf(kubeconfig));
  if (assets) return targetOf(await startKubeApiServer(assets));
  return targetOf(controllers ? await startSandboxCluster() : await startSandboxServer());
}

const TOKEN = "contract-admin";

async function startSandboxServer(): Promise<Endpoint> {
  const authority = await createAuthority("contract");
  const admin = { user: "kubernetes-admin", groups: ["system:masters"] };
  const server = await startApiServer({ authority, tokens: { [TOKEN]: admin } });
  return { name: "sandbox", url: server.url, ca: authority.caPem, token: TOKEN, stop: () => server.stop() };
}

async function startSandboxCluster(): Promise<Endpoint> {
  const { startSandbox } = await import("../../sandbox.ts"); // loaded only when needed, as client-node below
  const sandbox = await startSandbox({ empty: true });
  const { url, caPem: ca, adminToken: token } = sandbox;
  return { name: "sandbox", url, ca, token, controllers: true, stop: () => sandbox.stop() };
}

async function clusterOf(kubeconfig: string): Promise<Endpoint> {
  const { KubeConfig } = await import("@kubernetes/client-node"); // takes half a second that the sandbox does not need
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()];
  if (cluster === null || user === null) throw new Error(`${kubeconfig} has no current context`);
  return {
    name: cluster.name,
    url: cluster.server,
    ca: decode(cluster.caData),
    ...(user.token && { token: user.token }),
    ...(user.certData && { client: { cert: decode(user.certData), key: decode(user.keyData) } }),
    controllers: true,
    stop: async () => {},
  };
}

function decode(data: string | undefined): string {
  return Buffer.from(data ?? "", "base64").toString();
}
