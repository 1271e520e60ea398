/** A migration that does not converge: the last attempt gets the MigrationPolicy that makes it, beside KubeVirt's own controller. */
import { afterEach, expect, test } from "vitest";
import { type SimulatedStage, startSimulatedStage } from "./stage.ts";
import { createVm } from "./vm.ts";

let stage: SimulatedStage;
afterEach(() => stage.stop());

test.each([
  ["as shipped", {}, ["none", "none", "lifeboat-urgent"]],
  ["gentle", { labels: { "lifeboat.dev/convergence": "gentle" } }, ["none", "none", "none"]],
])("the policies of three attempts: %s", { tags: ["backoff"] }, async (_, tweak, expected) => {
  const evacuation = { maxAttempts: 3, backoffSeconds: 0.2, maxBackoffSeconds: 60 };
  stage = await startSimulatedStage({
    optional: ["optional/migration-policy/migration-policy.yaml"],
    configuration: { evacuation },
  });
  stage.sandbox.migrations.configure({
    outcome: ({ attempt }) => (attempt < 3 ? "Failed" : "Succeeded"),
    // Shorter than KubeVirt's 20 s, and longer than a drain's repeats here.
    backoffSeconds: 4,
  });
  const policies = new Map<string, string>();
  const vm = await createVm(stage, "busy", tweak);
  const seen = async () => {
    const { migrationState, nodeName } = (await vm.vmi()).status ?? {};
    if (nodeName === vm.node) await vm.evict();
    if (migrationState?.migrationUid !== undefined)
      policies.set(migrationState.migrationUid, migrationState.migrationPolicyName ?? "none");
    return [...policies.values()];
  };
  await expect.poll(seen, { timeout: 60_000, interval: 100 }).toEqual(expected);
  await vm.untilMoved();
  await expect.poll(async () => (await vm.evacuations())[0]?.status).toMatchObject({ phase: "Moved", attempts: 2 });
});
