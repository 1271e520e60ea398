/** Tests the sign-in with a token for the page, the redirect after the sign-in, and the answers before the sign-in. */
import { beforeAll, describe, expect, test } from "vitest";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import { tokenOf } from "../../support/cluster/tokens.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { entry, TOKENS } from "../../support/app.ts";
import { REGISTRY_KEY, sealed } from "../../support/sealed.ts";
import type { Behaviour } from "../../support/answers.ts";
import { arrive, HOSTILE, isEscaped, words } from "./support/visitor.ts";

let server: FakeCluster;
beforeAll(async () => {
  server = clusterWith();
});

const RIGHT = tokenOf();

function fleet() {
  const CLUSTERS = { prod: entry(server.url), staging: entry(server.url), broken: { server: 1 } };
  return arrive({ env: { CLUSTERS } });
}

const one = () => arrive({ env: { CLUSTERS: { prod: entry(server.url) } } });

// prettier-ignore
const ATTEMPTS: readonly (readonly [what: string, form: Readonly<Record<string, string>>, code: number, says: string])[] = [
  ["a token for the page opens it",                          { cluster: "prod", token: RIGHT },              303, ""],
  ["a token that the cluster does not know is refused",      { cluster: "prod", token: tokenOf({ signature: "x" }) }, 401, "The token was not accepted"],
  ["a token for an unknown cluster is refused",              { cluster: "none", token: RIGHT },              401, "The token was not accepted"],
  ["a token for a cluster with an invalid entry is refused", { cluster: "broken", token: RIGHT },            401, "The token was not accepted"],
  ["a missing token is a bad request",                       { cluster: "prod" },                            400, "No token"],
];

test.each(ATTEMPTS)("%s", async (_, form, code, says) => {
  const visitor = fleet();
  const answer = await visitor.post("/signin", form);
  expect(answer.code).toBe(code);
  expect(words(answer.text)).toContain(says);
  expect(answer.text + JSON.stringify(visitor.log)).not.toContain(form["token"]?.trim() ?? "never");
  expect(visitor.cookie === undefined).toBe(code !== 303);
});

// prettier-ignore
test.each([
  ["a token for the API server",     tokenOf({ aud: ["https://kubernetes.default.svc"] })],
  ["the operator's token",           TOKENS.operatorToken],
  ["Lifeboat's own token",           TOKENS.token],
])("%s is refused, and is not sent to the cluster", async (_, token) => {
  const [visitor, before] = [fleet(), server.requests.length];
  const { code, text } = await visitor.post("/signin", { cluster: "prod", token });
  expect([code, words(text)]).toEqual([401, expect.stringContaining("That token is not for this page")]);
  expect(visitor.cookie).toBeUndefined();
  expect(server.requests).toHaveLength(before);
});

test("at most twenty simultaneous sign-ins reach the API server", async () => {
  const visitor = one();
  const tryIn = async () => (await visitor.post("/signin", { token: tokenOf({ signature: "x" }) })).code;
  const codes = await Promise.all(Array.from({ length: 25 }, tryIn));
  expect([401, 429].map((code) => codes.filter((one) => one === code).length)).toEqual([20, 5]);
  expect((await visitor.post("/signin", { token: RIGHT })).code).toBe(303);
});

test.each(["prod", "staging", "none"])(
  "repeated failures for the cluster %s do not prevent another visitor's sign-in",
  async (cluster) => {
    const visitor = fleet();
    const codes = new Set<number>();
    for (let second = 0; second < 60; second++) {
      const strange = { cluster, token: tokenOf({ signature: "made-up" }) };
      for (let i = 0; i < 3; i++) codes.add((await visitor.post("/signin", strange)).code);
      codes.add((await visitor.post("/signin", { cluster: "prod", token: RIGHT })).code);
      visitor.pass(1);
    }
    expect([...codes]).toEqual([401, 303]);
  },
);

const hangs: Behaviour = () => new Promise(() => undefined);

test("a cluster that does not answer does not prevent a sign-in to another cluster", async () => {
  const silent = clusterWith({ "create tokenreviews": hangs });
  const CLUSTERS = { prod: entry(server.url), silent: entry(silent.url) };
  const visitor = arrive({ env: { CLUSTERS } });
  for (let i = 0; i < 20; i++) void visitor.post("/signin", { cluster: "silent", token: RIGHT });
  await expect.poll(() => silent.requests.length).toBe(20);
  expect((await visitor.post("/signin", { cluster: "silent", token: RIGHT })).code).toBe(429);
  expect((await visitor.post("/signin", { cluster: "prod", token: RIGHT })).code).toBe(303);
});

test("a visitor who has not signed in cannot distinguish a known cluster from an unknown cluster", async () => {
  const strange = async (cluster: string) => {
    const visitor = fleet();
    const page = await visitor.get(`/fleet/${cluster}`);
    const tried = await visitor.post("/signin", { cluster, token: tokenOf({ signature: "x" }) });
    return [page.code, page.location?.replace(cluster, ""), tried.code, tried.text.replaceAll(cluster, "")];
  };
  const nothing = await strange("none");
  for (const cluster of ["prod", "broken", "staging"]) expect(await strange(cluster)).toEqual(nothing);
  expect((await fleet().get("/signin")).text).not.toMatch(/prod|staging/);
});

test("the cookie is sent only over TLS, only to this host, not from other sites, and is hidden from scripts", async () => {
  const { headers } = await one().post("/signin", { token: RIGHT });
  const [value, ...attributes] = (headers.get("set-cookie") ?? "").split("; ");
  expect(value).toMatch(/^__Host-lifeboat=[\w.~-]+$/);
  expect(attributes.toSorted()).toEqual(["HttpOnly", "Max-Age=3600", "Path=/", "SameSite=Strict", "Secure"]);
});

describe("after a sign-in", () => {
  // prettier-ignore
  test.each([
    ["/fleet/prod/nodes/node01",                  "/fleet/prod/nodes/node01"],
    ["https://evil.example/fleet/",               "/fleet/prod"],
    ["//evil.example/fleet/x",                    "/fleet/prod"],
    ["/fleet/..//evil.example",                   "/fleet/prod"],
    ["/fleet/x\r\nset-cookie: a=b",               "/fleet/prod"],
  ])("a visitor with the target %j gets %s", async (to, location) => {
    expect(await one().post("/signin", { token: RIGHT, to })).toMatchObject({ code: 303, location });
  });
});

test("a visitor whose session ended gets the requested page after signing in again", async () => {
  const visitor = one();
  const { location: ask } = await visitor.get("/fleet/prod/vms/apps/web");
  const to = new URL(ask ?? "", "https://lifeboat.example").searchParams.get("to") ?? "";
  expect(await visitor.post("/signin", { token: RIGHT, to })).toMatchObject({
    code: 303,
    location: "/fleet/prod/vms/apps/web",
  });
});

test("a cookie opens only the clusters that have signed it", async () => {
  const visitor = fleet();
  await visitor.post("/signin", { cluster: "prod", token: RIGHT });
  visitor.cookie += `~${btoa(JSON.stringify(["staging", "x", 9e9]))}.x`;
  expect(await visitor.get("/")).toMatchObject({ code: 303, location: "/fleet/prod" });
  expect(await visitor.get("/fleet/staging")).toMatchObject({ code: 303, location: "/signin?to=%2Ffleet%2Fstaging" });
  expect((await visitor.get("/fleet/prod/none")).code).toBe(404);
});

test("typed text stays text in the page", async () => {
  const { code, text } = await fleet().post("/signin", { cluster: HOSTILE, token: RIGHT, to: HOSTILE });
  expect(code).toBe(401);
  expect(isEscaped(text)).toBe(true);
  expect(isEscaped((await fleet().get(`/signin?to=${encodeURIComponent(HOSTILE)}`)).text)).toBe(true);
});

const unsigned = () => Array.from({ length: 40 }, (_, i) => `${btoa(JSON.stringify([`c${i}`, "x", 9e9]))}.x`).join("~");

describe("with clusters of the registry", () => {
  const reads: string[] = [];
  const CLUSTER_REGISTRY = {
    get: async (name: string) => {
      reads.push(name);
      return name === "prod" ? await sealed("prod", JSON.stringify(entry(server.url))) : null;
    },
    list: async () => ({ keys: [{ name: "prod" }], list_complete: true }),
  };
  const arriveThere = (key = REGISTRY_KEY) => arrive({ env: { CLUSTERS: {}, CLUSTER_REGISTRY, REGISTRY_KEY: key } });
  const signedIn = async (key?: string) => {
    const visitor = arriveThere(key);
    expect(await visitor.post("/signin", { cluster: "prod", token: RIGHT })).toMatchObject({ code: 303 });
    return visitor.cookie ?? "";
  };
  const later = `${Buffer.alloc(32, 8).toString("base64")},${REGISTRY_KEY}`;

  // prettier-ignore
  test.each<readonly [string, () => Promise<string | undefined>, opens: boolean]>([
    ["an unsigned cookie",                              async () => unsigned(),                                      false],
    ["a signed cookie with more names",                 async () => `${unsigned()}~${await signedIn()}`,             false],
    ["a cookie signed with another registry's key", async () => await signedIn(later),                         false],
    ["a signed cookie",                                 async () => await signedIn(),                                true],
  ])("%s causes reads of KV only if the cookie opens a cluster: %s", async (_, cookieOf, opens) => {
    const cookie = await cookieOf();
    for (const path of ["/", "/fleet/prod", "/fleet/prod/vms/apps/web", ...(opens ? [] : ["/fleet/c7"])]) {
      const visitor = arriveThere();
      visitor.cookie = cookie;
      reads.length = 0;
      const { location } = await visitor.get(path);
      expect(reads.length > 0).toBe(opens);
      if (!opens) expect(location).toMatch(/^\/signin/);
    }
  });
});
