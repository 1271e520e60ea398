/**
 * Tests Lifeboat's requests to KubeVirt that set and remove the VMI's evacuationNodeName, and the meaning of each
 * answer.
 */
import type { Action } from "../../../shared/kube/action.ts";
import { afterAll, describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { MARKED_VMI_OBJECT, POD_OBJECT, type Answers, list } from "../../support/cluster/one-vm.ts";
import { type Behaviour, html, json, status } from "../../support/answers.ts";
import { NAMESPACE, startSandboxCluster } from "../../support/installed/worker.ts";
import { NOW, vmi as vmiFixture } from "../../support/fixtures.ts";
import { connectToOneVm, connectTo, present } from "../../support/client.ts";
import { act as performAction } from "../../../shared/act/perform.ts";

const world = await startSandboxCluster();
afterAll(() => world.stop());
const cluster = connectTo(world.entry);

const readVmi = async (name: string) =>
  present(await cluster.get("virtualmachineinstances", { namespace: NAMESPACE, name }));
const act = (action: Action) => performAction(action, { cluster, now: () => NOW });
const mark = (vmi: VmiFacts) => act({ verb: "Mark", vmi });
const unmark = (vmi: VmiFacts) => act({ verb: "Unmark", vmi });

describe("with Lifeboat's own account, in an API server beside virt-api,", () => {
  test("a VM can be marked and unmarked repeatedly, and is unchanged afterwards", async () => {
    await world.createVm({ name: "web", strategy: "LiveMigrate" });
    const before = await readVmi("web");
    expect([await mark(before), await mark(before)]).toEqual(["Done", "Done"]);
    expect(await act({ verb: "Label", vmi: before, urgency: "urgent" })).toBe("Done");
    const after = await readVmi("web");
    expect([after.evacuationNodeName, after.evacuationLabel]).toEqual(["node01", "urgent"]);
    expect(await unmark(after)).toBe("Done");
    const unmarked = await readVmi("web");
    expect({ ...unmarked, resourceVersion: "" }).toEqual({ ...before, resourceVersion: "" });
    expect(await unmark({ ...unmarked, evacuationNodeName: "node01" })).toBe("Done");
    expect(await cluster.get("pods", { namespace: NAMESPACE, name: "virt-launcher-web-abcde" })).toMatchObject({
      deleting: false,
    });
  });

  test("a mark for the descheduler also sets the eviction's source, and the removal of the mark removes the source", async () => {
    await world.createVm({ name: "web-2", strategy: "LiveMigrate" });
    const before = await readVmi("web-2");
    expect(await act({ verb: "Mark", vmi: before, forDescheduler: true })).toBe("Done");
    const after = await readVmi("web-2");
    expect(after).toMatchObject({ evacuationNodeName: "node01", evictionSource: "descheduler" });
    await unmark(after);
    expect({ ...(await readVmi("web-2")), resourceVersion: "" }).toEqual({ ...before, resourceVersion: "" });
  });

  test("a mark that was replaced meanwhile stays", async () => {
    await world.createVm({ name: "moved", strategy: "LiveMigrate", status: { evacuationNodeName: "node01" } });
    const seen = await readVmi("moved");
    await world.patchVmi("moved", { status: { evacuationNodeName: "node02" } });
    expect(await unmark(seen)).toBe("Conflict");
    expect((await readVmi("moved")).evacuationNodeName).toBe("node02");
  });
});

const refused = (code: number): Behaviour => status(code, "Whatever");
const LAUNCHERS = list(POD_OBJECT);

test("if Lifeboat knows the name of the VM's pod, it marks the VM without a list of pods", async () => {
  const { cluster, requests } = connectToOneVm({ "create pods/eviction": refused(429) });
  const vmi = vmiFixture({ nodeName: "node01", uid: "uid-of-web" });
  const mark = { verb: "Mark", vmi, launcher: "virt-launcher-web-abcde" } as const;
  expect(await performAction(mark, { cluster, now: () => NOW })).toBe("Done");
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /api/v1/namespaces/apps/pods/virt-launcher-web-abcde/eviction",
  ]);
});

async function perform(verb: "Mark" | "Unmark", answers: Answers, tweak: Partial<VmiFacts> = {}) {
  const { cluster, requests } = connectToOneVm(answers);
  const vmi = vmiFixture({ nodeName: "node01", uid: "uid-of-web", ...tweak });
  const result = await performAction({ verb, vmi }, { cluster, now: () => NOW }).catch(String);
  return { result, asked: requests.map(({ method, path }) => `${method} ${path}`), requests };
}

describe("the result of an answer", () => {
  const EVICTED = "POST /api/v1/namespaces/apps/pods/virt-launcher-web-abcde/eviction";
  const ASKED = ["GET /api/v1/namespaces/apps/pods", EVICTED];
  const VMI = "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web";
  const CANCELLED = "PUT /apis/subresources.kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web/evacuate/cancel";
  const READ_AGAIN = [CANCELLED, `GET ${VMI}`];
  const MARK = { evacuationNodeName: "node01" };
  const ELSEWHERE = list({ ...POD_OBJECT, spec: { nodeName: "node09" } });
  const COMPLETED = list({ ...POD_OBJECT, status: { phase: "Succeeded" } });
  const NODE = "GET /api/v1/nodes/node01";
  const [PODS, EVICTS] = ["list pods", "create pods/eviction"];
  const CANCELS = "update virtualmachineinstances/evacuate/cancel";
  const [GETS, PATCHES, NODES] = ["get virtualmachineinstances", "patch virtualmachineinstances", "get nodes"];
  const HERE = json({
    kind: "Node",
    metadata: { name: "node01", uid: "n", resourceVersion: "1" },
    spec: {},
    status: {},
  });

  // prettier-ignore
  test.each<["Mark" | "Unmark", string, Partial<VmiFacts>, Answers, string | RegExp, readonly string[]]>([
    ["Mark",   "refused with KubeVirt's message", {},   { [PODS]: LAUNCHERS, [EVICTS]: refused(429) },                            "Done",          ASKED],
    ["Mark",   "the pod is gone",                 {},   { [PODS]: LAUNCHERS, [EVICTS]: refused(404) },                            "Conflict",      ASKED],
    ["Mark",   "eviction is forbidden",           {},   { [PODS]: LAUNCHERS, [EVICTS]: refused(403) },                            /403 Forbidden/, ASKED],
    ["Mark",   "no pod on the VM's node",         {},   { [PODS]: ELSEWHERE },                                                    "Conflict",      ASKED.slice(0, 1)],
    ["Mark",   "only an ended pod",               {},   { [PODS]: COMPLETED },                                                    "Conflict",      ASKED.slice(0, 1)],
    ["Unmark", "without a mark",                  {},   {},                                                                       "Done",          []],
    ["Unmark", "a success",                       MARK, { [CANCELS]: json({}) },                                                  "Done",          [CANCELLED]],
    ["Unmark", "the VMI is gone",                 MARK, { [CANCELS]: refused(404), [GETS]: refused(404) },                        "Done",          READ_AGAIN],
    ["Unmark", "a page of a proxy",               MARK, { [CANCELS]: html(404), [GETS]: json(MARKED_VMI_OBJECT), [NODES]: HERE }, /404/,           [...READ_AGAIN, NODE]],
    ["Unmark", "the drain taint keeps the mark",  MARK, { [CANCELS]: refused(400) },                                              "Done",          [CANCELLED]],
    ["Unmark", "forbidden",                       MARK, { [CANCELS]: refused(403) },                                              /403 Forbidden/, [CANCELLED]],
    ["Unmark", "KubeVirt refuses the patch",      MARK, { [CANCELS]: html(401), [GETS]: json(MARKED_VMI_OBJECT), [NODES]: HERE }, /403 Forbidden/, [...READ_AGAIN, NODE]],
    ["Unmark", "another mark by now",             MARK, { [CANCELS]: refused(500), [GETS]: json({ ...MARKED_VMI_OBJECT, status: { ...MARKED_VMI_OBJECT.status, evacuationNodeName: "node02" } }) }, "Conflict",      READ_AGAIN],
    ["Unmark", "the node is gone",                MARK, { [CANCELS]: refused(500), [GETS]: json(MARKED_VMI_OBJECT), [NODES]: refused(404) }, "Done",          [...READ_AGAIN, NODE]],
    ["Unmark", "virt-api fails",                  MARK, { [CANCELS]: refused(500), [GETS]: json(MARKED_VMI_OBJECT), [NODES]: HERE }, /500/,           [...READ_AGAIN, NODE]],
    ["Unmark", "the mark has a label",            { ...MARK, evacuationLabel: "urgent" }, { [PATCHES]: json(MARKED_VMI_OBJECT), [CANCELS]: json({}) }, "Done",          [`PATCH ${VMI}`, CANCELLED]],
  ])("of %s: %s", async (...[verb, , tweak, answers, expected, asked]) => {
    const done = await perform(verb, answers, tweak);
    expect(done.asked).toEqual(asked);
    expect(done.result).toMatch(expected);
  });
});
