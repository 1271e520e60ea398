/** A tick that finds something under way looks again every five seconds until the next is due; what it finds is done at once. */
import { expect, test } from "vitest";
import { type App, openApp } from "../../support/app.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { evacuation, marked, migration, NODE, node, NOW, PINNED, pod } from "../../support/fixtures.ts";
import { KubeVirt } from "../../support/cluster/kubevirt.ts";
import { created, kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";

const WEB = { namespace: "apps", name: "web" };

/** `step`: what KubeVirt does before each further look. Resolves to how long the tick stayed, and the requests of each further look. */
async function tick(fake: FakeCluster, step: (looks: number, now: Date) => void, stays = () => true) {
  const requests: number[] = [0];
  const app: App = openApp(fake, () => void requests.push((requests.pop() ?? 0) + 1), {
    sleep: async (ms) => {
      app.pass(ms / 1000);
      step(requests.length, app.now());
      requests.push(0);
    },
  });
  await app.tick(NOW, { stays });
  return { seconds: (app.now().getTime() - NOW.getTime()) / 1000, requests: requests.slice(1) };
}

function evacuating(isPinned = false): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(node(), node({ name: "node02" }));
  fake.pods.put(pod());
  fake.vmis.put(marked(isPinned ? PINNED : { isMigrating: true }));
  if (!isPinned) fake.migrations.put(migration({ phase: "Running", evacuates: NODE }));
  fake.evacuations.put(evacuation({ status: { phase: isPinned ? "Blocked" : "Migrating" } }));
  return fake;
}

const idle = () => undefined;
const phases = (fake: FakeCluster) => fake.evacuations.list().map(({ status }) => status.phase);

test("given a VM that moves, when it has left, its Evacuation ends within five seconds, and the tick with it", async () => {
  const fake = evacuating();
  const kubeVirt = new KubeVirt(fake, WEB, { outcomes: [], evacuates: true });
  const { seconds } = await tick(fake, (looks, now) => {
    if (looks !== 3) return;
    kubeVirt.step(now);
    fake.change(WEB, { isMigrating: false });
  });
  expect([phases(fake), seconds]).toEqual([["Moved"], 20]);
});

test("given a VM that goes on moving, a look costs a request for each kind and node, until the next tick is due", async () => {
  const fake = evacuating();
  const { seconds, requests } = await tick(fake, idle);
  expect([phases(fake), seconds]).toEqual([["Migrating"], 50]);
  // Some read the settings besides.
  expect(Math.min(...requests)).toBe(3);
});

test("given one that waits for a person, it does not stay, nor where it may not", async () => {
  expect((await tick(evacuating(true), idle)).seconds).toBe(0);
  expect((await tick(evacuating(), idle, () => false)).seconds).toBe(0);
});

test("given a node whose VMs leave one after the other, without a relay, the node is empty some looks later", async () => {
  const fake = created({ virtualMachines: { concurrency: 1, ownersChoice: "Ignored" } });
  fake.vmis.put(vmiOf("db"));
  fake.configure({ disruptionBudgets: "Never" });
  const { seconds } = await tick(fake, () => kubevirt(fake));
  expect([phaseOf(fake), seconds]).toEqual(["Evacuated", 15]);
});

test("a descheduling cycle that takes long is left to whoever takes it, and the next tick can begin", async () => {
  const fake = new FakeCluster();
  fake.configure({ featureGates: { EvictionsInBackground: true } });
  const held = Promise.withResolvers<void>();
  const app = openApp(fake, async (_, request) => {
    if (request?.resource === "configmaps") await held.promise;
  });
  const left: Promise<void>[] = [];
  const leave = (cycle: Promise<void>) => void left.push(cycle);
  await app.tick(NOW, { leave });
  expect(left).toHaveLength(1);
  held.resolve();
  await Promise.all(left);
});
