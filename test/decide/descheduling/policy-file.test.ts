/** Tests the descheduler's policy file: every key with its default, and the message about a wrong value. */
import { dump } from "js-yaml";
import { expect, test } from "vitest";
import { evictorWorld, pod, UNEVICTABLE } from "../../support/descheduling/fixtures.ts";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";

const HEAD = { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy" };

async function parse(tweak: Readonly<Record<string, unknown>>) {
  const parsed = await parseDeschedulerPolicy(dump({ ...HEAD, ...tweak }));
  if (!parsed.ok) return parsed;
  const { policy: value, problems } = parsed.value;
  return problems.length === 0 ? { ok: true, value } : { ok: true, value, problems };
}

const LEAST = {
  LowNodeUtilization: { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } },
  RemovePodsViolatingNodeTaints: {},
  RemovePodsViolatingNodeAffinity: { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] },
  PodLifeTime: { maxPodLifeTimeSeconds: 60 },
  RemovePodsViolatingInterPodAntiAffinity: {},
  RemovePodsViolatingTopologySpreadConstraint: {},
  DefaultEvictor: {},
};

type PluginName = keyof typeof LEAST;

function configured(...names: readonly PluginName[]) {
  return names.map((name) => ({ name, args: LEAST[name] }));
}

const ALL = Object.entries(LEAST).map(([name, args]) => ({ name, args }));

/** Returns a profile that enables `plugins`. By default, the profile has arguments for all plugins. */
function withPlugins(plugins: unknown, pluginConfig: unknown = ALL) {
  return { profiles: [{ name: "p", pluginConfig, plugins }] };
}

/** Returns a profile with these plugins. Their arguments are omitted, because this test does not need them. */
const profile = (name: string, ...plugins: readonly (readonly [string, "deschedule" | "balance"])[]) => ({
  name,
  evictor: expect.any(Function),
  plugins: plugins.map(([name, extensionPoint]) => ({ name, extensionPoint, nominate: expect.any(Function) })),
});

const DEFAULTS = {
  limits: {},
  requestTtlSeconds: 600,
  notifyFailures: false,
  messagePrefixes: ["Eviction triggered"],
  profiles: [],
};

test("absent keys have their defaults", async () => {
  expect(await parse({})).toEqual({ ok: true, value: DEFAULTS });
});

// prettier-ignore
test.each([
  [{ nodeSelector: "k=a, !c , d!=e,f" },             { nodeSelector: { matchLabels: {}, matchExpressions: [
    { key: "k", operator: "In", values: ["a"] }, { key: "c", operator: "DoesNotExist", values: [] }, { key: "d", operator: "NotIn", values: ["e"] }, { key: "f", operator: "Exists", values: [] }] } }],
  [{ nodeSelector: " " },                            { nodeSelector: { matchLabels: {}, matchExpressions: [] } }],
  [{ nodeSelector: "example.com/pool ==  blue,e=" }, { nodeSelector: { matchLabels: {}, matchExpressions: [
    { key: "example.com/pool", operator: "In", values: ["blue"] }, { key: "e", operator: "In", values: [""] }] } }],
  [{ maxNoOfPodsToEvictPerNode: 2 },                 { limits: { evictionsPerNode: 2 } }],
  [{ maxNoOfPodsToEvictPerNamespace: 3 },            { limits: { evictionsPerNamespace: 3 } }],
  [{ maxNoOfPodsToEvictTotal: 0 },                   { limits: { evictionsTotal: 0 } }],
  [{ maxNoOfPodsEvacuationsPerNode: 0 },             { limits: { evacuationsPerNode: 0 } }],
  [{ maxNoOfPodsEvacuationsPerNamespace: 4 },        { limits: { evacuationsPerNamespace: 4 } }],
  [{ maxEvacuationRequestTTL: "1m30s" },             { requestTtlSeconds: 90 }],
  [{ maxEvacuationRequestTTL: "12h" },               { requestTtlSeconds: 43_200 }],
  [{ maxEvacuationRequestTTL: "15m" },               { requestTtlSeconds: 900 }],
  [{ maxEvacuationRequestTTL: "0.25s" },             { requestTtlSeconds: 0.25 }],
  [{ evictionFailureEventNotification: true },       { notifyFailures: true }],
  [{ evictionMessagePrefixes: ["Moved"] },           { messagePrefixes: ["Moved"] }],
  [{ evictionMessagePrefixes: [] },                  {}],
  [{ gracePeriodSeconds: 0 },                        { gracePeriodSeconds: 0 }],
  [{ profiles: [{ name: "p" }] },                    { profiles: [profile("p")] }],
  [{ profiles: [{ name: "p", pluginConfig: null, plugins: null }, { name: "q", plugins: {} }] }, { profiles: [profile("p"), profile("q")] }],
])("the policy with %j is parsed", async (tweak, expected) => {
  expect(await parse(tweak)).toEqual({ ok: true, value: { ...DEFAULTS, ...expected } });
});

const LNU = ["LowNodeUtilization", "balance"] as const;
const TAINTS = ["RemovePodsViolatingNodeTaints", "deschedule"] as const;
const LIFE_TIME = ["PodLifeTime", "deschedule"] as const;

// prettier-ignore
test.each([
  [{ balance: { enabled: ["LowNodeUtilization"] } },                                             [LNU]],
  [{ deschedule: { enabled: ["PodLifeTime", "RemovePodsViolatingNodeTaints"] } },                [LIFE_TIME, TAINTS]],
  [{ balance: { enabled: ["LowNodeUtilization"] }, deschedule: { enabled: ["PodLifeTime"] } },   [LIFE_TIME, LNU]],
  [{ filter: { enabled: ["DefaultEvictor"] }, preevictionfilter: { enabled: ["DefaultEvictor"] } }, []],
] as const)("plugins enabled by %j", async (plugins, expected) => {
  expect(await parse(withPlugins(plugins))).toEqual({ ok: true, value: { ...DEFAULTS, profiles: [profile("p", ...expected)] } });
});

const config = (...pluginConfig: readonly unknown[]) => withPlugins({}, pluginConfig);
const args = (name: PluginName, tweak: object) => config({ name, args: { ...LEAST[name], ...tweak } });
const evictor = (tweak: object) => args("DefaultEvictor", tweak);
// prettier-ignore
test.each([
  ["LowNodeUtilization",                      { thresholds: { cpu: 50, memory: 0 }, targetThresholds: { cpu: 50, memory: 100 } }],
  ["LowNodeUtilization",                      { evictableNamespaces: { exclude: ["kube-system"] }, evictionLimits: { node: 0 } }],
  ["RemovePodsViolatingNodeTaints",           { includedTaints: ["a", "b=c"] }],
  ["RemovePodsViolatingNodeTaints",           { excludedTaints: ["a"] }],
  ["PodLifeTime",                             { namespaces: { include: ["a"], exclude: [] } }],
  ["RemovePodsViolatingInterPodAntiAffinity", { labelSelector: { matchExpressions: [{ key: "a", operator: "In", values: [""] }, { key: "b", operator: "DoesNotExist" }, { key: "c", operator: "NotIn", values: ["d"] }] } }],
  ["DefaultEvictor",                          { priorityThreshold: { value: -2_147_483_648 }, noEvictionPolicy: "" }],
] as const)("%s accepts %j", async (name, tweak) => {
  expect(await parse(args(name, tweak))).toMatchObject({ ok: true, value: { profiles: [profile("p")] } });
});

const prefersToStay = pod("p", { annotations: { "descheduler.alpha.kubernetes.io/prefer-no-eviction": "" } });

// prettier-ignore
test.each([
  ["by default, ordinary pods are evictable",                       {},                                                        pod("p"),                                   true],
  ["by default, a preference to stay does not count",               {},                                                        prefersToStay,                              true],
  ["a mandatory preference to stay protects",                       { noEvictionPolicy: "Mandatory" },                         prefersToStay,                              false],
  ["a preferred preference to stay does not protect",               { noEvictionPolicy: "Preferred" },                         prefersToStay,                              true],
  ["a DaemonSet's pod is protected",                                {},                                                        pod("p", UNEVICTABLE.daemonSet),            false],
  ["a protection can be switched off",                              { podProtections: { defaultDisabled: ["DaemonSetPods"] } }, pod("p", UNEVICTABLE.daemonSet),           true],
  ["another protection can be switched on",                         { podProtections: { extraEnabled: ["PodsWithPVC"] } },     pod("p", { claims: ["data"] }),             false],
  ["a priority threshold protects pods above it",                   { priorityThreshold: { value: 800 } },                     pod("p", { priority: 801 }),                false],
])("DefaultEvictor as configured: %s", async (_, tweak, subject, expected) => {
  const parsed = await parseDeschedulerPolicy(dump({ ...HEAD, ...evictor(tweak) }));
  const [found] = parsed.ok ? parsed.value.policy.profiles : [];
  expect(found?.evictor(evictorWorld({ nodes: [], pods: [subject] })).filter(subject)).toBe(expected);
});

const plugins = (point: string, ...enabled: readonly unknown[]) => withPlugins({ [point]: { enabled } });

const HAS =
  "LowNodeUtilization, RemovePodsViolatingTopologySpreadConstraint, RemovePodsViolatingNodeTaints, RemovePodsViolatingNodeAffinity, RemovePodsViolatingInterPodAntiAffinity, PodLifeTime, DefaultEvictor";
const UNKNOWN = `not supported by Lifeboat: expected one of ${HAS}`;

const ARGS = "0.pluginConfig.0.args";
const SELECTOR = "expected a label selector, such as: d=e,f!=g,h,!i";
const DURATION = "expected a duration, such as 10m, 1h30m or 0.5s";
const EXPRESSION = { labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] } };

// prettier-ignore
test.each([
  ["nodeSelector",                  { nodeSelector: "a in (b)" },                                 SELECTOR],
  ["nodeSelector",                  { nodeSelector: "a=b,-c=d" },                                 SELECTOR],
  ["nodeSelector",                  { nodeSelector: "a=-b" },                                     SELECTOR],
  ["nodeSelector",                  { nodeSelector: "Example.com/a=b" },                          SELECTOR],
  ["maxEvacuationRequestTTL",       { maxEvacuationRequestTTL: "soon" },                          DURATION],
  ["maxEvacuationRequestTTL",       { maxEvacuationRequestTTL: "" },                              DURATION],
  ["maxEvacuationRequestTTL",       { maxEvacuationRequestTTL: "in 10m" },                        DURATION],
  ["maxEvacuationRequestTTL",       { maxEvacuationRequestTTL: "0s" },                            "expected more than 0"],
  ["evictionMessagePrefixes.0",     { evictionMessagePrefixes: [""] },                            "expected the start of a message"],
  ["maxNoOfPodsToEvictPerNod",      { maxNoOfPodsToEvictPerNod: 1 },                              "unknown key"],
])("the problem of a wrong key %s names it, and the whole policy is refused", async (field, tweak, message) => {
  expect(await parse(tweak)).toEqual({ ok: false, problems: [{ field: `policy.yaml.${field}`, message }] });
});

// prettier-ignore
test.each([
  [`${ARGS}.useDeviationThresholds`, args("LowNodeUtilization", { useDeviationThresholds: true }), "unknown key"],
  [`${ARGS}.targetThresholds`,      args("LowNodeUtilization", { targetThresholds: { cpu: 10 } }), "expected the same resources as in thresholds, each with the same or a higher value"],
  [`${ARGS}.targetThresholds`,      args("LowNodeUtilization", { targetThresholds: { memory: 90 } }), "expected the same resources as in thresholds, each with the same or a higher value"],
  [`${ARGS}.evictableNamespaces.include`, args("LowNodeUtilization", { evictableNamespaces: { include: ["a"] } }), "unknown key"],
  [`${ARGS}.evictionLimits.node`,   args("LowNodeUtilization", { evictionLimits: { node: -1 } }), "expected a whole number, 0 or more"],
  [`${ARGS}.targetThresholds.cpu`,  args("LowNodeUtilization", { targetThresholds: { cpu: 101 } }), "expected a percentage, from 0 to 100"],
  [`${ARGS}.nodeAffinityType.0`,    args("RemovePodsViolatingNodeAffinity", { nodeAffinityType: ["preferredDuringSchedulingIgnoredDuringExecution"] }), "expected requiredDuringSchedulingIgnoredDuringExecution"],
  [`${ARGS}.includedTaints`,        args("RemovePodsViolatingNodeTaints", { includedTaints: ["a"], excludedTaints: ["b"] }), "expected excludedTaints or includedTaints, not both"],
  [`${ARGS}.namespaces`,            args("PodLifeTime", { namespaces: { include: ["a"], exclude: ["b"] } }), "expected include or exclude, not both"],
  [`${ARGS}.sorters.0`,             args("PodLifeTime", { sorters: ["Newest"] }),                 "expected one of LowestPriority, LowestQoS, Oldest, Youngest, LeastMemory"],
  [`${ARGS}.inProgressFirst`,       args("LowNodeUtilization", { inProgressFirst: "no" }),        "expected true or false"],
  [`${ARGS}.namespaces`,            args("RemovePodsViolatingInterPodAntiAffinity", { namespaces: { include: ["a"], exclude: ["b"] } }), "expected include or exclude, not both"],
  [`${ARGS}.includePreferNoSchedule`, args("RemovePodsViolatingNodeTaints", { includePreferNoSchedule: 1 }), "expected true or false"],
  [`${ARGS}.labelSelector.matchLabels.a`, args("RemovePodsViolatingInterPodAntiAffinity", { labelSelector: { matchLabels: { a: "-b" } } }), "expected the value of a label"],
  [`${ARGS}.labelSelector.matchExpressions.0.operator`, args("RemovePodsViolatingInterPodAntiAffinity", { labelSelector: { matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] } }), "expected In, NotIn, Exists or DoesNotExist"],
  [`${ARGS}.labelSelector.matchLabels.a b`, args("RemovePodsViolatingInterPodAntiAffinity", { labelSelector: { matchLabels: { "a b": "c" } } }), "expected the key of a label"],
  [`${ARGS}.constraints.0`,         args("RemovePodsViolatingTopologySpreadConstraint", { constraints: ["Always"] }), "expected DoNotSchedule or ScheduleAnyway"],
  [`${ARGS}.topologyBalanceNodeFit`, args("RemovePodsViolatingTopologySpreadConstraint", { topologyBalanceNodeFit: 1 }), "expected true or false"],
  [`${ARGS}.includeSoftConstraints`, args("RemovePodsViolatingTopologySpreadConstraint", { includeSoftConstraints: true }), "unknown key"],
  ["0.plugins.deschedule.enabled.0", plugins("deschedule", "RemovePodsViolatingTopologySpreadConstraint"), "RemovePodsViolatingTopologySpreadConstraint is expected under balance"],
  [`${ARGS}.states`,                args("PodLifeTime", { states: ["Running"] }),                 "unknown key"],
  ["0.pluginConfig.0.name",         config({ name: "RemoveDuplicates" }),                         UNKNOWN],
  ["0.pluginConfig.0.name",         config({}),                                                   UNKNOWN],
  ["0.plugins.balance.enabled.0",   plugins("balance", "PodLifeTime"),                            "PodLifeTime is expected under deschedule"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "DefaultEvictor"),                         "DefaultEvictor is expected under filter or preevictionfilter"],
  ["0.plugins.balance.enabled.0",   plugins("balance", "RemoveDuplicates"),                       UNKNOWN],
  ["0.plugins.deschedule.enabled.0", withPlugins({ deschedule: { enabled: ["PodLifeTime"] } }, configured("LowNodeUtilization")), "PodLifeTime is enabled, but missing from pluginConfig: add it there"],
])("the problem of a wrong profiles.%s names it, and only that plugin is ignored", async (field, tweak, message) => {
  const [profile] = tweak.profiles;
  const pluginConfig = configured("RemovePodsViolatingNodeTaints");
  const other = { name: "other", pluginConfig, plugins: { deschedule: { enabled: ["RemovePodsViolatingNodeTaints"] } } };
  expect(await parse({ profiles: [profile, other] })).toMatchObject({
    ok: true,
    problems: [{ field: `policy.yaml.profiles.${field}`, message }],
    value: { profiles: [{ plugins: [] }, { plugins: [{ name: "RemovePodsViolatingNodeTaints" }] }] },
  });
});

test("thresholds without a resource are a problem of both fields", async () => {
  const none = args("LowNodeUtilization", { thresholds: {}, targetThresholds: {} });
  const fields = ["thresholds", "targetThresholds"].map((field) => `policy.yaml.profiles.${ARGS}.${field}`);
  const message = "expected at least one resource";
  expect(await parse(none)).toMatchObject({ problems: fields.map((field) => ({ field, message })) });
});

// prettier-ignore
test.each([
  [`${ARGS}.nodeFit`,               evictor({ nodeFit: 1 }),                                      "expected true or false"],
  [`${ARGS}.evictLocalStoragePods`, evictor({ evictLocalStoragePods: true }),                     "unknown key"],
  [`${ARGS}.noEvictionPolicy`,      evictor({ noEvictionPolicy: "Always" }),                      "expected Preferred or Mandatory"],
  [`${ARGS}.priorityThreshold.value`, evictor({ priorityThreshold: { value: 2_000_000_001 } }),   "expected no more than 2000000000"],
  [`${ARGS}.priorityThreshold.value`, evictor({ priorityThreshold: { value: -2_147_483_649 } }),  "expected a whole number of 32 bits"],
  [`${ARGS}.labelSelector.matchExpressions.0.values`, evictor({ labelSelector: { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] } }), "expected values with In and NotIn, and none with Exists and DoesNotExist"],
  [`${ARGS}.priorityThreshold.name`, evictor({ priorityThreshold: { value: 1, name: "a" } }),     "unknown key"],
  [`${ARGS}.podProtections.defaultDisabled.0`, evictor({ podProtections: { defaultDisabled: ["All"] } }), "expected one of PodsWithLocalStorage, SystemCriticalPods, FailedBarePods, DaemonSetPods"],
  [`${ARGS}.labelSelector.matchExpressions.0.values`, evictor(EXPRESSION),                        "expected values with In and NotIn, and none with Exists and DoesNotExist"],
  ["0.plugins.filter.enabled.0",    plugins("filter", "PodLifeTime"),                             "PodLifeTime is expected under deschedule"],
  ["0.plugins.filter.enabled.0",    plugins("filter", "RemoveDuplicates"),                        UNKNOWN],
  ["0.pluginConfig.1.name",         config(...configured("PodLifeTime", "PodLifeTime")),          "expected each name once"],
])("the problem of a wrong profiles.%s names it, and the whole policy is refused", async (field, tweak, message) => {
  expect(await parse(tweak)).toEqual({ ok: false, problems: [{ field: `policy.yaml.profiles.${field}`, message }] });
});

// prettier-ignore
test.each([
  ["nothing",                   "",                                       "expected YAML, found an error"],
  ["a list",                    "- a",                                    "expected a mapping"],
  ["a duplicate key",           "kind: a\nprofiles: []\nkind: c\n",       "expected YAML, found an error in line 3: duplicated mapping key"],
])("the problem of %s as a policy names what was expected", async (_, text, message) => {
  expect(await parseDeschedulerPolicy(text)).toEqual({
    ok: false,
    problems: [{ field: "policy.yaml", message: expect.stringContaining(message) }],
  });
});
