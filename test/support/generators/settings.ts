/** Generates LifeboatConfigurations and KubeVirt CRs, and computes the settings from them. */
import * as fc from "fast-check";
import { KubeVirt, type KubeVirtFacts } from "../../../shared/kube/schemas/kubevirt.ts";
import { mergeSettings, parseConfiguration } from "../../../shared/settings/configuration.ts";
import { FEATURE_GATES, type Settings } from "../../../shared/settings/settings.ts";
import { asJson, type Json } from "../json.ts";
import { object } from "./objects.ts";

export const LONGEST_SECONDS = 604_800;
export const SCHEDULER = "system:kube-scheduler";

type Values = readonly [usual: fc.Arbitrary<unknown>, odd: fc.Arbitrary<unknown>];

const seconds: Values = [
  fc.oneof(
    fc.constantFrom(0, 5, 20, 120, 320, LONGEST_SECONDS),
    fc.double({ min: 0, max: LONGEST_SECONDS, noNaN: true }),
  ),
  fc.constantFrom(-1, -1e-9, 604_801, 1e308),
];
const flag: Values = [fc.constantFrom(true, true, false), fc.constantFrom("Auto", 1, [])];
const wordOf = (...words: readonly string[]): Values => [
  fc.constantFrom(...words),
  fc.constantFrom(true, words.join("")),
];
const count = (least: number): Values => [
  fc.oneof(
    fc.constantFrom(least, 5),
    fc.maxSafeNat().filter((n) => n >= least),
  ),
  fc.constantFrom(least - 1, 1.5, 2 ** 53),
];

const KEYS: Readonly<Record<string, Values>> = {
  ...Object.fromEntries(FEATURE_GATES.map((gate) => [`featureGates.${gate}`, flag])),
  disruptionBudgets: wordOf("Auto", "Always", "Never"),
  "evacuation.maxAttempts": count(1),
  "evacuation.backoffSeconds": seconds,
  "evacuation.maxBackoffSeconds": seconds,
  "evacuation.adoptSeconds": seconds,
  "evacuation.stuckSeconds": seconds,
  "evacuation.cooldownSeconds": seconds,
  "evacuation.historySeconds": seconds,
  "guard.deadlineSeconds.Preemption": seconds,
  "guard.deadlineSeconds.NoExecuteTaint": seconds,
  "guard.deadlineSeconds.DeviceTaint": seconds,
  "guard.deadlineSeconds.NodeTermination": seconds,
  "guard.requesters": [fc.constantFrom([SCHEDULER], ["", SCHEDULER]), fc.constantFrom([], [1], "a")],
  "guard.nodeTerminators": [
    fc.constantFrom([], ["system:serviceaccount:kube-system:karpenter"]),
    fc.constantFrom([1], "a"),
  ],
  "shield.maxPodGracePeriodSeconds": seconds,
  "shield.shutdownSeconds": seconds,
  "maintenance.historySeconds": seconds,
  "descheduling.intervalSeconds": seconds,
};

function put(into: Record<string, unknown>, [key = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) return void (into[key] = value);
  const inner: Record<string, unknown> = { ...Object(into[key]) };
  into[key] = inner;
  put(inner, rest, value);
}

function nested(keys: object): Json {
  const spec = {};
  for (const [key, value] of Object.entries(keys)) put(spec, key.split("."), value);
  return asJson(spec);
}

const usual = fc.record(Object.fromEntries(Object.entries(KEYS).map(([key, [is]]) => [key, is])), { requiredKeys: [] });
const odd = fc.constantFrom(...Object.entries(KEYS)).chain(([key, [, is]]) => {
  return fc.oneof({ weight: 4, arbitrary: is }, fc.constantFrom("1", null)).map((value) => ({ [key]: value }));
});

export const configuration: fc.Arbitrary<Json> = usual.map(nested);
/** Generates specs of LifeboatConfigurations. Some specs have one invalid key. */
export const edgeConfiguration = fc.tuple(usual, odd).map(([keys, one]) => nested({ ...keys, ...one }));

const number = fc.oneof(fc.constantFrom(0, 1, 2, 5), fc.double({ noNaN: true, noDefaultInfinity: true }));
export const kubevirt = fc
  .record({
    evictionStrategy: fc.constantFrom(undefined, "LiveMigrate", "External", "Odd"),
    developerConfiguration: fc.record({
      featureGates: fc.oneof(fc.constant([...FEATURE_GATES]), fc.subarray([...FEATURE_GATES])),
    }),
    migrations: fc.record(
      { parallelMigrationsPerCluster: number, parallelOutboundMigrationsPerNode: number },
      { requiredKeys: [] },
    ),
  })
  .map((spec) => object("KubeVirt", { namespace: "kubevirt", name: "kubevirt" }, { spec: { configuration: spec } }));

function settingsOf([spec, cr, evictionsCovered]: readonly [Json, Json, boolean]): Settings {
  const parsed = parseConfiguration(spec);
  if (parsed.problems.length > 0) throw new Error(`${JSON.stringify(spec)} is not accepted`);
  const facts: KubeVirtFacts = KubeVirt.parse(cr);
  return { ...mergeSettings(facts, parsed.value), evictionsCovered };
}

export const settings: fc.Arbitrary<Settings> = fc.tuple(configuration, kubevirt, fc.boolean()).map(settingsOf);
