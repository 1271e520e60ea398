/**
 * Tests which VMs of another node the forecast of a node includes. If the other node is being evacuated, the forecast
 * includes all of its VMs. If that evacuation is paused, the forecast includes only the migrating VMs.
 */
import { expect, test } from "vitest";
import type { NodeFacts } from "../../../shared/kube/facts.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { evacuation, NODE } from "../../support/fixtures.ts";
import { object } from "../../support/cluster/objects.ts";
import { GIB, launcher, node, vmiOf } from "../../support/preflight/fixtures.ts";

interface Other {
  readonly spec: object;
  readonly node?: Partial<NodeFacts>;
  readonly isMoving?: boolean;
}

/** Creates VM a on node01, VM b on node02, and node03 with free memory for one VM. node02 is being evacuated. */
function cluster({ spec, node: tweak, isMoving }: Other): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(node(NODE), node("node02", { unschedulable: true, ...tweak }));
  fake.nodes.put(node("node03", { allocatable: { memory: 3 * GIB } }));
  const onOther = { nodeName: "node02", activePods: { "pod-b": "node02" } };
  fake.vmis.put(vmiOf("a"), vmiOf("b", onOther));
  fake.pods.put(launcher("a"), launcher("b", { nodeName: "node02" }));
  const metadata = { name: "kernel", uid: "u", resourceVersion: "1", creationTimestamp: "2026-03-01T11:00:00Z" };
  const status = { phase: "Evacuating", startTime: "2026-03-01T11:00:00Z" };
  fake.api.put("nodeevacuations", { metadata, spec: object({ nodeName: "node02", ...spec }), status });
  if (isMoving === true) {
    const about = { virtualMachineInstanceUID: "vmi-b", podUID: "pod-b", sourceNode: "node02" };
    fake.evacuations.put(evacuation({ spec: { vmiName: "b" }, status: { phase: "Pending", ...about } }));
  }
  return fake;
}

// prettier-ignore
test.each<[string, Other, verdict: string]>([
  ["is being evacuated, its VM counts",                                    { spec: {} },                                                       "NoRoom"],
  ["is being evacuated and paused, its VM stays",                          { spec: { progress: "Paused" } },                                   "WillSucceed"],
  ["is being evacuated and paused while its VM moves, its VM counts",      { spec: { progress: "Paused" }, isMoving: true },                   "NoRoom"],
  ["is being evacuated and uncordoned, its VM stays",                      { spec: {}, node: { unschedulable: false, ready: false } },         "WillSucceed"],
  ["is about to be withdrawn, its VM stays",                               { spec: { intent: "Withdrawn" } },                                  "WillSucceed"],
])("if another node %s: $2", async (_, other, verdict) => {
  const app = openApp(cluster(other));
  expect((await app.explainNode(NODE)).verdict).toBe(verdict);
});
