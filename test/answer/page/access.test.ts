/** Visitors whom Cloudflare Access has let in, and whom only a forger says so of. */
import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { sign } from "hono/jwt";
import { beforeAll, describe, expect, test } from "vitest";
import { entry, NOW } from "../../support/doors.ts";
import { arrive, words } from "./support/visitor.ts";

const TEAM = "example.cloudflareaccess.com";
const AUD = "a1".repeat(32);
const ACCESS = { ACCESS_TEAM_DOMAIN: TEAM, ACCESS_AUD: AUD };
const NOWHERE = "http://127.0.0.1:1";
const CLUSTERS = { prod: entry(NOWHERE), staging: entry(NOWHERE) };
const seconds = Math.floor(NOW.getTime() / 1000);

interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

let team: Pair;
let other: Pair;
beforeAll(() => {
  team = generateKeyPairSync("rsa", { modulusLength: 2048 });
  other = generateKeyPairSync("rsa", { modulusLength: 2048 });
});

const claims = {
  aud: [AUD],
  email: "jane@example.com",
  iss: `https://${TEAM}`,
  iat: seconds,
  nbf: seconds,
  exp: seconds + 60,
};

async function signed(tweak: Readonly<Record<string, unknown>> = {}, by: Pair = team, kid = "one"): Promise<string> {
  const key = { ...by.privateKey.export({ format: "jwk" }), kid, alg: "RS256" };
  return await sign({ ...claims, ...tweak }, key);
}

/** With the team's keys, as Access publishes them, and clusters that know jane. */
function at(env: Readonly<Record<string, string>>, { keys = () => [jwk()] as unknown[] } = {}) {
  const asked: string[] = [];
  const fetchKeys = async (url: string) => {
    asked.push(url);
    const user = { authenticated: true, audiences: ["lifeboat"], user: { username: "jane" }, allowed: true };
    return await Promise.resolve(Response.json(url.startsWith(NOWHERE) ? { status: user } : { keys: keys() }));
  };
  const visitor = arrive({ env: { ...env, CLUSTERS }, fetch: { fetch: fetchKeys } });
  return { visitor, asked };
}

function jwk(kid = "one", { publicKey }: Pair = team) {
  return { ...publicKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" };
}

const header = (assertion: string) => ({ "cf-access-jwt-assertion": assertion });

test("opens every cluster, under the visitor's address", async () => {
  const { visitor } = at(ACCESS);
  const fleet = await visitor.get("/", header(await signed()));
  expect(fleet.code).toBe(200);
  expect(words(fleet.text)).toContain("jane@example.com");
  for (const cluster of ["prod", "staging"]) expect(fleet.text).toContain(`href="/fleet/${cluster}"`);
  expect((await visitor.get("/fleet/nowhere", header(await signed()))).code).toBe(404);
});

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const unsigned = async () => `${part({ alg: "none", typ: "JWT", kid: "one" })}.${part(claims)}.`;

/** With the public key as the secret of a symmetric algorithm. */
async function confused(): Promise<string> {
  const text = `${part({ alg: "HS256", typ: "JWT", kid: "one" })}.${part(claims)}`;
  const secret = team.publicKey.export({ format: "pem", type: "spki" });
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

describe("leads to signing in", () => {
  // prettier-ignore
  test.each<readonly [string, Readonly<Record<string, string>>, () => Promise<string>]>([
    ["where Access is not set up",        {},                                    () => signed()],
    ["where the domain is no team's",     { ...ACCESS, ACCESS_TEAM_DOMAIN: "evil.example" }, () => signed({ iss: "https://evil.example" })],
    ["for another application",           ACCESS,                                () => signed({ aud: ["b2".repeat(32)] })],
    ["that has ended",                    ACCESS,                                () => signed({ exp: seconds })],
    ["that is not valid yet",             ACCESS,                                () => signed({ nbf: seconds + 60 })],
    ["of a service, which is no person",  ACCESS,                                () => signed({ email: undefined, common_name: "service" })],
    ["signed by another key",             ACCESS,                                () => signed({}, other)],
    ["not signed",                        ACCESS,                                unsigned],
    ["signed with the public key",        ACCESS,                                confused],
  ])("an assertion %s", async (_, env, assertion) => {
    const { visitor } = at(env);
    const text = await assertion();
    expect(await visitor.get("/fleet/prod", header(text))).toMatchObject({ code: 303, location: "/signin?to=%2Ffleet%2Fprod" });
    expect(JSON.stringify(visitor.log)).not.toContain(text.slice(0, 40) || "x".repeat(9));
  });
});

test.each([
  [ACCESS, undefined],
  [{ ACCESS_TEAM_DOMAIN: TEAM }, "ACCESS_AUD"],
  [{ ...ACCESS, ACCESS_TEAM_DOMAIN: `https://${TEAM}` }, "ACCESS_TEAM_DOMAIN"],
])("given %o, /readyz names what is wrong: %s", async (env, field) => {
  const { text } = await at(env).visitor.get("/readyz");
  expect(JSON.parse(text)).toMatchObject(field === undefined ? { ready: true } : { error: { field } });
});
