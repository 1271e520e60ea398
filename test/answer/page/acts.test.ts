/** What a visitor does on the page: what each act says before, what it changes, and who may not. */
import { Hono } from "hono";
import { beforeEach, describe, expect, test } from "vitest";
import type { Env } from "../../../functions/env.ts";
import { type Act, ACTS } from "../../../functions/page/components.ts";
import type { Visitor } from "../../../functions/page/session.ts";
import { act as perform, resultNotice } from "../../../functions/page/acts.ts";
import { vmPage } from "../../../functions/page/vm.ts";
import { RejectionError } from "../../../functions/errors.ts";
import type { NamespacedName, VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { endedEvacuation, evacuation, marked, node, pod, time, vmi } from "../../support/fixtures.ts";
import { look, visitTo, words } from "./support/fake-visit.ts";
import { ORIGIN, OWN_FORM } from "./support/visitor.ts";

const WEB = { namespace: "apps", name: "web" };
const JANE: Visitor = { name: "jane@example.com", mayAct: true };

const backingOff = evacuation({
  status: {
    attempts: 2,
    phase: "BackingOff",
    reason: "MigrationFailed",
    message: "no room",
    nextAttemptTime: time(30),
  },
});
const abandoned = endedEvacuation("Abandoned", { status: { attempts: 5, message: "5 attempts have failed" } });
const tainted = node({ taints: [{ key: "kubevirt.io/drain", effect: "NoSchedule" }] });

interface Scene {
  readonly vmi?: VmiFacts;
  readonly evacuations?: readonly EvacuationFacts[];
  readonly node?: ReturnType<typeof node>;
}

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  fake.pods.put(pod());
});

function open(scene: Scene, visitor: Visitor = JANE, before: (label: string) => unknown = () => undefined) {
  const key: NamespacedName = WEB;
  fake.nodes.put(scene.node ?? node());
  if (scene.vmi !== undefined) fake.vmis.put(scene.vmi);
  for (const one of scene.evacuations ?? []) fake.evacuations.put(one);
  const visit = visitTo(fake, { visitor, before });
  const app = new Hono<{ Bindings: Env }>();
  for (const act of ACTS) {
    app.post(`/${act}`, (c) => perform(c, visit, { act, key }));
  }
  app.onError((error, c) => c.text(error instanceof RejectionError ? error.reason : String(error), 500));
  return {
    log: visit.doors.log,
    see: () => look(vmPage(visit, key)),
    async do(act: Act) {
      const answer = await app.request(`${ORIGIN}/${act}`, { method: "POST", headers: OWN_FORM, body: "" });
      return answer.headers.get("location") ?? (await answer.text());
    },
  };
}

describe("given what can be done to a VM, its page says before what that would do now", () => {
  // prettier-ignore
  test.each<readonly [string, Act, Scene, says: string]>([
    ["evacuate",                        "evacuate", { vmi: vmi() },                                   "The guest continues to run."],
    ["retry while it backs off",        "retry",    { vmi: marked(), evacuations: [backingOff] },     "The last one failed: no room"],
    ["cancel",                          "cancel",   { vmi: marked(), evacuations: [evacuation()] },   "its mark is taken off, and the VM stays on node node01."],
    ["… what only KubeVirt's mark tells of", "cancel", { vmi: marked() },                             "is withdrawn"],
  ])("%s", async (...[, act, scene, says]) => {
    const text = await open(scene).see();
    const read = words(text).replaceAll(" .", ".").replaceAll(" ,", ",");
    for (const one of [says, "as jane@example.com", `lifeboat ${act} web -n apps`]) expect(read).toContain(one);
    expect(text).toContain(`action="/fleet/prod/vms/apps/web/${act}"`);
  });
});

const led = (result: string) => `/fleet/prod/vms/apps/web?result=${result}`;

describe("an act", () => {
  const BY_JANE = { cause: "Operator", requestedBy: "jane@example.com", intent: "Evacuate" };

  test("evacuate: an Evacuation by the visitor, which Lifeboat takes up at once; a second time joins it", async () => {
    const page = open({ vmi: vmi() });
    expect(await page.do("evacuate")).toBe(led("Started"));
    expect(fake.evacuations.list()).toMatchObject([{ spec: BY_JANE, status: { phase: "Pending" } }]);
    expect(await page.do("evacuate")).toBe(led("Joined"));
    expect(fake.evacuations.list()).toHaveLength(1);
  });

  // prettier-ignore
  test.each<readonly [Act, Scene, string]>([
    ["evacuate", { evacuations: [abandoned] },                                                 "NotRunning"],
    ["retry",    { evacuations: [abandoned] },                                                 "NotRunning"],
    ["retry",    { vmi: vmi() },                                                               "NothingFailed"],
    ["cancel",   { vmi: vmi() },                                                               "NotEvacuating"],
    ["cancel",   { vmi: marked(), evacuations: [evacuation()], node: tainted },                "DrainTaint"],
  ])("%s of what it does not apply to changes nothing: %o", async (act, scene, result) => {
    expect(await open(scene).do(act)).toBe(led(result));
    expect(fake.evacuations.list().filter(({ spec }) => spec.requestedBy === JANE.name)).toEqual([]);
  });
});

test("the log names who has acted, also where no answer says whether it was done", async () => {
  const page = open({ vmi: vmi() }, JANE, (label) => {
    if (label === "create evacuations") throw new Error("the connection is gone");
  });
  await page.do("evacuate");
  const acted = page.log.filter(({ message }) => message === "a visitor has acted");
  expect(acted).toMatchObject([{ act: "evacuate", ...WEB, visitor: JANE.name, result: "Unknown" }]);
});

test.each<Act>(["evacuate", "cancel", "retry"])("one who only looks may not %s, nor is asked", async (act) => {
  const page = open({ vmi: marked(), evacuations: [backingOff] }, { ...JANE, mayAct: false });
  expect(await page.see()).not.toContain("<form");
  expect(await page.do(act)).toBe("Forbidden");
  expect(fake.evacuations.list()).toEqual([backingOff]);
});

test("an address can say nothing but what is on the list", async () => {
  expect(words(String(await resultNotice("Started")))).toBe("The evacuation has started.");
  for (const text of ["You have won", "toString", "__proto__", "", undefined])
    expect(resultNotice(text)).toBeUndefined();
});
