/** Which step of a certificate's life is due. */
import { expect, test } from "vitest";
import { type Kept, type Step, stepDue, validityFrom, type Validity } from "../../../infra/server/certificate.ts";

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

const AFTER: Readonly<Record<Step, (kept: Kept, now: Date) => Kept>> = {
  Create: (_, now) => ({ serving: validityFrom(now) }),
  Announce: (kept, now) => ({ ...kept, next: validityFrom(now) }),
  Serve: ({ serving = ended, next = ended }) => ({ serving: next, previous: serving }),
  Forget: ({ serving = ended }) => ({ serving }),
};

test("in a year of ten minutes each, the certificate that is served has a month left, and renewals are few", () => {
  let kept: Kept = {};
  const steps: Step[] = [];
  let least = Infinity;
  for (let now = NOW; now < NOW + 365 * DAY; now += 10 * MINUTE) {
    const step = stepDue(kept, new Date(now));
    if (step !== undefined) {
      kept = AFTER[step](kept, new Date(now));
      steps.push(step);
    }
    least = Math.min(least, (kept.serving ?? ended).notAfter.getTime() - now);
  }
  expect(least).toBeGreaterThan(29 * DAY);
  const renewal = ["Announce", "Serve", "Forget"];
  expect(steps).toEqual(["Create", ...Array.from({ length: 6 }, () => renewal).flat()]);
});
