/** Tests what a NodeEvacuation does after its end: it returns VMs, and starts the VMs that it stopped. */
import { describe, expect, test } from "vitest";
import { textOf } from "../../../shared/facts/facts.ts";
import { selectEvacuationsFor } from "../../../shared/kube/selections.ts";
import { VOLUMES } from "../../../shared/preflight/views.ts";
import { OddList } from "../../support/facts.ts";
import { node, time } from "../../support/fixtures.ts";
import { launcher, node as roomy, vmiOf } from "../../support/preflight/fixtures.ts";
import { inShort, nextOf, own, type Situation, started } from "../../support/maintenance/worlds.ts";

type Row = readonly [what: string, world: Situation, expected: string];

const PLAIN = node();
const WITHDRAWN = { intent: "Withdrawn" } as const;
const active = [own("web")];
const stopped = [own("db", { status: { phase: "Stopped" } })];

describe("a NodeEvacuation that has ended", () => {
  const evacuated = started({ status: { phase: "Evacuated" } });
  const withdrawn = started({ spec: WITHDRAWN, status: { phase: "Withdrawn" } });
  const moved = own("web", { status: { phase: "Moved", targetNode: "node02" } });
  const VMI = "virtualmachineinstances apps/web";
  const PODS = "pods as PreflightPod in apps where kubevirt.io/created-by=vmi-web";
  const TARGET = "nodes as Roomy node02";
  const pod = launcher("web", { nodeName: "node02" });
  const THERE = { [VMI]: vmiOf("web", { nodeName: "node02" }), [PODS]: [pod], [TARGET]: roomy("node02") };
  const RETURNED = [
    { type: "Returned", status: "True", reason: "x", message: "", lastTransitionTime: time(0) },
  ] as const;
  const back = started({ spec: { returnVMs: "WhenUncordoned" }, status: evacuated.status });
  const triedBefore = started({
    spec: { returnVMs: "WhenUncordoned" },
    status: { phase: "Evacuated", conditions: [{ ...RETURNED[0], status: "False" }] },
  });
  const older = launcher("web", { uid: "older" });
  const onVolume = launcher("web", { nodeName: "node02", claims: ["disk"] });
  const unrestricted = { [textOf({ kind: VOLUMES, selection: {} })]: [undefined] };
  const open = { namespace: "apps", name: "web", uid: "vmi-web" };

  // prettier-ignore
  test.each<Row>([
    ["does nothing while the node is cordoned",                                { ne: evacuated, evacuations: stopped },                                  "Nothing"],
    ["returns its VMs when the node is schedulable",                           { ne: back, node: PLAIN, evacuations: [...stopped, moved], more: THERE }, "Evacuated WithdrawEvacuation ReturnVm"],
    ["does nothing after it has returned its VMs",                             { ne: started({ status: { phase: "Evacuated", conditions: RETURNED } }), node: PLAIN, evacuations: stopped }, "Nothing"],
    ["does nothing after it was withdrawn",                                    { ne: withdrawn, node: PLAIN },                                           "Nothing"],
    ["uncordons if another function cordoned at the same time",                { ne: withdrawn },                                                        "Withdrawn Uncordon"],
    ["withdraws an Evacuation that another function started at the same time", { ne: withdrawn, node: PLAIN, evacuations: active },                      "Withdrawn WithdrawEvacuation"],
    ["returns no VM if returnVMs is Never",                                    { ne: evacuated, node: PLAIN, evacuations: [...stopped, moved], more: THERE },  "Evacuated WithdrawEvacuation"],
    ["returns its VMs only once",                                              { ne: triedBefore, node: PLAIN, evacuations: [...stopped, moved], more: THERE }, "Evacuated WithdrawEvacuation"],
    ["returns no VM that is gone",                                             { ne: back, node: PLAIN, evacuations: [...stopped, moved], more: { ...THERE, [VMI]: undefined } }, "Evacuated WithdrawEvacuation"],
    ["returns no VM that has moved again",                                     { ne: back, node: PLAIN, evacuations: [moved], more: { ...THERE, [VMI]: vmiOf("web", { nodeName: "node03" }) } }, "Evacuated"],
    ["returns no VM that was restarted",                                       { ne: back, node: PLAIN, evacuations: [moved], more: { ...THERE, [VMI]: vmiOf("web", { uid: "again", nodeName: "node02" }) } }, "Evacuated"],
    ["returns no VM whose pod is gone",                                        { ne: back, node: PLAIN, evacuations: [moved], more: { ...THERE, [PODS]: [] } },     "Evacuated"],
    ["returns no VM if the node that it moved to is gone",                                       { ne: back, node: PLAIN, evacuations: [moved], more: { ...THERE, [TARGET]: undefined } }, "Evacuated"],
    ["returns a VM whose older pod still exists",                                { ne: back, node: PLAIN, evacuations: [moved], more: { ...THERE, [PODS]: [older, pod] } }, "Evacuated ReturnVm"],
    ["returns a VM whose volume every node can access",                        { ne: back, node: PLAIN, evacuations: [moved], more: { ...THERE, ...unrestricted, [PODS]: [onVolume] } }, "Evacuated ReturnVm"],
    ["starts its stopped VMs if its node is gone",                             { ne: evacuated, node: undefined, evacuations: stopped },                 "Evacuated WithdrawEvacuation"],
    ["writes an outcome that was open at the end",                             { ne: started({ status: { phase: "Evacuated", outcomes: [open] } }), more: THERE }, "Evacuated"],
    ["does not withdraw an Evacuation again",                                  { ne: withdrawn, node: PLAIN, evacuations: [own("web", { spec: { intent: "Withdrawn" } })] }, "Nothing"],
  ])("%s", (_, world, expected) => expect(inShort(nextOf(world))).toBe(expected));
});

// prettier-ignore
test.each<readonly [what: string, evacuations: Situation["evacuations"], odd: string | undefined, expected: string]>([
  ["no VM is stopped",                          [],      undefined,         "True "],
  ["an Evacuation cannot be read",              [],      "apps/db-1: bad",  "False stopped VMs that have not started again yet: apps/db-1: Lifeboat cannot read this Evacuation: bad"],
  ["a VM is stopped, and one is unreadable",    stopped, "apps/web-1: bad", "False stopped VMs that have not started again yet: apps/db: it is about to start; apps/web-1: Lifeboat cannot read this Evacuation: bad"],
])("after the uncordon, the condition Returned tells whether each stopped VM has started: %s", (_, evacuations = [], odd, expected) => {
  const list = textOf({ kind: "evacuations", selection: selectEvacuationsFor("kernel") });
  const more = { [list]: odd === undefined ? evacuations : new OddList(evacuations, odd) };
  const { more: status } = nextOf({ ne: started({ status: { phase: "Evacuated" } }), node: PLAIN, more });
  expect(status?.conditions?.map((one) => `${one.status} ${one.message}`)).toEqual([expected]);
});
