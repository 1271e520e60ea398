/** ResourceQuotas of a VM's namespace: the target pod of its migration counts beside the source pod. */
import { expect, test } from "vitest";
import type { PreflightFacts, QuotaFacts } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { migration, NODE, owner } from "../../support/fixtures.ts";
import { facts, GIB, launcher, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";

const quota = (hard: QuotaFacts["hard"], used: QuotaFacts["used"], tweak: Partial<QuotaFacts> = {}): QuotaFacts => ({
  namespace: "apps",
  name: "team",
  hard,
  used,
  scopes: [],
  counted: true,
  ...tweak,
});
const FULL = quota({ pods: 1 }, { pods: 1 });
const limited = { pods: [launcher("web", { limits: { memory: 3 * GIB } })] };
const hotplug = plainPod("hp", {
  labels: { "kubevirt.io": "hotplug-disk" },
  owners: [owner({ kind: "Pod", name: launcher("web").name, uid: "pod-web" })],
  requests: { cpu: 100 },
});

// prettier-ignore
test.each<[string, QuotaFacts, Partial<PreflightFacts>, verdict: string]>([
  ["of pods, used up",                          FULL,                                                                         {}, "WillBlock"],
  ["of pods, with one left",                    quota({ pods: 2 }, { pods: 1 }),                                              {}, "WillSucceed"],
  ["… but the VM has a hotplug pod",            quota({ pods: 3 }, { pods: 2 }),                                              { pods: [launcher("web"), hotplug] }, "WillBlock"],
  ["of objects",                                quota({ "count/pods": 1 }, { "count/pods": 1 }),                              {}, "WillBlock"],
  ["of CPU, used up",                           quota({ cpu: 1500 }, { cpu: 1000 }),                                          {}, "WillBlock"],
  ["of devices, used up",                       quota({ "requests.example.com/gpu": 1 }, { "requests.example.com/gpu": 1 }),  { pods: [launcher("web", { requests: { "example.com/gpu": 1 } })] }, "WillBlock"],
  ["of memory limits, used up",                 quota({ "limits.memory": 5 * GIB }, { "limits.memory": 3 * GIB }),            limited, "WillBlock"],
  ["of memory limits, with enough",             quota({ "limits.memory": 6 * GIB }, { "limits.memory": 3 * GIB }),            limited, "WillSucceed"],
  ["of memory limits that its pod does not say", quota({ "limits.memory": 6 * GIB }, { "limits.memory": 0 }),                 {}, "Unknown"],
  ["of something else",                         quota({ configmaps: 1 }, { configmaps: 1 }),                                  {}, "WillSucceed"],
  ["of another namespace",                      { ...FULL, namespace: "other" },                                              {}, "WillSucceed"],
  ["for pods that end by themselves",           { ...FULL, scopes: ["Terminating"] },                                         {}, "WillSucceed"],
  ["for pods that request nothing",             { ...FULL, scopes: ["BestEffort"] },                                          {}, "WillSucceed"],
  ["for all others",                            { ...FULL, scopes: ["NotTerminating", "NotBestEffort"] },                     {}, "WillBlock"],
  ["for a priority class, used up",             { ...FULL, scopes: ["PriorityClass"] },                                       {}, "Unknown"],
  ["for a priority class, with one left",       quota({ pods: 2 }, { pods: 1 }, { scopes: ["PriorityClass"] }),               {}, "WillSucceed"],
  ["that has not been counted",                 quota({}, {}, { counted: false }),                                            {}, "Unknown"],
  ["used up, while another VM moves",           FULL, { vmis: [vmiOf("web"), vmiOf("db", { isMigrating: true })] },               "Unknown"],
  ["… of another node",                         FULL, { migratingElsewhere: [vmiOf("db", { isMigrating: true })] },               "Unknown"],
  ["used up, while a VM of another namespace moves", FULL, { migratingElsewhere: [vmiOf("db", { namespace: "other", isMigrating: true })] }, "WillBlock"],
  ["used up, beside a VM that is shut down",    FULL, { pods: [launcher("web"), launcher("db")], vmis: [vmiOf("web"), vmiOf("db", { evictionStrategy: "None" })] }, "Unknown"],
  ["used up, beside a pod that is evicted",     FULL, { pods: [launcher("web"), plainPod("app", { owners: [owner({ kind: "ReplicaSet", name: "app", controller: true })] })] }, "Unknown"],
  ["used up, beside a DaemonSet's pod",         FULL, { pods: [launcher("web"), plainPod("app", { owners: [owner({ kind: "DaemonSet", name: "app", controller: true })] })] }, "WillBlock"],
  ["used up, and the target pod is there",      FULL, { vmis: [vmiOf("web", { evacuationNodeName: NODE })], migrations: [migration({ targetPod: "t" })] }, "WillSucceed"],
  ["used up, and the migration waits for it",   FULL, { vmis: [vmiOf("web", { evacuationNodeName: NODE })], migrations: [migration({ phase: "Pending", blockedBy: { type: "migrationRejectedByResourceQuota" } })] }, "WillBlock"],
  ["used up, for a VM that is shut down",       FULL, { vmis: [vmiOf("web", { evictionStrategy: "None" })] },                     "WillSucceedWithShutdowns"],
])("%s", (_, one, more, verdict) => {
  const answer = preflight(facts({ quotas: [one], ...more }));
  expect(answer.verdict).toBe(verdict);
  if (verdict === "WillBlock") expect(answer.pods[0]).toMatchObject({ outcome: "Blocked", reason: "QuotaExceeded" });
  expect(answer.unknown.length > 0).toBe(verdict === "Unknown");
});

test("says what is needed and what is left, and who can change it", () => {
  const quotas = [quota({ "requests.memory": 3 * GIB }, { "requests.memory": 2 * GIB })];
  expect(preflight(facts({ quotas })).pods[0]).toMatchObject({
    message: "ResourceQuota team refuses its target pod: requests.memory: 2048Mi needed, 1024Mi left",
    remedy: expect.stringMatching(/^the owner of the ResourceQuota/),
  });
  const vmis = [vmiOf("web"), vmiOf("db", { isMigrating: true })];
  expect(preflight(facts({ quotas, vmis })).unknown).toEqual([
    "whether ResourceQuota apps/team leaves enough for a target pod: VMs of the namespace move now; requests.memory: 2048Mi needed, 1024Mi left",
  ]);
});
