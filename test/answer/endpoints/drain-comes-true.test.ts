/**
 * Tests that the verdict of a preflight is right: drains nodes with random VMs in a fake cluster, and compares the
 * result of each drain with the verdict.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { endedEvacuation, NODE, time, without } from "../../support/fixtures.ts";
import { kubevirt } from "../../support/maintenance/kernel.ts";
import { launcher, node, vmiOf } from "../../support/preflight/fixtures.ts";
import { evictionOf } from "../../support/reviews.ts";

/** Draws each value of `others` with a probability of one in ten, and otherwise draws `usual`. */
const oneOf = <T>(usual: T, ...others: readonly T[]) =>
  fc.constantFrom(...Array<T>(10 - others.length).fill(usual), ...others);

const anyVm = fc.record({
  evictionStrategy: oneOf("LiveMigrate", "LiveMigrateIfPossible", "LiveMigrateIfPossible", "None", "None", "External"),
  migratable: oneOf(true, false, false),
  state: oneOf("Running", "Marked", "BackingOff", "BackedUp", "Gone"),
});
type AnyVm = typeof anyVm extends fc.Arbitrary<infer T> ? T : never;

const anyDrain = fc.record({
  vms: fc.array(anyVm, { minLength: 1, maxLength: 3 }),
  isCordoned: oneOf(false, true, true),
});

function putVm(fake: FakeCluster, name: string, { evictionStrategy, migratable, state }: AnyVm): void {
  const pod = launcher(name);
  fake.pods.put(pod);
  if (state === "Gone") return;
  const mark = state === "Marked" ? { evacuationNodeName: NODE } : {};
  const backup = state === "BackedUp" ? { backup: "b1" } : {};
  fake.vmis.put(vmiOf(name, { evictionStrategy, liveMigratable: { migratable }, ...mark, ...backup }));
  if (state !== "BackingOff") return;
  const status = { virtualMachineInstanceUID: `vmi-${name}`, podUID: pod.uid, nextAttemptTime: time(60) };
  const spec = { vmiName: name, pod: { name: pod.name, uid: pod.uid } };
  fake.evacuations.put(endedEvacuation("Abandoned", { name: `${name}-1`, uid: `e-${name}`, spec, status }));
}

const podsOn = (fake: FakeCluster) => fake.pods.list(({ nodeName }) => nodeName === NODE);
const ROUNDS = 6;

async function drain(fake: FakeCluster, app: ReturnType<typeof openApp>, isCordoned: boolean): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const pod of podsOn(fake)) {
      const key = { namespace: pod.namespace, name: pod.annotations["kubevirt.io/domain"] ?? "" };
      // KubeVirt's webhook refuses the eviction of a launcher pod without a VMI.
      if (fake.vmis.get(key) === undefined) continue;
      const { text } = await app.evict(evictionOf(pod));
      if (!text.includes('"allowed":true')) continue;
      fake.pods.delete(pod);
      fake.change(key, { phase: "Succeeded" });
    }
    await app.settle();
    await app.reconcile();
    await app.settle();
    kubevirt(fake, new Set(), ({ evictionStrategy, liveMigratable, backup, phase }) => {
      const isAble = liveMigratable.migratable && backup === undefined && !isCordoned;
      return phase === "Running" && evictionStrategy !== "External" && isAble;
    });
    for (const vmi of fake.vmis.list()) fake.vmis.put(without(vmi, "backup"));
    app.pass(200);
  }
}

const AT_NIGHT = process.env["LIFEBOAT_NIGHTLY"] !== undefined;

test("for any VMs, the verdict of a drain comes true", async () => {
  const seen: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(anyDrain, async ({ vms, isCordoned }) => {
      const fake = new FakeCluster();
      fake.nodes.put(node(NODE), node("node02", { unschedulable: isCordoned }));
      vms.forEach((vm, i) => putVm(fake, `vm${i}`, vm));
      // Switches off Lifeboat's own budgets, because other tests cover the budgets.
      fake.configure({ disruptionBudgets: "Never" });
      const app = openApp(fake);
      const { verdict } = await app.explainNode(NODE);
      seen[verdict] = (seen[verdict] ?? 0) + 1;
      await drain(fake, app, isCordoned);
      const isShutDown = fake.vmis.list(({ phase }) => phase === "Succeeded").length > 0;
      const drains = verdict === "WillSucceed" || verdict === "WillSucceedWithShutdowns";
      if (verdict === "Unknown") return;
      expect({ verdict, isEmpty: podsOn(fake).length === 0 }).toEqual({ verdict, isEmpty: drains });
      if (drains) expect({ verdict, isShutDown }).toEqual({ verdict, isShutDown: verdict !== "WillSucceed" });
    }),
    AT_NIGHT ? { numRuns: 500 } : { seed: 20_261_122, numRuns: 120 },
  );
  const verdicts = ["NoRoom", "Unknown", "WillBlock", "WillSucceed", "WillSucceedWithShutdowns"];
  expect(Object.keys(seen).toSorted()).toEqual(verdicts);
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(5);
}, 60_000);
