/**
 * Tests Lifeboat's reports before and after its token expires, and a replacement of the token without an interruption.
 */
import { beforeEach, expect, test } from "vitest";
import type { ClusterRegistry } from "../../../functions/env.ts";
import type { Fetch } from "../../../shared/kube/transport.ts";
import { tokenOf } from "../../support/cluster/tokens.ts";
import { asOperator, asWebhook, type App, entry as entryOf, openApp } from "../../support/app.ts";
import { failure } from "../../support/cluster/api.ts";
import { FakeCluster, SERVER } from "../../support/cluster.ts";
import { asJson, at } from "../../support/json.ts";
import { evictionOf } from "../../support/reviews.ts";
import { sealed } from "../../support/sealed.ts";
import { putVm } from "./support/fleets.ts";

const HOUR = 3600;
const WEEK = 7 * 24 * HOUR;

let fake: FakeCluster;
let app: App;
let revoked: Set<string>;
let entry: Readonly<Record<string, unknown>>;
/** Simulates Workers KV. The Worker sees a change only after 30 seconds. */
const CLUSTER_REGISTRY: ClusterRegistry = {
  get: (name) => sealed(name, JSON.stringify(entry)),
  list: async () => ({ keys: [{ name: "prod" }], list_complete: true }),
};

/** Simulates an API server that accepts a token until the token expires or is revoked. */
const asAuthenticated: Fetch = async (url, init) => {
  const token = new Headers(init.headers).get("authorization")?.slice("Bearer ".length) ?? "";
  const claims = Buffer.from(token.split(".")[1] ?? "", "base64url").toString() || "{}";
  const end = Number(at(asJson(JSON.parse(claims)), "exp") ?? Infinity);
  if (revoked.has(token) || app.now().getTime() >= end * 1000)
    return Response.json(failure(401, "Unauthorized").body, { status: 401 });
  return await fake.api.fetch()(url, init);
};

beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  putVm(fake, "web");
  revoked = new Set();
  entry = entryOf(SERVER);
  app = openApp({ CLUSTER_REGISTRY }, undefined, { fetch: asAuthenticated });
  fake.now = () => app.now();
});

/** Replaces the token as `kubectl create token lifeboat --duration` and `npm run cluster -- add` do. */
function replace(seconds: number): string {
  const token = tokenOf({ exp: Math.floor(app.now().getTime() / 1000) + seconds });
  entry = { ...entry, token };
  app.pass(31);
  return token;
}

const eviction = () => app.evict(evictionOf({ namespace: "apps", name: "virt-launcher-web-abcde" }));
const ask = (path: string) => app.request(`/clusters/prod/${path}`, { headers: asOperator });

async function scanned() {
  await app.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await app.settle();
  const conditions = at(fake.api.object("lifeboatconfigurations", { name: "lifeboat" }), "status", "conditions");
  return Array.isArray(conditions) ? conditions.find((one) => at(one, "type") === "CredentialsValid") : undefined;
}

const logged = (reason: string) => app.log.filter((line) => line["reason"] === reason);

async function expectServed(): Promise<void> {
  expect(await eviction()).toMatchObject({ code: 200, body: { response: { allowed: false, status: { code: 429 } } } });
  await app.settle();
  expect(await ask("readyz")).toMatchObject({ code: 200 });
}

test("a token near its end is reported by the status, /readyz and the log, once per full scan", async () => {
  replace(2 * WEEK);
  app.pass(WEEK + HOUR);
  const message = expect.stringMatching(/expires at 20\S+Z, in less than 7 days/);
  for (const count of [1, 2]) {
    expect(await scanned()).toMatchObject({ status: "True", reason: "ExpiresSoon", message });
    expect(await ask("readyz")).toMatchObject({ code: 200, body: { ready: true, message } });
    expect(logged("ExpiresSoon")).toHaveLength(count);
  }
  await expectServed();
});

test("an ended token is reported by endpoints that need no cluster; a new token works at once until it is revoked", async () => {
  replace(2 * HOUR);
  await expectServed();
  app.pass(2 * HOUR + 1);
  expect(await eviction()).toMatchObject({ code: 503, body: { error: { reason: "Undecided" } } });
  const message = expect.stringMatching(/token of this cluster expired at 20\S+Z: replace it/);
  expect(await ask("readyz")).toMatchObject({ code: 503, body: { ready: false, message } });
  const { code, text } = await ask("metrics");
  expect([code, text]).toEqual([200, expect.stringContaining("\nlifeboat_credential_accepted 0\n")]);
  await scanned();
  expect(logged("Expired")).toMatchObject([{ level: "error", cluster: "prod", message }]);
  expect(app.log.filter(({ doing }) => String(doing).includes("LifeboatConfiguration"))).toEqual([]);

  const next = replace(2 * WEEK);
  await expectServed();
  expect(await scanned()).toMatchObject({ status: "True", reason: "Valid" });
  revoked.add(next);
  await scanned();
  const revocation =
    "The API server does not accept Lifeboat's token (401): it was revoked, or belongs to another cluster; replace it (infra/kubernetes/README.md#rotate)";
  expect(logged("Rejected")).toMatchObject([{ level: "error", cluster: "prod", message: revocation }]);
});
