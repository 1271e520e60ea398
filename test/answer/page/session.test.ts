/** Tests that a cookie grants access to the clusters whose tokens have signed the cookie, and to no other cluster. */
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

async function forged(tweak: Partial<Grant>): Promise<string> {
  const [text = ""] = (await signGrant({ ...grant, ...tweak }, entry("a-forgers-own-token"))).split(".");
  const [, mac = ""] = (await signGrant(grant, entry())).split(".");
  return `${text}.${mac}`;
}

test("a grant contains the visitor's name and the time of expiry", async () => {
  expect(await found(await signGrant(grant, entry()))).toEqual(grant);
});

describe("no page is opened by", () => {
  // prettier-ignore
  test.each<readonly [string, () => Promise<string | undefined>]>([
    ["no cookie",                                 async () => undefined],
    ["an ended cookie",                           () => signGrant({ ...grant, until: SECONDS }, entry())],
    ["a cookie of another cluster",               () => signGrant({ ...grant, cluster: "staging" }, entry())],
    ["a cookie signed with another token",        () => signGrant(grant, entry("another-operator-token"))],
    ["a cookie signed with only the operator's token", () => signGrant(grant, { ...entry(), webhookToken: TOKEN })],
    ["a cookie without a signature",              async () => (await signGrant(grant, entry())).split(".")[0]],
    ["a cookie that names another visitor",       () => forged({ name: "admin" })],
  ])("%s", async (_, cookie) => expect(await found(await cookie())).toBeUndefined());
});

test("during a rotation, signatures with the old and the new token are valid, and each cluster has its own signature", async () => {
  const next = "the-next-operator-token";
  const cookie = await signGrant(grant, entry());
  expect(await found(cookie, entry([next, TOKEN]))).toEqual(grant);
  expect(await found(await signGrant(grant, entry([next, TOKEN])), entry(next))).toEqual(grant);
  const staging = { ...grant, cluster: "staging" };
  const both = withGrant(cookie, "staging", await signGrant(staging, entry(next)));
  expect([await found(both), await found(both, entry(next), "staging")]).toEqual([grant, staging]);
  expect(await found(both, entry(), "staging")).toBeUndefined();
});

test("the cookie fits into the size that browsers keep", () => {
  const room = 4096 - "__Host-lifeboat".length;
  expect([isTooLong("x".repeat(room)), isTooLong("x".repeat(room + 1))]).toEqual([false, true]);
});
