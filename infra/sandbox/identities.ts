/** The accounts of the sandbox's components. Their tokens are random. */
import { randomBytes } from "node:crypto";

export const USERS = {
  admin: { user: "kubernetes-admin", groups: ["system:masters"] },
  controllerManager: { user: "system:kube-controller-manager" },
  scheduler: { user: "system:kube-scheduler" },
  disruptionController: serviceAccount("kube-system", "disruption-controller"),
  clusterRoleAggregation: serviceAccount("kube-system", "clusterrole-aggregation-controller"),
  garbageCollector: serviceAccount("kube-system", "generic-garbage-collector"),
  namespaceController: serviceAccount("kube-system", "namespace-controller"),
  nodeController: serviceAccount("kube-system", "node-controller"),
  deviceTaintManager: serviceAccount("kube-system", "device-taint-eviction-controller"),
  podGarbageCollector: serviceAccount("kube-system", "pod-garbage-collector"),
  attachDetachController: serviceAccount("kube-system", "attachdetach-controller"),
  karpenter: serviceAccount("kube-system", "karpenter"),
  kubelets: { user: "system:sandbox:kubelets" },
  virtApi: serviceAccount("kubevirt", "kubevirt-apiserver"),
  virtController: serviceAccount("kubevirt", "kubevirt-controller"),
  virtHandler: serviceAccount("kubevirt", "kubevirt-handler"),
} as const satisfies Record<string, Identity>;

export interface Identity {
  readonly user: string;
  readonly groups?: readonly string[];
}

export type Role = keyof typeof USERS;

export type TokenFile = Readonly<Record<string, Identity>>;

export interface Identities {
  readonly tokens: TokenFile;
  readonly tokenOf: (role: Role) => string;
}

export function createIdentities(): Identities {
  const tokenByRole = Object.fromEntries(
    Object.keys(USERS).map((role) => [role, randomBytes(24).toString("base64url")]),
  ) as Record<Role, string>;
  const tokens = Object.entries(tokenByRole).map(([role, token]) => [token, USERS[role as Role]] as const);
  return { tokens: Object.fromEntries(tokens), tokenOf: (role) => tokenByRole[role] };
}

function serviceAccount(namespace: string, name: string): Identity {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return { user: `system:serviceaccount:${namespace}:${name}`, groups };
}
