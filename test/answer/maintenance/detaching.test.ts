/** Tests that a node counts as drained only after the volumes of the VMs that left the node are detached. */
import { expect, test } from "vitest";
import { openApp } from "../../support/app.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { kindOf } from "../../support/cluster/request-info.ts";
import { NODE } from "../../support/fixtures.ts";
import { at } from "../../support/json.ts";
import { created, kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher } from "../../support/preflight/fixtures.ts";
import { KERNEL, ticks, type Stage, statusOf } from "./finishing.ts";

const WEB = { name: "web", vmi: {}, runStrategy: "Always" };
const ATTACHMENT = { name: "csi-1" };

function attached(answer: (label: string) => unknown = () => undefined): Stage {
  const fake = created({}, [WEB]);
  const spec = { attacher: "csi.example.com", nodeName: NODE, source: { persistentVolumeName: "disk" } };
  fake.api.put("volumeattachments", { metadata: ATTACHMENT, spec, status: { attached: true } });
  return { fake, app: openApp(fake, answer), asked: [] };
}

async function leave(on: Stage): Promise<void> {
  for (let i = 0; i < 20 && on.fake.vmis.list(({ nodeName }) => nodeName === NODE).length > 0; i++) {
    await ticks(on, 1);
    kubevirt(on.fake);
  }
  on.fake.pods.delete(launcher("web"));
}

const readsOf = (fake: FakeCluster) => fake.requests.filter((one) => kindOf(one) === "list volumeattachments").length;

test("a node is drained when its volume is detached, and volumes are not read before the VMs have left", async () => {
  const on = attached();
  await leave(on);
  expect(readsOf(on.fake)).toBe(0);
  await ticks(on, 2);
  expect(statusOf(on)).toMatchObject({
    phase: "Evacuating",
    message: "no VM is left; volumes that are not detached yet: 1",
    conditions: expect.arrayContaining([expect.objectContaining({ type: "Drained", status: "False" })]),
  });
  on.fake.api.remove("volumeattachments", ATTACHMENT);
  await ticks(on, 2);
  expect(statusOf(on)).toMatchObject({
    phase: "Evacuated",
    message: expect.not.stringContaining("volumes"),
    conditions: expect.arrayContaining([expect.objectContaining({ type: "Drained", status: "True" })]),
  });
  expect(at(on.fake.api.object("nodes", { name: NODE }), "spec", "unschedulable")).toBe(true);
});

test("a volume that is never detached delays the phase Evacuated by five minutes", async () => {
  const on = attached();
  await leave(on);
  await ticks(on, 5, 60);
  expect(phaseOf(on.fake)).toBe("Evacuating");
  await ticks(on, 2, 60);
  expect(statusOf(on)).toMatchObject({ phase: "Evacuated", message: expect.stringMatching(/volumeattachments\): 1$/) });
});

test.each([403, 404])(
  "if the API server answers %i for volume attachments, the maintenance ends and reports the attachments as unknown",
  async (code) => {
    const refuse = (label: string) =>
      label.includes("volumeattachments") ? new Response("{}", { status: code }) : undefined;
    const on = attached(refuse);
    await leave(on);
    await ticks(on, 2);
    expect(statusOf(on)).toMatchObject({
      phase: "Evacuated",
      message: expect.stringContaining(`whether volumes are still attached to the node: the API server`),
    });
    expect(on.fake.api.object("nodeevacuations", KERNEL)).toBeDefined();
  },
);
