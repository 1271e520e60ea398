/** LifeboatConfiguration: every key, its default, and what is said about a wrong one. */
import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";
import { defaultConfiguration, parseConfiguration } from "../../../shared/settings/configuration.ts";

const SECONDS = "expected seconds, from 0 to 604800";
const MODE = "expected one of Auto, Always, Never";

test("absent keys take the defaults of the settings", () => {
  const { featureGates: _, ...defaults } = defaultConfiguration();
  expect(DEFAULT_SETTINGS).toMatchObject(defaults);
});

// prettier-ignore
test.each([
  ["gates",                        { featureGates: { DeschedulerSupport: true, EvictionsInBackground: false } }],
  ["durations with fractions",     { evacuation: { backoffSeconds: 0.25, maxBackoffSeconds: 0.5, adoptSeconds: 0 } }],
  ["deadlines",                    { guard: { deadlineSeconds: { Preemption: 1.5 } } }],
])("%s: the rest keeps its defaults", (_, tweak) => {
  const parsed = parseConfiguration(tweak);
  expect(parsed.ok && parsed.value).toMatchObject(tweak);
  expect(parsed.ok && Object.keys(parsed.value)).toEqual(Object.keys(defaultConfiguration()));
});

describe("a wrong value: which key, and what was expected", () => {
  // prettier-ignore
  test.each([
    ["featureGates",                              { featureGates: ["DeschedulerSupport"] },               "expected record"],
    ["featureGates.DeschedulerSupport",           { featureGates: { DeschedulerSupport: "yes" } },        "expected true or false"],
    ["featureGates.deschedulerSupport",           { featureGates: { deschedulerSupport: true } },         "unknown key"],
    ["disruptionBudgets",                         { disruptionBudgets: "On" },                            MODE],
    ["evacuation",                                { evacuation: true },                                   "expected object"],
    ["evacuation.maxAttempts",                    { evacuation: { maxAttempts: 0 } },                     "expected 1 or more"],
    ["evacuation.maxAttempts",                    { evacuation: { maxAttempts: 2.5 } },                   "expected a whole number"],
    ["evacuation.backoffSeconds",                 { evacuation: { backoffSeconds: -1 } },                 SECONDS],
    ["evacuation.maxBackoffSeconds",              { evacuation: { maxBackoffSeconds: "5m" } },            SECONDS],
    ["guard.deadlineSeconds.Preemption",          { guard: { deadlineSeconds: { Preemption: -5 } } },     SECONDS],
    ["evacuation.historySeconds",                 { evacuation: { historySeconds: 604_801 } },            SECONDS],
    ["guard.requesters",                          { guard: { requesters: [] } },                          "expected at least one username"],
  ])("%s", (field, tweak, message) => {
    expect(parseConfiguration(tweak)).toEqual({
      ok: false,
      problems: [{ field: `spec.${field}`, message: expect.stringContaining(message) }],
    });
  });

  test("all of them at once", () => {
    const parsed = parseConfiguration({ guard: 1, evacuation: { maxAttempts: -1 } });
    expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual([
      "spec.evacuation.maxAttempts",
      "spec.guard",
    ]);
  });
});
