/** Arguments of DefaultEvictor: every key, its default, and what is said about a wrong one. */
import { describe, expect, test } from "vitest";
import { EvictorArguments } from "../../../shared/descheduling/policy-file/evictor-arguments.ts";
import { parseConfig } from "../../../shared/config/problem.ts";

const DEFAULTS = {
  nodeFit: false,
  minReplicas: 0,
  noEvictionPolicy: "Preferred",
  protections: ["PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"],
  protectedStorageClasses: [],
};

const parse = (args: unknown) => parseConfig(EvictorArguments, args, "args");

const NULLS = {
  nodeSelector: null,
  labelSelector: null,
  namespaceLabelSelector: null,
  priorityThreshold: null,
  minPodAge: null,
  podProtections: null,
  nodeFit: null,
};

const in1 = (key: string, value: string) => ({
  matchLabels: {},
  matchExpressions: [{ key, operator: "In", values: [value] }],
});

// prettier-ignore
test.each([
  [{},                                                     {}],
  [NULLS,                                                  {}],
  [{ nodeSelector: "zone=a" },                             { nodeSelector: in1("zone", "a") }],
  [{ labelSelector: { matchLabels: { a: "b" } } },         { labelSelector: { matchLabels: { a: "b" }, matchExpressions: [] } }],
  [{ namespaceLabelSelector: { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] } }, { namespaceLabelSelector: { matchLabels: {}, matchExpressions: [{ key: "a", operator: "DoesNotExist", values: [] }] } }],
  [{ priorityThreshold: { value: 0 } },                    { priorityThreshold: { value: 0 } }],
  [{ priorityThreshold: { value: -5 } },                   { priorityThreshold: { value: -5 } }],
  [{ priorityThreshold: { value: 2000000000 } },           { priorityThreshold: { value: 2000000000 } }],
  [{ priorityThreshold: { value: 7, name: "" } },          { priorityThreshold: { value: 7 } }],
  [{ priorityThreshold: { name: "high" } },                { priorityThreshold: { name: "high" } }],
  [{ priorityThreshold: {} },                              {}],
  [{ nodeFit: true },                                      { nodeFit: true }],
  [{ minReplicas: 2 },                                     { minReplicas: 2 }],
  [{ minPodAge: "5m" },                                    { minPodAgeSeconds: 300 }],
  [{ minPodAge: "1.5s" },                                  { minPodAgeSeconds: 1.5 }],
  [{ noEvictionPolicy: "" },                               {}],
  [{ noEvictionPolicy: "Preferred" },                      {}],
  [{ noEvictionPolicy: "Mandatory" },                      { noEvictionPolicy: "Mandatory" }],
])("%j", (args, expected) => {
  expect(parse(args)).toEqual({ ok: true, value: { ...DEFAULTS, ...expected } });
});

const disabled = (...defaultDisabled: readonly string[]) => ({ podProtections: { defaultDisabled } });

const extra = (...extraEnabled: readonly string[]) => ({ podProtections: { extraEnabled } });

const config = (...names: readonly string[]) => ({
  PodsWithPVC: { protectedStorageClasses: names.map((name) => ({ name })) },
});

describe("protections in force", () => {
  const D = DEFAULTS.protections;
  const without = (...names: readonly string[]) => D.filter((name) => !names.includes(name));

  // prettier-ignore
  test.each([
    [{ podProtections: {} },                                           D],
    [disabled("PodsWithLocalStorage"),                                 without("PodsWithLocalStorage")],
    [disabled("SystemCriticalPods"),                                   without("SystemCriticalPods")],
    [disabled("FailedBarePods"),                                       without("FailedBarePods")],
    [disabled("DaemonSetPods"),                                        without("DaemonSetPods")],
    [disabled(...D),                                                   []],
    [extra("PodsWithPVC"),                                             [...D, "PodsWithPVC"]],
    [extra("PodsWithoutPDB"),                                          [...D, "PodsWithoutPDB"]],
    [extra("PodsWithResourceClaims"),                                  [...D, "PodsWithResourceClaims"]],
    [extra("PodsWithResourceClaims", "PodsWithPVC", "PodsWithoutPDB"), [...D, "PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"]],
    [{ podProtections: { defaultDisabled: ["DaemonSetPods"], extraEnabled: ["PodsWithPVC"] } }, [...without("DaemonSetPods"), "PodsWithPVC"]],
    [{ evictLocalStoragePods: true },                                  without("PodsWithLocalStorage")],
    [{ evictDaemonSetPods: true },                                     without("DaemonSetPods")],
    [{ evictSystemCriticalPods: true },                                without("SystemCriticalPods")],
    [{ evictFailedBarePods: true },                                    without("FailedBarePods")],
    [{ ignorePvcPods: true },                                          [...D, "PodsWithPVC"]],
    [{ ignorePodsWithoutPDB: true },                                   [...D, "PodsWithoutPDB"]],
    [{ evictLocalStoragePods: true, evictDaemonSetPods: true, ignorePvcPods: true }, [...without("PodsWithLocalStorage", "DaemonSetPods"), "PodsWithPVC"]],
    [{ evictLocalStoragePods: false, ignorePvcPods: false },           D],
    [{ evictLocalStoragePods: false, ...disabled("DaemonSetPods") },   without("DaemonSetPods")],
    [{ evictLocalStoragePods: true, podProtections: {} },              without("PodsWithLocalStorage")],
  ])("%j", (args, protections) => {
    expect(parse(args)).toEqual({ ok: true, value: { ...DEFAULTS, protections } });
  });

  // prettier-ignore
  test.each([
    [{ podProtections: { extraEnabled: ["PodsWithPVC"], config: config("fast", "slow") } },   ["fast", "slow"]],
    [{ podProtections: { extraEnabled: ["PodsWithPVC"], config: config() } },                 []],
    [{ podProtections: { extraEnabled: ["PodsWithPVC"], config: {} } },                       []],
    [{ ignorePvcPods: true, podProtections: { config: config("fast") } },                     ["fast"]],
  ])("of storage classes: %j", (args, protectedStorageClasses) => {
    const parsed = parse(args);
    expect(parsed.ok && parsed.value).toMatchObject({ protectedStorageClasses });
  });
});

const classes = (protectedStorageClasses: unknown) => ({ PodsWithPVC: { protectedStorageClasses } });

describe("a wrong value: which key, and what was expected", () => {
  const SELECTOR = "expected a label selector, such as: a in (b,c),d=e,f!=g,h,!i";
  const INT32 = "expected a whole number of 32 bits";
  const BOOLEAN = "expected true or false";
  const DURATION = "expected a duration, such as 10m, 1h30m or 0.5s";
  const MIXED = "expected no deprecated key (evict… or ignore…) beside it";
  const DEFAULT = "expected one of PodsWithLocalStorage, SystemCriticalPods, FailedBarePods, DaemonSetPods";
  const EXTRA = "expected one of PodsWithPVC, PodsWithoutPDB, PodsWithResourceClaims";
  const CLASS = "expected the name of a StorageClass";
  const NO_EFFECT = "expected PodsWithPVC in extraEnabled, without which it has no effect";

  // prettier-ignore
  test.each([
    [".nodeSelector",                   { nodeSelector: "a in b" },                                              SELECTOR],
    [".nodeSelector",                   { nodeSelector: { zone: "a" } },                                         SELECTOR],
    [".labelSelector",                  { labelSelector: "a=b" },                                                "expected a mapping"],
    [".namespaceLabelSelector.matchLabels.a", { namespaceLabelSelector: { matchLabels: { a: 1 } } },             "expected the value of a label"],
    [".priorityThreshold",              { priorityThreshold: { value: 1, name: "a" } },                          "expected value or name, not both"],
    [".priorityThreshold.value",        { priorityThreshold: { value: 2000000001 } },                            "expected no more than 2000000000"],
    [".priorityThreshold.value",        { priorityThreshold: { value: 1.5 } },                                   INT32],
    [".priorityThreshold.value",        { priorityThreshold: { value: "10" } },                                  INT32],
    [".priorityThreshold.name",         { priorityThreshold: { name: 1 } },                                      "expected the name of a PriorityClass"],
    [".priorityThreshold.priority",     { priorityThreshold: { priority: 1 } },                                  "unknown key"],
    [".nodeFit",                        { nodeFit: "yes" },                                                      BOOLEAN],
    [".minReplicas",                    { minReplicas: -1 },                                                     "expected a whole number, 0 or more"],
    [".minPodAge",                      { minPodAge: 300 },                                                      DURATION],
    [".minPodAge",                      { minPodAge: "5 minutes" },                                              DURATION],
    [".noEvictionPolicy",               { noEvictionPolicy: "mandatory" },                                       "expected Preferred or Mandatory"],
    [".evictLocalStoragePods",          { evictLocalStoragePods: "true" },                                       BOOLEAN],
    [".evictDaemonSetPods",             { evictDaemonSetPods: 1 },                                               BOOLEAN],
    [".evictSystemCriticalPods",        { evictSystemCriticalPods: 1 },                                          BOOLEAN],
    [".evictFailedBarePods",            { evictFailedBarePods: 1 },                                              BOOLEAN],
    [".ignorePvcPods",                  { ignorePvcPods: 1 },                                                    BOOLEAN],
    [".ignorePodsWithoutPDB",           { ignorePodsWithoutPDB: 1 },                                             BOOLEAN],
    [".ignorePVCPods",                  { ignorePVCPods: true },                                                 "unknown key"],
    [".podProtections",                 { ignorePvcPods: true, podProtections: { extraEnabled: ["PodsWithoutPDB"] } },          MIXED],
    [".podProtections",                 { evictDaemonSetPods: true, podProtections: { defaultDisabled: ["FailedBarePods"] } },  MIXED],
    [".podProtections.defaultDisabled.0", { podProtections: { defaultDisabled: ["PodsWithPVC"] } },              DEFAULT],
    [".podProtections.extraEnabled.1",  { podProtections: { extraEnabled: ["PodsWithPVC", "DaemonSetPods"] } },  EXTRA],
    [".podProtections.extraEnabled",    { podProtections: { extraEnabled: ["PodsWithPVC", "PodsWithPVC"] } },    "expected each protection once"],
    [".podProtections.defaultDisabled", { podProtections: { defaultDisabled: ["DaemonSetPods", "DaemonSetPods"] } }, "expected each protection once"],
    [".podProtections.disabled",        { podProtections: { disabled: [] } },                                    "unknown key"],
    [".podProtections.config.PodsWithPVC", { podProtections: { config: classes([{ name: "fast" }]) } },          NO_EFFECT],
    [".podProtections.config.PodsWithPVC.protectedStorageClasses.0", { podProtections: { config: classes(["fast"]) } },           "expected a mapping"],
    [".podProtections.config.PodsWithPVC.protectedStorageClasses.0.name", { podProtections: { extraEnabled: ["PodsWithPVC"], config: classes([{ name: "" }]) } }, CLASS],
    [".podProtections.config.PodsWithPVC.protectedStorageClasses.0.name", { podProtections: { config: classes([{}]) } },          CLASS],
    [".podProtections.config.PodsWithPdb", { podProtections: { config: { PodsWithPdb: {} } } },                  "unknown key"],
    [".namespaces",                     { namespaces: { exclude: ["a"] } },                                      "unknown key"],
    [".sort",                           { sort: false },                                                         "unknown key"],
    ["",                                [],                                                                      "expected a mapping"],
  ])("%s: %j", (field, args, message) => {
    expect(parse(args)).toEqual({ ok: false, problems: [{ field: `args${field}`, message }] });
  });
});
