/** What an administrator applies: complete, without a name that could come back, and with no more rights than one account needs. */
import { describe, expect, test } from "vitest";
import {
  applied,
  permissions,
  readManifests,
  readYaml,
  shipped,
  TOKEN,
  yamlFiles,
  type Manifest,
} from "../../support/manifests/shipped.ts";

const isKustomization = (file: string) => file.endsWith("kustomization.yaml");

function find(kind: string, name = "lifeboat"): Manifest {
  const found = shipped().find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

describe("infra/kubernetes", () => {
  test("the kustomization lists every file but the optional ones", () => {
    const files = yamlFiles().filter((file) => !isKustomization(file) && !file.startsWith("optional/"));
    expect(applied().toSorted()).toEqual(files);
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
