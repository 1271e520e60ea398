/** Tests a reconcile that reads many VMs, some of them slowly. The slow reads do not delay the other VMs. */
import { expect, test } from "vitest";
import { reconcileWithin } from "../../../functions/reconcile.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { reconcileActive } from "../../../shared/reconcile/reconcile.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { connectTo } from "../../support/client.ts";
import { VirtualClock } from "../../support/clock.ts";
import { newborn, NODE, NOW, vmi } from "../../support/fixtures.ts";
import { openApp } from "../../support/app.ts";

const MINUTE = 60;
const TICK_SECONDS = 50;

/** The API server lists the namespaces in this order. */
const [SLOW, QUICK] = ["a-slow", "b-quick"];

function putVms(fake: FakeCluster, namespace: string, count: number): void {
  for (let i = 0; i < count; i++) {
    const [name, uid] = [`vm-${i}`, `${namespace}/vm-${i}`];
    fake.vmis.put(vmi({ namespace, name, uid, activePods: { [`${uid}-pod`]: NODE } }));
    const spec = { vmiName: name, pod: { name, uid: `${uid}-pod` } };
    fake.evacuations.put(newborn({ namespace, name: `${name}-1`, uid: `${uid}-1`, spec }));
  }
}

// prettier-ignore
test.each<[slow: number, ticks: number, why: string]>([
  [ 4, 1, "four wait at a time, five seconds each"],
  [28, 1, "seven rounds of them fit into a tick"],
  [60, 3, "they do not all fit: other ticks begin at other VMs"],
])("with %i silent VMs listed before 20 others, %i ticks reach all others: %s", async (slow, ticks) => {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  putVms(fake, SLOW, slow);
  putVms(fake, QUICK, 20);
  const clock = new VirtualClock(NOW);
  const secondsSince = (began: Date) => (clock.now().getTime() - began.getTime()) / 1000;
  const connect = (seconds: number) => {
    const began = clock.now();
    return connectTo(fake, async (request, asked) => {
      if (request !== "get virtualmachineinstances" || asked?.namespace !== SLOW) return;
      await clock.sleep((seconds - secondsSince(began)) * 1000);
      throw new ClusterError({ reason: "DeadlineExceeded" });
    });
  };
  const app = openApp(fake, undefined, { now: () => clock.now() });
  const target = { ...app.target, connect };
  for (let tick = 0; tick < ticks; tick++) {
    const began = clock.now();
    await clock.settle([reconcileWithin(target, TICK_SECONDS, reconcileActive)]);
    const took = secondsSince(began);
    expect(took).toBeLessThanOrEqual(TICK_SECONDS);
    clock.pass(MINUTE - took);
  }
  expect(fake.evacuations.list(({ status }) => status.phase !== undefined)).toHaveLength(20);
});
