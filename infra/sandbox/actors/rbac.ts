/**
 * Creates ClusterRoles and bindings for components that are not part of Kubernetes. apiserver/bootstrap-roles.yaml has
 * the roles of Kubernetes' own components.
 */
const GROUP = "rbac.authorization.k8s.io";
const API_VERSION = `${GROUP}/v1`;

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export type Subject =
  | { readonly kind: "User" | "Group"; readonly name: string }
  | { readonly kind: "ServiceAccount"; readonly name: string; readonly namespace: string };

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export function grant(name: string, subject: Subject, rules: readonly Rule[]): readonly Manifest[] {
  const bound = subject.kind === "ServiceAccount" ? subject : { ...subject, apiGroup: GROUP };
  const roleRef = { apiGroup: GROUP, kind: "ClusterRole", name };
  const role = { apiVersion: API_VERSION, kind: "ClusterRole", metadata: { name }, rules };
  const binding = {
    apiVersion: API_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef,
    subjects: [bound],
  };
  return [role, binding];
}
