/**
 * Roles and their bindings.
 * Owns: the kinds of rbac.authorization.k8s.io. Does not own: what they allow (authorization.ts).
 */
import { type KubeObject, stringAt, recordsAt, childOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { invalidValue } from "../field-errors.ts";
import { AGE, CREATED_AT, NAME, text, wide } from "./columns.ts";
import { type Column, type ResourceKind, defineKind } from "./kind.ts";

export const RBAC_GROUP = "rbac.authorization.k8s.io";

const BASE = { group: RBAC_GROUP, version: "v1", nameRule: "path", createsOnUpdate: true } as const;

const subjectsOf = (kind: string) => (binding: KubeObject) =>
  recordsAt(binding, "subjects")
    .filter((subject) => subject.kind === kind)
    .map((subject) => [subject.namespace, subject.name].filter(Boolean).join("/"))
    .join(", ");

const BINDING = {
  atomicMaps: ["roleRef"],
  columns: [
    NAME,
    text("Role", (binding) => `${stringAt(binding, "roleRef.kind")}/${stringAt(binding, "roleRef.name")}`),
    AGE,
    wide("Users", subjectsOf("User")),
    wide("Groups", subjectsOf("Group")),
    wide("ServiceAccounts", subjectsOf("ServiceAccount")),
  ] satisfies Column[],
  applyDefaults: (binding: KubeObject) => {
    const roleRef = childOf(binding, "roleRef");
    roleRef.apiGroup ||= RBAC_GROUP;
    for (const subject of recordsAt(binding, "subjects")) {
      if (subject.kind !== "ServiceAccount") subject.apiGroup ??= RBAC_GROUP;
    }
  },
  validate: (binding: KubeObject, previous: KubeObject | undefined): readonly FieldError[] =>
    previous === undefined || JSON.stringify(binding.roleRef) === JSON.stringify(previous.roleRef)
      ? []
      : [invalidValue("roleRef", binding.roleRef, "cannot change roleRef")],
};

export const RBAC: readonly ResourceKind[] = [
  defineKind({ ...BASE, kind: "Role", plural: "roles", columns: [NAME, CREATED_AT] }),
  defineKind({ ...BASE, kind: "ClusterRole", plural: "clusterroles", namespaced: false, columns: [NAME, CREATED_AT] }),
  defineKind({ ...BASE, ...BINDING, kind: "RoleBinding", plural: "rolebindings" }),
  defineKind({ ...BASE, ...BINDING, kind: "ClusterRoleBinding", plural: "clusterrolebindings", namespaced: false }),
];
