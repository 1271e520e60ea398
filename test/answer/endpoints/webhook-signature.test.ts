/** Signatures as the library of Standard Webhooks makes them, and what is not one. */
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { isSigned } from "../../../functions/events.ts";

const secretOf = (text: string) => `whsec_${Buffer.from(text).toString("base64")}`;
const SECRET = secretOf("the secret of the relay");
const OLDER = secretOf("what it was before the rotation");
const FOREIGN = secretOf("of another cluster");

const NOW = new Date("2026-11-20T12:00:00.400Z");
const PAYLOAD = '[{"id":"1","subject":"größer"}]';
const ID = "msg_1";
const SECONDS = Math.floor(NOW.getTime() / 1000);

const sign = (secret: string, { id = ID, seconds = SECONDS, payload = PAYLOAD } = {}) =>
  new Webhook(secret).sign(id, new Date(seconds * 1000), payload);
const RIGHT = sign(SECRET);

// prettier-ignore
describe.each([
  ["one secret",          [SECRET]],
  ["while rotating",      [OLDER, SECRET]],
])("%s", (_, secrets) => {
  test.each([
    ["the right one",                         RIGHT,                                  true],
    ["none",                                  "",                                     false],
    ["of another secret",                     sign(FOREIGN),                          false],
    ["of another time",                       sign(SECRET, { seconds: SECONDS - 1 }), false],
    ["of another payload",                    sign(SECRET, { payload: "[]" }),        false],
    ["the right one, cut off",                RIGHT.slice(0, -1),                     false],
    ["without version",                       RIGHT.replace("v1,", ""),               false],
  ])("signature: %s", async (__, signature, signed) => {
    const headers = { id: ID, timestamp: String(SECONDS), signature };
    expect(await isSigned(PAYLOAD, headers, secrets, NOW)).toBe(signed);
  });
});

// prettier-ignore
test.each([
  ["five minutes ago",          SECONDS - 299, true],
  ["in five minutes",           SECONDS + 300, true],
  ["longer ago",                SECONDS - 300, false],
  ["further ahead",             SECONDS + 301, false],
])("signed %s", async (_, seconds, signed) => {
  const headers = { id: ID, timestamp: String(seconds), signature: sign(SECRET, { seconds }) };
  expect(await isSigned(PAYLOAD, headers, [SECRET], NOW)).toBe(signed);
});

// prettier-ignore
test.each([
  ["no timestamp",              { timestamp: "" }],
  ["no id",                     { id: "", signature: sign(SECRET, { id: "" }) }],
])("headers: %s", async (_, odd) => {
  const headers = { id: ID, timestamp: String(SECONDS), signature: RIGHT, ...odd };
  expect(await isSigned(PAYLOAD, headers, [SECRET], NOW)).toBe(false);
});

test("without a secret nothing is signed", async () => {
  expect(await isSigned(PAYLOAD, { id: ID, timestamp: String(SECONDS), signature: RIGHT }, [], NOW)).toBe(false);
});
