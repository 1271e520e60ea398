/** Which step of a certificate's life is due. */
import { expect, test } from "vitest";
import { type Kept, stepDue, validityFrom, type Validity } from "../../../infra/server/certificate.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 23);

/** As the server makes it, so long ago. */
const made = (agoMs: number): Validity => validityFrom(new Date(NOW - agoMs));
const ended = { notBefore: new Date(NOW - 90 * DAY), notAfter: new Date(NOW) };

// prettier-ignore
test.each<[string, Kept, ReturnType<typeof stepDue>]>([
  ["none yet",                                        {},                                                              "Create"],
  ["not yet two thirds of its life",                  { serving: made(59 * DAY) },                                     undefined],
  ["two thirds of its life",                          { serving: made(60 * DAY) },                                     "Announce"],
  ["announced just now",                              { serving: made(60 * DAY), next: made(0) },                      undefined],
  ["announced for ten minutes",                       { serving: made(60 * DAY), next: made(10 * MINUTE) },            "Serve"],
  ["announced just now, and the old one has ended",   { serving: ended, next: made(0) },                               "Serve"],
  ["served, and the old one still trusted",           { serving: made(19 * MINUTE), previous: made(60 * DAY) },        undefined],
  ["served for as long as it was announced",          { serving: made(20 * MINUTE), previous: made(60 * DAY) },        "Forget"],
  ["ended: the cluster was off",                      { serving: ended },                                              "Create"],
])("%s", (_, kept, step) => {
  expect(stepDue(kept, new Date(NOW))).toBe(step);
});
