/** What a Duplicate asks for besides: whichever look finds the one that continues knows of it. */
import { expect, test } from "vitest";
import type { Deps } from "../../../shared/reconcile/carry-out.ts";
import { reconcileActive, reconcileAll, reconcileUnderWay } from "../../../shared/reconcile/reconcile.ts";
import { connectTo, FakeCluster } from "../../support/fake-cluster.ts";
import { at, evacuation, node, NOW, pod, settings, vmi } from "../../support/fixtures.ts";

/** By the default settings. The taint is gone for which the first one began, and a person's came to it. */
function given(): { readonly fake: FakeCluster; readonly deps: Deps } {
  const fake = new FakeCluster();
  fake.nodes.put(node());
  fake.pods.put(pod());
  fake.vmis.put(vmi());
  const first = { name: "first", uid: "first", createdAt: at(-60).getTime() };
  fake.evacuations.put(
    evacuation({ ...first, spec: { cause: "DrainTaint" }, status: { phase: "Pending", conditions: [] } }),
    evacuation({ name: "later", uid: "later", spec: { cause: "Operator" }, status: { phase: "Duplicate" } }),
  );
  const cluster = connectTo(fake);
  const deps = { cluster, connect: () => cluster, settings: settings(), clock: () => NOW, onFailure: () => undefined };
  return { fake, deps };
}

test.each([
  ["a tick", reconcileActive],
  ["a tick that stays", reconcileUnderWay],
  ["the full scan", reconcileAll],
])("given a person's Duplicate, %s does not withdraw the one for a taint that is gone", async (_, reconcile) => {
  const { fake, deps } = given();
  await reconcile(deps);
  expect(fake.evacuations.get({ namespace: "apps", name: "first" })?.status.phase).toBe("Pending");
});
