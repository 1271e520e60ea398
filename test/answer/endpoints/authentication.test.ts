/** Who may open which door, with which token. */
import { describe, expect, test } from "vitest";
import { startCannedCluster } from "../../support/canned-cluster.ts";
import { entry, openDoors, TOKENS } from "../../support/doors.ts";
import { evictionReview } from "../../support/reviews.ts";

const EXPECTED = {
  webhook: "expected the cluster's token, as Authorization: Bearer or as the last segment of the path",
  operator:
    "expected the cluster's operatorToken, or its webhookToken where it has none, as Authorization: Bearer TOKEN",
} as const;

const server = startCannedCluster();
const { operatorToken: _, ...others } = entry(server.url);
const doors = openDoors({
  CLUSTERS: {
    prod: entry(server.url),
    simple: others,
    rotated: entry(server.url, {
      webhookToken: ["the-next-webhook-token", TOKENS.webhookToken],
      operatorToken: ["the-next-operator-token", TOKENS.operatorToken],
    }),
    odd: entry(server.url, { webhookToken: "a/b+c=%41-and-more" }),
  },
});

/** Method, path and who may: the API server and schedulers, or people. */
const DOORS = [
  ["POST", "/admission/evictions", "webhook"],
  ["POST", "/admission/deletions", "webhook"],
  ["POST", "/reconcile", "webhook"],
  ["POST", "/deschedule", "webhook"],
  ["GET", "/readyz", "operator"],
  ["GET", "/metrics", "operator"],
] as const;

async function ask(method: string, path: string, authorization?: string) {
  const headers = authorization === undefined ? {} : { authorization };
  const body = method === "POST" ? { body: JSON.stringify(evictionReview()) } : {};
  const answer = await doors.request(`/clusters/${path}`, { method, headers, ...body });
  await doors.settle();
  return answer;
}

describe.each(DOORS)("%s %s", (method, path, who) => {
  const right = who === "webhook" ? TOKENS.webhookToken : TOKENS.operatorToken;
  const others = who === "webhook" ? TOKENS.operatorToken : TOKENS.webhookToken;

  // prettier-ignore
  test.each([
    ["none",                                undefined],
    ["the beginning of the right one",      `Bearer ${right.slice(0, -1)}`],
    ["the right one and more",              `Bearer ${right}x`],
    ["the right one, but not as bearer",    `Basic ${right}`],
    ["the other callers' token",            `Bearer ${others}`],
    ["the service account's own",           `Bearer ${TOKENS.token}`],
  ])("token: %s", async (_, authorization) => {
    const before = server.requests.length;
    expect(await ask(method, `prod${path}`, authorization)).toMatchObject({
      code: 401,
      body: { error: { reason: "Unauthorized", message: EXPECTED[who] } },
    });
    expect(server.requests).toHaveLength(before);
  });

  test("the right token opens", async () => {
    const { code } = await ask(method, `prod${path}`, `Bearer ${right}`);
    expect(code).not.toBe(401);
  });

  test("without an operatorToken, the webhookToken opens every door", async () => {
    const { code } = await ask(method, `simple${path}`, `Bearer ${TOKENS.webhookToken}`);
    expect(code).not.toBe(401);
  });

  test.each([`the-next-${who}-token`, right])("while tokens are rotated, each opens: %s", async (token) => {
    const { code } = await ask(method, `rotated${path}`, `Bearer ${token}`);
    expect(code).not.toBe(401);
    expect(await ask(method, `rotated${path}`, `Bearer ${others}`)).toMatchObject({ code: 401 });
    expect(await ask(method, `rotated${path}`, `Bearer the-next-${who}-token,${right}`)).toMatchObject({ code: 401 });
  });

  test("an unknown cluster is not found, whatever the token", async () => {
    const error = { reason: "UnknownCluster", field: "cluster", message: "no such cluster in CLUSTERS" };
    expect(await ask(method, `other${path}`, `Bearer ${right}`)).toMatchObject({ code: 404, body: { error } });
  });
});

describe("the token as last segment of the path, for API servers that cannot send one", () => {
  // prettier-ignore
  test.each([
    [200, "the right one",                       `prod/admission/evictions/${TOKENS.webhookToken}`,  undefined],
    [401, "a wrong one",                         "prod/admission/evictions/wrong",                   undefined],
    [401, "the operator's",                      `prod/admission/evictions/${TOKENS.operatorToken}`, undefined],
    [401, "beside a wrong bearer, which counts", `prod/admission/evictions/${TOKENS.webhookToken}`,  "Bearer wrong"],
    [200, "the next one, while it is rotated",   "rotated/admission/evictions/the-next-webhook-token", undefined],
    [200, "for deletions too",                   `prod/admission/deletions/${TOKENS.webhookToken}`,  undefined],
    [401, "for deletions too, a wrong one",      "prod/admission/deletions/wrong",                   undefined],
    [200, "beside what is no bearer",            `prod/admission/evictions/${TOKENS.webhookToken}`,  "Basic YTpi"],
  ])("%i: %s", async (code, _, path, authorization) => {
    expect(await ask("POST", path, authorization)).toMatchObject({ code });
  });
});
