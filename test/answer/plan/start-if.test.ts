/** Tests that a plan and the status of a NodeEvacuation use the same words about the start. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { WHEN_BLOCKED } from "../../../shared/kube/node-evacuation.ts";
import { observePlan } from "../../../shared/plan/read.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { openApp } from "../../support/app.ts";
import { connectTo } from "../../support/client.ts";
import { NODE, NOW, PINNED, settings } from "../../support/fixtures.ts";
import { at, textOf } from "../../support/json.ts";
import { created, type Vm } from "../../support/maintenance/kernel.ts";
import { options } from "../../support/plan/clusters.ts";

const vm = fc.record({
  evictionStrategy: fc.constantFrom("LiveMigrate", "LiveMigrateIfPossible", "None"),
  migratable: fc.boolean(),
  runStrategy: fc.constantFrom("Always", "Halted"),
});
const vms = fc.array(vm, { minLength: 1, maxLength: 3 }).map((all) =>
  all.map(({ evictionStrategy, migratable, runStrategy }, index): Vm => {
    return { name: `vm-${index}`, vmi: { ...(!migratable && PINNED), evictionStrategy }, runStrategy };
  }),
);
const asked = fc.record({
  startIf: fc.constantFrom("Always", "WillSucceed", "WillSucceedWithShutdowns"),
  whenBlocked: fc.constantFrom(...WHEN_BLOCKED),
});

type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never;

async function both({ startIf, whenBlocked }: Asked, all: readonly Vm[]) {
  const fake = created({ startIf, virtualMachines: { whenBlocked } }, all);
  const f = await observePlan({ cluster: connectTo(fake), settings: settings(), now: NOW });
  const { template, ...plain } = options(f, { nodes: [NODE] });
  const virtualMachines = { ...template.virtualMachines, whenBlocked };
  const [planned] = planOf(f, { ...plain, template: { ...template, startIf, virtualMachines } }).nodes;
  const app = openApp(fake);
  await app.reconcile();
  await app.settle();
  const status = at(fake.api.object("nodeevacuations", { name: "kernel" }), "status");
  return { refusal: planned?.refusal, phase: textOf(at(status, "phase")), message: textOf(at(status, "message")) };
}

test("for any VMs, a plan refuses the nodes that Lifeboat refuses", async () => {
  const seen = new Set<boolean>();
  await fc.assert(
    fc.asyncProperty(asked, vms, async (what, all) => {
      const { refusal, phase, message } = await both(what, all);
      seen.add(phase === "Refused");
      expect(refusal).toBe(phase === "Refused" ? message : undefined);
    }),
    { seed: 20_261_129, numRuns: 60 },
  );
  expect(seen.size).toBe(2);
});
