/**
 * Tests that an Evacuation for a drain taint stays active after the taint was removed, if a person's later Evacuation
 * of the same pod ended with the phase Duplicate. Each kind of reconcile must read the later Evacuation.
 */
import { expect, test } from "vitest";
import { reconcileWithin } from "../../../functions/reconcile.ts";
import { reconcileActive, reconcileAll, reconcileUnderWay } from "../../../shared/reconcile/reconcile.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { at, evacuation, node, pod, vmi } from "../../support/fixtures.ts";

test.each([
  ["a tick", reconcileActive],
  ["a further reconcile of a tick", reconcileUnderWay],
  ["a full scan", reconcileAll],
])(
  "%s keeps a taint's Evacuation after the taint was removed if a person has a Duplicate of it",
  async (_, reconcile) => {
    const fake = new FakeCluster();
    fake.nodes.put(node());
    fake.pods.put(pod());
    fake.vmis.put(vmi());
    const first = { name: "first", uid: "first", createdAt: at(-60).getTime() };
    fake.evacuations.put(
      evacuation({ ...first, spec: { cause: "DrainTaint" }, status: { phase: "Pending", conditions: [] } }),
      evacuation({ name: "later", uid: "later", spec: { cause: "Operator" }, status: { phase: "Duplicate" } }),
    );
    await reconcileWithin(openApp(fake).target, 20, reconcile);
    expect(fake.evacuations.get({ namespace: "apps", name: "first" })?.status.phase).toBe("Pending");
  },
);
