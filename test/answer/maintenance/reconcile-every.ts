/** Reconciles a cluster with a NodeEvacuation repeatedly, and does KubeVirt's work after each reconcile. */
import type { FakeCluster } from "../../support/cluster.ts";
import type { App } from "../../support/app.ts";
import { kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";

/** Reconciles up to `times` times, `seconds` apart, until the node is evacuated. */
export async function reconcileEvery(fake: FakeCluster, app: App, times = 1, seconds = 61): Promise<void> {
  for (let i = 0; i < times && phaseOf(fake) !== "Evacuated"; i++) {
    await app.reconcile();
    await app.settle();
    kubevirt(fake);
    app.pass(seconds);
  }
}
