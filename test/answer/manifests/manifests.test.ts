import { describe, expect, test } from "vitest";
import type { Urgency } from "../../../shared/kube/evacuation.ts";
import { EVACUATION_LABEL } from "../../../shared/kube/names.ts";
import {
  applied,
  type Manifest,
  permissions,
  readManifests,
  readYaml,
  shipped,
  TOKEN,
  yamlFiles,
} from "../../support/manifests/shipped.ts";

const isKustomization = (file: string) => file.endsWith("kustomization.yaml");

function find(kind: string, name = "lifeboat"): Manifest {
  const found = shipped().find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

describe("infra/kubernetes", () => {
  test("every YAML file parses", () => {
    for (const file of yamlFiles()) if (!isKustomization(file)) expect(readManifests(file)).not.toEqual([]);
  });

  test("the kustomization lists every file but the optional ones", () => {
    const files = yamlFiles().filter((file) => !isKustomization(file) && !file.startsWith("optional/"));
    expect(applied().toSorted()).toEqual(files);
  });

  test("definitions come first, a namespace before what is in it", () => {
    expect(shipped().map(({ kind }) => kind)).toEqual([
      "CustomResourceDefinition",
      "CustomResourceDefinition",
      "Namespace",
      "ServiceAccount",
      "ClusterRole",
      "ClusterRoleBinding",
      "ClusterRole",
      "ClusterRole",
      "ClusterRole",
      "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding",
      "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding",
      "ValidatingWebhookConfiguration",
    ]);
  });

  test("everything is labelled as ours", () => {
    for (const { metadata } of shipped())
      expect(metadata["labels"]).toMatchObject({ "app.kubernetes.io/name": "lifeboat" });
  });

  test("the token Secret is filled for the account, which no pod uses, and has no name that could come back", () => {
    expect(find("ServiceAccount")).toMatchObject({
      metadata: { namespace: "lifeboat-system" },
      automountServiceAccountToken: false,
    });
    expect(readYaml(TOKEN)).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        generateName: "lifeboat-token-",
        namespace: "lifeboat-system",
        labels: { "app.kubernetes.io/name": "lifeboat" },
        annotations: { "kubernetes.io/service-account.name": "lifeboat" },
      },
      type: "kubernetes.io/service-account-token",
    });
  });
});

/** What is sent is tried in webhooks.test.ts. No selector: no namespace and no object is exempt. */
test.each([
  ["webhook.yaml", "lifeboat", "evictions", "CREATE", "pods/eviction", 10],
  ["optional/guard/guard.yaml", "lifeboat-guard", "deletions", "DELETE", "pods", 10],
])("%s has exactly these properties", (file, name, door, ...[operation, resource, timeoutSeconds]) => {
  const rule = { operations: [operation], apiGroups: [""], apiVersions: ["v1"], resources: [resource] };
  expect(readManifests(file)[0]).toEqual({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name, labels: { "app.kubernetes.io/name": "lifeboat" } },
    webhooks: [
      {
        name: `${door}.lifeboat.dev`,
        clientConfig: { url: `https://lifeboat.example.com/clusters/CLUSTER/admission/${door}/WEBHOOK_TOKEN` },
        rules: [{ ...rule, scope: "Namespaced" }],
        matchConditions: expect.any(Array),
        matchPolicy: "Equivalent",
        admissionReviewVersions: ["v1"],
        sideEffects: "NoneOnDryRun",
        failurePolicy: "Ignore",
        timeoutSeconds,
      },
    ],
  });
});

test("the MigrationPolicy has exactly these properties", () => {
  expect(readManifests("optional/migration-policy/migration-policy.yaml")).toEqual([
    {
      apiVersion: "migrations.kubevirt.io/v1alpha1",
      kind: "MigrationPolicy",
      metadata: { name: "lifeboat-urgent", labels: { "app.kubernetes.io/name": "lifeboat" } },
      spec: {
        allowPostCopy: false,
        allowWorkloadDisruption: true,
        completionTimeoutPerGiB: 10,
        // As Lifeboat labels a VMI.
        selectors: { virtualMachineInstanceSelector: { [EVACUATION_LABEL]: "urgent" satisfies Urgency } },
      },
    },
  ]);
});

/** Each single permission has its row in least-privilege.ts. */
describe("what Lifeboat may do", () => {
  const everything = yamlFiles()
    .filter((file) => !isKustomization(file))
    .flatMap(readManifests);

  test("in one namespace only", () => {
    const roles = everything.filter(({ kind }) => kind === "Role");
    const namespaced = roles.flatMap((role) => permissions(role).map((one) => `${role.metadata.namespace}: ${one}`));
    expect(namespaced).toEqual([
      "lifeboat-system: get configmaps/lifeboat-descheduler",
      "lifeboat-system: get coordination.k8s.io/leases/lifeboat-descheduling",
      "lifeboat-system: patch coordination.k8s.io/leases/lifeboat-descheduling",
      "lifeboat-system: create coordination.k8s.io/leases",
    ]);
  });

  test("every binding binds a role of the same name and namespace to that one account", () => {
    const bindings = everything.filter(({ kind }) => kind.endsWith("RoleBinding"));
    expect(bindings).not.toEqual([]);
    for (const { kind, metadata, ...binding } of bindings) {
      const roleKind = kind.replace("Binding", "");
      expect(binding["roleRef"]).toEqual({
        apiGroup: "rbac.authorization.k8s.io",
        kind: roleKind,
        name: metadata.name,
      });
      expect(binding["subjects"]).toEqual([{ kind: "ServiceAccount", name: "lifeboat", namespace: "lifeboat-system" }]);
      const role = (other: Manifest) => other.kind === roleKind && other.metadata.name === metadata.name;
      expect(everything.filter(role).map((other) => other.metadata.namespace)).toEqual([metadata.namespace]);
    }
  });

  test("nothing is granted by a wildcard", () => {
    expect(everything.flatMap(permissions).join()).not.toContain("*");
  });
});

test("the kustomization changes nothing: what is applied is what is in the files", () => {
  expect(Object.keys(readYaml("kustomization.yaml") ?? {})).toEqual(["apiVersion", "kind", "resources"]);
});
