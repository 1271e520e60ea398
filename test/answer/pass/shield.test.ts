/** The shield through whole looks: on with the pressure, off after it, over when a shutdown was refused long enough. */
import { describe, expect, test } from "vitest";
import { reconcileActive, reconcileAll, reconcileRequested } from "../../../shared/reconcile/reconcile.ts";
import type { Deps } from "../../../shared/reconcile/carry-out.ts";
import { SHIELD_PLUGIN } from "../../../shared/kube/names.ts";
import { OVER } from "../../../shared/shield/shield.ts";
import { connectTo, failing } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { at, migration, NODE, node, NOW, pod, settings, time, vmi, VMI_UID } from "../../support/fixtures.ts";

const WEB = { namespace: "apps", name: "web" };
const PRESSED = node({ pressures: ["MemoryPressure"] });
const SHIELD = { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 };
/** min(300 + 15, 600) - 90 - 75 */
const HOLD = 150;
const until = (seconds: number) => String(at(seconds).getTime() / 1000);

/** KubeVirt's Event of a shutdown that the Plugin refuses, for as long as it may. */
function putRefusal(fake: FakeCluster): void {
  const times = { firstTimestamp: time(-HOLD), lastTimestamp: time(0) };
  const metadata = { namespace: "apps", name: "refused" };
  fake.api.put("events", {
    metadata,
    involvedObject: { uid: VMI_UID },
    reason: "SyncFailed",
    message: `plugin ${SHIELD_PLUGIN}`,
    ...times,
  });
}

/** A VM on a node; nothing but the shield acts. */
function given(shield?: string, of = PRESSED): FakeCluster {
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

describe("a VM of a node", () => {
  test("that comes under pressure is covered, whether an event tells or a full scan finds it", async () => {
    const told = given();
    await reconcileRequested([{ kind: "Node", name: NODE }], depsOf(told));
    const found = given();
    await reconcileAll(depsOf(found));
    expect([shieldOf(told), shieldOf(found)]).toEqual([until(HOLD), until(HOLD)]);
  });

  test("is let go with the next tick after the pressure", async () => {
    const fake = given(until(HOLD), node());
    await reconcileActive(depsOf(fake));
    expect(shieldOf(fake)).toBeUndefined();
  });

  test("is let go by the full scan once the shield is switched off", async () => {
    const fake = given(until(HOLD));
    await reconcileAll(depsOf(fake, { shield: { ...SHIELD, maxPodGracePeriodSeconds: 0 } }));
    expect(shieldOf(fake)).toBeUndefined();
  });
});

describe("when it is time to look", () => {
  test("refused long enough: it is let go, and its migration is deleted", async () => {
    const fake = given(until(0));
    putRefusal(fake);
    fake.migrations.put(migration());
    await reconcileActive(depsOf(fake));
    expect([shieldOf(fake), fake.migrations.list()]).toEqual([OVER, []]);
  });

  test("what was refused cannot be read: likewise", async () => {
    const fake = given(until(0));
    await reconcileActive(depsOf(fake, {}, failing(/^list events/)));
    expect(shieldOf(fake)).toBe(OVER);
  });
});
