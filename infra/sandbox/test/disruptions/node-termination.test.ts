/** Tests which pods Karpenter deletes before it terminates a node, and in which order. */
import { afterEach, beforeAll, expect, test } from "vitest";
import type { Actor } from "../../actors/actor.ts";
import { terminateNode } from "../../actors/node-termination.ts";
import { pods } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { USERS } from "../../identities.ts";
import { createPod } from "../../workloads.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";
import { useGate } from "./gate.ts";

const namespace = "default";
const NODE = "ending";
const LEFT = 300;
const FORCED = 600;
const EVICTABLE = 30;

const world = useSandbox({ terminationSeconds: 1 });
const gate = useGate(world);
let termination: Actor | undefined;

beforeAll(() => createNode(world.sandbox.client, NODE));
afterEach(() => termination?.stop());

async function run(graceSeconds: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, seconds] of Object.entries(graceSeconds)) {
    await createPod(world.sandbox.client, { namespace, name, node: NODE, graceSeconds: seconds });
    await world.until(pods, { namespace, name }, ({ status }) => status?.phase === "Running");
  }
}

function terminate(): void {
  const { clock, sandbox } = world;
  const client = sandbox.client.as(USERS.karpenter.user, USERS.karpenter.groups);
  const endsAt = new Date(clock.now().getTime() + LEFT * 1_000);
  termination = terminateNode({ client, clock, node: NODE, endsAt });
}

const asked = () =>
  gate()
    .asked()
    .map(({ name }) => name);
const isDeleting = async (name: string) =>
  (await world.sandbox.client.get(pods, { namespace, name }))?.metadata.deletionTimestamp !== undefined;
const untilDeleting = (name: string) => eventually(() => isDeleting(name)).toBe(true);

async function untilAsked(count: number): Promise<void> {
  const ask = () => {
    if (asked().length < count) world.clock.advance(50);
    return asked().length;
  };
  await expect.poll(ask, { interval: 10, timeout: 20_000 }).toBe(count);
}

test("a pod whose grace period exceeds the remaining time is deleted with the remaining time as its grace period, and other pods are evicted", async () => {
  await run({ evictable: EVICTABLE, forced: FORCED });
  terminate();
  await untilDeleting("forced");
  expect(gate().asked("forced")).toMatchObject([{ user: USERS.karpenter.user, options: { gracePeriodSeconds: LEFT } }]);
  await untilDeleting("evictable");
});

test("a deletion denied with Retry-After is tried eleven times with the same grace period, while other pods wait", async () => {
  await run({ evictable: EVICTABLE, "forced-1": FORCED, "forced-2": FORCED });
  gate().answer("later");
  terminate();
  for (let retry = 1; retry <= 10; retry++) await gate().pass(1);
  await untilAsked(11);
  expect(new Set(asked())).toEqual(new Set(["forced-1"]));
  expect(await isDeleting("evictable")).toBe(false);
  // The eleven tries come from Karpenter's client. After them, Karpenter itself retries after 0.1 s.
  await untilAsked(12);
  const graces = gate()
    .asked()
    .map(({ options }) => options.gracePeriodSeconds);
  expect(graces).toEqual([...Array.from({ length: 11 }, () => LEFT), LEFT - 61]);
  expect(asked()).not.toContain("forced-2");
  gate().answer((name) => (name === "forced-1" ? "allow" : "later"));
  await gate().pass(1);
  await eventually(asked).toContain("forced-2");
  expect(await isDeleting("forced-1")).toBe(true);
  expect(await isDeleting("evictable")).toBe(false);
  gate().answer("allow");
  await gate().pass(1);
  for (const name of ["forced-2", "evictable"]) await untilDeleting(name);
});

test("a deletion denied without Retry-After is retried after 0.1 s, and each further pause is twice as long", async () => {
  await run({ "forced-1": FORCED, "forced-2": FORCED });
  gate().answer("deny");
  terminate();
  await untilAsked(6);
  const times = gate()
    .asked()
    .map(({ at }) => at.getTime());
  const pauses = times.slice(1).map((time, n) => time - (times[n] ?? 0));
  for (const [n, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(100 * 2 ** n);
  expect(new Set(asked())).toEqual(new Set(["forced-1"]));
});
