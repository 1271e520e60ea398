/** What is said about Lifeboat's own token, and how long before its end. */
import { expect, test } from "vitest";
import { judgeCredential } from "../../shared/settings/credential.ts";
import { at, NOW } from "../support/fixtures.ts";

const DAY = 24 * 3600;

// prettier-ignore
test.each<[string, number | undefined, boolean, boolean, string]>([
  // its end, in seconds from now            401?   ok?    reason
  ["a token without an end",      undefined, false, true,  "Valid"],
  ["in seven days",               7 * DAY,   false, true,  "Valid"],
  ["a second less",               7 * DAY - 1, false, true, "ExpiresSoon"],
  ["in a second",                 1,         false, true,  "ExpiresSoon"],
  ["now",                         0,         false, false, "Expired"],
  ["revoked, without an end",     undefined, true,  false, "Rejected"],
])("%s", (...[, seconds, rejected, ok, reason]) => {
  const expiresAt = seconds === undefined ? undefined : at(seconds);
  const verdict = judgeCredential({ expiresAt, rejected }, NOW);
  expect(verdict).toMatchObject({ ok, reason });
  if (expiresAt !== undefined && reason !== "Rejected") {
    expect(verdict.message).toContain(`${expiresAt.toISOString().slice(0, 19)}Z`);
  }
});
