/** Tests that a decision on a VMI reads a fact only when a rule needs the fact. */
import { expect, test } from "vitest";
import { decide } from "../../../shared/facts/decide.ts";
import type { Facts } from "../../../shared/facts/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { MigrationFacts, PodFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import { decideOnVmi } from "../../../shared/reconcile/decide-on-vmi.ts";
import type { Settings } from "../../../shared/settings/settings.ts";
import { readsOf } from "../../support/facts.ts";
import { at, evacuation, marked, migration, node, NOW, pod, settings, time, vmi } from "../../support/fixtures.ts";
import { disrupted } from "../../support/guard/disruptions.ts";

const WEB = { namespace: "apps", name: "web" };

const EVACUATIONS = "evacuations in apps where spec.virtualMachineInstance.name=web";
const VMI = "virtualmachineinstances apps/web";
const MIGRATIONS = "virtualmachineinstancemigrations in apps where kubevirt.io/vmi-name=web";
const NODE = "nodes node01";
const PODS = "pods in apps where kubevirt.io/created-by=vmi-uid";
const LAUNCHERS = "pods as Launcher where kubevirt.io=virt-launcher,kubevirt.io/created-by=vmi-uid";
const QUEUE = "virtualmachineinstances where kubevirt.io/migrationTargetNodeName";
const EVENTS = "events as Seen in apps where involvedObject.uid=vmi-uid,reason=FailedCreate at most 50";
const BUDGET = "poddisruptionbudgets";

const WITHOUT_BUDGETS = settings({ disruptionBudgets: "Never" });
const young = { createdAt: at(-4).getTime() };
const old = migration({ phase: "Pending", createdAt: at(-900).getTime() });

interface Given {
  readonly evacuations?: readonly EvacuationFacts[];
  readonly web?: VmiFacts | undefined;
  readonly migrations?: readonly MigrationFacts[];
  readonly named?: readonly PodFacts[];
  readonly own?: Settings;
}

async function askedBy({ evacuations = [], web = vmi(), migrations = [], named = [], own = WITHOUT_BUDGETS }: Given) {
  const asked: string[] = [];
  const map = {
    [EVACUATIONS]: evacuations,
    [VMI]: web,
    [MIGRATIONS]: migrations,
    [NODE]: node(),
    [PODS]: [pod()],
    [LAUNCHERS]: [],
    [QUEUE]: [],
    [EVENTS]: [],
  };
  const reads = readsOf(map, asked);
  const rule = (facts: Facts) => decideOnVmi(WEB, named, { facts, settings: own, now: NOW });
  const { rounds } = await decide(rule, async (question) => {
    if (question.kind !== "poddisruptionbudgets") return await reads(question);
    asked.push(BUDGET);
    return { value: undefined };
  });
  return { asked, rounds };
}

// prettier-ignore
test.each<[string, Given, more: readonly string[], rounds: number]>([
  ["without an evacuation",                                   {},                                                                                    [],                              2],
  ["without an evacuation, with budgets",                     { own: settings({ disruptionBudgets: "Always" }) },                                    [BUDGET],                        3],
  ["without an evacuation, with annotated pods",              { own: settings({ disruptionBudgets: "Never", featureGates: ["DeschedulerSupport"] }) }, [LAUNCHERS],                   3],
  ["without an evacuation, named by an event of its pod",     { named: [pod()] },                                                                    [NODE],                          3],
  ["whose Evacuations have ended",                            { evacuations: [evacuation({ status: { phase: "Moved" } })] },                         [],                              2],
  ["under a new evacuation",                                  { web: marked(), evacuations: [evacuation(young)] },                                   [MIGRATIONS],                    2],
  ["under an evacuation that is a minute old",                { web: marked(), evacuations: [evacuation()] },                                        [MIGRATIONS, NODE],              3],
  ["that has left its node",                                  { web: vmi({ nodeName: "node02", activePods: { next: "node02" } }), evacuations: [evacuation()] }, [MIGRATIONS],        2],
  ["evacuated for a taint",                                   { web: marked(), evacuations: [{ ...disrupted("NoExecuteTaint", 60), ...young }] },    [MIGRATIONS, PODS, NODE],        3],
  ["evacuated for a preemption",                              { web: marked(), evacuations: [{ ...disrupted("Preemption", 60), ...young }] },        [MIGRATIONS],                    2],
  ["evacuated for a preemption past its deadline",            { web: marked(), evacuations: [{ ...disrupted("Preemption", -60), ...young }] },       [MIGRATIONS, PODS, NODE],        4],
  ["with a new migration",                                    { web: marked(), evacuations: [evacuation(young)], migrations: [migration({ phase: "Pending" })] }, [MIGRATIONS],        2],
  ["with a migration that has waited for long",               { web: marked(), evacuations: [evacuation(young)], migrations: [old] },                [MIGRATIONS, EVENTS, QUEUE],     4],
  ["that is being restarted",                                 { evacuations: [evacuation({ spec: { by: "Restart" }, status: { phase: "Restarting", startTime: time(-59) } })] }, [],   2],
])("a VM %s needs no more reads than its rules", async (_, given, more, rounds) => {
  const found = await askedBy(given);
  expect(new Set(found.asked)).toEqual(new Set([EVACUATIONS, VMI, ...more]));
  expect([found.asked.length, found.rounds]).toEqual([2 + more.length, rounds]);
});
