/** Permissions of Lifeboat's taken away from the roles that are shipped. */
import type { KubeClient } from "../../../../infra/sandbox/actors/client.ts";
import type { KubeObject, Resource } from "../../../../infra/sandbox/actors/resources.ts";

interface Role extends KubeObject {
  readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: readonly string[] }[];
}

const head = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
export const ROLES: Resource<Role> = { ...head, kind: "Role", plural: "roles", namespaced: true };
const CLUSTER_ROLES: Resource<Role> = { ...head, kind: "ClusterRole", plural: "clusterroles", namespaced: false };

/** From now on the API server answers 403. */
export async function forbid(client: KubeClient, verb: string, plural: string): Promise<void> {
  const key = { name: "lifeboat" };
  const role = await client.get(CLUSTER_ROLES, key);
  const rules = role?.rules.map((rule) =>
    rule.resources?.includes(plural) === true ? { ...rule, verbs: rule.verbs.filter((one) => one !== verb) } : rule,
  );
  await client.patch(CLUSTER_ROLES, key, { type: "merge", body: { rules } });
}
