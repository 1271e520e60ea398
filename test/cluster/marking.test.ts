/** Marks, as KubeVirt's account or by KubeVirt itself: what is asked, what is believed, what each answer means. */
import { afterAll, describe, expect, test } from "vitest";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { CANNED_POD, CANNED_VMI, type CannedAnswers, list } from "../functions/support/canned-cluster.ts";
import { type Behaviour, json, status } from "../functions/support/stub-server.ts";
import { NAMESPACE, startTestCluster } from "../functions/support/test-cluster.ts";
import { vmi as vmiFixture } from "../policy/fixtures.ts";
import { canned, connectTo, present, SETTINGS } from "./connected.ts";

const world = await startTestCluster();
afterAll(() => world.stop());
const cluster = connectTo(world.entry);

const look = async (name: string) => present(await cluster.getVmi({ namespace: NAMESPACE, name }));
const mark = (vmi: VmiFacts, urgency: "normal" | "urgent" = "normal") =>
  cluster.act({ verb: "Mark", vmi, urgency }, SETTINGS);
const unmark = (vmi: VmiFacts) => cluster.act({ verb: "Unmark", vmi }, SETTINGS);

describe("in an API server", () => {
  // prettier-ignore
  test.each([
    ["normal", undefined],
    ["urgent", "urgent"],
  ] as const)("%s: marked, once; the label %s; unmarked, it is as before", async (urgency, evacuationLabel) => {
    await world.createVm({ name: urgency });
    const before = await look(urgency);
    expect([await mark(before, urgency), await mark(before, urgency)]).toEqual(["Done", "Conflict"]);
    const after = await look(urgency);
    expect([after.evacuationNodeName, after.evacuationLabel]).toEqual(["node01", evacuationLabel]);
    expect([await unmark(after), await unmark(after)]).toEqual(["Done", "Conflict"]);
    expect({ ...(await look(urgency)), resourceVersion: "" }).toEqual({ ...before, resourceVersion: "" });
  });

  test("a mark for a node that it has left is replaced, and taken away", async () => {
    await world.createVm({ name: "left", status: { evacuationNodeName: "node00" } });
    expect(await mark(await look("left"))).toBe("Done");
    await world.patchVmi("left", { status: { evacuationNodeName: "node00" } });
    expect(await unmark(await look("left"))).toBe("Done");
    expect((await look("left")).evacuationNodeName).toBeUndefined();
  });

  test.each([
    ["moved", { status: { nodeName: "node02" } }],
    ["was-marked", { status: { evacuationNodeName: "node01" } }],
  ])("one that %s meanwhile is left alone", async (name, change) => {
    await world.createVm({ name });
    const seen = await look(name);
    await world.patchVmi(name, change);
    expect([await mark(seen), await unmark(seen)]).toEqual(["Conflict", "Conflict"]);
    expect((await world.getVmi(name))?.status).toMatchObject(change.status);
  });

  test("one that is gone cannot be marked, and has no mark", async () => {
    const vmi = vmiFixture({ namespace: NAMESPACE, name: "nobody" });
    expect([await mark(vmi), await unmark(vmi)]).toEqual(["Conflict", "Done"]);
  });
});

const refused = (code: number): Behaviour => status(code, "Whatever");

async function perform(verb: "Mark" | "Unmark", marking: "Impersonate" | "Evict" | "Auto", answers: CannedAnswers) {
  const { cluster, requests } = await canned(answers);
  const vmi = vmiFixture({ nodeName: "node01", uid: "uid-of-web" });
  const action = verb === "Mark" ? ({ verb, vmi, urgency: "urgent" } as const) : ({ verb, vmi } as const);
  const result = await cluster.act(action, { kubevirtNamespace: "virt", marking }).catch(String);
  return { result, asked: requests.map(({ method, path }) => `${method} ${path}`), requests };
}

describe("each answer", () => {
  const KEPT = json({ ...CANNED_VMI, status: { ...CANNED_VMI.status, evacuationNodeName: "node01" } });
  const FORBIDDEN = status(403, "Forbidden");
  const EVICTED = "POST /api/v1/namespaces/apps/pods/virt-launcher-web-abcde/eviction";
  const ASKED = ["GET /api/v1/namespaces/apps/pods", EVICTED];
  const PATCHED = "PATCH /apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web";
  const LAUNCHERS = list(CANNED_POD);
  const ELSEWHERE = list({ ...CANNED_POD, spec: { nodeName: "node09" } });

  // prettier-ignore
  test.each<["Mark" | "Unmark", "Impersonate" | "Evict" | "Auto", string, CannedAnswers, string | RegExp, readonly string[]]>([
    ["Mark",   "Impersonate", "seen",                    { mark: KEPT },                                  "Done",             [PATCHED]],
    ["Mark",   "Impersonate", "not kept",                { mark: json(CANNED_VMI) },                      /did not keep the mark on VMI "apps\/web"/, [PATCHED]],
    ["Mark",   "Impersonate", "gone",                    { mark: refused(404) },                          "Conflict",         [PATCHED]],
    ["Mark",   "Impersonate", "stale",                   { mark: refused(409) },                          "Conflict",         [PATCHED]],
    ["Mark",   "Impersonate", "not as seen",             { mark: refused(422) },                          "Conflict",         [PATCHED]],
    ["Mark",   "Impersonate", "forbidden",               { mark: FORBIDDEN },                             /403 Forbidden/,    [PATCHED]],
    ["Mark",   "Impersonate", "busy",                    { mark: refused(429) },                          /429/,              [PATCHED]],
    ["Mark",   "Auto",        "seen",                    { mark: KEPT },                                  "Done",             [PATCHED]],
    ["Mark",   "Auto",        "not kept",                { mark: json(CANNED_VMI) },                      /did not keep/,     [PATCHED]],
    ["Mark",   "Auto",        "forbidden",               { mark: FORBIDDEN, list: LAUNCHERS, other: refused(409) }, "Conflict", [PATCHED, ...ASKED]],
    ["Mark",   "Evict",       "reviewed",                { list: LAUNCHERS, other: refused(409) },        "Conflict",         ASKED],
    ["Mark",   "Evict",       "refused by the webhook",  { list: LAUNCHERS, other: refused(429) },        "Conflict",         ASKED],
    ["Mark",   "Evict",       "the webhook fails",       { list: LAUNCHERS, other: refused(500) },        "Conflict",         ASKED],
    ["Mark",   "Evict",       "may not evict",           { list: LAUNCHERS, other: FORBIDDEN },           /403 Forbidden/,    ASKED],
    ["Mark",   "Evict",       "no pod on its node",      { list: ELSEWHERE },                             "Conflict",         ASKED.slice(0, 1)],
    ["Mark",   "Evict",       "no pod",                  { list: list() },                                "Conflict",         ASKED.slice(0, 1)],
    ["Unmark", "Impersonate", "done",                    { mark: json(CANNED_VMI) },                      "Done",             [PATCHED]],
    ["Unmark", "Impersonate", "gone",                    { mark: refused(404) },                          "Done",             [PATCHED]],
    ["Unmark", "Impersonate", "not as seen",             { mark: refused(422) },                          "Conflict",         [PATCHED]],
    ["Unmark", "Impersonate", "forbidden",               { mark: FORBIDDEN },                             /403 Forbidden/,    [PATCHED]],
    ["Unmark", "Auto",        "forbidden",               { mark: FORBIDDEN },                             "Done",             [PATCHED]],
    ["Unmark", "Evict",       "KubeVirt's to do",        {},                                              "Done",             []],
  ])("%s, marking %s, %s", async (...[verb, marking, , answers, expected, asked]) => {
    const done = await perform(verb, marking, answers);
    expect(done.asked).toEqual(asked);
    expect(done.result).toMatch(expected);
  });

  test("only the mark is KubeVirt's own: an eviction is asked for as Lifeboat, of no pod that there is", async () => {
    const { requests } = await perform("Mark", "Auto", { mark: FORBIDDEN, list: LAUNCHERS, other: refused(409) });
    expect(requests.map(({ headers }) => headers["impersonate-user"])).toEqual([
      "system:serviceaccount:virt:kubevirt-apiserver",
      undefined,
      undefined,
    ]);
    expect(requests[1]?.query.get("labelSelector")).toBe("kubevirt.io/created-by=uid-of-web");
    expect(requests[2]?.body).toMatchObject({
      kind: "Eviction",
      deleteOptions: { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } },
    });
  });
});
