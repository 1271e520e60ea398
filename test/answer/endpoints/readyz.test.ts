/** Whether Lifeboat is ready: in general, for any caller; in one cluster, for those who hold its operator token. */
import { describe, expect, test } from "vitest";
import { openCanned } from "../../support/canned-cluster.ts";
import { asOperator, entry, openDoors } from "../../support/doors.ts";
import { type Behaviour, hangingUp, json, status } from "../../support/answers.ts";

describe("in general", () => {
  const registry = { get: async () => null, list: async () => ({ keys: [], list_complete: true }) };
  const valid = { prod: entry("https://prod.example.com") };
  // prettier-ignore
  test.each([
    ["CLUSTERS parses",                        { CLUSTERS: valid },                                    200],
    ["there is only a registry",               { CLUSTER_REGISTRY: registry },                         200],
    ["nothing is configured",                  {},                                                     503],
    ["CLUSTERS is no JSON",                    { CLUSTERS: "{prod" },                                  503],
    ["one entry is malformed",                 { CLUSTERS: { ...valid, "secret-name": { server: "secret-server" } } }, 503],
  ])("%s", async (_, env, code) => {
    const answer = await openDoors(env).request("/readyz");
    const message = "expected a JSON object of valid entries; the log of the scheduled tick names what is wrong";
    const error = { reason: "InvalidConfiguration", field: "CLUSTERS", message };
    expect(answer).toMatchObject({ code, body: code === 200 ? { ready: true } : { error } });
    expect(answer.text).not.toMatch(/secret|prod/);
  });
});

describe("in a cluster: whether its API server accepts Lifeboat", () => {
  // prettier-ignore
  test.each<[string, Behaviour, number, object]>([
    ["accepted",                json({ major: "1" }),               200, { ready: true, message: expect.stringContaining("accepts Lifeboat's token") }],
    ["forbidden",               status(403, "Forbidden"),           502, { error: { reason: "ClusterUnavailable" } }],
    ["rejected",                status(401, "Unauthorized"),        503, { ready: false, message: expect.stringContaining("does not accept Lifeboat's token (401)") }],
    ["no answer",               hangingUp,                          503, { error: { reason: "ClusterUnavailable" } }],
  ])("%s", async (_, behaviour, code, body) => {
    const [server, doors] = openCanned(behaviour);
    expect(await doors.request("/clusters/prod/readyz", { headers: asOperator })).toMatchObject({ code, body });
    expect(new Set(server.requests.map(({ method, path }) => `${method} ${path}`))).toEqual(new Set(["GET /version"]));
  });
});
