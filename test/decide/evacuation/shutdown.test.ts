/** Evacuations by a restart or a stop: what is written before KubeVirt is asked, and what becomes of it. */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { NODE, time } from "../../support/fixtures.ts";
import { own, pinnedVm } from "../../support/maintenance/worlds.ts";
import { inShort, planned, statusAfter } from "../../support/worlds.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";

const web = pinnedVm("web");
const another = { ...web, uid: "another", nodeName: "node02", activePods: { other: "node02" } };
const ended = { ...web, phase: "Succeeded" };

type Row = readonly [what: string, status: object, vmi: VmiFacts | undefined, expected: string];

function rowsOf(by: "Restart" | "ShutDown", rows: readonly Row[]): void {
  test.each(rows)("%s", (_, status, vmi, expected) => {
    const e = own("web", { spec: { by }, status });
    expect(inShort(planned(e, { vmis: vmi ? [vmi] : [], budgets: [] }))).toBe(expected);
  });
}

const RESTARTING = { phase: "Restarting", reason: "Asked", message: "m", startTime: time(-59), attempts: 0 };
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
    ["was asked for a minute ago, in vain",     { ...RESTARTING, startTime: time(-60) },      web,                                    "ShutDown, Restarting NotTaken"],
    ["… of one that has moved by then",         { ...RESTARTING, startTime: time(-60) },      { ...web, nodeName: "node02", activePods: { other: "node02" } }, "Moved Moved, tell"],
    ["it is about to start",                    RESTARTING,                                   { ...another, phase: "Scheduling" },    "Restarting Starting"],
    ["it runs elsewhere",                       RESTARTING,                                   another,                                "Restarted Restarted"],
  ]);

  test("because migrations fail does not ask whether the VM can migrate", () => {
    const e = own("web", { spec: { by: "Restart", inherited: { attempts: 5 } } });
    expect(inShort(planned(e, { vmis: [vmiOf("web")], budgets: [] }))).toBe("Restarting Asked, tell, ShutDown");
  });

  test("is withdrawn before it is asked for, and when KubeVirt has not taken it up; not while it may", () => {
    const spec = { by: "Restart", intent: "Withdrawn" };
    expect(statusAfter(own("web", { spec }), { vmis: [web], budgets: [] }).phase).toBe("Withdrawn");
    expect(statusAfter(own("web", { spec, status: RESTARTING }), { vmis: [web], budgets: [] }).phase).toBe(
      "Restarting",
    );
    const inVain = own("web", { spec, status: { ...RESTARTING, startTime: time(-60) } });
    expect(statusAfter(inVain, { vmis: [web], budgets: [] }).phase).toBe("Withdrawn");
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

  test("whose NodeEvacuation has ended meanwhile is undone once the VM is off", () => {
    const e = own("web", { spec: { by: "ShutDown", intent: "Withdrawn" }, status: STOPPING });
    expect(inShort(planned(e, { vmis: [{ ...web, deleting: true }], budgets: [] }))).toBe("Stopping ShuttingDown");
    expect(inShort(planned(e, { vmis: [], budgets: [] }))).toBe("StartVm, Withdrawn IntentWithdrawn");
  });
});
