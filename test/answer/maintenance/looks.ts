/** Looks at a cluster with a NodeEvacuation; between them KubeVirt does its part. */
import type { FakeCluster } from "../../support/fake-cluster.ts";
import type { FakeDoors } from "../../support/fake-doors.ts";
import { kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";

/** Not after the node is empty. */
export async function look(fake: FakeCluster, doors: FakeDoors, times = 1, seconds = 61): Promise<void> {
  for (let i = 0; i < times && phaseOf(fake) !== "Evacuated"; i++) {
    await doors.reconcile();
    await doors.settle();
    kubevirt(fake);
    doors.pass(seconds);
  }
}
