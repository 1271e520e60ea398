/** Creates users that maintain nodes. Each user has some of the required permissions. */
import { expect } from "vitest";
import type { KubeClient, KubeObject, Resource } from "../../../infra/sandbox/index.ts";
import type { Stage } from "./stage.ts";

const RBAC = "rbac.authorization.k8s.io";
const rbac = { apiVersion: `${RBAC}/v1`, namespaced: false };
const roles: Resource<KubeObject & { rules?: unknown }> = { ...rbac, kind: "ClusterRole", plural: "clusterroles" };
const bindings: Resource = { ...rbac, kind: "ClusterRoleBinding", plural: "clusterrolebindings" };

const rule = (apiGroup: string, resource: string, verb: string, more: object = {}) => {
  return { apiGroups: [apiGroup], resources: [resource], verbs: [verb], ...more };
};

const RIGHTS = {
  patch: rule("", "nodes", "patch"),
  patchOne: rule("", "nodes", "patch", { resourceNames: ["node-3"] }),
  evict: rule("", "pods/eviction", "create"),
  restart: rule("subresources.kubevirt.io", "virtualmachines/restart", "update"),
  stop: rule("subresources.kubevirt.io", "virtualmachines/stop", "update"),
  migrate: rule("kubevirt.io", "virtualmachineinstancemigrations", "create"),
} as const;
export type Right = keyof typeof RIGHTS;

let count = 0;

export async function createUser(rights: readonly Right[], { sandbox }: Stage): Promise<KubeClient> {
  const { client } = sandbox;
  const name = `user-${++count}`;
  await client.create(roles, { metadata: { name }, rules: rights.map((right) => RIGHTS[right]) });
  for (const role of [name, "lifeboat-maintainer"]) {
    const subjects = [{ apiGroup: RBAC, kind: "User", name }];
    const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: role };
    const binding = { metadata: { name: `${name}-${role}` }, roleRef, subjects };
    await client.create(bindings, binding);
  }
  return client.as(name, ["system:authenticated"]);
}

export const refused = (code: number, words: string) => [code, words === "" ? "" : expect.stringContaining(words)];
