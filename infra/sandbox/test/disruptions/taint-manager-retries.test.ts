/** Tests how often the taint manager retries a refused deletion, as observed on Kubernetes 1.36. */
import { describe, expect, test } from "vitest";
import { pods } from "../../actors/resources.ts";
import { eventually } from "../with-sandbox.ts";
import { RETRY_AFTER_SECONDS } from "./gate.ts";
import { markedForDeletion, cancelled, FOR_A_MINUTE, MAINTENANCE, namespace, useTaintedNode } from "./tainted-node.ts";

const stage = useTaintedNode();
const { world, taint, run, get, tolerate, messagesAbout, settle } = stage;

const untilAsked = (count: number, name = "victim") =>
  expect
    .poll(
      () => {
        const asked = stage.gate.asked(name).length;
        if (asked < count) world.clock.advance(1);
        return asked;
      },
      { interval: 10, timeout: 10_000 },
    )
    .toBe(count);

/** Waits until the webhook has denied this number of requests, and checks that no further request follows. */
async function exhaust(expected: number): Promise<void> {
  await untilAsked(expected);
  await settle();
  world.clock.advance(600_000);
  await settle();
  expect(stage.gate.asked("victim")).toHaveLength(expected);
}

describe("a refused deletion", () => {
  test("is tried five times within 100 ms, and again only after a change of tolerations or taints", async () => {
    await run("victim");
    stage.gate.answer("deny");
    await taint(MAINTENANCE);
    await exhaust(5);
    const [first, last] = [stage.gate.asked("victim")[0], stage.gate.asked("victim")[4]];
    expect((last?.at.getTime() ?? Infinity) - (first?.at.getTime() ?? 0)).toBeLessThanOrEqual(100);

    const body = { metadata: { annotations: { touched: "yes" } } };
    await world.sandbox.client.patch(pods, { namespace, name: "victim" }, { type: "merge", body });
    await exhaust(5);
    await tolerate("victim", [{ key: "other" }]);
    await exhaust(10);
    await taint([...MAINTENANCE, { key: "more", effect: "NoExecute" }]);
    await exhaust(15);
    expect((await get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
  });

  test("that a webhook answers late is tried five times, and each attempt waits for the answer", async () => {
    await run("victim");
    stage.gate.answer("hold");
    await taint(MAINTENANCE);
    for (const attempt of [1, 2, 3, 4, 5]) {
      await untilAsked(attempt);
      world.clock.advance(8_000);
      await settle();
      expect(stage.gate.held()).toBe(1);
      stage.gate.release("deny");
      await expect.poll(() => stage.gate.held()).toBe(0);
    }
    await settle();
    world.clock.advance(600_000);
    await settle();
    expect(stage.gate.asked("victim")).toHaveLength(5);
  });
});

describe("a deletion denied with a Retry-After header", () => {
  test("is tried five times with eleven requests each, and then never again", async () => {
    await run("victim");
    stage.gate.answer("later");
    await taint(MAINTENANCE);
    for (const tries of [0, 1, 2, 3, 4]) {
      await untilAsked(tries * 11 + 1);
      for (let retry = 1; retry <= 10; retry++) await stage.gate.pass(1);
    }
    await exhaust(55);
    const [first, last] = [stage.gate.asked("victim")[0], stage.gate.asked("victim")[54]];
    const elapsed = (last?.at.getTime() ?? Infinity) - (first?.at.getTime() ?? 0);
    expect(elapsed - 50 * RETRY_AFTER_SECONDS * 1_000).toBeGreaterThanOrEqual(4 * 10);
    expect(elapsed - 50 * RETRY_AFTER_SECONDS * 1_000).toBeLessThanOrEqual(100);
    expect((await get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
  });

  test("is tried in parallel for several pods of a node", async () => {
    const names = Array.from({ length: 8 }, (_, n) => `victim-${n}`);
    await Promise.all(names.map((name) => run(name)));
    stage.gate.answer("later");
    await taint(MAINTENANCE);
    for (let retry = 1; retry <= 3; retry++) await stage.gate.pass(names.length);
    await eventually(() => names.map((name) => stage.gate.asked(name).length)).toEqual(names.map(() => 4));
  });

  test("is retried although the taint is removed, and a denial without Retry-After ends the retries within 100 ms", async () => {
    await run("victim");
    stage.gate.answer("later");
    await taint(MAINTENANCE);
    await stage.gate.pass(1);
    await taint([]);
    await stage.gate.pass(1);
    await stage.gate.settle(1);
    expect(stage.gate.asked("victim")).toHaveLength(3);
    stage.gate.answer("deny");
    await stage.gate.pass(1);
    // The taint manager makes five attempts. The first attempt sends four requests, and each later attempt one request.
    await exhaust(3 + 5);
    expect((await get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
  });
});

/** Adds the taint, and waits until the taint manager has tried to delete the additional pod `sign`. */
async function taintAndSee(): Promise<void> {
  stage.gate.answer((name) => (name === "sign" ? "deny" : "hold"));
  await run("sign");
  await taint(MAINTENANCE);
  await eventually(() => stage.gate.asked("sign").length).toBeGreaterThan(0);
}

async function untaintAndSee(): Promise<void> {
  const sign = await run("sign-too", FOR_A_MINUTE);
  await taint([]);
  await eventually(() => messagesAbout(sign)).toEqual(new Set([cancelled(sign)]));
}

function deny(): void {
  stage.gate.answer("deny");
  stage.gate.release("deny");
}

describe("while a webhook has not answered a deletion", () => {
  test("the removal of the taint does not stop the five attempts, and a new taint adds five attempts", async () => {
    const victim = await run("victim");
    await taintAndSee();
    await untilAsked(1);
    await untaintAndSee();
    deny();
    await exhaust(5);
    expect(await messagesAbout(victim)).toEqual(new Set([markedForDeletion(victim)]));
    await taint(MAINTENANCE);
    await exhaust(10);
  });

  test("a taint that is removed and set again causes parallel attempts", async () => {
    await run("victim");
    await taintAndSee();
    await untilAsked(1);
    await untaintAndSee();
    await taint(MAINTENANCE);
    await untilAsked(2);
    deny();
    await exhaust(10);
  });

  test("the removal of the taint does not stop the five attempts, although an Event says that the deletion is cancelled", async () => {
    const victim = await run("victim", FOR_A_MINUTE);
    await taintAndSee();
    world.clock.advance(60_000);
    await untilAsked(1);
    await taint([]);
    await eventually(() => messagesAbout(victim)).toEqual(new Set([cancelled(victim), markedForDeletion(victim)]));
    deny();
    await exhaust(5);
  });

  test("a new toleration with tolerationSeconds 60 causes no second deletion", async () => {
    await run("victim");
    await taintAndSee();
    await untilAsked(1);
    await tolerate("victim", FOR_A_MINUTE);
    await run("other", FOR_A_MINUTE);
    deny();
    await untilAsked(5);
    world.clock.advance(60_000);
    await untilAsked(5, "other");
    expect(stage.gate.asked("victim")).toHaveLength(5);
  });
});
