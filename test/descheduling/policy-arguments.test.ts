/** The arguments of plugins in a policy file: their defaults, and what each becomes. */
import { describe, expect, test } from "vitest";
import { parseConfig } from "../../shared/settings/problem.ts";
import { FULL, LEAST, type PluginName, SCHEMA } from "./policy-files.ts";

const parsed = (name: PluginName, tweak: object) => parseConfig(SCHEMA[name], { ...LEAST[name], ...tweak }, "args");

const PROTECTIONS = ["PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"];

const DEFAULTS = {
  LowNodeUtilization: { useDeviationThresholds: false, numberOfNodes: 0 },
  RemovePodsViolatingNodeTaints: { includePreferNoSchedule: false, excludedTaints: [], includedTaints: [] },
  RemovePodsViolatingNodeAffinity: {},
  PodLifeTime: { states: [], includingInitContainers: false },
  DefaultEvictor: {
    nodeFit: false,
    minReplicas: 0,
    obeysPreference: false,
    protections: PROTECTIONS,
  },
} as const satisfies Record<PluginName, object>;

const MANY = { cpu: 10, memory: 20.5, pods: 0, "example.com/gpu": 100 };
const exists = (key: string) => ({ key, operator: "Exists" });
const SELECTING = ["RemovePodsViolatingNodeTaints", "RemovePodsViolatingNodeAffinity", "PodLifeTime"] as const;

const threshold = (priorityThreshold: object) => ({ priorityThreshold });
const one = (expression: object) => ({ matchLabels: {}, matchExpressions: [expression] });

type Row = readonly [name: PluginName, tweak: object, expected?: object];

// prettier-ignore
const BECOMES: readonly Row[] = [
  ["LowNodeUtilization",            {}],
  ["LowNodeUtilization",            { thresholds: MANY, targetThresholds: MANY }],
  ["LowNodeUtilization",            { useDeviationThresholds: true, thresholds: { cpu: 60 } }],
  ["LowNodeUtilization",            { evictableNamespaces: { exclude: ["kube-system"] } }],
  ["LowNodeUtilization",            { evictionLimits: { node: 0 } }],
  ["RemovePodsViolatingNodeTaints", { includePreferNoSchedule: true, excludedTaints: ["a", "b=c"] }],
  ["RemovePodsViolatingNodeTaints", { includedTaints: ["a", "b=c"] }],
  ["PodLifeTime",                   { ...LEAST.PodLifeTime, maxPodLifeTimeSeconds: 0 }],
  ["PodLifeTime",                   { states: ["Running", "Shutdown", "CrashLoopBackOff", "OOMKilled"] }],
  ["PodLifeTime",                   { ownerKinds: { exclude: ["Job"] } }],
  ["PodLifeTime",                   { ownerKinds: { include: ["Job"], exclude: [] } }],
  ["PodLifeTime",                   { includingInitContainers: true }],
  ["DefaultEvictor",                {}],
  ["DefaultEvictor",                { nodeSelector: "zone=a" },                                  { nodeSelector: one({ key: "zone", operator: "In", values: ["a"] }) }],
  ["DefaultEvictor",                { labelSelector: { matchLabels: { a: "b" } } },              { labelSelector: { matchLabels: { a: "b" }, matchExpressions: [] } }],
  ["DefaultEvictor",                { namespaceLabelSelector: { matchExpressions: [exists("a")] } }, { namespaceLabelSelector: one({ ...exists("a"), values: [] }) }],
  ["DefaultEvictor",                threshold({ value: 0 })],
  ["DefaultEvictor",                threshold({ value: -5 })],
  ["DefaultEvictor",                threshold({ value: 2_000_000_000 })],
  ["DefaultEvictor",                threshold({ value: 7, name: "" })],
  ["DefaultEvictor",                threshold({ name: "high" })],
  ["DefaultEvictor",                threshold({})],
  ["DefaultEvictor",                { nodeFit: true, minReplicas: 2 }],
  ["DefaultEvictor",                { minPodAge: "1.5s" },                                       { minPodAgeSeconds: 1.5 }],
  ["DefaultEvictor",                { noEvictionPolicy: "" },                                    {}],
  ["DefaultEvictor",                { noEvictionPolicy: "Mandatory" },                               { obeysPreference: true }],
];

const becomes = BECOMES.map(([name, tweak, expected = tweak]) => [name, tweak, expected] as const);

test.each(becomes)("%s %j", (name, tweak, expected) => {
  const least = name === "DefaultEvictor" ? {} : LEAST[name];
  expect(parsed(name, tweak)).toEqual({ ok: true, value: { ...DEFAULTS[name], ...least, ...expected } });
});

// prettier-ignore
describe.each(SELECTING)("%s selects pods", (name) => {
  test.each([
    [{ namespaces: { include: ["a", "b"] } },                       { namespaces: { include: ["a", "b"] } }],
    [{ namespaces: { include: [], exclude: ["a"] } },               { namespaces: { include: [], exclude: ["a"] } }],
    [{ namespaces: {} },                                            { namespaces: {} }],
    [{ labelSelector: FULL.PodLifeTime.labelSelector },             { labelSelector: FULL.PodLifeTime.labelSelector }],
    [{ labelSelector: {} },                                         { labelSelector: { matchLabels: {}, matchExpressions: [] } }],
    [{ labelSelector: { matchExpressions: [exists("a")] } },        { labelSelector: one({ ...exists("a"), values: [] }) }],
  ])("%j", (tweak, expected) => {
    expect(parsed(name, tweak)).toEqual({ ok: true, value: { ...DEFAULTS[name], ...LEAST[name], ...expected } });
  });
});

const without = (...names: readonly string[]) => PROTECTIONS.filter((name) => !names.includes(name));
const disabled = (...defaultDisabled: readonly string[]) => ({ podProtections: { defaultDisabled } });
const extra = (...extraEnabled: readonly string[]) => ({ podProtections: { extraEnabled } });
describe("protections in force", () => {
  test.each(PROTECTIONS)("without %s", (name) => {
    const value = { ...DEFAULTS.DefaultEvictor, protections: without(name) };
    expect(parsed("DefaultEvictor", disabled(name))).toEqual({ ok: true, value });
  });

  // prettier-ignore
  test.each([
    [{ podProtections: {} },                                           PROTECTIONS],
    [disabled(...PROTECTIONS),                                         []],
    [extra("PodsWithPVC"),                                             [...PROTECTIONS, "PodsWithPVC"]],
    [extra("PodsWithResourceClaims", "PodsWithPVC", "PodsWithoutPDB"), [...PROTECTIONS, "PodsWithResourceClaims", "PodsWithPVC", "PodsWithoutPDB"]],
    [{ podProtections: { defaultDisabled: ["DaemonSetPods"], extraEnabled: ["PodsWithPVC"] } }, [...without("DaemonSetPods"), "PodsWithPVC"]],
  ])("%j", (tweak, protections) => {
    expect(parsed("DefaultEvictor", tweak)).toEqual({ ok: true, value: { ...DEFAULTS.DefaultEvictor, protections } });
  });
});
