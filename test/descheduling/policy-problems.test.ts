/** A policy file whose parts do not fit together, and texts that are no policy: what is said about each. */
import { describe, expect, test } from "vitest";
import { parseDeschedulerPolicy } from "../../shared/descheduling/policy-file.ts";
import { configured, parse, withPlugins } from "./policy-files.ts";

const plugins = (point: string, ...enabled: readonly unknown[]) => withPlugins({ [point]: { enabled } });
const config = (...pluginConfig: readonly unknown[]) => withPlugins({}, pluginConfig);

const HAS =
  "LowNodeUtilization, RemovePodsViolatingNodeTaints, RemovePodsViolatingNodeAffinity, PodLifeTime, DefaultEvictor";
const UNKNOWN = `not supported by Lifeboat: expected one of ${HAS}`;
const CRITERION = "expected maxPodLifeTimeSeconds or states";

// prettier-ignore
test.each([
  ["0.pluginConfig.0.name",         config({ name: "podLifeTime" }),                              UNKNOWN],
  ["0.pluginConfig.0.name",         config({ name: "RemoveDuplicates" }),                         UNKNOWN],
  ["0.pluginConfig.1.name",         config(...configured("PodLifeTime", "PodLifeTime")),          "expected each name once"],
  ["0.pluginConfig.2.name",         config(...configured("DefaultEvictor", "PodLifeTime", "DefaultEvictor")), "expected each name once"],
  ["0.pluginConfig.1.args",         config(...configured("DefaultEvictor"), { name: "PodLifeTime" }), CRITERION],
  ["0.pluginConfig.0.args.nodeFit", config({ name: "DefaultEvictor", args: { nodeFit: 1 } }),     "expected true or false"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "PodLifeTime"),                            "PodLifeTime is expected under deschedule"],
  ["0.plugins.deschedule.enabled.1", plugins("deschedule", "PodLifeTime", "LowNodeUtilization"),  "LowNodeUtilization is expected under balance"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "DefaultEvictor"),                         "DefaultEvictor is expected under filter or preevictionfilter"],
  ["0.plugins.filter.enabled.0",    plugins("filter", "PodLifeTime"),                             "PodLifeTime is expected under deschedule"],
  ["0.plugins.preevictionfilter.enabled.0", plugins("preevictionfilter", "NodeFit"),              UNKNOWN],
  ["0.plugins.balance.enabled.0",   plugins("balance", "RemoveDuplicates"),                       UNKNOWN],
  ["0.plugins.deschedule.enabled.0", withPlugins({ deschedule: { enabled: ["PodLifeTime"] } }, configured("LowNodeUtilization")), "expected PodLifeTime in pluginConfig, too"],
])("%s: %#", async (field, tweak, message) => {
  expect(await parse(tweak)).toEqual({ ok: false, problems: [{ field: `policy.yaml.profiles.${field}`, message }] });
});

test("all of them at once", async () => {
  const bad = { name: "p", pluginConfig: [{ name: "PodLifeTime", args: { states: ["x"], y: 1 } }] };
  const parsed = await parse({
    profiles: [bad, { ...bad, plugins: { balance: { enabled: ["PodLifeTime", "z"] } } }],
  });
  expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual([
    "policy.yaml.profiles.0.pluginConfig.0.args.states.0",
    "policy.yaml.profiles.0.pluginConfig.0.args.y",
    "policy.yaml.profiles.1.pluginConfig.0.args.states.0",
    "policy.yaml.profiles.1.pluginConfig.0.args.y",
    "policy.yaml.profiles.1.plugins.balance.enabled.0",
    "policy.yaml.profiles.1.plugins.balance.enabled.1",
  ]);
});

describe("a text that is no YAML mapping", () => {
  // prettier-ignore
  test.each([
    ["nothing",               "",                                       "expected YAML, found an error"],
    ["a list",                "- a",                                    "expected a mapping"],
    ["a text",                "LowNodeUtilization",                     "expected a mapping"],
    ["null",                  "null",                                   "expected a mapping"],
    ["a bracket left open",   "kind: a\nprofiles: [\n",                 "expected YAML, found an error in line 3: "],
    ["a tab as indentation",  "kind: a\nprofiles:\n\t- name: p\n",      "expected YAML, found an error in line 3: "],
    ["a key twice",           "kind: a\nprofiles: []\nkind: c\n",       "expected YAML, found an error in line 3: duplicated mapping key"],
  ])("%s", async (_, text, message) => {
    expect(await parseDeschedulerPolicy(text)).toEqual({
      ok: false,
      problems: [{ field: "policy.yaml", message: expect.stringContaining(message) }],
    });
  });
});
