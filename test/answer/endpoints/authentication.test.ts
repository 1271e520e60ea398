/** Tests which tokens each endpoint accepts. */
import { describe, expect, test } from "vitest";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import { entry, openApp, TOKENS } from "../../support/app.ts";
import { evictionReview } from "../../support/reviews.ts";

const EXPECTED = {
  webhook: "expected the cluster's webhookToken, in Authorization: Bearer TOKEN or as the last segment of the path",
  operator:
    "expected Authorization: Bearer TOKEN with the cluster's operatorToken, or with the webhookToken if there is no operatorToken",
} as const;

const server = clusterWith();
const { operatorToken: _, ...simple } = entry(server.url);
const rotated = entry(server.url, {
  webhookToken: ["the-next-webhook-token", TOKENS.webhookToken],
  operatorToken: ["the-next-operator-token", TOKENS.operatorToken],
});
const app = openApp({ CLUSTERS: { prod: entry(server.url), simple, rotated } });

async function ask(method: string, path: string, authorization?: string) {
  const headers = authorization === undefined ? {} : { authorization };
  const body = method === "POST" ? { body: JSON.stringify(evictionReview()) } : {};
  const answer = await app.request(`/clusters/${path}`, { method, headers, ...body });
  await app.settle();
  return answer;
}

/** The API server and schedulers use the webhook's token. People use the operator's token. */
describe.each([
  ["POST", "/admission/evictions", "webhook"],
  ["POST", "/admission/deletions", "webhook"],
  ["POST", "/reconcile", "webhook"],
  ["POST", "/deschedule", "webhook"],
  ["GET", "/readyz", "operator"],
  ["GET", "/metrics", "operator"],
] as const)("%s %s, for the %s,", (method, path, who) => {
  const { token, webhookToken, operatorToken } = TOKENS;
  const [right, others] = who === "webhook" ? [webhookToken, operatorToken] : [operatorToken, webhookToken];
  const next = `the-next-${who}-token`;

  // prettier-ignore
  test.each([
    ["no token",                                          "prod",    undefined],
    ["the start of the right token",                      "prod",    `Bearer ${right.slice(0, -1)}`],
    ["the right token with another character",            "prod",    `Bearer ${right}x`],
    ["the right token with another scheme than Bearer",   "prod",    `Basic ${right}`],
    ["the other callers' token",                          "prod",    `Bearer ${others}`],
    ["the service account's token",                       "prod",    `Bearer ${token}`],
    ["the other callers' token during a rotation",        "rotated", `Bearer ${others}`],
    ["two tokens at once",                                "rotated", `Bearer ${next},${right}`],
  ])("rejects %s", async (_, cluster, authorization) => {
    const before = server.requests.length;
    const error = { reason: "Unauthorized", message: EXPECTED[who] };
    expect(await ask(method, `${cluster}${path}`, authorization)).toMatchObject({ code: 401, body: { error } });
    expect(server.requests).toHaveLength(before);
  });

  // prettier-ignore
  test.each([
    ["the right token",                                 "prod",    right],
    ["the webhookToken if there is no operatorToken",   "simple",  webhookToken],
    ["the next token during a rotation",                "rotated", next],
    ["the former token during a rotation",              "rotated", right],
  ])("accepts %s", async (_, cluster, opening) => {
    expect((await ask(method, `${cluster}${path}`, `Bearer ${opening}`)).code).not.toBe(401);
  });

  test("answers 404 for an unknown cluster, with any token", async () => {
    const error = { reason: "UnknownCluster", field: "cluster", message: "Lifeboat has no cluster of this name" };
    expect(await ask(method, `other${path}`, `Bearer ${right}`)).toMatchObject({ code: 404, body: { error } });
  });
});

// prettier-ignore
test.each([
  [200, "the right token",                                    `prod/admission/evictions/${TOKENS.webhookToken}`,    undefined],
  [401, "a wrong token",                                      "prod/admission/evictions/wrong",                     undefined],
  [401, "the operator's token",                               `prod/admission/evictions/${TOKENS.operatorToken}`,   undefined],
  [401, "the right token beside a wrong bearer token, which takes precedence", `prod/admission/evictions/${TOKENS.webhookToken}`,    "Bearer wrong"],
  [200, "the right token beside another scheme",              `prod/admission/evictions/${TOKENS.webhookToken}`,    "Basic YTpi"],
  [200, "the next token during a rotation",                   "rotated/admission/evictions/the-next-webhook-token", undefined],
  [200, "the right token for deletions",                      `prod/admission/deletions/${TOKENS.webhookToken}`,    undefined],
  [401, "a wrong token for deletions",                        "prod/admission/deletions/wrong",                     undefined],
])("the answer is %i to an API server that sends a token in the path: %s", async (code, _, path, authorization) => {
  expect(await ask("POST", path, authorization)).toMatchObject({ code });
});
