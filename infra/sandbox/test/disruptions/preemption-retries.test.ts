/** Tests what the scheduler does after a refused preemption, as observed on Kubernetes 1.36. */
import { describe, expect, test } from "vitest";
import { pods } from "../../actors/resources.ts";
import { isRunning, MESSAGE, namespace, useFullNode } from "./full-node.ts";
import { disruptionTarget, RETRY_AFTER_SECONDS } from "./gate.ts";

const stage = useFullNode();

describe("a denied deletion", () => {
  const perSecond = 50;
  const burst = 100;

  test("is retried without back-off, at the client's rate limit, until the preempting pod is gone", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("deny");
    await stage.place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    const tries = () => stage.gate.asked("victim").length;
    // Fewer deletions than `burst` arrive, because the scheduler's requests for the pod's condition count toward the
    // limit, too.
    await expect.poll(tries, { timeout: 10_000 }).toBeGreaterThan(burst - 10);
    const since = disruptionTarget(await stage.get("victim"))?.lastTransitionTime;
    for (const seconds of [2, 4]) {
      stage.world.clock.advance(2_000);
      await expect.poll(tries, { timeout: 10_000 }).toBeGreaterThan(burst + seconds * perSecond - 10);
      expect(tries()).toBeLessThanOrEqual(burst + seconds * perSecond);
    }
    await stage.place("roomy", { name: "bystander", memory: "1Gi" });
    await stage.until("bystander", isRunning);
    const victim = await stage.get("victim");
    expect(victim?.metadata).not.toHaveProperty("deletionTimestamp");
    expect(disruptionTarget(victim)).toMatchObject({ status: "True", lastTransitionTime: since });
    expect((await stage.get("important"))?.status).toMatchObject({ phase: "Pending", nominatedNodeName: "full" });

    await stage.world.sandbox.client.delete(pods, { namespace, name: "important" });
    stage.world.clock.advance(20);
    await expect.poll(async () => stage.get("important")).toBeUndefined();
    const before = tries();
    stage.world.clock.advance(10_000);
    await stage.place("roomy", { name: "later", memory: "1Gi" });
    await stage.until("later", isRunning);
    expect(tries()).toBeLessThanOrEqual(before + 1);
  });
});

const times = (count: number, start = 0) => Array.from({ length: count }, (_, n) => start + n * RETRY_AFTER_SECONDS);
const timesOf = (name: string) => {
  const [first] = stage.gate.asked();
  return stage.gate.asked(name).map(({ at }) => (at.getTime() - (first?.at.getTime() ?? 0)) / 1_000);
};
const pass = async (rounds: number, callers: number) => {
  for (let n = 0; n < rounds; n++) await stage.gate.pass(callers);
  await stage.gate.settle(callers);
};

describe("a deletion denied with a Retry-After header", () => {
  const important = { name: "important", priorityClassName: "high" };

  test("is requested in any number of rounds of eleven requests, with no pause between rounds", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("later");
    await stage.place("full", { ...important, memory: "8Gi" });
    await pass(20, 1);
    expect(timesOf("victim")).toEqual([...times(11), ...times(11, 60), 120]);
    expect((await stage.get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
    stage.gate.answer("allow");
    await stage.gate.pass(1);
    await stage.until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(timesOf("victim")).toHaveLength(24);
  });

  test("is retried for all victims at the same time, except the last victim, whose deletion starts when the others are deleted", async () => {
    await stage.occupy(["a", "middle"], ["b", "low"], ["c", "low"]);
    stage.gate.answer("later");
    await stage.place("full", { ...important, memory: "12Gi" });
    await pass(3, 2);
    stage.gate.answer((name) => (name === "a" ? "allow" : "later"));
    await stage.gate.pass(2);
    await stage.until("a", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await pass(2, 1);
    stage.gate.answer((name) => (name === "b" ? "allow" : "later"));
    await pass(2, 1);
    // prettier-ignore
    expect({ a: timesOf("a"), b: timesOf("b"), c: timesOf("c") }).toEqual({
      a: [0, 6, 12, 18, 24],
      b: [0, 6, 12, 18, 24, 30, 36, 42],
      c: [                              42, 48],
    });
  });

  test("is cancelled if another victim's deletion fails, and all deletions start again", async () => {
    await stage.occupy(["a", "middle"], ["b", "low"], ["c", "low"]);
    stage.gate.answer("later");
    await stage.place("full", { ...important, memory: "12Gi" });
    await pass(1, 2);
    stage.gate.answer((name) => (name === "b" ? "hold" : "later"));
    await stage.gate.pass(2);
    await stage.gate.settle(1);
    await expect.poll(() => stage.gate.held()).toBe(1);
    stage.gate.answer("later");
    stage.gate.release("deny");
    await pass(1, 2);
    const both = [0, 6, 12, 12, 18];
    expect({ a: timesOf("a"), b: timesOf("b"), c: timesOf("c") }).toEqual({ a: both, b: both, c: [] });
  });

  test("is retried to the end of the round although the preempting pod is gone", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("later");
    await stage.place("full", { ...important, memory: "8Gi" });
    await pass(1, 1);
    await stage.world.sandbox.client.delete(pods, { namespace, name: "important" });
    await expect.poll(() => stage.get("important")).toBeUndefined();
    await pass(8, 1);
    await stage.gate.pass(1);
    await stage.gate.settle(0);
    await expect.poll(() => timesOf("victim")).toEqual(times(11));
    stage.world.clock.advance(60_000);
    await stage.place("roomy", { name: "later", memory: "1Gi" });
    await stage.until("later", isRunning);
    expect(timesOf("victim")).toEqual(times(11));
  });
});

describe("a deletion that a webhook has not answered yet", () => {
  test("is not repeated, and other pods are scheduled meanwhile", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("hold");
    await stage.place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    for (const attempt of [1, 2, 3]) {
      await expect.poll(() => stage.gate.held()).toBe(1);
      stage.world.clock.advance(8_000);
      await stage.place("roomy", { name: `bystander-${attempt}`, memory: "1Gi" });
      await stage.until(`bystander-${attempt}`, isRunning);
      expect(stage.gate.asked("victim")).toHaveLength(attempt);
      stage.gate.release("deny");
    }
  });

  test("does not keep DisruptionTarget True: it becomes False after 120 s, and the next attempt sets it to True with a new time", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("hold");
    await stage.place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await expect.poll(() => stage.gate.held()).toBe(1);
    const first = disruptionTarget(await stage.get("victim"));
    stage.world.clock.advance(119_000);
    expect(disruptionTarget(await stage.get("victim"))).toMatchObject({ status: "True" });
    stage.world.clock.advance(1_000);
    const reset = await stage.until("victim", (pod) => disruptionTarget(pod)?.status === "False");
    expect(disruptionTarget(reset)).not.toHaveProperty("reason");
    stage.world.clock.advance(5_000);
    stage.gate.release("deny");
    const again = await stage.until("victim", (pod) => disruptionTarget(pod)?.status === "True");
    expect(disruptionTarget(again)).toMatchObject({ reason: "PreemptionByScheduler", message: MESSAGE });
    const [before, after] = [first, disruptionTarget(again)].map((one) => Date.parse(one?.lastTransitionTime ?? ""));
    expect((after ?? 0) - (before ?? 0)).toBe(125_000);
  });

  test("is carried out if the webhook does not answer in time", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("hold");
    await stage.gate.setTimeout(1);
    await stage.place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await stage.until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(stage.gate.asked("victim")).toHaveLength(1);
    await stage.gate.setTimeout(30);
  });

  test("is not carried out if the client disconnects", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("hold");
    const scheduler = stage.world.sandbox.client.as("system:kube-scheduler");
    const gone = new AbortController();
    const path = `/api/v1/namespaces/${namespace}/pods/victim`;
    const deletion = scheduler.raw({ method: "DELETE", path, signal: gone.signal });
    await expect.poll(() => stage.gate.held()).toBe(1);
    gone.abort();
    await expect(deletion).rejects.toThrow();
    await expect.poll(() => stage.gate.held()).toBe(0);
    await stage.place("roomy", { name: "bystander", memory: "1Gi" });
    await stage.until("bystander", isRunning);
    expect((await stage.get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
  });
});
