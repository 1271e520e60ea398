/** Tests that a NodeEvacuation does not treat an object as missing if Lifeboat cannot parse the object. */
import { expect, test } from "vitest";
import { openApp } from "../../support/app.ts";
import { podObject } from "../../support/cluster/pods-and-nodes.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { NODE, PINNED, pod, time } from "../../support/fixtures.ts";
import { at, textOf } from "../../support/json.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import {
  DB,
  isRunning,
  KERNEL,
  phases,
  returnedOf,
  type Stage,
  stage,
  STOP,
  ticks,
  uncordon,
  until,
  withdraw,
} from "./finishing.ts";
import { reconcileEvery } from "./reconcile-every.ts";

const message = (fake: FakeCluster) =>
  textOf(at(fake.api.object("nodeevacuations", { name: "kernel" }), "status", "message"));

function putOddPod(fake: FakeCluster): void {
  const { spec, ...odd } = podObject(pod({ namespace: "apps", name: "huge", uid: "huge" }));
  fake.api.put("pods", { ...odd, spec: { ...Object(spec), nodeName: NODE, tolerations: "odd" } });
}

test("a node with a pod that cannot be parsed is not empty, and the status names the pod", async () => {
  const fake = created({}, []);
  putOddPod(fake);
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

/** Changes the Evacuation so that Lifeboat cannot parse it, or corrects it. */
function spoil({ fake }: Stage, attempts: unknown): void {
  const [found] = fake.api.objects("evacuations");
  const key = { namespace: DB.namespace, name: textOf(at(Object(found), "metadata", "name")) };
  fake.api.merge("evacuations", key, { status: { attempts } });
}

test.each([
  ["its node is uncordoned", uncordon, /^False .*Lifeboat cannot read this Evacuation/],
  ["the NodeEvacuation is withdrawn", withdraw, /^$/],
])("a stopped VM whose Evacuation cannot be read when %s starts after the correction", async (_, end, returned) => {
  const on = stage(STOP);
  await until(on, () => on.asked.length > 0);
  // The pod keeps the NodeEvacuation from its end until it is withdrawn.
  if (end === withdraw) putOddPod(on.fake);
  await ticks(on, 3);
  expect(phases(on)).toEqual(["Stopped"]);
  spoil(on, "odd");
  end(on);
  await ticks(on, 3);
  expect(isRunning(on)).toBe(false);
  expect(returnedOf(on)).toMatch(returned);
  spoil(on, 0);
  await ticks(on, 3);
  expect(isRunning(on)).toBe(true);
  expect(on.asked).toEqual(["stop", "start"]);
});

test("a VM that its owner has stopped after version 0.3 ended the NodeEvacuation stays off", async () => {
  const on = stage(STOP);
  await until(on, () => phases(on).includes("Stopped"));
  const [found] = on.fake.api.objects("evacuations");
  const key = { namespace: DB.namespace, name: textOf(at(Object(found), "metadata", "name")) };
  const released = { type: "Released", status: "True", reason: "Released", message: "", lastTransitionTime: time(0) };
  on.fake.api.merge("evacuations", key, { status: { conditions: [released] } });
  on.fake.api.merge("nodeevacuations", KERNEL, { status: { phase: "Withdrawn", completionTime: time(0) } });
  uncordon(on);
  await ticks(on, 3);
  expect([isRunning(on), on.asked]).toEqual([false, ["stop"]]);
});

test("the old Evacuation of a stopped VM is kept while its NodeEvacuation cannot be read", async () => {
  const on = stage(STOP);
  await until(on, () => phases(on).includes("Stopped"));
  on.fake.api.merge("nodeevacuations", KERNEL, { spec: { nodeName: 7 } });
  on.app.pass(400 * 24 * 3600);
  await on.app.reconcile();
  expect(phases(on)).toEqual(["Stopped"]);
});
