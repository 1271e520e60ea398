/** Tests the check just before Lifeboat asks KubeVirt to restart, stop or start a VM. */
import { describe, expect, test } from "vitest";
import { type Asking, askingOf, startNow } from "../../../shared/evacuation/asking.ts";
import { mayBeAsked } from "../../../shared/evacuation/shutdown.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { factsOf, OddList } from "../../support/facts.ts";
import { node } from "../../support/fixtures.ts";
import { CORDONED, own, pinnedVm, started } from "../../support/maintenance/worlds.ts";

const VM = { namespace: "apps", name: "web", uid: "vm-web", runStrategy: "Always", isChanging: false };
const HALTED = { ...VM, runStrategy: "Halted" };
const web = pinnedVm("web");
const able = { ...web, liveMigratable: { migratable: true } };
const stop = own("web", { spec: { by: "ShutDown", runStrategy: "Always" } });
const afterFailures = own("web", { spec: { by: "Restart", runStrategy: "Always", inherited: { attempts: 5 } } });
const SAME: Asking = { vm: VM, ne: started(), node: node(CORDONED) };

describe("Lifeboat may ask KubeVirt to stop a VM", () => {
  // prettier-ignore
  test.each<[string, now: VmiFacts | undefined, asking: Partial<Asking>, asked: boolean]>([
    ["if nothing has changed",                         web,                                   {},                                                    true],
    ["unless its VMI is gone",                         undefined,                             {},                                                    false],
    ["unless its VMI was recreated",                   { ...web, uid: "anew" },               {},                                                    false],
    ["unless it has moved",                            { ...web, nodeName: "node02" },        {},                                                    false],
    ["unless it is being deleted",                     { ...web, deleting: true },            {},                                                    false],
    ["unless it has ended",                            { ...web, phase: "Succeeded" },        {},                                                    false],
    ["unless it migrates",                             { ...web, isMigrating: true },         {},                                                    false],
    ["unless it is being sent to another cluster",     { ...web, decentralized: "Sends" },    {},                                                    false],
    ["unless it can migrate now",                      able,                                  {},                                                    false],
    ["unless its VirtualMachine is gone",              web,                                   { vm: undefined },                                     false],
    ["unless KubeVirt is already changing it",         web,                                   { vm: { ...VM, isChanging: true } },                   false],
    ["unless its owner has changed its run strategy",  web,                                   { vm: HALTED },                                        false],
    ["unless the node is gone",                        web,                                   { node: undefined },                                   false],
    ["unless the node is uncordoned",                  web,                                   { node: node() },                                      false],
    ["unless the NodeEvacuation is gone",              web,                                   { ne: undefined },                                     false],
    ["unless the NodeEvacuation has ended",            web,                                   { ne: started({ status: { phase: "Expired" } }) },     false],
    ["unless the NodeEvacuation is withdrawn",         web,                                   { ne: started({ spec: { intent: "Withdrawn" } }) },    false],
    ["unless the NodeEvacuation is paused",            web,                                   { ne: started({ spec: { progress: "Paused" } }) },     false],
    ["unless a budget keeps its pod",                  web,                                   { refusal: { reason: "BudgetExhausted", message: "" } }, false],
  ])("%s", (_, now, asking, asked) => expect(mayBeAsked(stop, web, now, { ...SAME, ...asking })).toBe(asked));

  test("after failed migrations, even if the VM can migrate", () => {
    expect(mayBeAsked(afterFailures, web, able, SAME)).toBe(true);
  });
});

test("a VM with the run strategy Manual keeps it when it is off, and may start", () => {
  const manual = own("web", { spec: { by: "ShutDown", runStrategy: "Manual" } });
  const vm = { ...VM, runStrategy: "Manual" };
  expect(
    startNow(manual, factsOf({ "virtualmachines apps/web": vm, "virtualmachineinstances apps/web": undefined })),
  ).toBe("Start");
});

// prettier-ignore
test.each<[string, vm: object | undefined, vmi: VmiFacts | undefined, expected: ReturnType<typeof startNow>]>([
  ["that is off",                               HALTED,                           undefined,                      "Start"],
  ["whose VMI has ended",                       HALTED,                           { ...web, phase: "Succeeded" }, "Start"],
  ["that was deleted",                          undefined,                        undefined,                      "NotNeeded"],
  ["whose owner has changed its run strategy",  VM,                               undefined,                      "NotNeeded"],
  ["that runs again",                           HALTED,                           web,                            "NotNeeded"],
  ["that is still shutting down",               HALTED,                           { ...web, deleting: true },     "TooEarly"],
  ["that KubeVirt is still changing",           { ...HALTED, isChanging: true },  undefined,                      "TooEarly"],
])("the start of a stopped VM %s: $3", (_, vm, vmi, expected) => {
  expect(startNow(stop, factsOf({ "virtualmachines apps/web": vm, "virtualmachineinstances apps/web": vmi }))).toBe(expected);
});

describe("an object that cannot be parsed, before a restart or stop, is an error:", () => {
  const PODS = `pods as Scheduled in apps where kubevirt.io=virt-launcher,kubevirt.io/created-by=${web.uid},spec.nodeName!=`;
  const readable = {
    "virtualmachines apps/web": VM,
    nodeevacuations: [],
    rollingmaintenances: [],
    "nodes node01": node(CORDONED),
    [PODS]: [],
    "poddisruptionbudgets in apps": [],
  };

  test("no object is odd", () => {
    expect(askingOf(stop, web.uid, factsOf(readable)).refusal).toBeUndefined();
  });

  test.each(["poddisruptionbudgets in apps", PODS])("one of the %s", (question) => {
    const odd = { ...readable, [question]: new OddList([], "spec: expected an object") };
    expect(() => askingOf(stop, web.uid, factsOf(odd))).toThrow("spec: expected an object");
  });
});
