/** The descheduler's policy file: every key, its default, and what has to be read for it. */
import { expect, test } from "vitest";
import { parse, withPlugins } from "./policy-files.ts";

/** What the plugins do with their arguments is not looked at here: the functions only have to be there. */
const profile = (name: string, ...plugins: readonly (readonly [string, "deschedule" | "balance"])[]) => ({
  name,
  evictor: expect.any(Function),
  plugins: plugins.map(([name, extensionPoint]) => ({ name, extensionPoint, nominate: expect.any(Function) })),
});

const DEFAULTS = {
  limits: {},
  requestTtlSeconds: 600,
  notifyFailures: false,
  profiles: [],
};

test("absent keys take their defaults", async () => {
  expect(await parse({})).toEqual({ ok: true, value: DEFAULTS });
});

// prettier-ignore
test.each([
  [{ nodeSelector: "k=a, !c , d!=e,f" },             { nodeSelector: { matchLabels: {}, matchExpressions: [
    { key: "k", operator: "In", values: ["a"] }, { key: "c", operator: "DoesNotExist", values: [] }, { key: "d", operator: "NotIn", values: ["e"] }, { key: "f", operator: "Exists", values: [] }] } }],
  [{ maxNoOfPodsToEvictPerNode: 2 },                 { limits: { evictionsPerNode: 2 } }],
  [{ maxNoOfPodsToEvictPerNamespace: 3 },            { limits: { evictionsPerNamespace: 3 } }],
  [{ maxNoOfPodsToEvictTotal: 0 },                   { limits: { evictionsTotal: 0 } }],
  [{ maxNoOfPodsEvacuationsPerNode: 0 },             { limits: { evacuationsPerNode: 0 } }],
  [{ maxNoOfPodsEvacuationsPerNamespace: 4 },        { limits: { evacuationsPerNamespace: 4 } }],
  [{ maxEvacuationRequestTTL: "1m30s" },             { requestTtlSeconds: 90 }],
  [{ evictionFailureEventNotification: true },       { notifyFailures: true }],
  [{ gracePeriodSeconds: 0 },                        { gracePeriodSeconds: 0 }],
  [{ profiles: [{ name: "p" }] },                    { profiles: [profile("p")] }],
  [{ profiles: [{ name: "p", pluginConfig: null, plugins: null }, { name: "q", plugins: {} }] }, { profiles: [profile("p"), profile("q")] }],
])("%j", async (tweak, expected) => {
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
] as const)("enabled: %j", async (plugins, expected) => {
  expect(await parse(withPlugins(plugins))).toEqual({ ok: true, value: { ...DEFAULTS, profiles: [profile("p", ...expected)] } });
});
