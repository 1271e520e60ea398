/**
 * Tests how Lifeboat decides whether a caBundle trusts a certificate directly or through its issuer. The API server
 * decides in the same way.
 */
import { beforeAll, expect, test } from "vitest";
import { makeCertificate, validityFrom } from "../../../infra/cli/install/make-certificate.ts";
import { createAuthority } from "../../../infra/sandbox/index.ts";
import { isPair, trustIn } from "../../../infra/server/certificate.ts";
import { HOST } from "../../../infra/server/names.ts";

const pems: Record<string, string> = {};
beforeAll(async () => {
  const [authority, other] = [await createAuthority("one"), await createAuthority("other")];
  const own = await makeCertificate(HOST, validityFrom(new Date()));
  const issued = await authority.issue([HOST]);
  Object.assign(pems, {
    own: own.certPem,
    next: (await makeCertificate(HOST, validityFrom(new Date()))).certPem,
    issued: issued.certPem,
    authority: authority.caPem,
    other: other.caPem,
    garbage: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  });
});

const joined = (names: string) =>
  names
    .split(" ")
    .map((name) => pems[name] ?? "")
    .join("\n");

// prettier-ignore
test.each([
  // served              caBundle               trusted  certificates in the chain
  ["own",                "own",                 true,    1],
  ["own",                "next own",            true,    1],
  ["own",                "next",                false,   1],
  ["own",                "",                    false,   1],
  ["own",                "garbage",             false,   1],
  ["own",                "garbage own",         true,    1],
  ["issued",             "authority",           true,    2],
  ["issued",             "other authority",     true,    2],
  ["issued",             "other",               false,   1],
  ["issued authority",   "authority",           true,    2],
  ["issued authority",   "other",               false,   1],
  ["garbage",            "own",                 false,   0],
])("the certificate %s with the caBundle %j is trusted: %s", (served, caBundle, trusted, length) => {
  const { chain, ...verdict } = trustIn(Buffer.from(joined(caBundle)).toString("base64"), joined(served));
  expect({ ...verdict, length: chain.length }).toEqual({ trusted, length });
});

test("a certificate needs its own key and the Service's name", async () => {
  const [one, other] = [await createAuthority("a"), await createAuthority("b")];
  const [{ certPem, keyPem }, { keyPem: another }] = [await one.issue([HOST]), await other.issue([HOST])];
  const misnamed = await one.issue(["lifeboat.example.com"]);
  expect([
    isPair(certPem, keyPem),
    isPair(certPem, another),
    isPair(certPem, "none"),
    isPair(misnamed.certPem, misnamed.keyPem),
    isPair(),
  ]).toEqual([true, false, false, false, false]);
});
