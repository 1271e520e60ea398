/**
 * Tests which pods the device taint manager deletes, and how long it retries. The rules come from the source of
 * Kubernetes 1.36.
 */
import { afterEach, expect, test } from "vitest";
import type { Actor } from "../../actors/actor.ts";
import { taintDeviceOf } from "../../actors/device-taint-manager.ts";
import type { Pod } from "../../actors/resources.ts";
import { USERS } from "../../identities.ts";
import { eventually } from "../with-sandbox.ts";
import { disruptionTarget } from "./gate.ts";
import { useTaintedNode } from "./tainted-node.ts";

const { user, groups } = USERS.deviceTaintManager;
const stage = useTaintedNode();
const { world, run, get } = stage;
let manager: Actor | undefined;
afterEach(() => manager?.stop());

function taint(pod: Pod): void {
  manager = taintDeviceOf({ client: world.sandbox.client.as(user, groups), clock: world.clock, pod });
}

test("a pod whose device is tainted gets an Event, and is deleted", async () => {
  const pod = await run("victim");
  stage.gate.answer("hold");
  taint(pod);
  await expect.poll(() => stage.gate.held()).toBe(1);
  const [asked] = stage.gate.asked();
  expect(asked).toMatchObject({ user, name: "victim", options: { preconditions: { uid: pod.metadata.uid } } });
  expect(disruptionTarget(asked?.oldObject)).toMatchObject({
    status: "True",
    reason: "DeletionByDeviceTaintManager",
    message: "Device Taint manager: deleting due to NoExecute taint",
  });
  stage.gate.release("allow");
  await world.pass(async () => (await get("victim")) === undefined);
});

test("a refused deletion is retried until the taint is removed, and each pause is twice as long as the one before", async () => {
  taint(await run("victim"));
  stage.gate.answer("deny");
  const untilAsked = (count: number) =>
    eventually(() => {
      const asked = stage.gate.asked("victim").length;
      if (asked < count) world.clock.advance(5);
      return asked;
    }).toBe(count);
  await untilAsked(6);
  const times = stage.gate.asked("victim").map(({ at }) => at.getTime());
  const [before = 0, last = 0] = times.slice(-2);
  expect(last - before).toBeGreaterThanOrEqual(2 ** 4 * 5);
  await manager?.stop();
  world.clock.advance(600_000);
  await stage.settle();
  expect(stage.gate.asked("victim")).toHaveLength(6);
  expect((await get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
});
