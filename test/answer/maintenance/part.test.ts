/** Tests that a pause or a withdrawal of a RollingMaintenance also affects VMs that are being restarted. */
import { expect, test } from "vitest";
import { KERNEL, RESTART, type Stage, stage, ticks, until } from "./finishing.ts";

const WEEKEND = { name: "weekend", uid: "uid-of-weekend" };
const SINCE = "2026-03-01T11:00:00Z";

function asPartOfWeekend(on: Stage): Stage {
  const owner = { apiVersion: "lifeboat.dev/v1alpha1", kind: "RollingMaintenance", ...WEEKEND, controller: true };
  on.fake.api.merge("nodeevacuations", KERNEL, { metadata: { ownerReferences: [owner] } });
  const nodes = [{ name: "node01", phase: "Evacuating", nodeEvacuation: KERNEL.name, startTime: SINCE }];
  on.fake.api.put("rollingmaintenances", {
    metadata: { ...WEEKEND, resourceVersion: "1", creationTimestamp: SINCE },
    spec: { nodes: { names: ["node01"] } },
    status: { phase: "Running", startTime: SINCE, nodes },
  });
  return on;
}

test.each([
  [{}, ["restart", "restart"]],
  [{ progress: "Paused" }, ["restart"]],
  [{ intent: "Withdrawn" }, ["restart"]],
  [{ progress: "Paused", nodes: 7 }, ["restart"]],
])("with %j, Lifeboat requests a refused restart again or not: %j", async (spec, asked) => {
  const on = asPartOfWeekend(stage(RESTART, () => 500));
  await until(on, () => on.asked.length === 1);
  on.fake.api.merge("rollingmaintenances", WEEKEND, { spec });
  await ticks(on, 8);
  expect(on.asked).toEqual(asked);
});
