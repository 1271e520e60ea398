/** Tests that a NodeEvacuation does not treat an object as missing if Lifeboat cannot parse the object. */
import { expect, test } from "vitest";
import { openApp } from "../../support/app.ts";
import { podObject } from "../../support/cluster/pods-and-nodes.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { NODE, PINNED, pod } from "../../support/fixtures.ts";
import { at, textOf } from "../../support/json.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import { reconcileEvery } from "./reconcile-every.ts";

const message = (fake: FakeCluster) =>
  textOf(at(fake.api.object("nodeevacuations", { name: "kernel" }), "status", "message"));

test("a node with a pod that cannot be parsed is not empty, and the status names the pod", async () => {
  const fake = created({}, []);
  const { spec, ...odd } = podObject(pod({ namespace: "apps", name: "huge", uid: "huge" }));
  fake.api.put("pods", { ...odd, spec: { ...Object(spec), nodeName: NODE, tolerations: "odd" } });
  const app = openApp(fake);
  await reconcileEvery(fake, app, 3);
  expect(phaseOf(fake)).toBe("Blocked");
  expect(message(fake)).toContain("apps/huge");
  fake.pods.delete({ namespace: "apps", name: "huge" });
  await reconcileEvery(fake, app, 2);
  expect(phaseOf(fake)).toBe("Evacuated");
});

test("while a budget cannot be parsed, no guest is ended, because the budget might belong to the VM", async () => {
  const fake = created({ virtualMachines: { whenBlocked: "ShutDown" }, forceShutdowns: true }, [
    { name: "db", vmi: PINNED, runStrategy: "Always" },
    { name: "web", vmi: {}, runStrategy: "Always" },
  ]);
  const metadata = { namespace: "tenant", name: "odd", uid: "odd", resourceVersion: "1" };
  fake.api.put("poddisruptionbudgets", { metadata, spec: { selector: 7 }, status: {} });
  const app = openApp(fake);
  await reconcileEvery(fake, app, 4);
  expect(fake.evacuations.list().map(({ spec }) => [spec.vmiName, spec.by])).toEqual([["web", undefined]]);
  expect(phaseOf(fake)).toBe("Blocked");
  expect(message(fake)).toContain("tenant/odd");
});
