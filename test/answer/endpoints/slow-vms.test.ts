/** A look at many VMs of which some are slow to read: they cost their own time, and the others are looked at. */
import { describe, expect, test } from "vitest";
import { reconcileWithin } from "../../../functions/reconcile.ts";
import { reconcileActive } from "../../../shared/reconcile/reconcile.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import type { Client } from "../../../shared/kube/client.ts";
import type { Deps, Result } from "../../../shared/reconcile/carry-out.ts";
import { newIsolateState, targetOf } from "../../../functions/target.ts";
import { connectTo } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { VirtualClock } from "../../support/clock.ts";
import { newborn, NOW, vmi } from "../../support/fixtures.ts";
import { entry, newPlatform } from "../../support/doors.ts";

const MINUTE = 60;
const TICK_SECONDS = 50;

/** Namespaces in the order in which they are listed. */
const [SLOW, QUICK] = ["a-slow", "b-quick"];
const names = (count: number) => Array.from({ length: count }, (_, i) => `vm-${i}`);

function isSlow(key: unknown): boolean {
  return typeof key === "object" && key !== null && "namespace" in key && key.namespace === SLOW;
}

/** VMs that are to leave their node; requests for those of the first namespace get no answer. */
function given(slow: number, quick: number) {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  const keys = [
    ...names(slow).map((name) => ({ namespace: SLOW, name })),
    ...names(quick).map((name) => ({ namespace: QUICK, name })),
  ];
  for (const { namespace, name } of keys) {
    const uid = `${namespace}/${name}`;
    fake.vmis.put(vmi({ namespace, name, uid, activePods: { [`${uid}-pod`]: "node01" } }));
    const spec = { vmiName: name, pod: { name, uid: `${uid}-pod` } };
    fake.evacuations.put(newborn({ namespace, name: `${name}-1`, uid: `${uid}-1`, spec }));
  }
  const clock = new VirtualClock(NOW);
  const secondsSince = (began: Date) => (clock.now().getTime() - began.getTime()) / 1000;
  const connect = (seconds: number): Client => {
    const began = clock.now();
    return connectTo(fake, async (request, asked) => {
      if (request !== "get virtualmachineinstances" || !isSlow(asked)) return;
      await clock.sleep((seconds - secondsSince(began)) * 1000);
      throw new ClusterError({ reason: "DeadlineExceeded" });
    });
  };
  const { platform, world } = newPlatform(undefined, NOW, { now: () => clock.now() });
  const surroundings = { env: {}, platform, state: newIsolateState() };
  const target = { ...targetOf("prod", { ...entry("https://fake"), headers: {} }, surroundings), connect };
  /** With how long it took. */
  const look = async (seconds: number, reconcile: (deps: Deps) => Promise<Result>) => {
    const began = clock.now();
    const looking = reconcileWithin(target, seconds, reconcile);
    await clock.settle([looking]);
    return { ...(await looking), took: secondsSince(began) };
  };
  const looked = () => fake.evacuations.list(({ status }) => status.phase !== undefined).length;
  return { log: world.log, pass: (seconds: number) => clock.pass(seconds), keys, looked, look };
}

describe("a tick", () => {
  // prettier-ignore
  test.each<[slow: number, quick: number, ticks: number, why: string]>([
    [ 4, 20, 1, "four wait at a time, five seconds each"],
    [28, 20, 1, "seven rounds of them fit into a tick"],
    [60, 20, 3, "they do not all fit: other ticks begin at other VMs"],
  ])("%i VMs that do not answer, listed before %i others: %i ticks look at all others: %s", async (...[slow, quick, ticks]) => {
    const { look, looked, pass } = given(slow, quick);
    for (let tick = 0; tick < ticks; tick++) {
      const { took } = await look(TICK_SECONDS, reconcileActive);
      expect(took).toBeLessThanOrEqual(TICK_SECONDS);
      pass(MINUTE - took);
    }
    expect(looked()).toBe(quick);
  });
});
