/** Where the page of a Lifeboat on this machine is, and a token that signs in to it. */
import * as z from "zod/mini";
import { applyManifests, type KubeClient, serviceAccounts } from "../../sandbox/index.ts";

const VISITOR = { namespace: "lifeboat-system", name: "visitor" } as const;
const ROLES = ["lifeboat-page", "lifeboat-operator", "lifeboat-maintainer", "visitor-empties-nodes"];
/** What a NodeEvacuation does, its visitor has to be allowed. */
const EMPTIES = [
  { apiGroups: [""], resources: ["nodes"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
  {
    apiGroups: ["subresources.kubevirt.io"],
    resources: ["virtualmachines/restart", "virtualmachines/stop"],
    verbs: ["update"],
  },
];
const RBAC = "rbac.authorization.k8s.io";
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

/** As `kubectl create token visitor -n lifeboat-system --audience lifeboat`, of an account that may look, act and empty nodes. */
export async function pageToken(client: KubeClient): Promise<string> {
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: VISITOR };
  const bindings = ROLES.map((role) => ({
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: `${VISITOR.name}-${role}` },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", ...VISITOR }],
  }));
  const metadata = { name: "visitor-empties-nodes" };
  const role = { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata, rules: EMPTIES };
  await applyManifests(client, [account, role, ...bindings]);
  const answer = await client.post(serviceAccounts, VISITOR, "token", { spec: { audiences: ["lifeboat"] } });
  return TokenRequest.parse(answer).status.token;
}

/**
 * `url`: of the cluster's doors, `https://HOST/clusters/NAME`. Its certificate is of an authority that lives as long as the process: a
 * browser asks before it goes on.
 */
export async function pageInvitation(client: KubeClient, url: string): Promise<readonly string[]> {
  const { origin, pathname } = new URL(url);
  const cluster = decodeURIComponent(pathname.split("/").at(-1) ?? "");
  return [
    `The page             ${origin}/fleet/${encodeURIComponent(cluster)}`,
    `Signs in for an hour ${await pageToken(client)}`,
    "                     (your browser warns of the certificate: go on, it is this machine's)",
  ];
}
