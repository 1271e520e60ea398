/**
 * What Kubernetes' own components may do: the part of the bootstrap policy our actors live under.
 * Owns: roles and bindings in Kubernetes' names. A real API server has them from the start; elsewhere they are applied.
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

/** A ClusterRole and its binding of the same name. */
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

const EVENTS: Rule = {
  apiGroups: ["", "events.k8s.io"],
  resources: ["events"],
  verbs: ["create", "patch", "update", "get"],
};
const READ = ["get", "list", "watch"];

function controller(name: string, rules: readonly Rule[]): readonly Manifest[] {
  return grant(`system:controller:${name}`, { kind: "ServiceAccount", name, namespace: "kube-system" }, [
    ...rules,
    EVENTS,
  ]);
}

export const CONTROL_PLANE_RBAC: readonly Manifest[] = [
  ...grant("system:discovery", { kind: "Group", name: "system:authenticated" }, [
    {
      nonResourceURLs: [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/readyz",
        "/openapi",
        "/openapi/*",
        "/version",
        "/version/",
      ],
      verbs: ["get"],
    },
  ]),
  ...grant("system:basic-user", { kind: "Group", name: "system:authenticated" }, [
    {
      apiGroups: ["authorization.k8s.io"],
      resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
      verbs: ["create"],
    },
    { apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"], verbs: ["create"] },
  ]),
  // Through this account all controllers read, and the token controller writes.
  ...grant("system:kube-controller-manager", { kind: "User", name: "system:kube-controller-manager" }, [
    EVENTS,
    { apiGroups: ["*"], resources: ["*"], verbs: ["list", "watch"] },
    { apiGroups: [""], resources: ["secrets", "serviceaccounts"], verbs: ["create", "delete", "get", "update"] },
    { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
    { apiGroups: [""], resources: ["namespaces"], verbs: ["get"] },
  ]),
  ...controller("disruption-controller", [
    { apiGroups: ["apps"], resources: ["deployments", "replicasets", "statefulsets"], verbs: READ },
    { apiGroups: [""], resources: ["replicationcontrollers"], verbs: READ },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: READ },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets/status"], verbs: ["update"] },
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch", "update"] },
    { apiGroups: ["*"], resources: ["*/scale"], verbs: ["get"] },
  ]),
  ...controller("generic-garbage-collector", [
    { apiGroups: ["*"], resources: ["*"], verbs: ["delete", "get", "list", "patch", "update", "watch"] },
  ]),
  ...controller("namespace-controller", [
    { apiGroups: [""], resources: ["namespaces"], verbs: ["delete", ...READ] },
    { apiGroups: [""], resources: ["namespaces/finalize", "namespaces/status"], verbs: ["update"] },
    { apiGroups: ["*"], resources: ["*"], verbs: ["delete", "deletecollection", "get", "list"] },
  ]),
  ...controller("node-controller", [
    { apiGroups: [""], resources: ["nodes"], verbs: ["delete", "get", "list", "patch", "update"] },
    { apiGroups: [""], resources: ["nodes/status", "pods/status"], verbs: ["patch", "update"] },
    { apiGroups: [""], resources: ["pods"], verbs: ["delete", "get", "list"] },
  ]),
  ...controller("pod-garbage-collector", [
    { apiGroups: [""], resources: ["pods"], verbs: ["delete", "list", "watch"] },
    { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] },
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
  ]),
];

export const SCHEDULER_RBAC: readonly Manifest[] = grant(
  "system:kube-scheduler",
  { kind: "User", name: "system:kube-scheduler" },
  [
    EVENTS,
    { apiGroups: [""], resources: ["nodes"], verbs: READ },
    { apiGroups: [""], resources: ["pods"], verbs: ["delete", ...READ] },
    { apiGroups: [""], resources: ["bindings", "pods/binding"], verbs: ["create"] },
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch", "update"] },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: READ },
  ],
);

export const NODE_RBAC: readonly Manifest[] = [
  // What the node authorizer grants a real kubelet.
  ...grant("system:node", { kind: "Group", name: "system:nodes" }, [
    EVENTS,
    { apiGroups: [""], resources: ["nodes"], verbs: ["create", "patch", "update", ...READ] },
    { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch", "update"] },
    { apiGroups: [""], resources: ["pods"], verbs: ["create", "delete", ...READ] },
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch", "update"] },
    {
      apiGroups: ["coordination.k8s.io"],
      resources: ["leases"],
      verbs: ["create", "delete", "get", "patch", "update"],
    },
  ]),
  // One process plays all kubelets: it reads as itself and writes as the node a thing is about.
  ...grant("system:sandbox:kubelets", { kind: "User", name: "system:sandbox:kubelets" }, [
    { apiGroups: [""], resources: ["nodes", "pods"], verbs: READ },
    { apiGroups: [""], resources: ["users"], verbs: ["impersonate"] },
    {
      apiGroups: [""],
      resources: ["groups"],
      resourceNames: ["system:nodes", "system:authenticated"],
      verbs: ["impersonate"],
    },
  ]),
];
