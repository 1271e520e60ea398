/** Evacuations by a restart or a stop: what is written before KubeVirt is asked, and what becomes of it. */
import { describe, expect, test } from "vitest";
import type { BudgetFacts, NodeFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import { textOf } from "../../../shared/facts/facts.ts";
import { SCHEDULED_PODS } from "../../../shared/facts/views.ts";
import type { NodeEvacuationFacts } from "../../../shared/kube/node-evacuation.ts";
import { launchersOf } from "../../../shared/kube/selections.ts";
import type { FactMap } from "../../support/facts.ts";
import { budget, node, NODE, time } from "../../support/fixtures.ts";
import { CORDONED, own, pinnedVm, started } from "../../support/maintenance/worlds.ts";
import { inShort, planned, statusAfter } from "../../support/worlds.ts";
import { launcher, vmiOf } from "../../support/preflight/fixtures.ts";

const web = pinnedVm("web");
const another = { ...web, uid: "another", nodeName: "node02", activePods: { other: "node02" } };
const ended = { ...web, phase: "Succeeded" };

interface Asking {
  /** Undefined: there is no such object. */
  readonly vm: object | undefined;
  readonly ne: NodeEvacuationFacts | undefined;
  readonly node: NodeFacts;
  readonly budgets: readonly BudgetFacts[];
}

/** `asking`: what it depends on and has changed; undefined: a rule may not ask for it. */
type Row = readonly [
  what: string,
  status: object,
  vmi: VmiFacts | undefined,
  expected: string,
  asking?: Partial<Asking>,
];

const VM = { namespace: "apps", name: "web", uid: "vm-web", runStrategy: "Always", isChanging: false };
const SAME: Asking = { vm: VM, ne: started(), node: node(CORDONED), budgets: [] };
/** A budget of another owner, which allows no eviction. */
const KEEPING = budget({
  managedByUs: false,
  owners: [],
  selector: { matchLabels: launcher("web").labels, matchExpressions: [] },
});
const POD = launcher("web");
const LAUNCHERS = { ...launchersOf({ uid: web.uid }), namespace: "apps", unlike: { "spec.nodeName": [""] } };

function factsOf({ vm, ne, budgets }: Asking): FactMap {
  return {
    "virtualmachines apps/web": vm,
    nodeevacuations: ne === undefined ? [] : [ne],
    "poddisruptionbudgets in apps": budgets,
    [textOf({ kind: SCHEDULED_PODS, selection: LAUNCHERS })]: [POD],
  };
}

function rowsOf(by: "Restart" | "ShutDown", rows: readonly Row[], intent = "Evacuate"): void {
  for (const [what, status, vmi, expected, asking] of rows) {
    test(what, () => {
      const e = own("web", { spec: { by, intent, runStrategy: "Always" }, status });
      const around = { ...SAME, ...asking };
      const given = asking === undefined ? {} : { nodes: [around.node], more: factsOf(around) };
      expect(inShort(planned(e, { vmis: vmi ? [vmi] : [], ...given }))).toBe(expected);
    });
  }
}

const RESTARTING = { phase: "Restarting", reason: "Asked", message: "m", startTime: time(-59), attempts: 0 };
const IN_VAIN = { ...RESTARTING, startTime: time(-60) };
const STOPPING = { ...RESTARTING, phase: "Stopping" };

describe("a restart", () => {
  // prettier-ignore
  rowsOf("Restart", [
    ["is written down, and then asked for",     {},                                           web,                                    "Restarting Asked, tell, ShutDown"],
    ["of a VM that can migrate now",            {},                                           vmiOf("web"),                           "Withdrawn IntentWithdrawn"],
    ["of one that has moved",                   {},                                           { ...web, nodeName: "node02", activePods: { other: "node02" } }, "Moved Moved, tell"],
    ["of one that has ended",                   {},                                           ended,                                  "Gone VirtualMachineInstanceGone"],
    ["of one that is gone",                     {},                                           undefined,                              "Gone VirtualMachineInstanceGone"],
    ["was asked for just now",                  RESTARTING,                                   web,                                    "-"],
    ["was asked for a minute ago, in vain",     IN_VAIN,                                      web,                                    "Restarting NotTaken, ShutDown", {}],
    ["… and again just now",                    { ...IN_VAIN, nextAttemptTime: time(1) },     web,                                    "-"],
    ["… and KubeVirt has it",                   IN_VAIN,                                      web,                                    "Restarting Pending",          { vm: { ...VM, isChanging: true } }],
    ["… and its owner has stopped the VM",      IN_VAIN,                                      web,                                    "Restarting Pending",          { vm: { ...VM, runStrategy: "Halted" } }],
    ["… of a VM that is Manual by now",         IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { vm: { ...VM, runStrategy: "Manual" } }],
    ["… of a VM that was deleted",              IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { vm: undefined }],
    ["… of a VM that can migrate now",          IN_VAIN,                                      vmiOf("web"),                           "Withdrawn IntentWithdrawn",   {}],
    ["… which is paused",                       IN_VAIN,                                      web,                                    "Restarting Held",             { ne: started({ spec: { progress: "Paused" } }) }],
    ["… of a node that is uncordoned",          IN_VAIN,                                      web,                                    "Restarting Held",             { node: node() }],
    ["… whose pod a budget keeps",              IN_VAIN,                                      web,                                    "Restarting Held",             { budgets: [KEEPING] }],
    ["… for one that has ended",                IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { ne: started({ status: { phase: "Expired" } }) }],
    ["… for one that is gone",                  IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { ne: undefined }],
    ["… of one that has moved by then",         { ...RESTARTING, startTime: time(-60) },      { ...web, nodeName: "node02", activePods: { other: "node02" } }, "Moved Moved, tell"],
    ["it is about to start",                    RESTARTING,                                   { ...another, phase: "Scheduling" },    "Restarting Starting"],
    ["it runs elsewhere",                       RESTARTING,                                   another,                                "Restarted Restarted"],
  ]);

  test("because migrations fail does not ask whether the VM can migrate", () => {
    const e = own("web", { spec: { by: "Restart", inherited: { attempts: 5 } } });
    expect(inShort(planned(e, { vmis: [vmiOf("web")], budgets: [] }))).toBe("Restarting Asked, tell, ShutDown");
  });

  test("names the VMI that it is about", () => {
    const status = { virtualMachineInstanceUID: undefined, sourceNode: undefined };
    const e = own("web", { spec: { by: "Restart" }, status });
    const named = { virtualMachineInstanceUID: web.uid, sourceNode: NODE };
    expect(statusAfter(e, { vmis: [web], budgets: [] })).toMatchObject(named);
  });
});

describe("a stop", () => {
  // prettier-ignore
  rowsOf("ShutDown", [
    ["is written down, and then asked for",  {},        web,                          "Stopping Asked, tell, ShutDown"],
    ["the VM is off",                        STOPPING,  undefined,                    "Stopped Stopped"],
    ["… and its VMI is still there",         STOPPING,  ended,                        "Stopped Stopped"],
    ["another party has started it again",   STOPPING,  another,                      "Gone VirtualMachineInstanceGone"],
  ]);
});

const released = (status: "True" | "False", message = "") => [
  { type: "Released", status, reason: "x", message, lastTransitionTime: time(0) },
];

describe("withdrawn", () => {
  const PENDING = { vm: { ...VM, runStrategy: "Halted" } };
  const IN_VAIN_TOO = { ...STOPPING, startTime: time(-60) };
  const STOPPED = { ...STOPPING, phase: "Stopped" };

  // prettier-ignore
  rowsOf("Restart", [
    ["a restart that was not asked for",         {},          web,                          "Withdrawn IntentWithdrawn"],
    ["… that was asked for just now",            RESTARTING,  web,                          "-"],
    ["… that KubeVirt has not taken up",         IN_VAIN,     web,                          "Withdrawn IntentWithdrawn", {}],
    ["… that is pending",                        IN_VAIN,     web,                          "Restarting Pending", { vm: { ...VM, isChanging: true } }],
    ["… of a VM that is about to start",         RESTARTING,  { ...another, phase: "Scheduling" }, "Withdrawn IntentWithdrawn"],
    ["… of a VM that runs again",                RESTARTING,  another,                      "Restarted Restarted"],
    ["… of a VM that is off",                    RESTARTING,  undefined,                    "Withdrawn IntentWithdrawn"],
  ], "Withdrawn");

  // prettier-ignore
  rowsOf("ShutDown", [
    ["a stop that is pending",                   IN_VAIN_TOO, web,                          "Stopping Pending", PENDING],
    ["… of a VM that can migrate now",           IN_VAIN_TOO, vmiOf("web"),                 "Stopping Pending", PENDING],
    ["a stop while the guest shuts down",        STOPPING,    { ...web, deleting: true },   "Stopping ShuttingDown"],
    ["a VM that is off now",                     STOPPING,    undefined,                    "Stopped Stopped",  PENDING],
    ["a VM that was stopped starts",             STOPPED,     undefined,                    "StartVm, Released", PENDING],
    ["… also if that was refused before",        { ...STOPPED, conditions: released("False") }, undefined, "StartVm, Released", PENDING],
    ["… not while the stop is pending",          STOPPED,     undefined,                    "-",                { vm: { ...VM, runStrategy: "Halted", isChanging: true } }],
    ["… not while its VMI is there",             STOPPED,     { ...web, deleting: true },   "-",                PENDING],
    ["… not if its owner has started it",        STOPPED,     undefined,                    "Released",         { vm: VM }],
    ["… not if it was deleted",                  STOPPED,     undefined,                    "Released",         { vm: undefined }],
    ["… not if it has been seen running since",  STOPPED,     another,                      "Released",         PENDING],
    ["… nor when it is off after that",          { ...STOPPED, conditions: released("True", "it has been started") }, undefined, "-",  PENDING],
    ["… if 0.3 stopped it, which released it at once", { ...STOPPED, conditions: released("True") }, undefined, "StartVm, Released", PENDING],
  ], "Withdrawn");

  test("a VM that stays off until its node is uncordoned is its owner's from when it runs", () => {
    const stopped = own("web", { spec: { by: "ShutDown", runStrategy: "Always" }, status: STOPPED });
    expect(inShort(planned(stopped, { vmis: [], budgets: [] }))).toBe("-");
    expect(inShort(planned(stopped, { vmis: [another], budgets: [] }))).toBe("Released");
  });
});
