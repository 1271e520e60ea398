/** What a visitor does on the page: what each act says before, what it changes, and who may not. */
import { Hono } from "hono";
import { beforeEach, describe, expect, test } from "vitest";
import type { Env } from "../../../functions/env.ts";
import { type Act, ACTS } from "../../../functions/page/components.ts";
import type { Visitor } from "../../../functions/page/session.ts";
import { act as perform, askBefore, resultNotice } from "../../../functions/page/acts.ts";
import { RejectionError } from "../../../functions/errors.ts";
import type { NamespacedName, VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  EXTERNAL,
  marked,
  migration,
  node,
  PINNED,
  pod,
  time,
  vmi,
} from "../../support/fixtures.ts";
import { HOSTILE, isEscaped, visitTo, words } from "./support/fake-visit.ts";
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

function open(scene: Scene, visitor: Visitor = JANE, key: NamespacedName = WEB) {
  fake.nodes.put(scene.node ?? node());
  if (scene.vmi !== undefined) fake.vmis.put(scene.vmi);
  for (const one of scene.evacuations ?? []) fake.evacuations.put(one);
  const visit = visitTo(fake, { visitor });
  const app = new Hono<{ Bindings: Env }>();
  for (const act of ACTS) {
    app.get(`/${act}`, (c) => askBefore(c, visit, { act, key }));
    app.post(`/${act}`, (c) => perform(c, visit, { act, key }));
  }
  app.onError((error, c) => c.text(error instanceof RejectionError ? error.reason : String(error), 500));
  return {
    log: visit.doors.log,
    ask: async (act: Act) => await (await app.request(`/${act}`)).text(),
    async do(act: Act) {
      const answer = await app.request(`${ORIGIN}/${act}`, { method: "POST", headers: OWN_FORM, body: "" });
      return answer.headers.get("location") ?? (await answer.text());
    },
  };
}

const others = (name: string) => fake.evacuations.list().filter((e) => e.name !== name);

describe("before an act, the page says what it would do now", () => {
  // prettier-ignore
  test.each<readonly [string, Act, Scene, says: string, "form" | "no form"]>([
    ["evacuate",                        "evacuate", { vmi: vmi() },                                   "is to leave node node01.", "form"],
    ["… External",                      "evacuate", { vmi: vmi(EXTERNAL) },                           "or its owner does", "form"],
    ["… pinned",                        "evacuate", { vmi: vmi(PINNED) },                             "has no way to move", "no form"],
    ["… strategy None",                 "evacuate", { vmi: vmi({ evictionStrategy: "None" }) },       "has no way to move", "no form"],
    ["… in progress already",           "evacuate", { vmi: marked(), evacuations: [evacuation()] },   "is being evacuated already", "no form"],
    ["… of one that does not run",      "evacuate", { evacuations: [abandoned] },                     "The VM does not run", "no form"],
    ["retry while it backs off",        "retry",    { vmi: marked(), evacuations: [backingOff] },     "The last attempt failed: no room", "form"],
    ["… after it was abandoned",        "retry",    { vmi: vmi(), evacuations: [abandoned] },         "The last attempt failed: 5 attempts have failed", "form"],
    ["… where nothing failed",          "retry",    { vmi: marked(), evacuations: [evacuation()] },   "no evacuation of it backs off or was abandoned any more", "no form"],
    ["cancel",                          "cancel",   { vmi: marked(), evacuations: [evacuation()] },   "its mark is taken off, and it stays on node node01.", "form"],
    ["… what only KubeVirt's mark tells of", "cancel", { vmi: marked() },                             "is withdrawn", "form"],
    ["… where nothing is in progress",  "cancel",   { vmi: vmi(), evacuations: [abandoned] },         "nothing evacuates it any more", "no form"],
  ])("%s", async (...[, act, scene, says, form]) => {
    const text = await open(scene).ask(act);
    const read = words(text).replaceAll(" .", ".").replaceAll(" ,", ",");
    for (const one of [says, `lifeboat ${act} web -n apps`]) expect(read).toContain(one);
    expect(text.includes(`action="/fleet/prod/vms/apps/web/${act}"`)).toBe(form === "form");
    expect(read.includes("It is asked for as jane@example.com.")).toBe(form === "form");
  });

  test("and changes nothing", async () => {
    const page = open({ vmi: marked(), evacuations: [backingOff] });
    for (const act of ["evacuate", "cancel", "retry"] as const) await page.ask(act);
    expect(fake.evacuations.list()).toEqual([backingOff]);
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

  test("cancel: withdrawn, and ended at once", async () => {
    const page = open({ vmi: marked(), evacuations: [evacuation()] });
    fake.migrations.put(migration({ phase: "Pending" }));
    expect(await page.do("cancel")).toBe(led("Withdrawn"));
    expect(fake.evacuations.list()).toMatchObject([{ status: { phase: "Withdrawn" } }]);
    expect(await page.do("cancel")).toBe(led("NotEvacuating"));
  });

  test("retry while it backs off: the one in progress makes its next attempt now", async () => {
    const page = open({ vmi: marked(), evacuations: [backingOff] });
    expect(await page.do("retry")).toBe(led("Retried"));
    expect(fake.migrations.list()).toHaveLength(1);
    expect(fake.evacuations.get(backingOff)).toMatchObject({ status: { phase: "Pending", attempts: 2 } });
    expect(others(backingOff.name)).toEqual([]);
    expect(await page.do("retry")).toBe(led("NothingFailed"));
  });

  test("retry of an abandoned one: another begins, which has inherited nothing", async () => {
    const rests = { ...abandoned, status: { ...abandoned.status, nextAttemptTime: time(300) } };
    const page = open({ vmi: vmi(), evacuations: [{ ...rests, createdAt: at(-600).getTime() }] });
    expect(await page.do("retry")).toBe(led("Retried"));
    const [begun] = others(abandoned.name);
    expect(begun).toMatchObject({ spec: BY_JANE, status: { phase: "Pending", attempts: 0 } });
    expect(begun?.spec.inherited).toBeUndefined();
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

  test("is logged with who and what", async () => {
    const page = open({ vmi: vmi() });
    await page.do("evacuate");
    const acted = { message: "a visitor has acted", act: "evacuate", ...WEB, visitor: JANE.name, result: "Started" };
    expect(page.log).toContainEqual(expect.objectContaining(acted));
  });
});

test.each<Act>(["evacuate", "cancel", "retry"])("one who only looks may not %s, nor is asked", async (act) => {
  const page = open({ vmi: marked(), evacuations: [backingOff] }, { ...JANE, mayAct: false });
  expect([await page.ask(act), await page.do(act)]).toEqual(["Forbidden", "Forbidden"]);
  expect(fake.evacuations.list()).toEqual([backingOff]);
});

test("names stay text", async () => {
  const scene = { vmi: vmi({ name: HOSTILE, liveMigratable: { migratable: false, reason: HOSTILE } }) };
  const text = await open(scene, { ...JANE, name: HOSTILE }, { namespace: "apps", name: HOSTILE }).ask("evacuate");
  expect(isEscaped(text)).toBe(true);
});

test("an address can say nothing but what is on the list", async () => {
  expect(words(String(await resultNotice("Started")))).toBe("The evacuation has started.");
  for (const text of ["You have won", "toString", "__proto__", "", undefined])
    expect(resultNotice(text)).toBeUndefined();
});
