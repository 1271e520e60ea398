/**
 * Tests the relay and the app in one process. The app reads from the relay's watches, and the relay requests
 * reconciles.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { storeOf } from "../../../infra/relay/stores.ts";
import { kubevirt } from "../../../infra/sandbox/index.ts";
import { createBareNode } from "../../support/installed/bare-node.ts";
import { NAMESPACE, soon, type Stage, startStage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterEach(() => stage.reset());
afterAll(() => stage.stop());

const WEB = { namespace: NAMESPACE, name: "web" };
const storesOf = async (isLeader: boolean) =>
  (await stage.startReady({ isLeader: () => isLeader })).stores ?? expect.fail();

test("a store follows the objects of its watch, and is not current when the watch has broken", async () => {
  await createBareNode(stage.client, "node01");
  const { nodes, virtualmachineinstances: vmis } = await storesOf(true);
  expect(nodes.get({ namespace: "", name: "node01" })).toMatchObject({ name: "node01", unschedulable: false });
  const { metadata } = await stage.createVmi("web");
  await soon(() => expect(vmis.get(WEB)).toMatchObject({ uid: metadata.uid, evictionStrategy: "LiveMigrate" }));
  expect([...vmis.all()]).toHaveLength(1);
  await soon(() => expect(vmis.isCurrent()).toBe(true));
  await stage.cut();
  await soon(() => expect(vmis.isCurrent()).toBe(false));
  await stage.client.delete(kubevirt.virtualMachineInstances, metadata);
  expect(vmis.get(WEB)).toBeDefined();
  await soon(() => {
    stage.clock.advance(1_000);
    expect(vmis.isCurrent()).toBe(true);
    expect([vmis.get(WEB), ...vmis.all()]).toEqual([undefined]);
  });
});

test("a replica that is not the leader acts ten seconds after the leader, but at once on a disruption", async () => {
  const pod = await stage.createPod("virt-launcher-a");
  const stores = await storesOf(false);
  await stage.createVmi("web");
  await soon(() => expect(stores.virtualmachineinstances.get(WEB)).toBeDefined());
  await stage.preempt(pod);
  await soon(() => expect(stage.reported()).toEqual(["pod.disrupted vms/virt-launcher-a"]));
  stage.clock.advance(10_000);
  await soon(() => {
    stage.clock.advance(100);
    expect(stage.reported()).toContain("vmi.changed vms/web");
  });
});

const seen = (version: number) => ({ namespace: NAMESPACE, name: "web", resourceVersion: String(version) });

test("after a write of this process, the store has the written version until the watch shows this or a later version", () => {
  let view = seen(9);
  const metadata = { ...view, uid: "1" };
  const all = () => [{ metadata, facts: undefined, view }];
  const watched = { synced: Promise.resolve(), isSynced: () => true, isCurrent: () => true, stop: () => undefined };
  const noneOdd = { odd: () => [], isOdd: () => false };
  const store = storeOf({ ...watched, ...noneOdd, get: () => all()[0], all });
  store.note(seen(10));
  expect([store.get(WEB), ...store.all()]).toEqual([seen(10), seen(10)]);
  view = seen(10);
  expect(store.get(WEB)).toBe(view);
  view = seen(11);
  expect(store.get(WEB)).toBe(view);
});
