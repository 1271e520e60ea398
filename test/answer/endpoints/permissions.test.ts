/** What Lifeboat has to be allowed to do in a cluster, tried out for the conditions of the LifeboatConfiguration. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { tryPermissions } from "../../../functions/conditions.ts";
import { newIsolateState, targetOf } from "../../../functions/target.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../shared/settings/settings.ts";
import { type entry, newPlatform } from "../../support/doors.ts";
import { startTestCluster, type TestCluster } from "../../support/test-cluster.ts";

const Rule = z.looseObject({ resources: z.array(z.string()), verbs: z.array(z.string()) });
const JSON_PATCH = (value: unknown) => {
  return { contentType: "application/json-patch+json", body: [{ op: "replace", path: "/rules", value }] };
};

/** What fails, and why. */
async function failing(of: ReturnType<typeof entry>, known?: Settings): Promise<Readonly<Record<string, string>>> {
  const target = targetOf(
    "prod",
    { ...of, headers: {} },
    { env: {}, platform: newPlatform().platform, state: newIsolateState() },
  );
  const cluster = target.connect(10);
  const trials = await tryPermissions(cluster, known ?? (await target.settings(cluster)).settings);
  return Object.fromEntries(trials.flatMap(({ name, problem }) => (problem ? [[name, problem.message]] : [])));
}

function forbidden(path: string): string {
  return `the API server answered GET ${path} with 403 Forbidden: the service account lacks a permission`;
}

describe("in a cluster with the shipped manifests", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startTestCluster();
  });
  afterAll(() => cluster.stop());

  test("everything is permitted", async () => {
    expect(await failing(cluster.entry)).toEqual({});
  });

  test("a write that is not granted is named, though everything can be read", async () => {
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/lifeboat";
    const { rules } = z
      .object({ rules: z.array(Rule) })
      .parse((await cluster.client.raw({ method: "GET", path })).body);
    const isTaken = ({ resources }: z.output<typeof Rule>) =>
      resources.some((one) => ["virtualmachineinstancemigrations", "pods/eviction"].includes(one));
    const reading = rules.map((rule) => (isTaken(rule) ? { ...rule, verbs: ["list"] } : rule));
    const set = (value: unknown) => cluster.client.raw({ method: "PATCH", path, ...JSON_PATCH(value) });
    await set(reading);
    const lacks = ["create", "patch", "delete"].map((verb) => `${verb} kubevirt.io/virtualmachineinstancemigrations`);
    const message = `the service account may not ${[...lacks, "create pods/eviction"].join(", ")}`;
    expect(await failing(cluster.entry)).toMatchObject({ writing: message });
    await set(rules);
  });

  test("every permission that is missing is named, not just the first", async () => {
    await cluster.client.raw({
      method: "DELETE",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/lifeboat",
    });
    expect(await failing(cluster.entry, DEFAULT_SETTINGS)).toMatchObject({
      pods: forbidden("/api/v1/pods"),
      nodes: forbidden("/api/v1/nodes"),
      migrations: forbidden("/apis/kubevirt.io/v1/virtualmachineinstancemigrations"),
      budgets: forbidden("/apis/policy/v1/poddisruptionbudgets"),
      writing: expect.stringContaining("update subresources.kubevirt.io/virtualmachineinstances/evacuate/cancel"),
    });
  });
});
