/** A policy file whose parts do not fit together, and texts that are no policy: what is said about each. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDeschedulerPolicy } from "../../shared/descheduling/policy-file.ts";
import { configured, HEAD, parse, withPlugins } from "./policy-files.ts";

const plugins = (point: string, ...enabled: readonly unknown[]) => withPlugins({ [point]: { enabled } });
const config = (...pluginConfig: readonly unknown[]) => withPlugins({}, pluginConfig);

const HAS =
  "LowNodeUtilization, RemovePodsViolatingNodeTaints, RemovePodsViolatingNodeAffinity, PodLifeTime, DefaultEvictor";
const UNKNOWN = `unknown plugin, expected one of ${HAS}`;
const UNSUPPORTED = `RemoveDuplicates is not supported by Lifeboat, which has: ${HAS}`;
const CRITERION = "expected maxPodLifeTimeSeconds, states, conditions or exitCodes";

// prettier-ignore
test.each([
  ["2.name",                        { profiles: [{ name: "p" }, { name: "q" }, { name: "p" }] },  "expected each name once"],
  ["0.pluginConfig.0.name",         config({ name: "podLifeTime" }),                              UNKNOWN],
  ["0.pluginConfig.0.name",         config({ name: "RemoveDuplicates" }),                         UNSUPPORTED],
  ["0.pluginConfig.1.name",         config(...configured("PodLifeTime", "PodLifeTime")),          "expected each name once"],
  ["0.pluginConfig.2.name",         config(...configured("DefaultEvictor", "PodLifeTime", "DefaultEvictor")), "expected each name once"],
  ["0.pluginConfig.1.args",         config(...configured("DefaultEvictor"), { name: "PodLifeTime" }), CRITERION],
  ["0.pluginConfig.0.args.nodeFit", config({ name: "DefaultEvictor", args: { nodeFit: 1 } }),     "expected true or false"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "PodLifeTime"),                            "PodLifeTime is expected under deschedule"],
  ["0.plugins.deschedule.enabled.1", plugins("deschedule", "PodLifeTime", "LowNodeUtilization"),  "LowNodeUtilization is expected under balance"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "DefaultEvictor"),                         "DefaultEvictor is expected under filter or preevictionfilter"],
  ["0.plugins.filter.enabled.0",    plugins("filter", "PodLifeTime"),                             "PodLifeTime is expected under deschedule"],
  ["0.plugins.preevictionfilter.enabled.0", plugins("preevictionfilter", "NodeFit"),              UNKNOWN],
  ["0.plugins.balance.enabled.0",   plugins("balance", "RemoveDuplicates"),                       UNSUPPORTED],
  ["0.plugins.deschedule.enabled.1", plugins("deschedule", "PodLifeTime", "PodLifeTime"),         "expected each plugin once"],
  ["0.plugins.filter.enabled.1",    plugins("filter", "DefaultEvictor", "DefaultEvictor"),        "expected each plugin once"],
  ["0.plugins.deschedule.enabled.0", withPlugins({ deschedule: { enabled: ["PodLifeTime"] } }, configured("LowNodeUtilization")), "expected PodLifeTime in pluginConfig, too"],
])("%s: %#", async (field, tweak, message) => {
  expect(await parse(tweak)).toEqual({ ok: false, problems: [{ field: `policy.yaml.profiles.${field}`, message }] });
});

test.each([
  "HighNodeUtilization",
  "RemoveDuplicates",
  "RemoveFailedPods",
  "RemovePodsHavingTooManyRestarts",
  "RemovePodsViolatingInterPodAntiAffinity",
  "RemovePodsViolatingTopologySpreadConstraint",
])("the descheduler's %s is not supported", async (name) => {
  const message = `${name} is not supported by Lifeboat, which has: ${HAS}`;
  const problems = [{ field: "policy.yaml.profiles.0.pluginConfig.0.name", message }];
  expect(await parse(config({ name }))).toEqual({ ok: false, problems });
});

test("all of them at once", async () => {
  const bad = { name: "p", pluginConfig: [{ name: "PodLifeTime", args: { states: ["x"], y: 1 } }] };
  const parsed = await parse({
    profiles: [bad, { ...bad, plugins: { balance: { enabled: ["PodLifeTime", "z"] } } }],
  });
  expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual([
    "policy.yaml.profiles.1.name",
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

describe("whatever the text, there is an answer, in words of ours", () => {
  /** Written for zod's own users. */
  const INTERNAL = /invalid|received|zod|undefined/i;

  async function judge(text: string): Promise<void> {
    const parsed = await parseDeschedulerPolicy(text);
    if (parsed.ok) return;
    expect(parsed.problems.length).toBeGreaterThan(0);
    for (const { field, message } of parsed.problems) {
      expect(field).toMatch(/^policy\.yaml/);
      expect(message).toMatch(/expected|unknown key|not supported|not possible/);
      if (!message.startsWith("expected YAML")) expect(message).not.toMatch(INTERNAL);
    }
  }

  test("any text", async () => {
    await fc.assert(fc.asyncProperty(fc.string({ unit: "grapheme" }), judge), { seed: 20_260_301 });
  });

  test("any mapping", async () => {
    await fc.assert(
      fc.asyncProperty(fc.object(), (tweak) => judge(JSON.stringify({ ...HEAD, ...tweak }))),
      { seed: 20_260_301 },
    );
  });

  /** Anything in place of any value of a good policy. */
  const KEYS = ["name", "args", "pluginConfig", "plugins", "enabled", "thresholds", "cpu", "labelSelector", "nodeFit"];
  const good = {
    ...HEAD,
    maxNoOfPodsToEvictTotal: 5,
    ...withPlugins({ balance: { enabled: ["LowNodeUtilization"] } }),
  };
  const text = JSON.stringify(good);

  test("a good one with a value replaced", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...KEYS, ...Object.keys(good)), fc.jsonValue(), async (key, value) => {
        // Replaced from the inside out: what takes a value's place may have the same key again.
        const tweaked: unknown = JSON.parse(text, (name, old: unknown) => (name === key ? value : old));
        await judge(JSON.stringify(tweaked));
      }),
      { seed: 20_260_301 },
    );
  });
});
