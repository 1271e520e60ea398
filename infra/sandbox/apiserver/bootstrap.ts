/**
 * What a new cluster has before anybody creates anything: namespaces, default roles, priority classes.
 * Owns: those objects as data. Does not own: how they are stored (server.ts).
 */
import { RBAC_GROUP } from "./kinds/rbac.ts";
import { systemPriorityClasses } from "./kinds/scheduling.ts";
import type { KubeObject } from "./objects.ts";

const RBAC = `${RBAC_GROUP}/v1`;

interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const HEALTH_AND_VERSION = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
const DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", ...HEALTH_AND_VERSION];

const ROLES: Readonly<Record<string, readonly PolicyRule[]>> = {
  "cluster-admin": [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
    { verbs: ["*"], nonResourceURLs: ["*"] },
  ],
  "system:discovery": [{ verbs: ["get"], nonResourceURLs: DISCOVERY }],
  "system:public-info-viewer": [{ verbs: ["get"], nonResourceURLs: HEALTH_AND_VERSION }],
  "system:basic-user": [
    {
      verbs: ["create"],
      apiGroups: ["authorization.k8s.io"],
      resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    { verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
  ],
};

const BINDINGS: readonly { readonly role: string; readonly groups: readonly string[] }[] = [
  { role: "cluster-admin", groups: ["system:masters"] },
  { role: "system:discovery", groups: ["system:authenticated"] },
  { role: "system:public-info-viewer", groups: ["system:authenticated", "system:unauthenticated"] },
  { role: "system:basic-user", groups: ["system:authenticated"] },
];

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

const BOOTSTRAPPED = { "kubernetes.io/bootstrapping": "rbac-defaults" };

export function bootstrapObjects(): readonly KubeObject[] {
  return [
    ...NAMESPACES.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...systemPriorityClasses(),
    ...Object.entries(ROLES).map(([name, rules]) => ({
      apiVersion: RBAC,
      kind: "ClusterRole",
      metadata: { name, labels: BOOTSTRAPPED },
      rules,
    })),
    ...BINDINGS.map(({ role, groups }) => ({
      apiVersion: RBAC,
      kind: "ClusterRoleBinding",
      metadata: { name: role, labels: BOOTSTRAPPED },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
      subjects: groups.map((name) => ({ apiGroup: RBAC_GROUP, kind: "Group", name })),
    })),
  ];
}
