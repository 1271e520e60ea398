/**
 * Tests that the verdict of a NodeEvacuation is right for any VMs and any `whenBlocked`, whether the NodeEvacuation
 * starts or is refused.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NODE_END_PHASES, WHEN_BLOCKED } from "../../../shared/kube/node-evacuation.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { NODE, PINNED } from "../../support/fixtures.ts";
import { created, kubevirt, phaseOf, verdictOf, type Vm } from "../../support/maintenance/kernel.ts";
import { launcher } from "../../support/preflight/fixtures.ts";

const START_IF = ["Always", "WillSucceed", "WillSucceedWithShutdowns"] as const;

const kinds = fc.record({
  evictionStrategy: fc.constantFrom("LiveMigrate", "LiveMigrateIfPossible", "None", "External"),
  migratable: fc.boolean(),
  runStrategy: fc.constantFrom("Always", "RerunOnFailure", "Once", "Halted"),
});
const vms = fc.array(kinds, { minLength: 1, maxLength: 4 }).map((all) =>
  all.map(({ evictionStrategy, migratable, runStrategy }, index): Vm => {
    return { name: `vm-${index}`, vmi: { ...(!migratable && PINNED), evictionStrategy }, runStrategy };
  }),
);

interface Asked {
  readonly startIf: (typeof START_IF)[number];
  readonly whenBlocked: (typeof WHEN_BLOCKED)[number];
}

const PASSES = 16;

/** Runs the NodeEvacuation. Returns the names of the VMs whose guests were shut down. */
async function carriedOut({ startIf, whenBlocked }: Asked, all: readonly Vm[]) {
  const fake = created({ startIf, virtualMachines: { whenBlocked } }, all);
  fake.configure({ disruptionBudgets: "Never" });
  const [restarts, ended] = [new Set<string>(), new Set<string>()];
  const app = openApp(fake, (_, asked) => {
    if (asked?.subresource === "restart") restarts.add(fake.vmis.get(asked)?.uid ?? "");
    else if (asked?.subresource === "stop") shutDown(fake, asked.name);
    else return undefined;
    ended.add(asked.name);
    return new Response("{}", { status: 202 });
  });
  for (let pass = 0; pass < PASSES && !(NODE_END_PHASES as readonly string[]).includes(phaseOf(fake)); pass++) {
    await app.reconcile();
    await app.settle();
    kubevirt(fake, restarts, ({ evictionStrategy }) => evictionStrategy !== "External");
    for (const { name } of fake.vmis.list(({ nodeName }) => nodeName === NODE)) {
      if (!fake.evictions.includes(launcher(name).name)) continue;
      ended.add(name);
      shutDown(fake, name);
    }
    app.pass(61);
  }
  return { phase: phaseOf(fake), verdict: verdictOf(fake), ended };
}

function shutDown(fake: FakeCluster, name: string): void {
  fake.pods.delete(launcher(name));
  fake.vmis.delete({ namespace: "apps", name });
}

const AT_NIGHT = process.env["LIFEBOAT_NIGHTLY"] !== undefined;

/** Returns the expected phase. If the NodeEvacuation does not start, no guest is shut down. */
function expected(verdict: string, { startIf }: Asked): string {
  const isGood = verdict === "WillSucceed" || (verdict === "WillSucceedWithShutdowns" && startIf !== "WillSucceed");
  if (startIf !== "Always" && !isGood) return "Refused";
  return verdict === "WillBlock" ? "Blocked" : "Evacuated";
}

test("for any VMs, a NodeEvacuation ends as its verdict says", async () => {
  const seen = new Set<string>();
  const asked = fc.record({ startIf: fc.constantFrom(...START_IF), whenBlocked: fc.constantFrom(...WHEN_BLOCKED) });
  await fc.assert(
    fc.asyncProperty(asked, vms, async (what, all) => {
      const { phase, verdict, ended } = await carriedOut(what, all);
      seen.add(`${verdict} ${phase}`);
      expect({ verdict, phase }).toEqual({ verdict, phase: expected(verdict, what) });
      if (verdict === "WillSucceed" || phase === "Refused") expect([...ended]).toEqual([]);
      if (verdict === "WillSucceedWithShutdowns" && phase === "Evacuated") expect(ended.size).toBeGreaterThan(0);
    }),
    AT_NIGHT ? { numRuns: 500 } : { seed: 20_261_126, numRuns: 80 },
  );
  expect([...seen].toSorted()).toEqual([
    "WillBlock Blocked",
    "WillBlock Refused",
    "WillSucceed Evacuated",
    "WillSucceedWithShutdowns Evacuated",
    "WillSucceedWithShutdowns Refused",
  ]);
});
