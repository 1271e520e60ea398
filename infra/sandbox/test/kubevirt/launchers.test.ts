/** Tests VMIs whose launcher pod has an old image, and migrations that fail. */
import { beforeAll, expect, test } from "vitest";
import { pods } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "guests";
const SECONDS = 600;
const world = useSandbox({ migrationSeconds: SECONDS });

beforeAll(async () => {
  await Promise.all(["node-1", "node-2"].map((name) => createNode(world.sandbox.client, name)));
});

async function createGuest(name: string) {
  const { metadata } = await createVirtualMachineInstance(world.sandbox.client, { namespace: NAMESPACE, name });
  return metadata;
}

async function migrate(vmiName: string) {
  const draft = { metadata: { generateName: `${vmiName}-`, namespace: NAMESPACE }, spec: { vmiName } };
  const { metadata } = await world.sandbox.client.create(kubevirt.migrations, draft);
  await world.until(kubevirt.migrations, metadata, ({ status }) => status?.phase === "Running");
  world.clock.advance(SECONDS * 1_000);
  return metadata;
}

const isOutdated = ({ metadata }: kubevirt.VirtualMachineInstance) =>
  metadata.labels?.[kubevirt.LABEL.outdatedLauncher] === "";

test("a VMI has a label while its launcher pod has an outdated image, and loses the label when it migrates", async () => {
  const { client } = world.sandbox;
  const guest = await createGuest("elder");
  const untilVmi = (is: (vmi: kubevirt.VirtualMachineInstance) => boolean) =>
    world.until(kubevirt.virtualMachineInstances, guest, is);
  expect(isOutdated(await untilVmi(() => true))).toBe(false);
  const labelSelector = `${kubevirt.LABEL.createdBy}=${guest.uid}`;
  const [launcher] = (await client.list(pods, NAMESPACE, { labelSelector })).items;
  const body = { spec: { containers: [{ name: "compute", image: "virt-launcher:v1.8.0" }] } };
  await client.patch(pods, launcher?.metadata ?? { name: "" }, { type: "strategic", body });
  const { status } = await untilVmi(isOutdated);
  await migrate("elder");
  const moved = await untilVmi((vmi) => vmi.status?.nodeName !== status?.nodeName);
  expect(isOutdated(moved)).toBe(false);
});

test("a failed migration reports the configured failure reason", async () => {
  const failureReason = "operation failed: guest CPU doesn't match specification";
  world.sandbox.migrations.configure({ outcome: () => "Failed", failureReason: () => failureReason });
  await createGuest("stubborn");
  const failed = await world.until(
    kubevirt.migrations,
    await migrate("stubborn"),
    ({ metadata }) => metadata.finalizers === undefined,
  );
  expect(failed.status).toMatchObject({ phase: "Failed", migrationState: { failed: true, failureReason } });
});
