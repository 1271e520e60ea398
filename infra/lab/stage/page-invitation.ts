/** Prints the address of Lifeboat's page on this machine, and a token to sign in. */
import * as z from "zod/mini";
import { applyManifests, type KubeClient, serviceAccounts } from "../../sandbox/index.ts";

const VISITOR = { namespace: "lifeboat-system", name: "visitor" } as const;
const RBAC = "rbac.authorization.k8s.io";
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

/**
 * Creates a token for an account that may view the page, like `kubectl create token visitor -n lifeboat-system
 * --audience lifeboat`.
 */
export async function pageToken(client: KubeClient): Promise<string> {
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: VISITOR };
  const binding = {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: `page-${VISITOR.name}` },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "lifeboat-page" },
    subjects: [{ kind: "ServiceAccount", ...VISITOR }],
  };
  await applyManifests(client, [account, binding]);
  const answer = await client.post(serviceAccounts, VISITOR, "token", { spec: { audiences: ["lifeboat"] } });
  return TokenRequest.parse(answer).status.token;
}

/**
 * Returns text that tells the user how to open the page. `url` is the URL of the cluster's endpoints:
 * `https://HOST/clusters/NAME`. A browser first shows a warning, because it does not trust the page's temporary CA.
 */
export async function pageInvitation(client: KubeClient, url: string): Promise<readonly string[]> {
  const { origin, pathname } = new URL(url);
  const cluster = decodeURIComponent(pathname.split("/").at(-1) ?? "");
  return [
    `The page             ${origin}/fleet/${encodeURIComponent(cluster)}`,
    `Token (valid 1 h)    ${await pageToken(client)}`,
    "                     (your browser shows a warning, because this machine made the certificate)",
  ];
}
