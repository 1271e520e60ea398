/**
 * What Kubernetes' own components may do: the part of the bootstrap policy our actors live under, rbac.yaml.
 * Owns: roles and bindings in Kubernetes' names. A real API server has them from the start; elsewhere they are applied.
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";

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

interface Grant {
  readonly name: string;
  readonly subject: Subject;
  /** Instead of both: the name of one in kube-controller-manager. */
  readonly controller?: string;
  readonly rules: readonly Rule[];
}

const grants = load(readFileSync(new URL("rbac.yaml", import.meta.url), "utf8")) as Record<string, readonly Grant[]>;

function granted(part: string): readonly Manifest[] {
  return (grants[part] ?? []).flatMap(({ controller, name, subject, rules }) => {
    if (controller === undefined) return grant(name, subject, rules);
    const account = { kind: "ServiceAccount", name: controller, namespace: "kube-system" } as const;
    return grant(`system:controller:${controller}`, account, rules);
  });
}

export const CONTROL_PLANE_RBAC = granted("controlPlane");
export const SCHEDULER_RBAC = granted("scheduler");
export const NODE_RBAC = granted("nodes");
