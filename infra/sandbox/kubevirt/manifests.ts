/**
 * KubeVirt's installation: its namespace, accounts, roles and the KubeVirt object, in upstream's names.
 * Owns: what virt-operator would have put there. Does not own: the webhooks (webhooks/configurations.ts).
 */
import { grant, type Manifest, type Rule } from "../actors/rbac.ts";
import { KUBEVIRT_NAMESPACE } from "./resources.ts";

const READ = ["get", "list", "watch"];
const EVENTS: Rule = { apiGroups: [""], resources: ["events"], verbs: ["create", "get", "patch", "update"] };

function component(name: string, rules: readonly Rule[]): readonly Manifest[] {
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: KUBEVIRT_NAMESPACE } };
  const subject = { kind: "ServiceAccount", name, namespace: KUBEVIRT_NAMESPACE } as const;
  return [account, ...grant(name, subject, rules)];
}

// prettier-ignore
export const KUBEVIRT_RBAC: readonly Manifest[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: KUBEVIRT_NAMESPACE } },
  ...component("kubevirt-apiserver", [
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "delete", "patch"] },
    { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
    { apiGroups: ["kubevirt.io"], resources: ["virtualmachines", "virtualmachineinstances"], verbs: [...READ, "patch", "update"] },
    { apiGroups: ["kubevirt.io"], resources: ["virtualmachines/status"], verbs: ["patch"] },
    { apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstancemigrations"], verbs: ["create", ...READ, "patch"] },
    { apiGroups: ["kubevirt.io"], resources: ["kubevirts"], verbs: READ },
    { apiGroups: ["migrations.kubevirt.io"], resources: ["migrationpolicies"], verbs: READ },
  ]),
  ...component("kubevirt-controller", [
    EVENTS,
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: [...READ, "delete", "create", "patch"] },
    { apiGroups: [""], resources: ["pods"], verbs: [...READ, "delete", "update", "create", "patch"] },
    { apiGroups: [""], resources: ["pods/finalizers"], verbs: ["update"] },
    { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
    { apiGroups: [""], resources: ["nodes"], verbs: [...READ, "update", "patch"] },
    { apiGroups: ["kubevirt.io"], resources: ["*"], verbs: ["*"] },
    { apiGroups: ["migrations.kubevirt.io"], resources: ["migrationpolicies"], verbs: READ },
  ]),
  ...component("kubevirt-handler", [
    EVENTS,
    { apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstances"], verbs: ["update", "list", "watch"] },
    { apiGroups: [""], resources: ["nodes"], verbs: ["patch", "list", "watch", "get"] },
    { apiGroups: ["kubevirt.io"], resources: ["kubevirts", "kubevirts/status"], verbs: [...READ, "patch"] },
    { apiGroups: ["migrations.kubevirt.io"], resources: ["migrationpolicies"], verbs: READ },
  ]),
];

export const KUBEVIRT = {
  apiVersion: "kubevirt.io/v1",
  kind: "KubeVirt",
  metadata: { name: "kubevirt", namespace: KUBEVIRT_NAMESPACE },
  spec: { configuration: {} },
} as const;
