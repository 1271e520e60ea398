/** Arguments of the plugins that nominate: every key, its default, and what is said about a wrong one. */
import { describe, expect, test } from "vitest";
import type * as z from "zod/mini";
import * as schemas from "../../../shared/descheduling/policy-file/plugin-arguments.ts";
import { parseConfig } from "../../../shared/config/problem.ts";

const { LowNodeUtilization, NodeTaints, NodeAffinity, PodLifeTime } = schemas;

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

/** The least that each of them takes. */
const LNU = { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } };
const AFFINITY = { nodeAffinityType: [REQUIRED] };
const LIFE_TIME = { maxPodLifeTimeSeconds: 86400 };

const LIFE_TIME_DEFAULTS = {
  sort: true,
  states: [],
  conditions: [],
  exitCodes: [],
  includingInitContainers: false,
  includingEphemeralContainers: false,
};

// prettier-ignore
test.each([
  ["LowNodeUtilization",  LowNodeUtilization,  LNU,        { ...LNU, sort: true, useDeviationThresholds: false, numberOfNodes: 0 }],
  ["NodeTaints",          NodeTaints,          {},         { sort: true, includePreferNoSchedule: false, excludedTaints: [], includedTaints: [] }],
  ["NodeAffinity",        NodeAffinity,        AFFINITY,   { ...AFFINITY, sort: true }],
  ["PodLifeTime",         PodLifeTime,         LIFE_TIME,  { ...LIFE_TIME, ...LIFE_TIME_DEFAULTS }],
] as const)("%s: absent keys take their defaults", (_, schema: z.ZodMiniType, least, expected) => {
  expect(parseConfig(schema, least, "args")).toEqual({ ok: true, value: expected });
});

const SELECTOR = {
  matchLabels: { app: "db" },
  matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }],
};

/** The plugins that select pods, with the least that they take. */
const SELECTING = [
  ["NodeTaints", NodeTaints, {}],
  ["NodeAffinity", NodeAffinity, AFFINITY],
  ["PodLifeTime", PodLifeTime, LIFE_TIME],
] as const;

const requirement = (tweak: object) => ({
  labelSelector: { matchExpressions: [{ key: "a", operator: "In", values: ["b"], ...tweak }] },
});

describe.each(SELECTING)("%s selects pods", (_, schema: z.ZodMiniType, least) => {
  // prettier-ignore
  test.each([
    [{ namespaces: { include: ["a", "b"] } },                                  { namespaces: { include: ["a", "b"] } }],
    [{ namespaces: { exclude: ["a"] } },                                       { namespaces: { exclude: ["a"] } }],
    [{ namespaces: { include: ["a"], exclude: [] } },                          { namespaces: { include: ["a"] } }],
    [{ namespaces: { include: null, exclude: ["a"] } },                        { namespaces: { exclude: ["a"] } }],
    [{ namespaces: {} },                                                       { namespaces: {} }],
    [{ labelSelector: SELECTOR },                                              { labelSelector: SELECTOR }],
    [{ labelSelector: {} },                                                    { labelSelector: { matchLabels: {}, matchExpressions: [] } }],
    [{ labelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }, { labelSelector: { matchLabels: {}, matchExpressions: [{ key: "a", operator: "Exists", values: [] }] } }],
    [{ sort: false },                                                          { sort: false }],
  ])("%j", (tweak, expected) => {
    const parsed = parseConfig(schema, { ...least, ...tweak }, "args");
    expect(parsed.ok && parsed.value).toMatchObject(expected);
  });

  test("null is as good as absent", () => {
    const nulls = { namespaces: null, labelSelector: null, sort: null };
    expect(parseConfig(schema, { ...least, ...nulls }, "args")).toEqual(parseConfig(schema, least, "args"));
  });

  const BOTH = "expected include or exclude, not both";
  const VALUES = "expected values with In and NotIn, and none with Exists and DoesNotExist";
  const AT = "labelSelector.matchExpressions.0";
  // prettier-ignore
  test.each([
    ["namespaces",                   { namespaces: { include: ["a"], exclude: ["b"] } },       BOTH],
    ["namespaces",                   { namespaces: ["a"] },                                    "expected a mapping"],
    ["namespaces.include",           { namespaces: { include: "a" } },                         "expected a list"],
    ["namespaces.include.1",         { namespaces: { include: ["a", ""] } },                   "expected the name of a namespace"],
    ["namespaces.exclude.0",         { namespaces: { exclude: [null] } },                      "expected the name of a namespace"],
    ["namespaces.includes",          { namespaces: { includes: ["a"] } },                      "unknown key"],
    ["labelSelector",                { labelSelector: "app=db" },                              "expected a mapping"],
    ["labelSelector.matchLabels",    { labelSelector: { matchLabels: [] } },                   "expected a mapping of labels"],
    ["labelSelector.matchLabels.app", { labelSelector: { matchLabels: { app: 1 } } },          "expected the value of a label"],
    ["labelSelector.matchLabels.app", { labelSelector: { matchLabels: { app: "-" } } },        "expected the value of a label"],
    ["labelSelector.matchLabels.a/b/c", { labelSelector: { matchLabels: { "a/b/c": "d" } } },  "expected the key of a label"],
    ["labelSelector.app",            { labelSelector: { app: "db" } },                         "unknown key"],
    [AT,                             { labelSelector: { matchExpressions: ["a"] } },           "expected a mapping"],
    [`${AT}.key`,                    requirement({ key: "" }),                                 "expected the key of a label"],
    [`${AT}.operator`,               requirement({ operator: "in" }),                          "expected In, NotIn, Exists or DoesNotExist"],
    [`${AT}.operator`,               requirement({ operator: "Gt" }),                          "expected In, NotIn, Exists or DoesNotExist"],
    [`${AT}.values`,                 requirement({ values: [] }),                              VALUES],
    [`${AT}.values`,                 requirement({ operator: "NotIn", values: null }),         VALUES],
    [`${AT}.values`,                 requirement({ operator: "Exists" }),                      VALUES],
    [`${AT}.values`,                 requirement({ operator: "DoesNotExist" }),                VALUES],
    [`${AT}.values.0`,               requirement({ values: [true] }),                          "expected the value of a label"],
    [`${AT}.value`,                  requirement({ value: "b" }),                              "unknown key"],
    ["sort",                         { sort: "false" },                                        "expected true or false"],
    ["labelselector",                { labelselector: {} },                                    "unknown key"],
  ])("%s: %j", (field, tweak, message) => {
    expect(parseConfig(schema, { ...least, ...tweak }, "args")).toEqual({
      ok: false,
      problems: [{ field: `args.${field}`, message }],
    });
  });
});

const MANY = { cpu: 10, memory: 20.5, pods: 0, "example.com/gpu": 100 };

// prettier-ignore
test.each([
  ["LowNodeUtilization",  LowNodeUtilization,  LNU,        { sort: false, useDeviationThresholds: true, numberOfNodes: 3 }],
  ["LowNodeUtilization",  LowNodeUtilization,  LNU,        { thresholds: MANY, targetThresholds: MANY }],
  ["LowNodeUtilization",  LowNodeUtilization,  LNU,        { useDeviationThresholds: true, thresholds: { cpu: 60 } }],
  ["LowNodeUtilization",  LowNodeUtilization,  LNU,        { evictableNamespaces: { exclude: ["kube-system"] } }],
  ["LowNodeUtilization",  LowNodeUtilization,  LNU,        { evictionLimits: { node: 2 } }],
  ["LowNodeUtilization",  LowNodeUtilization,  LNU,        { evictionLimits: { node: 0 } }],
  ["NodeTaints",          NodeTaints,          {},         { includePreferNoSchedule: true, excludedTaints: ["a", "b=c"] }],
  ["NodeTaints",          NodeTaints,          {},         { includedTaints: ["a", "b=c"] }],
  ["NodeAffinity",        NodeAffinity,        AFFINITY,   { nodeAffinityType: [PREFERRED, REQUIRED] }],
  ["PodLifeTime",         PodLifeTime,         LIFE_TIME,  { maxPodLifeTimeSeconds: 0 }],
  ["PodLifeTime",         PodLifeTime,         {},         { states: ["Running", "Shutdown", "CrashLoopBackOff", "OOMKilled"] }],
  ["PodLifeTime",         PodLifeTime,         {},         { conditions: [{ type: "Ready", status: "False", reason: "PodCompleted", minTimeSinceLastTransitionSeconds: 60 }, { status: "True" }] }],
  ["PodLifeTime",         PodLifeTime,         {},         { exitCodes: [0, 1, -1, 255] }],
  ["PodLifeTime",         PodLifeTime,         LIFE_TIME,  { ownerKinds: { include: ["VirtualMachineInstance"] } }],
  ["PodLifeTime",         PodLifeTime,         LIFE_TIME,  { ownerKinds: { exclude: ["Job"] } }],
  ["PodLifeTime",         PodLifeTime,         LIFE_TIME,  { includingInitContainers: true, includingEphemeralContainers: true }],
] as const)("%s takes what is given: %#", (_, schema: z.ZodMiniType, least, tweak) => {
  const parsed = parseConfig(schema, { ...least, ...tweak }, "args");
  expect(parsed.ok && parsed.value).toMatchObject(tweak);
});

const both = (thresholds: object) => ({ thresholds, targetThresholds: thresholds });

describe("a wrong value: which key, and what was expected", () => {
  const PERCENT = "expected a percentage, from 0 to 100";
  const COUNT = "expected a whole number, 0 or more";
  const INT32 = "expected a whole number of 32 bits";
  const BOOLEAN = "expected true or false";
  const ONE = "expected at least one resource";
  const SAME = "expected the same resources as in thresholds";
  const TYPE = `expected ${REQUIRED} or ${PREFERRED}`;
  const TAINT = "expected the key of a taint, or key=value";
  const CONDITION = "expected type, status, reason or minTimeSinceLastTransitionSeconds";
  const CRITERION = "expected maxPodLifeTimeSeconds, states, conditions or exitCodes";

  // prettier-ignore
  test.each([
    [".thresholds",                    LowNodeUtilization, { targetThresholds: { cpu: 1 } },                           "expected percentages by resource"],
    [".targetThresholds",              LowNodeUtilization, { thresholds: { cpu: 1 } },                                 "expected percentages by resource"],
    [".thresholds",                    LowNodeUtilization, { ...LNU, thresholds: {} },                                 ONE],
    [".targetThresholds",              LowNodeUtilization, { ...LNU, targetThresholds: {} },                           ONE],
    [".thresholds.cpu",                LowNodeUtilization, { ...LNU, thresholds: { cpu: -1 } },                        PERCENT],
    [".targetThresholds.cpu",          LowNodeUtilization, { ...LNU, targetThresholds: { cpu: 100.5 } },               PERCENT],
    [".thresholds.cpu",                LowNodeUtilization, { ...LNU, thresholds: { cpu: "20" } },                      PERCENT],
    [".thresholds.cpu",                LowNodeUtilization, { ...LNU, thresholds: { cpu: NaN } },                       PERCENT],
    [".thresholds.cpu",                LowNodeUtilization, { ...LNU, thresholds: { cpu: null } },                      PERCENT],
    [".targetThresholds",              LowNodeUtilization, { ...LNU, targetThresholds: { memory: 50 } },               SAME],
    [".targetThresholds",              LowNodeUtilization, { ...LNU, targetThresholds: { cpu: 50, memory: 50 } },      SAME],
    [".targetThresholds",              LowNodeUtilization, { ...LNU, thresholds: { cpu: 20, memory: 5 } },             SAME],
    [".thresholds.cpu",                LowNodeUtilization, { ...LNU, thresholds: { cpu: 50.1 } },                      "expected no more than in targetThresholds"],
    [".useDeviationThresholds",        LowNodeUtilization, { ...LNU, useDeviationThresholds: 1 },                      BOOLEAN],
    [".numberOfNodes",                 LowNodeUtilization, { ...LNU, numberOfNodes: -1 },                              COUNT],
    [".numberOfNodes",                 LowNodeUtilization, { ...LNU, numberOfNodes: 0.5 },                             COUNT],
    [".evictableNamespaces.include",   LowNodeUtilization, { ...LNU, evictableNamespaces: { include: ["a"] } },        "not possible here: expected exclude only"],
    [".evictableNamespaces.exclude.0", LowNodeUtilization, { ...LNU, evictableNamespaces: { exclude: [1] } },          "expected the name of a namespace"],
    [".evictionLimits.node",           LowNodeUtilization, { ...LNU, evictionLimits: { node: "2" } },                  COUNT],
    [".evictionLimits.nodes",          LowNodeUtilization, { ...LNU, evictionLimits: { nodes: 2 } },                   "unknown key"],
    [".metricsUtilization",            LowNodeUtilization, { ...LNU, metricsUtilization: { source: "Prometheus" } },   "not supported by Lifeboat, which goes by what pods request"],
    [".namespaces",                    LowNodeUtilization, { ...LNU, namespaces: {} },                                 "unknown key"],
    [".sort",                          LowNodeUtilization, { ...LNU, sort: 1 },                                        BOOLEAN],
    [".includedTaints",                NodeTaints,         { excludedTaints: ["a"], includedTaints: ["b"] },           "expected excludedTaints or includedTaints, not both"],
    [".excludedTaints.0",              NodeTaints,         { excludedTaints: [""] },                                   TAINT],
    [".includedTaints.0",              NodeTaints,         { includedTaints: [{ key: "a" }] },                         TAINT],
    [".includePreferNoSchedule",       NodeTaints,         { includePreferNoSchedule: "true" },                        BOOLEAN],
    [".excludeTaints",                 NodeTaints,         { excludeTaints: [] },                                      "unknown key"],
    [".nodeAffinityType",              NodeAffinity,       {},                                                         "expected a list"],
    [".nodeAffinityType",              NodeAffinity,       { nodeAffinityType: REQUIRED },                             "expected a list"],
    [".nodeAffinityType",              NodeAffinity,       { nodeAffinityType: [] },                                   "expected at least one type"],
    [".nodeAffinityType.0",            NodeAffinity,       { nodeAffinityType: ["required"] },                         TYPE],
    ["",                               PodLifeTime,        {},                                                         CRITERION],
    ["",                               PodLifeTime,        { states: [], conditions: [], exitCodes: [] },              CRITERION],
    [".maxPodLifeTimeSeconds",         PodLifeTime,        { maxPodLifeTimeSeconds: "1h" },                            COUNT],
    [".maxPodLifeTimeSeconds",         PodLifeTime,        { maxPodLifeTimeSeconds: -1 },                              COUNT],
    [".states.0",                      PodLifeTime,        { states: ["running"] },                                    /^expected one of Running, Pending, .*, StartError$/],
    [".conditions.0",                  PodLifeTime,        { conditions: [{}] },                                       CONDITION],
    [".conditions.0",                  PodLifeTime,        { conditions: [{ type: null }] },                           CONDITION],
    [".conditions.1.type",             PodLifeTime,        { conditions: [{ status: "True" }, { type: 1 }] },          "expected the type of a condition"],
    [".conditions.0.status",           PodLifeTime,        { conditions: [{ status: true }] },                         "expected the status of a condition"],
    [".conditions.0.reason",           PodLifeTime,        { conditions: [{ reason: "" }] },                           "expected the reason of a condition"],
    [".conditions.0.minTimeSinceLastTransitionSeconds", PodLifeTime, { conditions: [{ minTimeSinceLastTransitionSeconds: 1.5 }] }, COUNT],
    [".exitCodes.0",                   PodLifeTime,        { exitCodes: ["1"] },                                       INT32],
    [".exitCodes.0",                   PodLifeTime,        { exitCodes: [2 ** 31] },                                   INT32],
    [".ownerKinds",                    PodLifeTime,        { ...LIFE_TIME, ownerKinds: { include: ["A"], exclude: ["B"] } }, "expected include or exclude, not both"],
    [".ownerKinds.include.0",          PodLifeTime,        { ...LIFE_TIME, ownerKinds: { include: [""] } },            "expected the kind of an owner"],
    [".includingInitContainers",       PodLifeTime,        { ...LIFE_TIME, includingInitContainers: 1 },               BOOLEAN],
    [".includingEphemeralContainers",  PodLifeTime,        { ...LIFE_TIME, includingEphemeralContainers: "no" },       BOOLEAN],
    [".thresholds.",                   LowNodeUtilization, both({ "": 1 }),                                            "expected the name of a resource"],
  ] as const)("%s: %#", (field, schema: z.ZodMiniType, args, message) => {
    const parsed = parseConfig(schema, args, "args");
    expect(parsed.ok ? [] : parsed.problems[0]).toEqual({ field: `args${field}`, message: expect.stringMatching(message) });
  });

  test.each(["text", 1, [], true])("%j are no arguments", (args) => {
    for (const schema of Object.values(schemas)) {
      expect(parseConfig(schema, args, "args")).toEqual({
        ok: false,
        problems: [{ field: "args", message: "expected a mapping" }],
      });
    }
  });
});
