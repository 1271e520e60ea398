/** Tests Evacuations that restart or stop a VM: the status before the request to KubeVirt, and the outcome. */
import { describe, expect, test } from "vitest";
import type { BudgetFacts, NodeFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import { textOf } from "../../../shared/facts/facts.ts";
import { SCHEDULED_PODS } from "../../../shared/facts/views.ts";
import type { NodeEvacuationFacts } from "../../../shared/kube/node-evacuation.ts";
import { selectLaunchersOf } from "../../../shared/kube/selections.ts";
import { type FactMap, OddList } from "../../support/facts.ts";
import { budget, node, NODE, only, time } from "../../support/fixtures.ts";
import { CORDONED, own, pinnedVm, started } from "../../support/maintenance/worlds.ts";
import { inShort, planned, statusAfter } from "../../support/worlds.ts";
import { launcher, vmiOf } from "../../support/preflight/fixtures.ts";

const web = pinnedVm("web");
const another = { ...web, uid: "another", nodeName: "node02", activePods: { other: "node02" } };
const ended = { ...web, phase: "Succeeded" };

interface Asking {
  readonly vm: object | undefined;
  readonly ne: NodeEvacuationFacts | undefined;
  readonly node: NodeFacts;
  readonly budgets: readonly BudgetFacts[];
}

/** `asking` changes the facts that the rule reads. If `asking` is undefined, the rule must not read any facts. */
type Row = readonly [
  what: string,
  status: object,
  vmi: VmiFacts | undefined,
  expected: string,
  asking?: Partial<Asking>,
];

const VM = { namespace: "apps", name: "web", uid: "vm-web", runStrategy: "Always", isChanging: false };
const SAME: Asking = { vm: VM, ne: started(), node: node(CORDONED), budgets: [] };
/** A PodDisruptionBudget that is not Lifeboat's and allows no eviction. */
const KEEPING = budget({
  managedByUs: false,
  owners: [],
  selector: { matchLabels: launcher("web").labels, matchExpressions: [] },
});
const POD = launcher("web");
const LAUNCHERS = { ...selectLaunchersOf({ uid: web.uid }), namespace: "apps", unlike: { "spec.nodeName": [""] } };

function factsOf({ vm, ne, budgets }: Asking): FactMap {
  return {
    "virtualmachines apps/web": vm,
    nodeevacuations: ne === undefined ? [] : [ne],
    "poddisruptionbudgets in apps": budgets,
    rollingmaintenances: new OddList([], "weekend: spec"),
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

describe("an Evacuation by a restart", () => {
  // prettier-ignore
  rowsOf("Restart", [
    ["is recorded, then requested",                                         {},                                           web,                                    "Restarting Asked, Event, ShutDown"],
    ["is withdrawn if the VM can migrate now",                              {},                                           vmiOf("web"),                           "Withdrawn IntentWithdrawn"],
    ["has Moved if the VM has moved",                                       {},                                           { ...web, nodeName: "node02", activePods: { other: "node02" } }, "Moved Moved, Event"],
    ["is Gone if the VMI has ended",                                        {},                                           ended,                                  "Gone VirtualMachineInstanceGone"],
    ["is Gone if the VMI is gone",                                          {},                                           undefined,                              "Gone VirtualMachineInstanceGone"],
    ["waits after a recent request",                                        RESTARTING,                                   web,                                    "-"],
    ["repeats a request that KubeVirt has not handled for a minute",        IN_VAIN,                                      web,                                    "Restarting NotTaken, ShutDown", {}],
    ["waits after a recent repetition",                                     { ...IN_VAIN, nextAttemptTime: time(1) },     web,                                    "-"],
    ["is pending if KubeVirt is restarting the VM",                         IN_VAIN,                                      web,                                    "Restarting Pending",          { vm: { ...VM, isChanging: true } }],
    ["is pending if the owner has stopped the VM",                          IN_VAIN,                                      web,                                    "Restarting Pending",          { vm: { ...VM, runStrategy: "Halted" } }],
    ["is withdrawn if the VM is Manual by now",                             IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { vm: { ...VM, runStrategy: "Manual" } }],
    ["is withdrawn if the VM was deleted",                                  IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { vm: undefined }],
    ["is withdrawn if the VM can migrate when the request is repeated",     IN_VAIN,                                      vmiOf("web"),                           "Withdrawn IntentWithdrawn",   {}],
    ["repeats no request while the NodeEvacuation is paused",               IN_VAIN,                                      web,                                    "Restarting Held",             { ne: started({ spec: { progress: "Paused" } }) }],
    ["repeats no request while the node is uncordoned",                     IN_VAIN,                                      web,                                    "Restarting Held",             { node: node() }],
    ["repeats no request while a budget keeps the pod",                     IN_VAIN,                                      web,                                    "Restarting Held",             { budgets: [KEEPING] }],
    ["is withdrawn if the NodeEvacuation is withdrawn",                     IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { ne: started({ spec: { intent: "Withdrawn" } }) }],
    ["is withdrawn if the NodeEvacuation has ended",                        IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { ne: started({ status: { phase: "Expired" } }) }],
    ["is withdrawn if the NodeEvacuation is gone",                          IN_VAIN,                                      web,                                    "Withdrawn IntentWithdrawn",   { ne: undefined }],
    ["has Moved if the VM moved despite the request",                       { ...RESTARTING, startTime: time(-60) },      { ...web, nodeName: "node02", activePods: { other: "node02" } }, "Moved Moved, Event"],
    ["is Restarting while the new VMI starts",                              RESTARTING,                                   { ...another, phase: "Scheduling" },    "Restarting Starting"],
    ["is Restarted when the new VMI runs elsewhere",                        RESTARTING,                                   another,                                "Restarted Restarted"],
  ]);

  test("after failed migrations does not depend on whether the VM can migrate", () => {
    const e = own("web", { spec: { by: "Restart", inherited: { attempts: 5 } } });
    expect(inShort(planned(e, { vmis: [vmiOf("web")], budgets: [] }))).toBe("Restarting Asked, Event, ShutDown");
  });

  test("is not requested again for a minute", () => {
    const e = own("web", { spec: { by: "Restart" } });
    expect(statusAfter(e, { vmis: [web], budgets: [] }).nextAttemptTime).toBe(time(60));
  });

  test("records the node on which the VM runs again", () => {
    const e = own("web", { spec: { by: "Restart" }, status: RESTARTING });
    expect(statusAfter(e, { vmis: [another], budgets: [] })).toMatchObject({
      phase: "Restarted",
      targetNode: "node02",
    });
  });

  test("records the UID of its VMI", () => {
    const status = { virtualMachineInstanceUID: undefined, sourceNode: undefined };
    const e = own("web", { spec: { by: "Restart" }, status });
    const named = { virtualMachineInstanceUID: web.uid, sourceNode: NODE };
    expect(statusAfter(e, { vmis: [web], budgets: [] })).toMatchObject(named);
  });
});

describe("an Evacuation by a stop", () => {
  // prettier-ignore
  rowsOf("ShutDown", [
    ["is recorded, then requested",                        {},        web,                          "Stopping Asked, Event, ShutDown"],
    ["is Stopped when the VM is off",                      STOPPING,  undefined,                    "Stopped Stopped"],
    ["is Stopped when the VMI has ended",                  STOPPING,  ended,                        "Stopped Stopped"],
    ["is Gone if another party has started the VM again",  STOPPING,  another,                      "Gone VirtualMachineInstanceGone"],
  ]);
});

// prettier-ignore
test.each<[string, Partial<Asking>, why: string]>([
  ["the NodeEvacuation is paused",              { ne: started({ spec: { progress: "Paused" } }) }, "spec.progress of the NodeEvacuation is Paused"],
  ["its RollingMaintenance cannot be parsed",   { ne: started({ owner: { name: "weekend", uid: "rm" } }) }, "Lifeboat cannot read the RollingMaintenance, which might be paused \\(weekend: spec\\)"],
  ["its RollingMaintenance is paused",          { ne: started({ spec: { progress: "Paused" }, owner: { name: "other", uid: "rm" } }) }, "spec.progress of the NodeEvacuation or of its RollingMaintenance is Paused"],
  ["the node is uncordoned",                    { node: node() },                                  "the VM's node is schedulable"],
])("a request that is not repeated because %s says so", (_, asking, why) => {
  const around = { ...SAME, ...asking };
  const e = own("web", { spec: { by: "Restart", runStrategy: "Always" }, status: IN_VAIN });
  expect(statusAfter(e, { vmis: [web], nodes: [around.node], more: factsOf(around) }).message).toMatch(new RegExp(`: ${why}$`, "u"));
});

// prettier-ignore
test.each<[string, by: "Restart" | "ShutDown", intent: "Evacuate" | "Withdrawn", VmiFacts | undefined, message: string, conditions: readonly string[]]>([
  ["restarted VM",                               "Restart",  "Evacuate",  another,   "restarted on node node02",   ["Evacuated True Restarted", "Released True Released"]],
  ["stopped VM",                                 "ShutDown", "Evacuate",  undefined, "stopped; Lifeboat starts",   ["Evacuated True Stopped", "Released False StartsLater"]],
  ["stopped VM whose evacuation was cancelled",  "ShutDown", "Withdrawn", undefined, "stopped, but the evacuation was cancelled", ["Evacuated True Stopped", "Released False StartsLater"]],
])("the status of a %s", (...[, by, intent, now, message, conditions]) => {
  const e = own("web", { spec: { by, intent }, status: { ...(by === "Restart" ? RESTARTING : STOPPING), conditions: [] } });
  const status = statusAfter(e, { vmis: now ? [now] : [], budgets: [] });
  expect(status.message).toContain(message);
  expect(status.conditions.map((one) => `${one.type} ${one.status} ${one.reason}`)).toEqual(conditions);
});

const released = (status: "True" | "False", message = "") => [
  { type: "Released", status, reason: "x", message, lastTransitionTime: time(0) },
];

describe("with the intent Withdrawn", () => {
  const PENDING = { vm: { ...VM, runStrategy: "Halted" } };
  const IN_VAIN_TOO = { ...STOPPING, startTime: time(-60) };
  const STOPPED = { ...STOPPING, phase: "Stopped" };

  // prettier-ignore
  rowsOf("Restart", [
    ["a restart that was not requested is withdrawn",                {},          web,                          "Withdrawn IntentWithdrawn"],
    ["a restart that was just requested waits",                      RESTARTING,  web,                          "-"],
    ["a restart that KubeVirt has not handled is withdrawn",         IN_VAIN,     web,                          "Withdrawn IntentWithdrawn", {}],
    ["a pending restart continues",                                  IN_VAIN,     web,                          "Restarting Pending", { vm: { ...VM, isChanging: true } }],
    ["a restart whose new VMI starts is withdrawn",                  RESTARTING,  { ...another, phase: "Scheduling" }, "Withdrawn IntentWithdrawn"],
    ["a restart whose new VMI runs is Restarted",                    RESTARTING,  another,                      "Restarted Restarted"],
    ["a restart whose VM is off is withdrawn",                       RESTARTING,  undefined,                    "Withdrawn IntentWithdrawn"],
  ], "Withdrawn");

  // prettier-ignore
  rowsOf("ShutDown", [
    ["a pending stop continues",                   IN_VAIN_TOO, web,                          "Stopping Pending", PENDING],
    ["a pending stop of a VM that can migrate now continues",           IN_VAIN_TOO, vmiOf("web"),                 "Stopping Pending", PENDING],
    ["a stop continues while the guest shuts down",        STOPPING,    { ...web, deleting: true },   "Stopping ShuttingDown"],
    ["a stop whose VM is off is Stopped",                     STOPPING,    undefined,                    "Stopped Stopped",  PENDING],
    ["a stopped VM starts",             STOPPED,     undefined,                    "StartVm, Released", PENDING],
    ["a stopped VM starts if an earlier start was refused",        { ...STOPPED, conditions: released("False") }, undefined, "StartVm, Released", PENDING],
    ["a stopped VM does not start while the stop is pending",          STOPPED,     undefined,                    "-",                { vm: { ...VM, runStrategy: "Halted", isChanging: true } }],
    ["a stopped VM does not start while its VMI exists",             STOPPED,     { ...web, deleting: true },   "-",                PENDING],
    ["a stopped VM does not start if its owner has started it",        STOPPED,     undefined,                    "Released",         { vm: VM }],
    ["a stopped VM does not start if it was deleted",                  STOPPED,     undefined,                    "Released",         { vm: undefined }],
    ["a stopped VM does not start if it ran since",  STOPPED,     another,                      "Released",         PENDING],
    ["a stopped VM does not start again after it was started and is off",          { ...STOPPED, conditions: released("True", "it has been started") }, undefined, "-",  PENDING],
    ["a VM stopped and released by release 0.3 starts", { ...STOPPED, conditions: released("True") }, undefined, "StartVm, Released", PENDING],
  ], "Withdrawn");

  test("a start that KubeVirt refuses is reported, and Lifeboat asks again", () => {
    const e = own("web", {
      spec: { by: "ShutDown", intent: "Withdrawn", runStrategy: "Always" },
      status: { ...STOPPED, conditions: [] },
    });
    const more = factsOf({ ...SAME, ...PENDING });
    const [start] = only("StartVm", planned(e, { vmis: [], more }));
    expect(start?.ifRefused).toMatchObject([
      { verb: "Event", reason: "StartRefused" },
      { verb: "WriteStatus", status: { phase: "Stopped", conditions: [{ type: "Released", status: "False" }] } },
    ]);
  });

  test("an Evacuation that keeps a VM stopped until the uncordon is released when the VM runs again", () => {
    const stopped = own("web", { spec: { by: "ShutDown", runStrategy: "Always" }, status: STOPPED });
    expect(inShort(planned(stopped, { vmis: [], budgets: [] }))).toBe("-");
    expect(inShort(planned(stopped, { vmis: [another], budgets: [] }))).toBe("Released");
  });
});
