/** What an administrator applies: complete, without a name that could come back, and with no more rights than one account needs. */
import { describe, expect, test } from "vitest";
import { readManifests, readYaml, shipped, TOKEN, yamlFiles, type Manifest } from "../../support/manifests/shipped.ts";

const isKustomization = (file: string) => file.endsWith("kustomization.yaml");

function find(kind: string, name = "lifeboat"): Manifest {
  const found = shipped().find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

describe("infra/kubernetes", () => {
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
});
