/**
 * Tests that a scheduled run (tick) reconciles again every five seconds while an evacuation is in progress, until the
 * next tick is due.
 */
import { expect, test } from "vitest";
import { type App, openApp } from "../../support/app.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { evacuation, marked, migration, NODE, node, NOW, PINNED, pod } from "../../support/fixtures.ts";
import { KubeVirt } from "../../support/cluster/kubevirt.ts";
import { created, kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";

const WEB = { namespace: "apps", name: "web" };

/**
 * Runs a tick. `step` simulates KubeVirt's work before each further reconcile. Resolves to the tick's duration and to
 * the number of requests of each further reconcile.
 */
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

test("when a VM has moved, the Evacuation and the tick end within five seconds", async () => {
  const fake = evacuating();
  const kubeVirt = new KubeVirt(fake, WEB, { outcomes: [], evacuates: true });
  const { seconds } = await tick(fake, (looks, now) => {
    if (looks !== 3) return;
    kubeVirt.step(now);
    fake.change(WEB, { isMigrating: false });
  });
  expect([phases(fake), seconds]).toEqual([["Moved"], 20]);
});

test("while a VM moves, each reconcile costs one request per kind and node, until the next tick", async () => {
  const fake = evacuating();
  const { seconds, requests } = await tick(fake, idle);
  expect([phases(fake), seconds]).toEqual([["Migrating"], 50]);
  // Some reconciles also read the settings.
  expect(Math.min(...requests)).toBe(3);
});

test("a tick ends at once if an Evacuation waits for a person, or if the tick may not reconcile repeatedly", async () => {
  expect((await tick(evacuating(true), idle)).seconds).toBe(0);
  expect((await tick(evacuating(), idle, () => false)).seconds).toBe(0);
});

test("without a relay, a node whose VMs leave one after another is empty within seconds", async () => {
  const fake = created({ virtualMachines: { concurrency: 1, ownersChoice: "Ignored" } });
  fake.vmis.put(vmiOf("db"));
  fake.configure({ disruptionBudgets: "Never" });
  const { seconds } = await tick(fake, () => kubevirt(fake));
  expect([phaseOf(fake), seconds]).toEqual(["Evacuated", 15]);
});

test("a long descheduling cycle does not delay the next tick", async () => {
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
