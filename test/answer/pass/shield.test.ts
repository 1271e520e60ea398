/**
 * Tests the shutdown shield over several reconciles. Lifeboat sets the shield under node pressure. It ends the shield
 * when the pressure ends or the shield has refused the shutdown long enough.
 */
import { expect, test } from "vitest";
import { reconcileActive, reconcileAll, reconcileRequested } from "../../../shared/reconcile/reconcile.ts";
import type { Deps } from "../../../shared/reconcile/carry-out.ts";
import { SHIELD_PLUGIN } from "../../../shared/kube/names.ts";
import { OVER } from "../../../shared/shield/shield.ts";
import { failing, FakeCluster } from "../../support/cluster.ts";
import { connectTo } from "../../support/client.ts";
import { at, migration, NODE, node, NOW, pod, settings, time, vmi, VMI_UID } from "../../support/fixtures.ts";

const WEB = { namespace: "apps", name: "web" };
const PRESSURED = node({ pressures: ["MemoryPressure"] });
const SHIELD = { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 };
const OFF = { shield: { ...SHIELD, maxPodGracePeriodSeconds: 0 } };
/** The shield lasts min(300 + 15, 600) - 90 - 75 seconds. */
const HOLD = 150;
const until = (seconds: number) => String(at(seconds).getTime() / 1000);

/** Creates a node, by default under pressure, with one VM. */
function given(shield?: string, of = PRESSURED): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(of);
  fake.vmis.put(vmi({ graceSeconds: 300, ...(shield !== undefined && { shield }) }));
  fake.pods.put(pod());
  return fake;
}

function depsOf(fake: FakeCluster, more: Parameters<typeof settings>[0] = {}, before = failing(/^never$/)): Deps {
  const featureGates = ["NodePressureEvictionLiveMigration"] as const;
  const own = { featureGates, shield: SHIELD, isShieldOn: true, ...more };
  const cluster = connectTo(fake, before);
  return { cluster, connect: () => cluster, settings: settings(own), clock: () => NOW, onFailure: () => undefined };
}

const shieldOf = (fake: FakeCluster) => fake.vmis.get(WEB)?.shield;
const reported = (deps: Deps) => reconcileRequested([{ kind: "Node", name: NODE }], deps);

// prettier-ignore
test.each<[string, FakeCluster, (deps: Deps) => Promise<unknown>, Parameters<typeof settings>[0], string | undefined]>([
  ["comes under pressure is covered after the event",            given(),                     reported,            {},  until(HOLD)],
  ["comes under pressure is covered by the full scan",           given(),                     reconcileAll,    {},  until(HOLD)],
  ["is no longer under pressure is uncovered by the next tick",  given(until(HOLD), node()),  reconcileActive, {},  undefined],
  ["is no longer shielded is uncovered by the full scan",        given(until(HOLD)),          reconcileAll,    OFF, undefined],
])("a VM of a node that %s", async (...[, fake, reconcile, more, expected]) => {
  await reconcile(depsOf(fake, more));
  expect(shieldOf(fake)).toBe(expected);
});

test("after enough refusals of a shutdown, the shield ends and the migration is deleted", async () => {
  const fake = given(until(0));
  // KubeVirt created this Event when its plugin refused the shutdown.
  fake.api.put("events", {
    metadata: { namespace: "apps", name: "refused" },
    involvedObject: { uid: VMI_UID },
    reason: "SyncFailed",
    message: `plugin ${SHIELD_PLUGIN}`,
    firstTimestamp: time(-HOLD),
    lastTimestamp: time(0),
  });
  fake.migrations.put(migration());
  await reconcileActive(depsOf(fake));
  expect([shieldOf(fake), fake.migrations.list()]).toEqual([OVER, []]);
});

test("if refusals cannot be read, the shield ends", async () => {
  const fake = given(until(0));
  await reconcileActive(depsOf(fake, {}, failing(/^list events/)));
  expect(shieldOf(fake)).toBe(OVER);
});
