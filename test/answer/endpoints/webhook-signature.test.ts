/** Signatures as the library of Standard Webhooks makes them, and what is not one. */
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
  ["the right one",          {},                                               true],
  ["… while rotating",       {},                                               true,  [OLDER, SECRET]],
  ["… without a secret",     {},                                               false, []],
  ["none",                   { signature: "" },                                false],
  ["of another secret",      { signature: sign(FOREIGN) },                     false],
  ["of another time",        { signature: sign(SECRET, { seconds: SECONDS - 1 }) }, false],
  ["of another payload",     { signature: sign(SECRET, { payload: "[]" }) },   false],
  ["cut off",                { signature: RIGHT.slice(0, -1) },                false],
  ["without version",        { signature: RIGHT.replace("v1,", "") },          false],
  ["five minutes ago",       signedAt(SECONDS - 299),                          true],
  ["… longer ago",           signedAt(SECONDS - 300),                          false],
  ["in five minutes",        signedAt(SECONDS + 300),                          true],
  ["… further ahead",        signedAt(SECONDS + 301),                          false],
  ["no timestamp",           { timestamp: "" },                                false],
  ["no id",                  { id: "", signature: sign(SECRET, { id: "" }) },  false],
])("signed: %s", async (...[, odd, expected, secrets = [SECRET]]) => {
  const headers = { id: "msg_1", timestamp: String(SECONDS), signature: RIGHT, ...odd };
  expect(await isSigned(PAYLOAD, headers, secrets, NOW)).toBe(expected);
});
