/** A policy file whose parts do not fit together, and texts that are no policy: what is said about each. */
import { expect, test } from "vitest";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";
import { configured, LEAST, parse, type PluginName, withPlugins } from "./policy-files.ts";

const plugins = (point: string, ...enabled: readonly unknown[]) => withPlugins({ [point]: { enabled } });
const config = (...pluginConfig: readonly unknown[]) => withPlugins({}, pluginConfig);

const HAS =
  "LowNodeUtilization, RemovePodsViolatingNodeTaints, RemovePodsViolatingNodeAffinity, PodLifeTime, DefaultEvictor";
const UNKNOWN = `not supported by Lifeboat: expected one of ${HAS}`;

const args = (name: PluginName, tweak: object) => config({ name, args: { ...LEAST[name], ...tweak } });
const evictor = (tweak: object) => args("DefaultEvictor", tweak);
const ARGS = "0.pluginConfig.0.args";
const SELECTOR = "expected a label selector, such as: d=e,f!=g,h,!i";
const DURATION = "expected a duration, such as 10m, 1h30m or 0.5s";
const EXPRESSION = { labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] } };

// prettier-ignore
test.each([
  ["nodeSelector",                  { nodeSelector: "a in (b)" },                                 SELECTOR],
  ["maxEvacuationRequestTTL",       { maxEvacuationRequestTTL: "soon" },                          DURATION],
  ["maxEvacuationRequestTTL",       { maxEvacuationRequestTTL: "0s" },                            "expected more than 0"],
  ["maxNoOfPodsToEvictTotal",       { maxNoOfPodsToEvictTotal: -1 },                              "expected a whole number, 0 or more"],
  ["maxNoOfPodsToEvictPerNod",      { maxNoOfPodsToEvictPerNod: 1 },                              "unknown key"],
])("given a wrong %s, when the policy is parsed, then the problem names it", async (field, tweak, message) => {
  expect(await parse(tweak)).toEqual({ ok: false, problems: [{ field: `policy.yaml.${field}`, message }] });
});

// prettier-ignore
test.each([
  [`${ARGS}.useDeviationThresholds`, args("LowNodeUtilization", { useDeviationThresholds: true }), "unknown key"],
  [`${ARGS}.targetThresholds`,      args("LowNodeUtilization", { targetThresholds: { cpu: 10 } }), "expected the same resources as in thresholds, each with no less"],
  [`${ARGS}.targetThresholds`,      args("LowNodeUtilization", { targetThresholds: { memory: 90 } }), "expected the same resources as in thresholds, each with no less"],
  [`${ARGS}.targetThresholds.cpu`,  args("LowNodeUtilization", { targetThresholds: { cpu: 101 } }), "expected a percentage, from 0 to 100"],
  [`${ARGS}.nodeAffinityType.0`,    args("RemovePodsViolatingNodeAffinity", { nodeAffinityType: ["preferredDuringSchedulingIgnoredDuringExecution"] }), "expected requiredDuringSchedulingIgnoredDuringExecution"],
  [`${ARGS}.includedTaints`,        args("RemovePodsViolatingNodeTaints", { includedTaints: ["a"], excludedTaints: ["b"] }), "expected excludedTaints or includedTaints, not both"],
  [`${ARGS}.namespaces`,            args("PodLifeTime", { namespaces: { include: ["a"], exclude: ["b"] } }), "expected include or exclude, not both"],
  [`${ARGS}.states`,                args("PodLifeTime", { states: ["Running"] }),                 "unknown key"],
  [`${ARGS}.nodeFit`,               evictor({ nodeFit: 1 }),                                      "expected true or false"],
  [`${ARGS}.evictLocalStoragePods`, evictor({ evictLocalStoragePods: true }),                     "unknown key"],
  [`${ARGS}.priorityThreshold.name`, evictor({ priorityThreshold: { value: 1, name: "a" } }),     "unknown key"],
  [`${ARGS}.podProtections.defaultDisabled.0`, evictor({ podProtections: { defaultDisabled: ["All"] } }), "expected one of PodsWithLocalStorage, SystemCriticalPods, FailedBarePods, DaemonSetPods"],
  [`${ARGS}.labelSelector.matchExpressions.0.values`, evictor(EXPRESSION),                        "expected values with In and NotIn, and none with Exists and DoesNotExist"],
  ["0.pluginConfig.0.name",         config({ name: "RemoveDuplicates" }),                         UNKNOWN],
  ["0.pluginConfig.1.name",         config(...configured("PodLifeTime", "PodLifeTime")),          "expected each name once"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "PodLifeTime"),                            "PodLifeTime is expected under deschedule"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "DefaultEvictor"),                         "DefaultEvictor is expected under filter or preevictionfilter"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "RemoveDuplicates"),                       UNKNOWN],
  ["0.plugins.deschedule.enabled.0", withPlugins({ deschedule: { enabled: ["PodLifeTime"] } }, configured("LowNodeUtilization")), "expected PodLifeTime in pluginConfig, too"],
])("given a wrong profiles.%s, when the policy is parsed, then the problem names it", async (field, tweak, message) => {
  expect(await parse(tweak)).toEqual({ ok: false, problems: [{ field: `policy.yaml.profiles.${field}`, message }] });
});

test("all of them at once", async () => {
  const bad = { name: "p", pluginConfig: [{ name: "PodLifeTime", args: { maxPodLifeTimeSeconds: "x", y: 1 } }] };
  const parsed = await parse({
    profiles: [bad, { ...bad }],
  });
  expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual([
    "policy.yaml.profiles.0.pluginConfig.0.args.maxPodLifeTimeSeconds",
    "policy.yaml.profiles.0.pluginConfig.0.args.y",
    "policy.yaml.profiles.1.pluginConfig.0.args.maxPodLifeTimeSeconds",
    "policy.yaml.profiles.1.pluginConfig.0.args.y",
  ]);
});

// prettier-ignore
test.each([
  ["nothing",               "",                                       "expected YAML, found an error"],
  ["a list",                "- a",                                    "expected a mapping"],
  ["a key twice",           "kind: a\nprofiles: []\nkind: c\n",       "expected YAML, found an error in line 3: duplicated mapping key"],
])("given %s instead of a policy, when it is parsed, then the problem says what was expected", async (_, text, message) => {
  expect(await parseDeschedulerPolicy(text)).toEqual({
    ok: false,
    problems: [{ field: "policy.yaml", message: expect.stringContaining(message) }],
  });
});
