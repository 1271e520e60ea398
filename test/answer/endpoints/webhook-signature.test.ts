/** Tests valid signatures, made by the library of Standard Webhooks, and invalid signatures. */
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { isSigned } from "../../../functions/events.ts";

const secretOf = (text: string) => `whsec_${Buffer.from(text).toString("base64")}`;
const SECRET = secretOf("the secret of the relay");
const OLDER = secretOf("what it was before the rotation");
const FOREIGN = secretOf("of another cluster");

const NOW = new Date("2026-11-20T12:00:00.400Z");
const PAYLOAD = '[{"id":"1","subject":"größer"}]';
const SECONDS = Math.floor(NOW.getTime() / 1000);

const sign = (secret: string, { id = "msg_1", seconds = SECONDS, payload = PAYLOAD } = {}) =>
  new Webhook(secret).sign(id, new Date(seconds * 1000), payload);
const RIGHT = sign(SECRET);
const signedAt = (seconds: number) => ({ timestamp: String(seconds), signature: sign(SECRET, { seconds }) });

// prettier-ignore
test.each<[string, object, boolean, (readonly string[])?]>([
  ["the right signature is valid",                                 {},                                               true],
  ["the right signature is valid with one of several secrets",     {},                                               true,  [OLDER, SECRET]],
  ["no signature is valid without a secret",                       {},                                               false, []],
  ["an empty signature is invalid",                                { signature: "" },                                false],
  ["a signature with another secret is invalid",                   { signature: sign(FOREIGN) },                     false],
  ["a signature of another time is invalid",                       { signature: sign(SECRET, { seconds: SECONDS - 1 }) }, false],
  ["a signature of another payload is invalid",                    { signature: sign(SECRET, { payload: "[]" }) },   false],
  ["a truncated signature is invalid",                             { signature: RIGHT.slice(0, -1) },                false],
  ["a signature without version is invalid",                       { signature: RIGHT.replace("v1,", "") },          false],
  ["a signature of less than five minutes ago is valid",           signedAt(SECONDS - 299),                          true],
  ["a signature of five minutes ago is invalid",                   signedAt(SECONDS - 300),                          false],
  ["a signature up to five minutes ahead is valid",                signedAt(SECONDS + 300),                          true],
  ["a signature more than five minutes ahead is invalid",          signedAt(SECONDS + 301),                          false],
  ["a signature without timestamp is invalid",                     { timestamp: "" },                                false],
  ["a signature without id is invalid",                            { id: "", signature: sign(SECRET, { id: "" }) },  false],
])("%s", async (...[, odd, expected, secrets = [SECRET]]) => {
  const headers = { id: "msg_1", timestamp: String(SECONDS), signature: RIGHT, ...odd };
  expect(await isSigned(PAYLOAD, headers, secrets, NOW)).toBe(expected);
});
