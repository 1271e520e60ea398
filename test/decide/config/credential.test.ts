/** Tests how Lifeboat judges its own token: its expiry, its audience, and the warning before the expiry. */
import { expect, test } from "vitest";
import { judgeCredential } from "../../../shared/settings/credential.ts";
import { at, NOW } from "../../support/fixtures.ts";
import { expiryOf, isOnlyFor } from "../../../shared/kube/reviews.ts";

const DAY = 24 * 3600;

// prettier-ignore
test.each<[string, number | undefined, boolean, boolean, string]>([
  // the token's end, in seconds from now     401?   ok?    reason
  ["a token without an end is valid",                         undefined, false, true,  "Valid"],
  ["a token with seven days left is valid",                   7 * DAY,   false, true,  "Valid"],
  ["a token with less than seven days left expires soon",     7 * DAY - 1, false, true, "ExpiresSoon"],
  ["a token that ends now is expired",                        0,         false, false, "Expired"],
  ["a revoked token is rejected",                             undefined, true,  false, "Rejected"],
])("%s", (...[, seconds, rejected, ok, reason]) => {
  const expiresAt = seconds === undefined ? undefined : at(seconds);
  const verdict = judgeCredential({ expiresAt, rejected }, NOW);
  expect(verdict).toMatchObject({ ok, reason });
  if (expiresAt !== undefined && reason !== "Rejected") {
    expect(verdict.message).toContain(`${expiresAt.toISOString().slice(0, 19)}Z`);
  }
});

const encoded = (text: string) => Buffer.from(text).toString("base64url");
const jwt = (claims: string) => `${encoded('{"alg":"ES256"}')}.${encoded(claims)}.c2lnbmF0dXJl`;

const END = 1_800_000_000;

// prettier-ignore
test.each<[string, string, number | undefined]>([
  ["a bound token ends at its exp",                                     jwt(`{"exp":${END}}`),                             END],
  ["a token's exp can have a fraction (a NumericDate)",                 jwt(`{"exp":${END}.5}`),                           END + 0.5],
  ["a token bound to a pod has no end, because the kubelet renews it",  jwt(`{"exp":${END},"kubernetes.io":{"pod":{}}}`),  undefined],
  ["a Secret's token has no end",                                       jwt('{"sub":"x"}'),                                undefined],
  ["an exp that no Date can hold is no end",                            jwt('{"exp":1e300}'),                              undefined],
  ["claims that are not JSON have no end",                              jwt("exp"),                                        undefined],
  ["a token without a signature has no end",                            `e30.${encoded(`{"exp":${END}}`)}`,                undefined],
])("%s", (_, token, seconds) => {
  expect(expiryOf(token)).toEqual(seconds === undefined ? undefined : new Date(seconds * 1000));
});

// prettier-ignore
test.each<[string, string, boolean]>([
  ["a string with its name",               jwt('{"aud":"lifeboat"}'),              true],
  ["a list with only its name",            jwt('{"aud":["lifeboat"]}'),            true],
  ["a list with another name",             jwt('{"aud":["lifeboat","vault"]}'),    false],
  ["an empty list",                        jwt('{"aud":[]}'),                      false],
  ["absent, as in a Secret's token",       jwt('{"sub":"x"}'),                     false],
  ["not a string",                         jwt('{"aud":[["lifeboat"]]}'),          false],
])("a token is only for Lifeboat or not if its audience is %s", (_, token, expected) => {
  expect(isOnlyFor("lifeboat", token)).toBe(expected);
});
