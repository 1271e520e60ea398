/** LifeboatConfiguration: every key, its default, and what is said about a wrong one. */
import { describe, expect, test } from "vitest";
import { dump } from "js-yaml";
import { DEFAULT_SETTINGS } from "../../shared/policy/settings.ts";
import { defaultConfiguration, parseConfiguration } from "../../shared/config/lifeboat-configuration.ts";

const HEAD = { apiVersion: "lifeboat.dev/v1alpha1", kind: "LifeboatConfiguration" };
const SECONDS = "expected seconds, from 0 to 604800";

function parse(tweak: Readonly<Record<string, unknown>>) {
  return parseConfiguration(dump({ ...HEAD, ...tweak }));
}

test("absent keys take their defaults", async () => {
  expect(await parse({})).toMatchObject({
    ok: true,
    value: {
      ...HEAD,
      featureGates: {},
      marking: "Auto",
      reconcilers: { evacuation: "Auto", budget: true, annotations: "Auto", disruption: true, pressure: true },
      evacuation: { maxAttempts: 5, backoffSeconds: 20, maxBackoffSeconds: 320, adoptSeconds: 5 },
      guard: {
        mode: "Auto",
        deadlineSeconds: { Preemption: 120, NoExecuteTaint: 300 },
        maxHolds: 8,
        requesters: DEFAULT_SETTINGS.guard.requesters,
      },
      descheduling: { intervalSeconds: 0 },
    },
  });
});

// prettier-ignore
test.each([
  ["gates",                        { featureGates: { DeschedulerSupport: true, EvictionsInBackground: false } }],
  ["marking",                      { marking: "Impersonate" }],
  ["one key of a section",         { reconcilers: { evacuation: false } }],
  ["durations with fractions",     { evacuation: { backoffSeconds: 0.25, maxBackoffSeconds: 0.5, adoptSeconds: 0 } }],
  ["deadlines",                    { guard: { mode: "Off", deadlineSeconds: { Preemption: 1.5 }, maxHolds: 0 } }],
  ["an interval",                  { descheduling: { intervalSeconds: 300 } }],
])("%s: the rest keeps its defaults", async (_, tweak) => {
  const parsed = await parse(tweak);
  expect(parsed.ok && parsed.value).toMatchObject(tweak);
  expect(parsed.ok && Object.keys(parsed.value)).toEqual(Object.keys(defaultConfiguration()));
});

describe("a wrong value: which key, and what was expected", () => {
  // prettier-ignore
  test.each([
    ["apiVersion",                                { apiVersion: "lifeboat.dev/v1" },                      "expected lifeboat.dev/v1alpha1"],
    ["apiVersion",                                { apiVersion: undefined },                              "expected lifeboat.dev/v1alpha1"],
    ["kind",                                      { kind: "ConfigMap" },                                  "expected LifeboatConfiguration"],
    ["featureGates",                              { featureGates: ["DeschedulerSupport"] },               "expected record"],
    ["featureGates.DeschedulerSupport",           { featureGates: { DeschedulerSupport: "yes" } },        "expected true or false"],
    ["featureGates.deschedulerSupport",           { featureGates: { deschedulerSupport: true } },         "unknown key"],
    ["marking",                                   { marking: "auto" },                                    "expected Impersonate, Evict or Auto"],
    ["reconcilers",                               { reconcilers: true },                                  "expected object"],
    ["reconcilers.evacuation",                    { reconcilers: { evacuation: "On" } },                  "expected true, false or Auto"],
    ["reconcilers.annotations",                   { reconcilers: { annotations: 1 } },                    "expected true, false or Auto"],
    ["reconcilers.budget",                        { reconcilers: { budget: "Auto" } },                    "expected true or false"],
    ["reconcilers.disruption",                    { reconcilers: { disruption: null } },                  "expected true or false"],
    ["reconcilers.pressure",                      { reconcilers: { pressure: 0 } },                       "expected true or false"],
    ["reconcilers.budgets",                       { reconcilers: { budgets: true } },                     "unknown key"],
    ["evacuation.maxAttempts",                    { evacuation: { maxAttempts: 0 } },                     "expected 1 or more"],
    ["evacuation.maxAttempts",                    { evacuation: { maxAttempts: 2.5 } },                   "expected a whole number"],
    ["evacuation.backoffSeconds",                 { evacuation: { backoffSeconds: -1 } },                 SECONDS],
    ["evacuation.maxBackoffSeconds",              { evacuation: { maxBackoffSeconds: "5m" } },            SECONDS],
    ["evacuation.adoptSeconds",                   { evacuation: { adoptSeconds: 1e300 } },                SECONDS],
    ["evacuation.adoptSeconds",                   { evacuation: { adoptSeconds: Infinity } },             SECONDS],
    ["evacuation.adoptSeconds",                   { evacuation: { adoptSeconds: NaN } },                  SECONDS],
    ["evacuation.retries",                        { evacuation: { retries: 3 } },                         "unknown key"],
    ["guard.mode",                                { guard: { mode: "Maybe" } },                           "expected Off, Deny, Hold or Auto"],
    ["guard.deadlineSeconds.Preemption",          { guard: { deadlineSeconds: { Preemption: -5 } } },     SECONDS],
    ["guard.deadlineSeconds.NodePressure",        { guard: { deadlineSeconds: { NodePressure: 5 } } },    "unknown key"],
    ["guard.maxHolds",                            { guard: { maxHolds: -1 } },                            "expected 0 or more"],
    ["descheduling.intervalSeconds",              { descheduling: { intervalSeconds: [] } },              SECONDS],
    ["metadata",                                  { metadata: { name: "x" } },                            "unknown key"],
  ])("%s", async (field, tweak, message) => {
    expect(await parse(tweak)).toEqual({
      ok: false,
      problems: [{ field: `config.yaml.${field}`, message: expect.stringContaining(message) }],
    });
  });

  test("all of them at once", async () => {
    const parsed = await parse({ marking: 1, evacuation: { maxAttempts: -1, x: 1 } });
    expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual([
      "config.yaml.marking",
      "config.yaml.evacuation.maxAttempts",
      "config.yaml.evacuation.x",
    ]);
  });
});

describe("a text that is no YAML mapping", () => {
  // prettier-ignore
  test.each([
    ["nothing",                "",                                        "expected YAML, found an error"],
    ["a list",                 "- a",                                     "expected object"],
    ["a text",                 "Auto",                                    "expected object"],
    ["a bracket left open",    "kind: a\nmarking: [\n",                   "expected YAML, found an error in line 3: "],
    ["a tab as indentation",   "kind: a\n\tmarking: b\n",                 "expected YAML, found an error in line 2: "],
    ["a key twice",            "kind: a\nmarking: b\nkind: c\n",          "expected YAML, found an error in line 3: duplicated mapping key"],
    ["an unknown tag",         "kind: !!js/function x\n",                 "expected YAML, found an error in line 1: "],
    ["an unknown alias",       "kind: *nowhere\n",                        "expected YAML, found an error in line 1: "],
    ["two documents",          "kind: a\n---\nkind: b\n",                 "expected YAML, found an error: expected a single document"],
    ["100,000 brackets",       "[".repeat(100_000),                       "expected YAML, found an error in line 1: nesting exceeded maxDepth"],
  ])("%s", async (_, text, message) => {
    expect(await parseConfiguration(text)).toEqual({
      ok: false,
      problems: [{ field: "config.yaml", message: expect.stringContaining(message) }],
    });
  });
});
