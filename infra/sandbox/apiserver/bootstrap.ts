/** The objects of a new cluster: namespaces, default roles, priority classes. */
import { machineRoles } from "../actors/machine-roles.ts";
import { systemPriorityClasses } from "./kinds/scheduling.ts";
import { type KubeObject, viewAs } from "./objects.ts";
import { readYaml } from "./read-yaml.ts";

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];
const BOOTSTRAPPED = { "kubernetes.io/bootstrapping": "rbac-defaults" };

export function bootstrapObjects(): readonly KubeObject[] {
  const roles = [...readYaml<KubeObject[]>("bootstrap-roles.yaml"), ...viewAs<KubeObject[]>(machineRoles())];
  for (const { metadata } of roles) metadata.labels = { ...BOOTSTRAPPED, ...metadata.labels };
  return [
    ...NAMESPACES.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...systemPriorityClasses(),
    ...roles,
  ];
}
