/** Reconciles a cluster with a NodeEvacuation; between reconciles, KubeVirt does its part. */
import type { FakeCluster } from "../../support/cluster.ts";
import type { App } from "../../support/app.ts";
import { kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";

/** Stops when the node is empty. */
export async function reconcileEvery(fake: FakeCluster, app: App, times = 1, seconds = 61): Promise<void> {
  for (let i = 0; i < times && phaseOf(fake) !== "Evacuated"; i++) {
    await app.reconcile();
    await app.settle();
    kubevirt(fake);
    app.pass(seconds);
  }
}
