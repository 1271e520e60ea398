/**
 * Tests which pods the taint manager deletes, and when, as observed on Kubernetes 1.36. Refused deletions are in
 * taint-manager-retries.test.ts.
 */
import { describe, expect, test } from "vitest";
import { pods } from "../../actors/resources.ts";
import { eventually } from "../with-sandbox.ts";
import { disruptionTarget } from "./gate.ts";
import { markedForDeletion, cancelled, FOR_A_MINUTE, MAINTENANCE, namespace, useTaintedNode } from "./tainted-node.ts";

const USER = "system:serviceaccount:kube-system:node-controller";
const stage = useTaintedNode();
const { world, taint, run, get, messagesAbout, settle } = stage;

const added = (key: string) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 });

describe("a NoExecute taint", () => {
  test("deletes a pod that does not tolerate it, after an Event", async () => {
    const victim = await run("victim");
    await run("daemon", [{ key: "maintenance", operator: "Exists" }]);
    stage.gate.answer("hold");
    await taint(MAINTENANCE);
    await expect.poll(() => stage.gate.held()).toBe(1);
    const [asked] = stage.gate.asked();
    expect(asked).toMatchObject({ user: USER, name: "victim", object: null, options: { gracePeriodSeconds: 17 } });
    expect(disruptionTarget(asked?.oldObject)).toMatchObject({
      status: "True",
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
    });
    expect(await messagesAbout(victim)).toEqual(new Set([markedForDeletion(victim)]));
    stage.gate.release("allow");
    await world.pass(async () => (await get("victim")) === undefined);
    expect((await get("daemon"))?.status?.phase).toBe("Running");
    expect(stage.gate.asked()).toHaveLength(1);
  });

  test("that is tolerated for a minute deletes the pod after a minute", async () => {
    await run("patient", FOR_A_MINUTE);
    await taint(MAINTENANCE);
    await settle();
    world.clock.advance(59_000);
    await settle();
    expect(stage.gate.asked("patient")).toEqual([]);
    world.clock.advance(1_000);
    await expect.poll(() => stage.gate.asked("patient").length).toBe(1);
  });

  test("that is removed in time deletes no pod", async () => {
    const lucky = await run("lucky", FOR_A_MINUTE);
    await taint(MAINTENANCE);
    await settle();
    await taint([]);
    await eventually(() => messagesAbout(lucky)).toEqual(new Set([cancelled(lucky)]));
    world.clock.advance(120_000);
    await settle();
    expect(stage.gate.asked("lucky")).toEqual([]);
  });

  test("does not change the transition time of a condition that is already True", async () => {
    await run("victim");
    const since = new Date(world.clock.now().getTime() - 30_000).toISOString().replace(".000Z", "Z");
    const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler", message: "" };
    const body = { status: { conditions: [{ ...condition, lastTransitionTime: since }] } };
    const key = { namespace, name: "victim" };
    await world.sandbox.client.patch(pods, key, { type: "strategic", body }, { subresource: "status" });
    stage.gate.answer("hold");
    await taint(MAINTENANCE);
    await expect.poll(() => stage.gate.held()).toBe(1);
    const reviewed = disruptionTarget(stage.gate.asked("victim")[0]?.oldObject);
    expect(reviewed).toMatchObject({ reason: "DeletionByTaintManager", lastTransitionTime: since });
  });

  test("for an unready or unreachable node is tolerated for five minutes by every pod without its own toleration", async () => {
    const { spec } = await run("ordinary");
    expect(spec?.tolerations).toEqual([added("node.kubernetes.io/not-ready"), added("node.kubernetes.io/unreachable")]);
    const own = { key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 5 };
    expect((await run("impatient", [own])).spec?.tolerations).toEqual([own, added("node.kubernetes.io/not-ready")]);
  });
});
