/** Tests when volumes are attached to nodes and detached from nodes. */
import { beforeAll, expect, test } from "vitest";
import { persistentVolumeClaims, persistentVolumes, pods, volumeAttachments } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

const NAMESPACE = "default";
const world = useSandbox({ detachSeconds: 60, terminationSeconds: 1 });

beforeAll(async () => {
  const { client } = world.sandbox;
  await createNode(client, "a");
  for (const [name, source] of [
    ["disk", { csi: { driver: "csi.example.com", volumeHandle: "1" } }],
    ["local", { hostPath: { path: "/disk" } }],
  ] as const) {
    await client.create(persistentVolumes, { metadata: { name }, spec: source });
    const metadata = { namespace: NAMESPACE, name };
    await client.create(persistentVolumeClaims, { metadata, spec: { volumeName: name } });
  }
});

async function attached(): Promise<readonly string[]> {
  const { items } = await world.sandbox.client.list(volumeAttachments);
  return items.map(
    ({ spec, status }) => `${spec.source.persistentVolumeName} on ${spec.nodeName}: ${status?.attached}`,
  );
}

async function createPod(name: string): Promise<void> {
  const volumes = ["disk", "local"].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  const metadata = { namespace: NAMESPACE, name };
  await world.sandbox.client.create(pods, { metadata, spec: { containers: [{ name: "c", image: "i" }], volumes } });
  await world.until(pods, metadata, ({ status }) => status?.phase === "Running");
}

const deletePod = (name: string) =>
  world.sandbox.client.delete(pods, { namespace: NAMESPACE, name }, { gracePeriodSeconds: 0 });

test("a volume is detached when no pod has used it for a minute, and a local volume is never attached", async () => {
  await createPod("one");
  await eventually(attached).toEqual(["disk on a: true"]);
  await createPod("two");
  await deletePod("one");
  world.clock.advance(120_000);
  expect(await attached()).toEqual(["disk on a: true"]);
  await deletePod("two");
  await world.pass(async () => (await attached()).length === 0, 600);
});

test("a volume that is used again within a minute stays attached", async () => {
  await createPod("three");
  await eventually(attached).toEqual(["disk on a: true"]);
  const uidOf = async () => (await world.sandbox.client.list(volumeAttachments)).items[0]?.metadata.uid;
  const before = await uidOf();
  await deletePod("three");
  world.clock.advance(30_000);
  await createPod("four");
  world.clock.advance(120_000);
  expect(await uidOf()).toBe(before);
});
