/** NodeEvacuations on the pages: what is shown, what a visitor may do, and that nobody gets more by it than they have. */
import { Hono } from "hono";
import { beforeEach, describe, expect, test } from "vitest";
import type { Env } from "../../../functions/env.ts";
import { RejectionError } from "../../../functions/errors.ts";
import { actOnNode, resultNotice } from "../../../functions/page/acts.ts";
import { clusterPage } from "../../../functions/page/cluster.ts";
import { NODE_ACTS, type NodeAct } from "../../../functions/page/components.ts";
import { nodePage } from "../../../functions/page/node.ts";
import { NODE_RIGHTS, type NodeRight, type Visitor } from "../../../functions/page/session.ts";
import type { Asked } from "../../support/asked.ts";
import { type Before, failure } from "../../support/fake-api.ts";
import type { FakeCluster } from "../../support/fake-cluster.ts";
import { NODE, PINNED, time } from "../../support/fixtures.ts";
import { at, textOf } from "../../support/json.ts";
import { object } from "../../support/objects.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";
import { HOSTILE, isEscaped, look, visitTo, words } from "./support/fake-visit.ts";
import { clusterOf } from "./support/scene.ts";
import { ORIGIN, OWN_FORM } from "./support/visitor.ts";

const JANE = { name: "jane", mayAct: false, maintains: NODE_RIGHTS } satisfies Visitor;

const VMS = [vmiOf("web"), vmiOf("ledger", PINNED)];

let fake: FakeCluster;
beforeEach(() => {
  fake = clusterOf({ vms: VMS });
  fake.configure({ disruptionBudgets: "Never" });
});

interface Given {
  readonly spec?: object;
  readonly virtualMachines?: object;
  readonly status?: object;
}

const COUNTS = { total: 4, left: 2, moving: 1, waiting: 0, blocked: 1, restarted: 1, stopped: 0 };
const BLOCKER = { namespace: "apps", name: "ledger", reason: "NotMigratable", message: "it cannot migrate" };

/** `kernel`, with the defaults of its definition. */
function given({ spec, virtualMachines, status }: Given = {}): void {
  const metadata = { name: "kernel", uid: "uid-of-kernel", resourceVersion: "1", creationTimestamp: time(-600) };
  const vms = { order: "ByPriority", whenBlocked: "Wait", whenAttemptsFail: "Wait", ownersChoice: "Respected" };
  const its = { nodeName: NODE, intent: "Evacuate", progress: "Running", ...spec };
  const virtual = { virtualMachines: { ...vms, ...virtualMachines } };
  fake.api.put("nodeevacuations", object({ metadata, spec: { ...its, ...virtual }, status: status ?? {} }));
}

const UNDER_WAY = {
  phase: "Evacuating",
  startTime: time(-300),
  message: "2 of 4 VMs are left",
  virtualMachines: COUNTS,
};

const isWrite = (asked: Asked | undefined) =>
  asked?.resource === "nodeevacuations" && asked.subresource === "" && ["create", "patch"].includes(asked.verb);

function arrive(visitor: Visitor = JANE, before: Before = () => undefined) {
  const visit = visitTo(fake, { visitor, before });
  const app = new Hono<{ Bindings: Env }>();
  for (const act of NODE_ACTS) app.post(`/${act}`, (c) => actOnNode(c, visit, { act, node: NODE }));
  app.onError((error, c) => c.text(error instanceof RejectionError ? error.reason : String(error), 500));
  return {
    node: async () => await look(nodePage(visit, NODE, new Map())),
    cluster: async () => words(await look(clusterPage(visit))),
    async do(act: NodeAct, form: Readonly<Record<string, string>> = {}) {
      const body = new URLSearchParams(form).toString();
      const answer = await app.request(`${ORIGIN}/${act}`, { method: "POST", headers: OWN_FORM, body });
      return answer.headers.get("location")?.replace(`/fleet/prod/nodes/${NODE}?result=`, "") ?? (await answer.text());
    },
  };
}

const kernel = () => fake.api.object("nodeevacuations", { name: "kernel" });
const formsOf = (main: string) =>
  [...main.matchAll(/action="\/fleet\/prod\/nodes\/node01\/(\w+)"/g)].map(([, to]) => to);
const waysIn = (main: string) => [...main.matchAll(/<option value="(\w+)"/g)].map(([, way]) => way);
const KERNEL = { uid: "uid-of-kernel" };

describe("a node's page", () => {
  test("the confirmation foretells it, and names what cannot move, and whose guests end", async () => {
    fake = clusterOf({ vms: [...VMS, vmiOf("gpu", { ...PINNED, evictionStrategy: "LiveMigrateIfPossible" })] });
    const text = await arrive().node();
    expect(formsOf(text)).toEqual(["empty"]);
    for (const one of [
      "A drain will block",
      "1 VM cannot move: apps/ledger .",
      "1 VM will be shut down, by eviction strategy: apps/gpu .",
      "as jane",
    ])
      expect(words(text)).toContain(one);
    expect(waysIn(text)).toEqual(["Wait", "Restart", "ShutDown"]);
  });

  // prettier-ignore
  test.each<readonly [string, Given, forms: readonly string[], says: readonly string[]]>([
    ["not looked at yet", {},                                                  ["pause", "cancel"], ["Maintenance Scheduled"]],
    ["scheduled",         { spec: { schedule: { notBefore: time(3600) } }, status: { phase: "Scheduled", verdict: "WillBlock", message: "starts at 22:00" } }, ["pause", "cancel"], ["Maintenance Scheduled", "Starts at 22:00.", "starts in 60m", "WillBlock"]],
    ["under way",         { status: { ...UNDER_WAY, estimatedCompletionTime: time(120) } }, ["pause", "cancel"], ["Maintenance Evacuating", "2 of 4 gone", "1 moving, 1 blocked, 1 restarted", "empty in about 2m"]],
    ["blocked",           { status: { ...UNDER_WAY, phase: "Blocked", blockers: [{ ...BLOCKER, whoCanFix: "its owner" }] } }, ["pause", "cancel"], ["apps/ledger NotMigratable It cannot migrate. Who can change it: its owner"]],
    ["paused",            { spec: { progress: "Paused" }, status: { ...UNDER_WAY, phase: "Paused" } }, ["resume", "cancel"], ["Maintenance Paused"]],
    ["withdrawn",         { spec: { intent: "Withdrawn" }, status: UNDER_WAY }, [],                 ["Maintenance Evacuating"]],
    ["done",              { status: { ...UNDER_WAY, phase: "Evacuated", message: "the node is empty" } }, ["empty"], ["Maintenance Evacuated", "The node is empty."]],
  ])("%s", async (...[, what, forms, says]) => {
    given(what);
    const text = await arrive().node();
    expect(formsOf(text)).toEqual(forms);
    for (const one of says) expect(words(text)).toContain(one);
  });

  test.each([{ status: { phase: "Refused" } }, { spec: { nodeName: "node02" } }])("is not shown: %o", async (what) => {
    given(what);
    expect(await arrive().node()).not.toContain("kernel");
  });

  test("hostile words stay text", async () => {
    given({
      status: {
        ...UNDER_WAY,
        message: HOSTILE,
        verdict: HOSTILE,
        blockers: [{ ...BLOCKER, name: HOSTILE, message: HOSTILE, whoCanFix: HOSTILE }],
      },
    });
    expect(isEscaped(await arrive().node())).toBe(true);
    expect(isEscaped(await look(clusterPage(visitTo(fake, { visitor: JANE }))))).toBe(true);
  });
});

test("the cluster's page lists those that have not ended", async () => {
  given({ status: { ...UNDER_WAY, phase: "Blocked" } });
  expect(await arrive().cluster()).toContain("Maintenance 1 Node Phase VMs Message Name node01 Blocked 2 of 4 gone");
  given({ status: { ...UNDER_WAY, phase: "Evacuated" } });
  expect(await arrive().cluster()).not.toContain("kernel");
});

describe("an act", () => {
  test("empty: a NodeEvacuation by the visitor's wishes, which Lifeboat takes up at once; a second time joins it", async () => {
    const page = arrive();
    const form = { whenBlocked: "Restart", notBefore: "2026-03-01T22:30", emptyDir: "lost" };
    expect(await page.do("empty", form)).toBe("Emptying");
    const [created] = fake.api.objects("nodeevacuations");
    expect(created).toMatchObject({
      metadata: { labels: { "app.kubernetes.io/managed-by": "lifeboat" } },
      spec: {
        nodeName: NODE,
        reason: "asked for on Lifeboat's page by jane",
        schedule: { notBefore: "2026-03-01T22:30:00.000Z" },
        virtualMachines: { whenBlocked: "Restart" },
        otherPods: "EvictWithLocalData",
      },
      status: { phase: "Scheduled" },
    });
    expect(await page.do("empty")).toBe("EmptyingJoined");
    expect(fake.api.objects("nodeevacuations")).toHaveLength(1);
  });

  // prettier-ignore
  test.each<readonly [NodeAct, Given, field: string, value: string, result: string]>([
    ["pause",  { status: UNDER_WAY },                                   "progress", "Paused",    "Paused"],
    ["resume", { spec: { progress: "Paused" }, status: UNDER_WAY },     "progress", "Running",   "Resumed"],
    ["cancel", { status: UNDER_WAY },                                   "intent",   "Withdrawn", "Cancelled"],
  ])("%s", async (...[act, what, field, value, result]) => {
    given(what);
    expect(await arrive().do(act, KERNEL)).toBe(result);
    expect(textOf(at(kernel(), "spec", field))).toBe(value);
    expect(await resultNotice(result)).toBeDefined();
  });

  // prettier-ignore
  test.each<readonly [what: string, NodeAct, Given | undefined, form: Readonly<Record<string, string>>, result: string]>([
    ["one that has ended",        "cancel", { status: { phase: "Evacuated" } },       KERNEL,                       "Over"],
    ["one of another node",       "cancel", { spec: { nodeName: "node02" } },         KERNEL,                       "Over"],
    ["one that there is not",     "pause",  undefined,                                KERNEL,                       "Over"],
    ["a time that is none",       "empty",  undefined,                                { notBefore: "tonight" },     "NoTime"],
    ["a way that there is not",   "empty",  undefined,                                { whenBlocked: "Delete" },    "Forbidden"],
  ])("%s: nothing is changed", async (...[, act, what, form, result]) => {
    if (what !== undefined) given(what);
    const before = fake.api.objects("nodeevacuations");
    expect(await arrive().do(act, form)).toBe(result);
    expect(fake.api.objects("nodeevacuations").map((one) => one["spec"])).toEqual(before.map((one) => one["spec"]));
  });

  test("of a node that there is not", async () => {
    fake.nodes.delete({ name: NODE });
    expect(await arrive().do("empty")).toBe("NodeNotFound");
  });

  test("what Lifeboat's own account may not do is said", async () => {
    const { code, body } = failure(403, "Forbidden");
    const page = arrive(JANE, (_, asked) => (isWrite(asked) ? Response.json(body, { status: code }) : undefined));
    expect(await page.do("empty")).toBe("Lacking");
  });

  test("one that asks for more since it was looked at is not changed", async () => {
    given({ status: UNDER_WAY });
    const raced = { spec: { virtualMachines: { whenBlocked: "ShutDown" } } };
    const page = arrive({ ...JANE, maintains: ["look", "empty"] }, (_, asked) => {
      if (isWrite(asked)) fake.api.merge("nodeevacuations", { name: "kernel" }, raced);
    });
    expect(await page.do("pause", KERNEL)).toBe("ChangedSince");
    expect(textOf(at(kernel(), "spec", "progress"))).toBe("Running");
  });
});

const without = (...rights: readonly NodeRight[]): Visitor => ({
  ...JANE,
  maintains: NODE_RIGHTS.filter((right) => !rights.includes(right)),
});

describe("nobody gets more by the page than they have", () => {
  const RESTARTS = { virtualMachines: { whenBlocked: "Restart" }, status: UNDER_WAY };
  const AFTER_FAILURES = { virtualMachines: { whenAttemptsFail: "Restart" }, status: UNDER_WAY };
  const STOPS = { virtualMachines: { whenBlocked: "ShutDown" }, status: UNDER_WAY };

  // prettier-ignore
  test.each<readonly [what: string, Visitor, NodeAct, Given | undefined, form: Readonly<Record<string, string>>]>([
    ["no right of maintenance",       { name: "access", mayAct: true },  "empty",  undefined,             {}],
    ["one who only looks",            without("empty"),                  "empty",  undefined,             {}],
    ["one who only looks",            without("empty"),                  "pause",  { status: UNDER_WAY }, KERNEL],
    ["one who only looks",            without("empty"),                  "resume", { status: UNDER_WAY }, KERNEL],
    ["one who only looks",            without("empty"),                  "cancel", { status: UNDER_WAY }, KERNEL],
    ["one who may restart no VM",     without("restart"),                "empty",  undefined,             { whenBlocked: "Restart" }],
    ["one who may stop no VM",        without("stop"),                   "empty",  undefined,             { whenBlocked: "ShutDown" }],
    ["one who may restart no VM",     without("restart"),                "resume", RESTARTS,              KERNEL],
    ["one who may restart no VM",     without("restart"),                "resume", AFTER_FAILURES,        KERNEL],
    ["one who may stop no VM",        without("stop"),                   "resume", STOPS,                 KERNEL],
  ])("%s (%o) may not %s", async (...[, visitor, act, what, form]) => {
    if (what !== undefined) given(what);
    const before = fake.api.objects("nodeevacuations");
    expect(await arrive(visitor).do(act, form)).toBe("Forbidden");
    expect(fake.api.objects("nodeevacuations")).toEqual(before);
    const main = await arrive(visitor).node();
    expect(form === KERNEL ? formsOf(main) : waysIn(main)).not.toContain(form === KERNEL ? act : (form["whenBlocked"] ?? "Wait"));
  });

  test.each(["pause", "cancel"] as const)("who may restart no VM may %s what does", async (act) => {
    given(RESTARTS);
    expect(formsOf(await arrive(without("restart")).node())).toContain(act);
    expect(await arrive(without("restart")).do(act, KERNEL)).toBe({ pause: "Paused", cancel: "Cancelled" }[act]);
  });

  test("who may not list them sees none", async () => {
    given({ status: UNDER_WAY });
    const page = arrive(without("look"));
    expect([await page.node(), await page.cluster()].join()).not.toContain("kernel");
  });
});
