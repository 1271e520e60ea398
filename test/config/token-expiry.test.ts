/** When a token ends, and whom it is for, as it says itself. */
import { expect, test } from "vitest";
import { expiryOf, isOnlyFor } from "../../shared/settings/token-expiry.ts";

const encoded = (text: string) => Buffer.from(text).toString("base64url");
const jwt = (claims: string) => `${encoded('{"alg":"ES256"}')}.${encoded(claims)}.c2lnbmF0dXJl`;

const END = 1_800_000_000;

// prettier-ignore
test.each<[string, string, number | undefined]>([
  ["a bound token",                          jwt(`{"exp":${END}}`),                             END],
  ["with a fraction (a NumericDate)",        jwt(`{"exp":${END}.5}`),                           END + 0.5],
  ["beside others, not all of them ASCII",   jwt(`{"sub":"системá-名","exp":${END},"aud":["a"]}`), END],
  ["in base64url's own alphabet",            jwt(`{"s":"??>>??>>~~","exp":${END}}`),            END],
  ["long ago",                               jwt('{"exp":1}'),                                  1],
  ["bound to a Secret",                      jwt(`{"exp":${END},"kubernetes.io":{"secret":{}}}`), END],
  ["bound to a pod: the kubelet renews it",  jwt(`{"exp":${END},"kubernetes.io":{"pod":{}}}`),  undefined],
  ["a claim of Kubernetes' that is none",    jwt(`{"exp":${END},"kubernetes.io":1}`),           END],
  ["a Secret's token: no end",               jwt('{"sub":"x"}'),                                undefined],
  ["an end that is a text",                  jwt(`{"exp":"${END}"}`),                           undefined],
  ["an end that is null",                    jwt('{"exp":null}'),                               undefined],
  ["an end that is no number any more",      jwt('{"exp":1e999}'),                              undefined],
  ["an end that no Date holds",              jwt('{"exp":1e300}'),                              undefined],
  ["claims that are a list",                 jwt("[1]"),                                        undefined],
  ["claims that are null",                   jwt("null"),                                       undefined],
  ["claims that are no JSON",                jwt("exp"),                                        undefined],
  ["a payload that is no base64",            "e30.%%%.c2ln",                                    undefined],
  ["an empty payload",                       "e30..c2ln",                                       undefined],
  ["no signature",                           `e30.${encoded(`{"exp":${END}}`)}`,                undefined],
  ["four parts",                             `${jwt(`{"exp":${END}}`)}.x`,                      undefined],
  ["five parts, which is encrypted",         "a.b.c.d.e",                                       undefined],
  ["an opaque token",                        "service-account-token",                           undefined],
  ["nothing",                                "",                                                undefined],
])("%s", (_, token, seconds) => {
  expect(expiryOf(token)).toEqual(seconds === undefined ? undefined : new Date(seconds * 1000));
});

// prettier-ignore
test.each<[string, string, boolean]>([
  ["a text",                       jwt('{"aud":"lifeboat"}'),              true],
  ["a list of one",                jwt('{"aud":["lifeboat"]}'),            true],
  ["a list with another",          jwt('{"aud":["lifeboat","vault"]}'),    false],
  ["another",                      jwt('{"aud":"lifeboats"}'),             false],
  ["an empty list",                jwt('{"aud":[]}'),                      false],
  ["none: a Secret's token",       jwt('{"sub":"x"}'),                     false],
  ["what is no text",              jwt('{"aud":[["lifeboat"]]}'),          false],
  ["what is no token",             "lifeboat",                             false],
])("an audience that is %s", (_, token, expected) => {
  expect(isOnlyFor("lifeboat", token)).toBe(expected);
});
