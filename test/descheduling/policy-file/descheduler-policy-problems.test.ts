/** The descheduler's policy file: what is said about a wrong one. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file/parse-descheduler-policy.ts";
import { configured, HEAD, parse, withPlugins } from "./policy-files.ts";

const at = (key: string) => `profiles.0.${key}`;
const plugins = (point: string, ...enabled: readonly unknown[]) => withPlugins({ [point]: { enabled } });

describe("a wrong value: which key, and what was expected", () => {
  const COUNT = "expected a whole number, 0 or more";
  const DURATION = "expected a duration, such as 10m, 1h30m or 0.5s";
  const METRICS = "not supported by Lifeboat, which goes by what pods request";
  const NEVER_READ = "not supported, as the descheduler never reads it";
  const HAS =
    "LowNodeUtilization, RemovePodsViolatingNodeTaints, RemovePodsViolatingNodeAffinity, PodLifeTime, DefaultEvictor";
  const UNKNOWN = `unknown plugin, expected one of ${HAS}`;

  // prettier-ignore
  test.each([
    ["apiVersion",                          { apiVersion: "descheduler/v1alpha1" },             "expected descheduler/v1alpha2"],
    ["kind",                                { kind: "Policy" },                                 "expected DeschedulerPolicy"],
    ["nodeSelector",                        { nodeSelector: "a in b" },                         "expected a label selector, such as: a in (b,c),d=e,f!=g,h,!i"],
    ["nodeSelector",                        { nodeSelector: { zone: "a" } },                    "expected a label selector, such as: a in (b,c),d=e,f!=g,h,!i"],
    ["maxNoOfPodsToEvictPerNode",           { maxNoOfPodsToEvictPerNode: -1 },                  COUNT],
    ["maxNoOfPodsToEvictPerNamespace",      { maxNoOfPodsToEvictPerNamespace: 1.5 },            COUNT],
    ["maxNoOfPodsToEvictTotal",             { maxNoOfPodsToEvictTotal: "5" },                   COUNT],
    ["maxNoOfPodsEvacuationsPerNode",       { maxNoOfPodsEvacuationsPerNode: "10%" },           COUNT],
    ["maxNoOfPodsEvacuationsPerNamespace",  { maxNoOfPodsEvacuationsPerNamespace: -1 },         COUNT],
    ["maxNoOfPodsEvacuationsTotal",         { maxNoOfPodsEvacuationsTotal: 5 },                 "unknown key"],
    ["maxnoofpodstoevicttotal",             { maxnoofpodstoevicttotal: 5 },                     "unknown key"],
    ["maxEvacuationRequestTTL",             { maxEvacuationRequestTTL: 600 },                   DURATION],
    ["maxEvacuationRequestTTL",             { maxEvacuationRequestTTL: "10 minutes" },          DURATION],
    ["maxEvacuationRequestTTL",             { maxEvacuationRequestTTL: "-1m" },                 DURATION],
    ["maxEvacuationRequestTTL",             { maxEvacuationRequestTTL: "0" },                   "expected more than 0"],
    ["evictionMessagePrefixes",             { evictionMessagePrefixes: "Eviction triggered" },  "expected a list"],
    ["evictionMessagePrefixes",             { evictionMessagePrefixes: [] },                    "expected at least one"],
    ["evictionMessagePrefixes.1",           { evictionMessagePrefixes: ["a", ""] },             "expected the beginning of a message"],
    ["evictionMessagePrefixes.0",           { evictionMessagePrefixes: [null] },                "expected the beginning of a message"],
    ["evictionFailureEventNotification",    { evictionFailureEventNotification: "yes" },        "expected true or false"],
    ["gracePeriodSeconds",                  { gracePeriodSeconds: -1 },                         COUNT],
    ["metricsCollector.enabled",            { metricsCollector: { enabled: true } },            METRICS],
    ["metricsCollector.source",             { metricsCollector: { source: "x" } },              "unknown key"],
    ["metricsProviders",                    { metricsProviders: [{ source: "Prometheus" }] },   METRICS],
    ["strategies",                          { strategies: {} },                                 "unknown key"],
    ["metadata",                            { metadata: null },                                 "unknown key"],
    ["profiles",                            { profiles: {} },                                   "expected a list"],
    ["profiles.0",                          { profiles: ["p"] },                                "expected a mapping"],
    [at("name"),                            { profiles: [{}] },                                 "expected the name of the profile"],
    [at("name"),                            { profiles: [{ name: "" }] },                       "expected the name of the profile"],
    ["profiles.2.name",                     { profiles: [{ name: "p" }, { name: "q" }, { name: "p" }] },  "expected each name once"],
    [at("strategies"),                      { profiles: [{ name: "p", strategies: {} }] },      "unknown key"],
    [at("pluginConfig.0"),                  withPlugins({}, ["PodLifeTime"]),                   "expected a mapping"],
    [at("pluginConfig.0.name"),             withPlugins({}, [{ args: {} }]),                    "expected the name of a plugin"],
    [at("pluginConfig.0.params"),           withPlugins({}, [{ name: "PodLifeTime", params: {} }]), "unknown key"],
    [at("pluginConfig.0.name"),             withPlugins({}, [{ name: "podLifeTime" }]),         UNKNOWN],
    [at("pluginConfig.0.name"),             withPlugins({}, [{ name: "RemoveDuplicates" }]),    `RemoveDuplicates is not supported by Lifeboat, which has: ${HAS}`],
    [at("pluginConfig.1.name"),             withPlugins({}, configured("PodLifeTime", "PodLifeTime")),       "expected each name once"],
    [at("pluginConfig.2.name"),             withPlugins({}, configured("DefaultEvictor", "PodLifeTime", "DefaultEvictor")), "expected each name once"],
    [at("pluginConfig.1.args"),             withPlugins({}, [...configured("DefaultEvictor"), { name: "PodLifeTime" }]), "expected maxPodLifeTimeSeconds, states, conditions or exitCodes"],
    [at("pluginConfig.0.args"),             withPlugins({}, [{ name: "PodLifeTime", args: [] }]),            "expected a mapping"],
    [at("pluginConfig.0.args.nodeFit"),     withPlugins({}, [{ name: "DefaultEvictor", args: { nodeFit: 1 } }]), "expected true or false"],
    [at("plugins.deschedule.enabled"),      withPlugins({ deschedule: { enabled: "PodLifeTime" } }),         "expected a list"],
    [at("plugins.deschedule.enabled.0"),    plugins("deschedule", { name: "PodLifeTime" }),     "expected the name of a plugin"],
    [at("plugins.deschedule"),              withPlugins({ deschedule: ["PodLifeTime"] }),       "expected a mapping"],
    [at("plugins.deschedule.enable"),       withPlugins({ deschedule: { enable: [] } }),        "unknown key"],
    [at("plugins.evict"),                   withPlugins({ evict: {} }),                         "unknown key"],
    [at("plugins.preEvictionFilter"),       plugins("preEvictionFilter", "DefaultEvictor"),     "expected preevictionfilter: written like this, the descheduler ignores it"],
    [at("plugins.deschedule.disabled"),     withPlugins({ deschedule: { disabled: ["PodLifeTime"] } }), `${NEVER_READ}: expected the plugin to be left out of enabled`],
    [at("plugins.filter.disabled"),         withPlugins({ filter: { disabled: ["DefaultEvictor"] } }),  `${NEVER_READ}: expected the plugin to be left out of enabled`],
    [at("plugins.presort.enabled"),         plugins("presort", "a"),                            `${NEVER_READ}: expected no plugins here`],
    [at("plugins.sort.enabled"),            plugins("sort", "PodLifeTime"),                     `${NEVER_READ}: expected no plugins here`],
    [at("plugins.balance.enabled.0"),       plugins("balance", "PodLifeTime"),                  "PodLifeTime is expected under deschedule"],
    [at("plugins.deschedule.enabled.1"),    plugins("deschedule", "PodLifeTime", "LowNodeUtilization"), "LowNodeUtilization is expected under balance"],
    [at("plugins.balance.enabled.0"),       plugins("balance", "DefaultEvictor"),               "DefaultEvictor is expected under filter or preevictionfilter"],
    [at("plugins.filter.enabled.0"),        plugins("filter", "PodLifeTime"),                   "PodLifeTime is expected under deschedule"],
    [at("plugins.preevictionfilter.enabled.0"), plugins("preevictionfilter", "NodeFit"),        UNKNOWN],
    [at("plugins.balance.enabled.0"),       plugins("balance", "RemoveDuplicates"),             `RemoveDuplicates is not supported by Lifeboat, which has: ${HAS}`],
    [at("plugins.deschedule.enabled.1"),    plugins("deschedule", "PodLifeTime", "PodLifeTime"), "expected each plugin once"],
    [at("plugins.filter.enabled.1"),        plugins("filter", "DefaultEvictor", "DefaultEvictor"), "expected each plugin once"],
    [at("plugins.deschedule.enabled.0"),    withPlugins({ deschedule: { enabled: ["PodLifeTime"] } }, configured("LowNodeUtilization")), "expected PodLifeTime in pluginConfig, too"],
  ])("%s: %#", async (field, tweak, message) => {
    expect(await parse(tweak)).toEqual({ ok: false, problems: [{ field: `policy.yaml.${field}`, message }] });
  });

  test.each([
    "HighNodeUtilization",
    "RemoveDuplicates",
    "RemoveFailedPods",
    "RemovePodsHavingTooManyRestarts",
    "RemovePodsViolatingInterPodAntiAffinity",
    "RemovePodsViolatingTopologySpreadConstraint",
  ])("the descheduler's %s is none of ours", async (name) => {
    const parsed = await parse({
      profiles: [{ name: "p", pluginConfig: [{ name }], plugins: { deschedule: { enabled: [name] } } }],
    });
    const message = `${name} is not supported by Lifeboat, which has: ${HAS}`;
    expect(parsed.ok ? [] : parsed.problems).toEqual([
      { field: "policy.yaml.profiles.0.pluginConfig.0.name", message },
      { field: "policy.yaml.profiles.0.plugins.deschedule.enabled.0", message },
    ]);
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
