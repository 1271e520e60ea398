/** Roles and their bindings. */
import { type KubeObject, stringAt, recordsAt, childOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { invalidValue } from "../field-errors.ts";
import { builtIn } from "./built-in.ts";

export const RBAC_GROUP = "rbac.authorization.k8s.io";

const subjectsOf = (kind: string) => (binding: KubeObject) =>
  recordsAt(binding, "subjects")
    .filter((subject) => subject.kind === kind)
    .map((subject) => [subject.namespace, subject.name].filter(Boolean).join("/"))
    .join(", ");

const BINDING = {
  cells: {
    Role: (binding: KubeObject) => `${stringAt(binding, "roleRef.kind")}/${stringAt(binding, "roleRef.name")}`,
    Users: subjectsOf("User"),
    Groups: subjectsOf("Group"),
    ServiceAccounts: subjectsOf("ServiceAccount"),
  },
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

export const RBAC = [
  builtIn("Role"),
  builtIn("ClusterRole"),
  builtIn("RoleBinding", BINDING),
  builtIn("ClusterRoleBinding", BINDING),
];
