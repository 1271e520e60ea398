/** A cookie grants access to clusters, signed with their tokens, and to nothing else. */
import { describe, expect, test } from "vitest";
import { findGrant, type Grant, isTooLong, signGrant, withGrant } from "../../../functions/page/session.ts";
import type { ClusterEntry } from "../../../shared/settings/clusters.ts";
import { NOW } from "../../support/fixtures.ts";

const SECONDS = NOW.getTime() / 1000;
const TOKEN = "the-operator-token";

function entry(operatorToken: string | string[] = TOKEN): ClusterEntry {
  return { server: "https://x", token: "t", webhookToken: "the-webhook-token", operatorToken, headers: {} };
}

const grant: Grant = { cluster: "prod", name: "jané", until: SECONDS + 60 };
const found = async (cookie: string | undefined, of = entry(), cluster = "prod") =>
  await findGrant(cookie, { cluster, entry: of, now: NOW });

/** Changes the content of a cookie and keeps its signature. */
async function forged(tweak: Partial<Grant>): Promise<string> {
  const [text = ""] = (await signGrant({ ...grant, ...tweak }, entry("a-forgers-own-token"))).split(".");
  const [, mac = ""] = (await signGrant(grant, entry())).split(".");
  return `${text}.${mac}`;
}

test("a grant says who it is, and until when", async () => {
  expect(await found(await signGrant(grant, entry()))).toEqual(grant);
});

describe("opens nothing", () => {
  // prettier-ignore
  test.each<readonly [string, () => Promise<string | undefined>]>([
    ["no cookie",                            async () => undefined],
    ["one that is over",                     () => signGrant({ ...grant, until: SECONDS }, entry())],
    ["one of another cluster",               () => signGrant({ ...grant, cluster: "staging" }, entry())],
    ["one signed with another token",        () => signGrant(grant, entry("another-operator-token"))],
    ["one signed with the operator's token", () => signGrant(grant, { ...entry(), webhookToken: TOKEN })],
    ["one without a signature",              async () => (await signGrant(grant, entry())).split(".")[0]],
    ["one that names another visitor",       () => forged({ name: "admin" })],
  ])("%s", async (_, cookie) => expect(await found(await cookie())).toBeUndefined());
});

test("while the token is rotated, both sign; each of several clusters has its own", async () => {
  const next = "the-next-operator-token";
  const cookie = await signGrant(grant, entry());
  expect(await found(cookie, entry([next, TOKEN]))).toEqual(grant);
  expect(await found(await signGrant(grant, entry([next, TOKEN])), entry(next))).toEqual(grant);
  const staging = { ...grant, cluster: "staging" };
  const both = withGrant(cookie, "staging", await signGrant(staging, entry(next)));
  expect([await found(both), await found(both, entry(next), "staging")]).toEqual([grant, staging]);
  expect(await found(both, entry(), "staging")).toBeUndefined();
});

test("name and value of the cookie fit into what browsers keep", () => {
  const room = 4096 - "__Host-lifeboat".length;
  expect([isTooLong("x".repeat(room)), isTooLong("x".repeat(room + 1))]).toEqual([false, true]);
});
