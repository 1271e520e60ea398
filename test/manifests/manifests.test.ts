import { describe, expect, test } from "vitest";
import { CAUSE } from "../../shared/policy/cause.ts";
import { EVACUATION_LABEL } from "../../shared/policy/names.ts";
import { applied, permissions, readManifests, readYaml, shipped, yamlFiles, type Manifest } from "./shipped.ts";

function find(kind: string, name = "lifeboat"): Manifest {
  const found = shipped().find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

describe("infra/kubernetes", () => {
  test("every YAML file parses", () => {
    for (const file of yamlFiles()) if (file !== "kustomization.yaml") expect(readManifests(file)).not.toEqual([]);
  });

  test("the kustomization lists every file but the optional ones", () => {
    const files = yamlFiles().filter((file) => file !== "kustomization.yaml" && !file.startsWith("optional/"));
    expect(applied().toSorted()).toEqual(files);
  });

  test("definitions come first, a namespace before what is in it, an account before its token", () => {
    expect(shipped().map(({ kind }) => kind)).toEqual([
      "CustomResourceDefinition",
      "CustomResourceDefinition",
      "Namespace",
      "ServiceAccount",
      "Secret",
      "ClusterRole",
      "ClusterRoleBinding",
      "Role",
      "RoleBinding",
      "Role",
      "RoleBinding",
      "ClusterRole",
      "ClusterRole",
      "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding",
      "ValidatingWebhookConfiguration",
    ]);
  });

  test("everything is labelled as ours", () => {
    for (const { metadata } of shipped())
      expect(metadata["labels"]).toMatchObject({ "app.kubernetes.io/name": "lifeboat" });
  });

  test("the token Secret is filled for the account, which no pod uses", () => {
    expect(find("ServiceAccount")).toMatchObject({
      metadata: { namespace: "lifeboat-system" },
      automountServiceAccountToken: false,
    });
    expect(find("Secret", "lifeboat-token")).toMatchObject({
      metadata: {
        namespace: "lifeboat-system",
        annotations: { "kubernetes.io/service-account.name": "lifeboat" },
      },
      type: "kubernetes.io/service-account-token",
    });
  });
});

describe("the webhook configuration", () => {
  test("has exactly these properties", () => {
    expect(find("ValidatingWebhookConfiguration")).toEqual({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "lifeboat", labels: { "app.kubernetes.io/name": "lifeboat" } },
      webhooks: [
        {
          name: "evictions.lifeboat.dev",
          clientConfig: { url: "https://lifeboat.example.com/clusters/CLUSTER/admission/evictions/WEBHOOK_TOKEN" },
          rules: [
            {
              operations: ["CREATE"],
              apiGroups: [""],
              apiVersions: ["v1"],
              resources: ["pods/eviction"],
              scope: "Namespaced",
            },
          ],
          matchConditions: [
            {
              name: "pods-of-virtual-machines",
              expression: "request.name.startsWith('virt-launcher-') || request.name.startsWith('hp-volume-')",
            },
          ],
          matchPolicy: "Equivalent",
          admissionReviewVersions: ["v1"],
          sideEffects: "NoneOnDryRun",
          failurePolicy: "Ignore",
          timeoutSeconds: 10,
        },
      ],
    });
  });
});

describe("the guard", () => {
  const [configuration, ...rest] = readManifests("optional/guard.yaml");
  test("has exactly these properties", () => {
    expect(configuration).toEqual({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "lifeboat-guard", labels: { "app.kubernetes.io/name": "lifeboat" } },
      webhooks: [
        {
          name: "deletions.lifeboat.dev",
          clientConfig: { url: "https://lifeboat.example.com/clusters/CLUSTER/admission/deletions/WEBHOOK_TOKEN" },
          rules: [
            { operations: ["DELETE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], scope: "Namespaced" },
          ],
          matchConditions: [
            {
              name: "pods-of-virtual-machines",
              expression:
                "oldObject.?metadata.?labels[?'kubevirt.io'].orValue('') in ['virt-launcher', 'hotplug-disk']",
            },
            {
              name: "deletions-that-do-not-ask",
              expression:
                "request.userInfo.username in ['system:kube-scheduler', " +
                "'system:serviceaccount:kube-system:node-controller', " +
                "'system:serviceaccount:kube-system:taint-eviction-controller']",
            },
          ],
          matchPolicy: "Equivalent",
          admissionReviewVersions: ["v1"],
          sideEffects: "NoneOnDryRun",
          failurePolicy: "Ignore",
          timeoutSeconds: 30,
        },
      ],
    });
  });

  test("grants what finishing a deletion takes, and nothing else", () => {
    expect(rest.map(({ kind }) => kind)).toEqual(["ClusterRole", "ClusterRoleBinding"]);
    expect(rest.flatMap(permissions)).toEqual(["delete pods"]);
  });
});

test("descheduler support grants what annotating a pod takes, and nothing else", () => {
  const manifests = readManifests("optional/descheduler-support.yaml");
  expect(manifests.map(({ kind }) => kind)).toEqual(["ClusterRole", "ClusterRoleBinding"]);
  expect(manifests.flatMap(permissions)).toEqual(["patch pods"]);
});

test("the migration policy has exactly these properties", () => {
  expect(readManifests("optional/migration-policy.yaml")).toEqual([
    {
      apiVersion: "migrations.kubevirt.io/v1alpha1",
      kind: "MigrationPolicy",
      metadata: { name: "lifeboat-urgent", labels: { "app.kubernetes.io/name": "lifeboat" } },
      spec: {
        allowWorkloadDisruption: true,
        allowPostCopy: false,
        completionTimeoutPerGiB: 10,
        // As Lifeboat labels a VMI whose evacuation is urgent.
        selectors: { virtualMachineInstanceSelector: { [EVACUATION_LABEL]: CAUSE.Preemption.urgency } },
      },
    },
  ]);
});

describe("what Lifeboat may do", () => {
  test("in the whole cluster", () => {
    expect(permissions(find("ClusterRole"))).toEqual([
      "get pods",
      "list pods",
      "get nodes",
      "list nodes",
      "create events",
      "get kubevirt.io/virtualmachineinstances",
      "list kubevirt.io/virtualmachineinstances",
      "get lifeboat.dev/evacuations",
      "list lifeboat.dev/evacuations",
      "create lifeboat.dev/evacuations",
      "patch lifeboat.dev/evacuations",
      "delete lifeboat.dev/evacuations",
      "patch lifeboat.dev/evacuations/status",
      "list kubevirt.io/virtualmachineinstancemigrations",
      "create kubevirt.io/virtualmachineinstancemigrations",
      "patch kubevirt.io/virtualmachineinstancemigrations",
      "delete kubevirt.io/virtualmachineinstancemigrations",
      "list kubevirt.io/kubevirts",
      "get policy/poddisruptionbudgets",
      "list policy/poddisruptionbudgets",
      "create policy/poddisruptionbudgets",
      "patch policy/poddisruptionbudgets",
      "delete policy/poddisruptionbudgets",
      "get admissionregistration.k8s.io/validatingwebhookconfigurations/virt-api-validator",
      "get admissionregistration.k8s.io/validatingwebhookconfigurations/lifeboat-guard",
      "get lifeboat.dev/lifeboatconfigurations/lifeboat",
      "patch lifeboat.dev/lifeboatconfigurations/status/lifeboat",
    ]);
  });

  test("in its own namespace", () => {
    expect(find("Role").metadata.namespace).toBe("lifeboat-system");
    expect(permissions(find("Role"))).toEqual([
      "get configmaps/lifeboat-counters",
      "patch configmaps/lifeboat-counters",
      "create configmaps",
    ]);
  });

  test("in KubeVirt's namespace: act as its API server, and as no other account", () => {
    const role = find("Role", "lifeboat-impersonation");
    expect(role.metadata.namespace).toBe("kubevirt");
    expect(permissions(role)).toEqual(["impersonate serviceaccounts/kubevirt-apiserver"]);
  });

  test("from 1.36 on, instead: act as it only to patch VMIs", () => {
    const manifests = readManifests("optional/constrained-impersonation.yaml");
    expect(manifests.flatMap(permissions)).toEqual([
      "impersonate:serviceaccount authentication.k8s.io/serviceaccounts/kubevirt-apiserver",
      "impersonate-on:serviceaccount:patch kubevirt.io/virtualmachineinstances",
    ]);
  });

  test("every binding binds a role of the same name and namespace to that one account", () => {
    const manifests = yamlFiles()
      .filter((file) => file !== "kustomization.yaml")
      .flatMap(readManifests);
    const bindings = manifests.filter(({ kind }) => kind.endsWith("RoleBinding"));
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
      expect(manifests.filter(role).map((other) => other.metadata.namespace)).toEqual([metadata.namespace]);
    }
  });

  test("nothing is granted by a wildcard", () => {
    expect(shipped().flatMap(permissions).join()).not.toContain("*");
  });
});

test("the kustomization changes nothing: what is applied is what is in the files", () => {
  expect(Object.keys(readYaml("kustomization.yaml") ?? {})).toEqual(["apiVersion", "kind", "resources"]);
});
