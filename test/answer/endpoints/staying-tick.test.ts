/** A tick that finds something under way looks again every five seconds until the next is due; what it finds is done at once. */
import { expect, test } from "vitest";
import { runTick } from "../../../functions/schedule.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { entry, newPlatform } from "../../support/doors.ts";
import { FakeCluster, SERVER } from "../../support/fake-cluster.ts";
import { evacuation, marked, migration, NODE, node, NOW, PINNED, pod } from "../../support/fixtures.ts";
import { KubeVirt } from "../../support/kubevirt.ts";

const WEB = { namespace: "apps", name: "web" };

/** `stepsAt`: at which of its looks KubeVirt goes on. Returns how it ended, and what each look has cost. */
async function tickOver(stepsAt: readonly number[], isPinned = false) {
  const fake = new FakeCluster();
  fake.nodes.put(node(), node({ name: "node02" }));
  fake.pods.put(pod());
  fake.vmis.put(marked(isPinned ? PINNED : { isMigrating: true }));
  if (!isPinned) fake.migrations.put(migration({ phase: "Running", evacuates: NODE }));
  fake.evacuations.put(evacuation({ status: { phase: isPinned ? "Blocked" : "Migrating" } }));
  const kubeVirt = new KubeVirt(fake, WEB, { outcomes: [], evacuates: true });
  const looks: number[] = [0];
  const { platform, world } = newPlatform(undefined, NOW, {
    fetch: fake.api.fetch(() => void (looks[looks.length - 1] = (looks.at(-1) ?? 0) + 1)),
    sleep: async (ms) => {
      world.pass(ms / 1000);
      if (stepsAt.includes(looks.length)) {
        kubeVirt.step(world.now());
        fake.change(WEB, { isMigrating: false });
      }
      looks.push(0);
    },
  });
  fake.now = world.now;
  const env = { CLUSTERS: JSON.stringify({ prod: entry(SERVER) }) };
  await runTick(NOW.getTime(), { env, platform, state: newIsolateState(), stays: () => true });
  const [found] = fake.evacuations.list();
  return { phase: found?.status.phase, seconds: (world.now().getTime() - NOW.getTime()) / 1000, looks: looks.slice(1) };
}

test("given a VM that moves, when it has left, its Evacuation ends within five seconds, and the tick with it", async () => {
  const { phase, seconds } = await tickOver([3]);
  expect({ phase, seconds }).toEqual({ phase: "Moved", seconds: 20 });
});

test("given a VM that goes on moving, a look costs a request for each kind and node, until the next tick is due", async () => {
  const { phase, seconds, looks } = await tickOver([]);
  expect({ phase, seconds }).toEqual({ phase: "Migrating", seconds: 50 });
  // Some read the settings besides.
  expect(Math.min(...looks)).toBe(3);
});

test("a descheduling cycle that takes long is left to whoever takes it, and the next tick can begin", async () => {
  const fake = new FakeCluster();
  fake.configure({ featureGates: { EvictionsInBackground: true } });
  const held = Promise.withResolvers<void>();
  const answer = fake.api.fetch();
  const { platform } = newPlatform(undefined, NOW, {
    fetch: async (url, init) => {
      if (url.includes("/configmaps/")) await held.promise;
      return await answer(url, init);
    },
  });
  const env = { CLUSTERS: JSON.stringify({ prod: entry(SERVER) }) };
  const left: Promise<void>[] = [];
  const leave = (cycle: Promise<void>) => void left.push(cycle);
  await runTick(NOW.getTime(), { env, platform, state: newIsolateState(), leave });
  expect(left).toHaveLength(1);
  held.resolve();
  await Promise.all(left);
});

test("given one that waits for a person, it does not stay", async () => {
  expect(await tickOver([], true)).toMatchObject({ phase: "Blocked", seconds: 0 });
});
