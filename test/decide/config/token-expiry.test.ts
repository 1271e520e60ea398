/** When a token ends, and whom it is for, as it says itself. */
import { expect, test } from "vitest";
import { expiryOf, isOnlyFor } from "../../../shared/kube/reviews.ts";

const encoded = (text: string) => Buffer.from(text).toString("base64url");
const jwt = (claims: string) => `${encoded('{"alg":"ES256"}')}.${encoded(claims)}.c2lnbmF0dXJl`;

const END = 1_800_000_000;

// prettier-ignore
test.each<[string, string, number | undefined]>([
  ["a bound token",                          jwt(`{"exp":${END}}`),                             END],
  ["with a fraction (a NumericDate)",        jwt(`{"exp":${END}.5}`),                           END + 0.5],
  ["bound to a Secret",                      jwt(`{"exp":${END},"kubernetes.io":{"secret":{}}}`), END],
  ["bound to a pod: the kubelet renews it",  jwt(`{"exp":${END},"kubernetes.io":{"pod":{}}}`),  undefined],
  ["a Secret's token: no end",               jwt('{"sub":"x"}'),                                undefined],
  ["an end that no Date holds",              jwt('{"exp":1e300}'),                              undefined],
  ["claims that are no JSON",                jwt("exp"),                                        undefined],
  ["no signature",                           `e30.${encoded(`{"exp":${END}}`)}`,                undefined],
  ["an opaque token",                        "service-account-token",                           undefined],
])("%s", (_, token, seconds) => {
  expect(expiryOf(token)).toEqual(seconds === undefined ? undefined : new Date(seconds * 1000));
});

// prettier-ignore
test.each<[string, string, boolean]>([
  ["a text",                       jwt('{"aud":"lifeboat"}'),              true],
  ["a list of one",                jwt('{"aud":["lifeboat"]}'),            true],
  ["a list with another",          jwt('{"aud":["lifeboat","vault"]}'),    false],
  ["an empty list",                jwt('{"aud":[]}'),                      false],
  ["none: a Secret's token",       jwt('{"sub":"x"}'),                     false],
  ["what is no text",              jwt('{"aud":[["lifeboat"]]}'),          false],
])("an audience that is %s", (_, token, expected) => {
  expect(isOnlyFor("lifeboat", token)).toBe(expected);
});
