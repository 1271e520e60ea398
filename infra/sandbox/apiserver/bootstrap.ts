/**
 * What a new cluster has before anybody creates anything: namespaces, default roles, priority classes.
 * Owns: those objects; the roles are in bootstrap-roles.yaml. Does not own: how they are stored (server.ts).
 */
import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { systemPriorityClasses } from "./kinds/scheduling.ts";
import { type KubeObject, viewAs } from "./objects.ts";

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];
const ROLES = readFileSync(new URL("bootstrap-roles.yaml", import.meta.url), "utf8");
const BOOTSTRAPPED = { "kubernetes.io/bootstrapping": "rbac-defaults" };

export function bootstrapObjects(): readonly KubeObject[] {
  const roles = viewAs<KubeObject[]>(loadAll(ROLES));
  for (const { metadata } of roles) metadata.labels = { ...BOOTSTRAPPED, ...metadata.labels };
  return [
    ...NAMESPACES.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...systemPriorityClasses(),
    ...roles,
  ];
}
