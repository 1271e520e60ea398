/** What an administrator applies for the relay: enough, no more, and restricted. That it is enough is tried in process.test.ts. */
import { readFileSync } from "node:fs";
import { load, loadAll } from "js-yaml";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { parseEnvironment } from "../../../infra/relay/config.ts";
import * as kinds from "../../../infra/relay/kinds.ts";

const folder = new URL("../../../infra/relay/kubernetes/", import.meta.url);
const read = (file: string) => readFileSync(new URL(file, folder), "utf8");

const Manifest = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
const { resources } = z.object({ resources: z.array(z.string()) }).parse(load(read("kustomization.yaml")));
const manifests = resources.flatMap((file) => z.array(Manifest).parse(loadAll(read(file))));

function find(kind: string) {
  const found = manifests.find((manifest) => manifest.kind === kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
}

describe("infra/relay/kubernetes", () => {
  test("the account may list and watch what the relay watches, and nothing else", () => {
    const rules = z
      .array(z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }))
      .parse(find("ClusterRole")["rules"]);
    const granted = rules.flatMap(({ apiGroups, resources }) =>
      apiGroups.flatMap((group) => resources.map((resource) => [group, resource].filter(Boolean).join("/"))),
    );
    const { PODS, NODES, VIRTUAL_MACHINE_INSTANCES, MIGRATIONS, EVACUATIONS, NODE_EVACUATIONS } = kinds;
    const all = [PODS, NODES, VIRTUAL_MACHINE_INSTANCES, MIGRATIONS, EVACUATIONS, NODE_EVACUATIONS];
    const watched = all.map(({ path }) => path.replace(/^\/apis?\//, "").replace(/v1(?:alpha1)?\//, ""));
    expect(granted.toSorted()).toEqual([...watched, "events"].toSorted());
    for (const { verbs } of rules) expect(verbs).toEqual(["list", "watch"]);
    expect(manifests.map(({ kind }) => kind)).not.toContain("Role");
  });

  test("the site's values are the relay's environment, and the placeholder of the secret is refused", () => {
    const env = {
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      ...stringsOf("ConfigMap", "data"),
      ...stringsOf("Secret", "stringData"),
    };
    const parsed = parseEnvironment(env);
    expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual(["LIFEBOAT_RELAY_SECRET"]);
    const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    expect(parseEnvironment({ ...env, LIFEBOAT_RELAY_SECRET: secret }).ok).toBe(true);
  });

  test("the pods satisfy the Pod Security Standard `restricted`, and are probed", () => {
    const template = z.object({ template: z.object({ spec: z.looseObject({ containers: z.array(z.unknown()) }) }) });
    const { spec } = template.parse(find("Deployment")["spec"]).template;
    expect(spec).toMatchObject({
      serviceAccountName: "lifeboat-relay",
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(spec.containers).toMatchObject([
      {
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        livenessProbe: { httpGet: { path: "/healthz", port: "http" } },
        readinessProbe: { httpGet: { path: "/readyz", port: "http" } },
        resources: { requests: { memory: "192Mi" }, limits: { memory: "384Mi" } },
      },
    ]);
  });
});

function stringsOf(kind: string, field: string): Record<string, string> {
  return z.record(z.string(), z.string()).parse(find(kind)[field]);
}
