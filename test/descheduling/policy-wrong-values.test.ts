/** A wrong value in a policy file: which key is named, and what is expected there. */
import { describe, expect, test } from "vitest";
import { parseConfig } from "../../shared/settings/problem.ts";
import { type DocumentName, FULL, PREFERRED, REQUIRED, SCHEMA } from "./policy-files.ts";

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The same with another value at that path; undefined takes the key away. */
function replaced(tree: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(tree))
    return tree.map((item: unknown, i) => (String(i) === key ? replaced(item, rest, value) : item));
  const { [key]: old, ...others } = isMapping(tree) ? tree : {};
  const next = replaced(old, rest, value);
  return next === undefined ? others : { ...others, [key]: next };
}

/** `key.path` of the file, or `Plugin/key.path` of its arguments, with that value instead. */
function parseWith(at: string, value: unknown) {
  const [path = "", plugin] = at.split("/").toReversed();
  const name = Object.keys(FULL).find((one): one is DocumentName => one === plugin) ?? "file";
  return parseConfig(SCHEMA[name], replaced(FULL[name], path === "" ? [] : path.split("."), value), name);
}

/** What is said first about it. */
function said(at: string, value: unknown) {
  const parsed = parseWith(at, value);
  return parsed.ok ? "nothing" : parsed.problems[0];
}

function problem(at: string, message: string) {
  const [path = "", plugin = "file"] = at.split("/").toReversed();
  return { field: [plugin, path].filter(Boolean).join("."), message: expect.stringMatching(message) };
}

/** Keys of these are of any name. */
const RECORDS = ["thresholds", "targetThresholds", "matchLabels", "args"];

/** Where there are mappings in a document. */
function mappingsIn(tree: unknown, at: string): readonly (readonly [at: string, mapping: object])[] {
  const entries = typeof tree === "object" && tree !== null ? Object.entries(tree) : [];
  const below = entries.flatMap(([key, value]) => {
    return RECORDS.includes(key) ? [] : mappingsIn(value, at.endsWith("/") ? `${at}${key}` : `${at}.${key}`);
  });
  return isMapping(tree) ? [[at, tree], ...below] : below;
}

const MAPPINGS = Object.entries(FULL).flatMap(([name, document]) => mappingsIn(document, `${name}/`));

const below = (at: string, key: string) => (at.endsWith("/") ? `${at}${key}` : `${at}.${key}`);

test("every key there is may be given", () => {
  for (const name of Object.keys(FULL)) expect(parseWith(`${name}/unset`, undefined)).toMatchObject({ ok: true });
});

describe.each(MAPPINGS)("the mapping %s", (at, mapping) => {
  test("is one", () => {
    for (const value of ["text", 1, ["a"]]) expect(said(at, value)).toEqual(problem(at, "^expected a mapping$"));
  });

  test("has no other keys", () => {
    expect(said(below(at, "unknown"), null)).toEqual(problem(below(at, "unknown"), "^unknown key$"));
  });

  test("null is as good as an absent key", () => {
    for (const key of Object.keys(mapping)) {
      expect(parseWith(below(at, key), null)).toEqual(parseWith(below(at, key), undefined));
    }
  });
});

/** `*`: of every plugin that has the key. */
function everywhere(at: string): readonly string[] {
  const [first = "", ...rest] = at.slice("*/".length).split(".");
  if (!at.startsWith("*/")) return [at];
  const names = Object.entries(FULL).flatMap(([name, keys]) => (name !== "file" && first in keys ? [name] : []));
  return names.map((name) => `${name}/${[first, ...rest].join(".")}`);
}

const EXPRESSION = "*/labelSelector.matchExpressions.0";
const NOT_A_NAME = ["", 1, null];

// prettier-ignore
const KINDS: readonly (readonly [at: string, message: string, wrong: readonly unknown[]])[] = [
  ["maxNoOfPodsToEvictTotal",                              "a whole number, 0 or more",                [-1, 0.5, "5", "10%"]],
  ["evictionFailureEventNotification",                     "true or false",                            ["true", 1, "no"]],
  ["LowNodeUtilization/thresholds.cpu",                    "a percentage, from 0 to 100",              [-1, 100.5, "20", NaN, null]],
  ["LowNodeUtilization/targetThresholds",                  "percentages by resource",                  ["cpu", 1, null]],
  ["maxEvacuationRequestTTL",                              "a duration, such as 10m, 1h30m or 0.5s",   [600, "10 minutes", "-1m"]],
  ["nodeSelector",                                         "a label selector, such as: a in \\(b,c\\),d=e,f!=g,h,!i", ["a in b", { zone: "a" }]],
  ["profiles.0.plugins.balance.enabled",                   "a list",                                   ["text", {}]],
  ["evictionMessagePrefixes.0",                            "the beginning of a message",               NOT_A_NAME],
  ["profiles.0.name",                                      "the name of the profile",                  NOT_A_NAME],
  ["profiles.0.pluginConfig.0.name",                       "the name of a plugin",                     NOT_A_NAME],
  ["*/namespaces.include.0",                               "the name of a namespace",                  NOT_A_NAME],
  ["RemovePodsViolatingNodeTaints/excludedTaints.0",       "the key of a taint, or key=value",         NOT_A_NAME],
  ["PodLifeTime/ownerKinds.include.0",                     "the kind of an owner",                     NOT_A_NAME],
  ["DefaultEvictor/priorityThreshold.name",                "the name of a PriorityClass",              [1, true]],
  ["*/labelSelector.matchLabels",                          "a mapping of labels",                      ["a", []]],
  [`${EXPRESSION}.values.0`,                               "the value of a label",                     [1, "-", true, null]],
  [`${EXPRESSION}.key`,                                    "the key of a label",                       ["", 1, "a/b/c"]],
  [`${EXPRESSION}.operator`,                               "In, NotIn, Exists or DoesNotExist",        ["in", "Gt", 1]],
  ["RemovePodsViolatingNodeAffinity/nodeAffinityType.0",   `${REQUIRED} or ${PREFERRED}`,              ["required", 1]],
  ["PodLifeTime/states.0",                                 "one of Running, Pending, .*, StartError",  ["running", 1]],
  ["DefaultEvictor/podProtections.defaultDisabled.0",      "one of PodsWithLocalStorage, .*",          ["PodsWithPVC"]],
  ["DefaultEvictor/podProtections.extraEnabled.0",         "one of PodsWithPVC, .*",                   ["DaemonSetPods"]],
  ["DefaultEvictor/noEvictionPolicy",                      "Preferred or Mandatory",                   ["mandatory", 1]],
];

const everyKind = KINDS.flatMap(([at, ...rest]) => everywhere(at).map((one) => [one, ...rest] as const));

test.each(everyKind)("%s: expected %s, not %j", (at, message, wrong) => {
  for (const value of wrong) expect(said(at, value)).toEqual(problem(at, `^expected ${message}$`));
});

const BOTH = "^expected include or exclude, not both$";
const VALUES = "^expected values with In and NotIn, and none with Exists and DoesNotExist$";
const SAME = "^expected the same resources as in thresholds$";
const CRITERION = "^expected maxPodLifeTimeSeconds or states$";
const ONCE = "^expected each protection once$";
const requirement = (operator: string, ...values: readonly string[]) => ({ key: "a", operator, values });

type Rule = readonly [at: string, value: unknown, message: string, deeper?: string];

// prettier-ignore
const RULES: readonly Rule[] = [
  ["apiVersion",                                         "descheduler/v1alpha1",                        "^expected descheduler/v1alpha2$"],
  ["kind",                                               "Policy",                                      "^expected DeschedulerPolicy$"],
  ["maxEvacuationRequestTTL",                            "0",                                           "^expected more than 0$"],
  ["evictionMessagePrefixes",                            [],                                            "^expected at least one$"],
  ["*/namespaces",                                       { include: ["a"], exclude: ["b"] },            BOTH],
  [EXPRESSION,                                           requirement("In"),                             VALUES, "values"],
  [EXPRESSION,                                           requirement("NotIn"),                          VALUES, "values"],
  [EXPRESSION,                                           requirement("Exists", "b"),                    VALUES, "values"],
  [EXPRESSION,                                           requirement("DoesNotExist", "b"),              VALUES, "values"],
  ["LowNodeUtilization/thresholds",                      {},                                            "^expected at least one resource$"],
  ["LowNodeUtilization/targetThresholds",                {},                                            "^expected at least one resource$"],
  ["LowNodeUtilization/thresholds",                      { "": 1 },                                     "^expected the name of a resource$", ""],
  ["LowNodeUtilization/targetThresholds",                { cpu: 50 },                                   SAME],
  ["LowNodeUtilization/targetThresholds",                { cpu: 50, pods: 50 },                         SAME],
  ["LowNodeUtilization/targetThresholds",                { cpu: 50, memory: 50, pods: 50 },             SAME],
  ["LowNodeUtilization/thresholds.cpu",                  50.1,                                          "^expected no more than in targetThresholds$"],
  ["LowNodeUtilization/namespaces",                      {},                                            "^unknown key$"],
  ["RemovePodsViolatingNodeTaints/includedTaints",       ["b"],                                         "^expected excludedTaints or includedTaints, not both$"],
  ["RemovePodsViolatingNodeAffinity/nodeAffinityType",   [],                                            "^expected at least one type$"],
  ["PodLifeTime/",                                       {},                                            CRITERION],
  ["PodLifeTime/",                                       { states: [] }, CRITERION],
  ["PodLifeTime/ownerKinds",                             { include: ["A"], exclude: ["B"] },            BOTH],
  ["DefaultEvictor/priorityThreshold",                   { value: 1, name: "a" },                       "^expected value or name, not both$"],
  ["DefaultEvictor/priorityThreshold.value",             2_000_000_001,                                 "^expected no more than 2000000000$"],
  ["DefaultEvictor/podProtections.extraEnabled",         ["PodsWithPVC", "PodsWithPVC"],                ONCE],
  ["DefaultEvictor/evictLocalStoragePods",               true,                                          "^not supported, as the descheduler has deprecated it: expected podProtections$"],
  ["DefaultEvictor/podProtections.defaultDisabled",      ["DaemonSetPods", "DaemonSetPods"],            ONCE],
];

const everyRule = RULES.flatMap(([at, value, message, deeper]) =>
  everywhere(at).map((one) => [one, value, message, deeper === undefined ? one : below(one, deeper)] as const),
);

test.each(everyRule)("%s: %j", (at, value, message, named) => {
  expect(said(at, value)).toEqual(problem(named, message));
});
