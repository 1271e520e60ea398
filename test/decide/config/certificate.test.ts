/** Tests the date by which a person must renew the certificate of Lifeboat's server in the cluster. */
import { expect, test } from "vitest";
import { judgeCertificate, renewalTime } from "../../../shared/settings/certificate.ts";

const DAY_MS = 86_400_000;
const NOW = new Date("2026-11-28T12:00:00Z");
/** Returns the validity of a certificate that has a lifetime of `days` days and expires in `left` days. */
function lived(days: number, left: number) {
  const notAfter = new Date(NOW.getTime() + left * DAY_MS);
  return { notBefore: new Date(notAfter.getTime() - days * DAY_MS), notAfter };
}

// prettier-ignore
test.each([
  // days  left     the authority          verdict
  [3650,   3650,    undefined,             "Valid"],
  [3650,   91,      undefined,             "Valid"],
  [3650,   89,      undefined,             "ExpiresSoon"],
  [3650,   0,       undefined,             "Expired"],
  // cert-manager renews this certificate after two thirds of its lifetime.
  [90,     30,      undefined,             "Valid"],
  [90,     22,      undefined,             "ExpiresSoon"],
  // The authority's certificate expires before the server's certificate.
  [90,     80,      lived(3650, 89),       "ExpiresSoon"],
  [90,     80,      lived(3650, 0),        "Expired"],
])("a certificate for %i days with %i days left and the authority %j is %s", (days, left, authority, expected) => {
  const chain = [lived(days, left), ...(authority ? [authority] : [])];
  const { reason, ok } = judgeCertificate(chain, NOW);
  expect({ reason, ok, isDue: renewalTime(chain) <= NOW }).toEqual({
    reason: expected,
    ok: expected !== "Expired",
    isDue: expected !== "Valid",
  });
});
