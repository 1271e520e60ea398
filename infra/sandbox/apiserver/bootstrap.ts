/**
 * What a new cluster has before anybody creates anything: namespaces, default roles, priority classes.
 * Owns: those objects; the roles are in bootstrap.yaml. Does not own: how they are stored (server.ts).
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { RBAC_GROUP } from "./kinds/rbac.ts";
import { systemPriorityClasses } from "./kinds/scheduling.ts";
import { type KubeObject, viewAs } from "./objects.ts";

const RBAC = `${RBAC_GROUP}/v1`;

interface Role {
  readonly groups: readonly string[];
  readonly rules: readonly object[];
}

const ROLES = viewAs<Readonly<Record<string, Role>>>(
  load(readFileSync(new URL("bootstrap.yaml", import.meta.url), "utf8")),
);

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

const BOOTSTRAPPED = { "kubernetes.io/bootstrapping": "rbac-defaults" };

export function bootstrapObjects(): readonly KubeObject[] {
  return [
    ...NAMESPACES.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...systemPriorityClasses(),
    ...Object.entries(ROLES).flatMap(([name, { groups, rules }]) => {
      const metadata = { name, labels: BOOTSTRAPPED };
      const subjects = groups.map((group) => ({ apiGroup: RBAC_GROUP, kind: "Group", name: group }));
      const roleRef = { apiGroup: RBAC_GROUP, kind: "ClusterRole", name };
      return [
        { apiVersion: RBAC, kind: "ClusterRole", metadata: { ...metadata }, rules },
        { apiVersion: RBAC, kind: "ClusterRoleBinding", metadata: { ...metadata }, roleRef, subjects },
      ];
    }),
  ];
}
