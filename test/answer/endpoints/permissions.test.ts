/** What Lifeboat has to be allowed to do in a cluster, tried out for the conditions of the LifeboatConfiguration. */
import { expect, test } from "vitest";
import { tryPermissions } from "../../../functions/conditions.ts";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";
import { at, asJson, textOf } from "../../support/json.ts";
import { type Before, connectTo, FakeCluster, failing, FORBIDDEN } from "../../support/fake-cluster.ts";

/** What fails, and why. */
async function missing(before?: Before): Promise<Readonly<Record<string, string>>> {
  const trials = await tryPermissions(connectTo(new FakeCluster(), before), DEFAULT_SETTINGS);
  return Object.fromEntries(trials.flatMap(({ name, problem }) => (problem ? [[name, problem.message]] : [])));
}

/** Nothing is granted on these. */
function without(...resources: readonly string[]): Before {
  return (label, asked) => {
    if (label !== "create selfsubjectaccessreviews") return undefined;
    const resource = at(asJson(asked?.body ?? {}), "spec", "resourceAttributes", "resource");
    return Response.json({ status: { allowed: !resources.includes(textOf(resource)) } }, { status: 201 });
  };
}

test("a write that is not granted is named, though everything can be read", async () => {
  const lacks = ["create", "patch", "delete"].map((verb) => `${verb} kubevirt.io/virtualmachineinstancemigrations`);
  expect(await missing(without("virtualmachineinstancemigrations", "pods"))).toEqual({
    writing: `the service account may not ${[...lacks, "create pods/eviction"].join(", ")}`,
  });
});

test("every permission that is missing is named, not just the first", async () => {
  const message = "the API server answered the request with 403 Forbidden: the service account lacks a permission";
  const problems = await missing(failing(/^(?:list|count) /, FORBIDDEN));
  for (const resource of ["pods", "nodes", "migrations", "budgets"]) expect(problems[resource]).toBe(message);
});
