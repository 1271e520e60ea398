/** What the app of the same process reads from the watches, and when its relay has it act. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { storeOf } from "../../../infra/relay/stores.ts";
import { kubevirt } from "../../../infra/sandbox/index.ts";
import { brief, NAMESPACE, soon, type Stage, startStage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await startStage();
});
afterEach(() => stage.stop());

const WEB = { namespace: NAMESPACE, name: "web" };
const storesOf = async (within: { isLeader: () => boolean }) =>
  (await stage.startRelay(within)).stores ?? expect.fail();
const told = () => brief(stage.worker.taken());

test("the stores show what is there, its changes, and its end", async () => {
  await stage.createNode("node01");
  const stores = await storesOf({ isLeader: () => true });
  const { nodes, virtualmachineinstances: vmis } = stores;
  expect(nodes.get({ namespace: "", name: "node01" })).toMatchObject({ name: "node01", unschedulable: false });
  const { metadata } = await stage.createVmi("web");
  await soon(() => expect(vmis.get(WEB)).toMatchObject({ uid: metadata.uid, evictionStrategy: "LiveMigrate" }));
  expect([...vmis.all()]).toHaveLength(1);
  await stage.client.delete(kubevirt.virtualMachineInstances, metadata);
  await soon(() => expect([vmis.get(WEB), ...vmis.all()]).toEqual([undefined]));
});

test("a store whose watch has broken is not current, until it watches again", async () => {
  const stores = await storesOf({ isLeader: () => true });
  await soon(() => expect(stores.pods.isCurrent()).toBe(true));
  stage.proxy.cut();
  await soon(() => expect(stores.pods.isCurrent()).toBe(false));
  stage.proxy.mend();
  await soon(() => {
    stage.clock.advance(1_000);
    expect(stores.pods.isCurrent()).toBe(true);
  });
});

test("a replica that is not the leader acts ten seconds later, but at once on a disruption", async () => {
  const pod = await stage.createPod("virt-launcher-a");
  const stores = await storesOf({ isLeader: () => false });
  await stage.createVmi("web");
  await soon(() => expect(stores.virtualmachineinstances.get(WEB)).toBeDefined());
  await stage.preempt(pod);
  await soon(() => expect(told()).toEqual(["pod.disrupted vms/virt-launcher-a"]));
  stage.clock.advance(10_000);
  await soon(() => {
    stage.clock.advance(100);
    expect(told()).toContain("vmi.changed vms/web");
  });
});

const seen = (version: number) => ({ namespace: NAMESPACE, name: "web", resourceVersion: String(version) });

test("what this process has written is shown until the watch shows it, or what came after", () => {
  let view = seen(9);
  const metadata = { ...view, uid: "1" };
  const all = () => [{ metadata, facts: undefined, view }];
  const watched = { synced: Promise.resolve(), isSynced: () => true, isCurrent: () => true, stop: () => undefined };
  const store = storeOf({ ...watched, get: () => all()[0], all });
  store.note(seen(10));
  expect([store.get(WEB), ...store.all()]).toEqual([seen(10), seen(10)]);
  view = seen(10);
  expect(store.get(WEB)).toBe(view);
  view = seen(11);
  expect(store.get(WEB)).toBe(view);
});
