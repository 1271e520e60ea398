/** Credentials that end: how that shows before and after, and that each is replaced without a gap. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { systemClock } from "../../../infra/sandbox/actors/clock.ts";
import { secrets, serviceAccounts } from "../../../infra/sandbox/actors/resources.ts";
import { lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import type { ClusterRegistry } from "../../../functions/env.ts";
import { seal } from "../../../shared/settings/sealed-entry.ts";
import { startCannedCluster } from "../../support/canned-cluster.ts";
import { asOperator, asWebhook, type Doors, openDoors, TOKENS } from "../../support/doors.ts";
import { evictionOf, review } from "../../support/reviews.ts";
import { sealed } from "../../support/sealed.ts";
import { QUIET, startTestCluster, type TestCluster } from "../../support/test-cluster.ts";

const ACCOUNT = { namespace: "lifeboat-system", name: "lifeboat" };
const HOUR = 3600;
const WEEK = 7 * 24 * HOUR;

/** The API server's clock, in milliseconds ahead of the real one. */
let ahead = 0;
const clock = { ...systemClock, now: () => new Date(Date.now() + ahead) };
let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster([], clock);
  await cluster.configure(QUIET);
  await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
});
afterAll(() => cluster.stop());

let doors: Doors;
let entry: Readonly<Record<string, unknown>>;
/** KV, of which the Worker sees a change after half a minute. */
const registry: ClusterRegistry = {
  get: (name) => sealed(name, JSON.stringify(entry)),
  list: async () => ({ keys: [{ name: "prod" }], list_complete: true }),
};
beforeEach(() => {
  entry = cluster.entry;
  doors = openDoors({ CLUSTER_REGISTRY: registry });
  doors.pass((clock.now().getTime() - doors.now().getTime()) / 1000);
});

function pass(seconds: number): void {
  ahead += seconds * 1000;
  doors.pass(seconds);
}

/** As `npm run cluster -- add` does. */
function replace(tweak: Readonly<Record<string, unknown>>): void {
  entry = { ...entry, ...tweak };
  doors.pass(31);
}

/** As `kubectl create token lifeboat --duration` does. */
async function createToken(expirationSeconds: number, secret?: string): Promise<string> {
  const boundObjectRef =
    secret === undefined ? {} : { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: secret } };
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds, ...boundObjectRef },
  };
  const answer = await cluster.client.post(serviceAccounts, ACCOUNT, "token", body);
  return z.object({ status: z.object({ token: z.string() }) }).parse(answer).status.token;
}

const eviction = () => review(doors, evictionOf({ namespace: "apps", name: "virt-launcher-web-abcde" }));
const ask = (path: string) => doors.request(`/clusters/prod/${path}`, { headers: asOperator });

async function scanned() {
  await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
  const { status } = (await cluster.client.get(lifeboatConfigurations, { name: "lifeboat" })) ?? {};
  return status?.conditions?.find(({ type }) => type === "CredentialsValid");
}

const logged = (reason: string) => doors.log.filter((line) => line["reason"] === reason);

async function expectServed(): Promise<void> {
  expect(await eviction()).toMatchObject({ code: 200, body: { response: { allowed: false, status: { code: 429 } } } });
  await doors.settle();
  expect(await ask("readyz")).toMatchObject({ code: 200 });
}

describe("a bound token of the service account", () => {
  test("far from its end: valid", async () => {
    replace({ token: await createToken(2 * WEEK) });
    expect(await scanned()).toMatchObject({ status: "True", reason: "Valid" });
    expect((await ask("readyz")).body).toMatchObject({ ready: true });
    expect((await ask("metrics")).text).toMatch(/^lifeboat_credential_expiry_timestamp_seconds \d{10}$/m);
    expect(doors.log).toEqual([]);
  });

  test("near its end: the status, /readyz and, once for each full scan, the log say so", async () => {
    replace({ token: await createToken(2 * WEEK) });
    pass(WEEK + HOUR);
    const message = expect.stringMatching(/ends at 20\S+Z, in less than 7 days/);
    expect(await scanned()).toMatchObject({ status: "True", reason: "ExpiresSoon", message });
    expect(await ask("readyz")).toMatchObject({ code: 200, body: { ready: true, message } });
    await expectServed();
    expect(logged("ExpiresSoon")).toMatchObject([{ level: "warn", cluster: "prod" }]);
    await scanned();
    expect(logged("ExpiresSoon")).toHaveLength(2);
  });

  test("past it: what needs no cluster says so; the next one serves at once", async () => {
    replace({ token: await createToken(2 * HOUR) });
    await expectServed();
    pass(2 * HOUR + 1);
    expect(await eviction()).toMatchObject({ code: 503, body: { error: { reason: "Undecided" } } });
    const message = expect.stringMatching(/token of this cluster ended at 20\S+Z: replace it/);
    expect(await ask("readyz")).toMatchObject({ code: 503, body: { ready: false, message } });
    const { code, text } = await ask("metrics");
    expect(code).toBe(200);
    expect(text).toContain("\nlifeboat_credential_accepted 0\n");
    await scanned();
    expect(logged("Expired")).toMatchObject([{ level: "error", cluster: "prod", message }]);
    expect(doors.log.filter(({ doing }) => String(doing).includes("LifeboatConfiguration"))).toEqual([]);

    replace({ token: await createToken(2 * WEEK) });
    await expectServed();
    expect(await scanned()).toMatchObject({ status: "True", reason: "Valid" });
    expect((await ask("metrics")).text).toContain("\nlifeboat_credential_accepted 1\n");
  });
});

test("two tokens, each bound to a Secret: both serve, until the first one's Secret is deleted", async () => {
  const { namespace } = ACCOUNT;
  for (const name of ["first", "second"]) await cluster.client.create(secrets, { metadata: { namespace, name } });
  const [first, second] = [await createToken(2 * WEEK, "first"), await createToken(2 * WEEK, "second")];
  replace({ token: first });
  await expectServed();
  replace({ token: second });
  await expectServed();
  await cluster.client.delete(secrets, { namespace, name: "first" });
  await expectServed();
  replace({ token: first });
  await scanned();
  const message = "The API server does not accept Lifeboat's token (401): it was revoked, or is not this cluster's";
  expect(logged("Rejected")).toMatchObject([{ level: "error", cluster: "prod", message }]);
});

describe("the webhook's token, step by step: the API server is always let in", () => {
  const NEXT = "the-next-webhook-token";
  const DOOR = "/clusters/prod/admission/evictions";
  const code = async (token: string) => (await doors.request(`${DOOR}/${token}`, { method: "POST", body: "{}" })).code;
  // prettier-ignore
  const STEPS: readonly [string, unknown, readonly string[], readonly string[]][] = [
    // step                    webhookToken                     opens                        does not
    ["before",                 TOKENS.webhookToken,             [TOKENS.webhookToken],       [NEXT]],
    ["both, the new one first", [NEXT, TOKENS.webhookToken],    [TOKENS.webhookToken, NEXT], []],
    ["the new one alone",      [NEXT],                          [NEXT],                      [TOKENS.webhookToken]],
  ];
  test.each(STEPS)("%s", async (_, webhookToken, opening, others) => {
    replace({ webhookToken });
    for (const token of opening) expect(await code(token)).toBe(400);
    for (const token of others) expect(await code(token)).toBe(401);
  });

  test("that the webhook has the old one still is a remark, not a problem", async () => {
    replace({ webhookToken: [NEXT, TOKENS.webhookToken], operatorToken: TOKENS.operatorToken });
    await scanned();
    const { status } = (await cluster.client.get(lifeboatConfigurations, { name: "lifeboat" })) ?? {};
    const condition = status?.conditions?.find(({ type }) => type === "WebhookCalled");
    expect(condition).toMatchObject({ message: expect.stringContaining("a rotation has not ended") });
    replace({ webhookToken: [NEXT] });
    await doors.request("/clusters/prod/reconcile", { method: "POST", headers: { authorization: `Bearer ${NEXT}` } });
    await doors.settle();
    expect(logged("WebhookNotCalled")).toHaveLength(1);
    expect(JSON.stringify(doors.log)).not.toContain(TOKENS.webhookToken);
  });
});

function textOf(keys: readonly (Uint8Array | undefined)[]): string {
  return keys.map((key) => Buffer.from(key ?? []).toString("base64")).join(",");
}

describe("REGISTRY_KEY, step by step: the cluster is always known", () => {
  const [last, next] = [7, 8].map((byte) => new Uint8Array(32).fill(byte));

  // prettier-ignore
  test.each([
    ["before",                                [last],        last],
    ["both, the new one first",               [next, last],  last],
    ["both, the entry added again",           [next, last],  next],
    ["the new one alone",                     [next],        next],
  ])("%s", async (_, keys, by = new Uint8Array(32)) => {
    const kept = { ...registry, get: (name: string) => seal(JSON.stringify(entry), name, by) };
    doors = openDoors({ CLUSTER_REGISTRY: kept, REGISTRY_KEY: textOf(keys) });
    doors.pass((clock.now().getTime() - doors.now().getTime()) / 1000);
    await expectServed();
  });
});

test("an Access service token, in `headers`: the next one goes out once the entry has it", async () => {
  const server = startCannedCluster();
  replace({ server: server.url, headers: { "CF-Access-Client-Secret": "the-last" } });
  await ask("readyz");
  replace({ headers: { "CF-Access-Client-Secret": "the-next" } });
  await ask("readyz");
  const sent = server.requests.map(({ headers }) => headers["cf-access-client-secret"]);
  expect([sent[0], sent.at(-1)]).toEqual(["the-last", "the-next"]);
});
