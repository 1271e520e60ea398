/** Nodes with VMs of every kind that are drained to the end: what a person, the API server and KubeVirt do beside Lifeboat's doors. */
import * as fc from "fast-check";
import type { PodFacts, VmiFacts } from "../../../../shared/kube/facts.ts";
import { isFinal, vmiNameOf } from "../../../../shared/kube/objects.ts";
import { FakeCluster } from "../../../support/fake-cluster.ts";
import { endedEvacuation, node, NODE, owner, pod, time, vmi, without } from "../../../support/fixtures.ts";
import { type FakeDoors, openFakeDoors } from "../../../support/fake-doors.ts";
import { evictionOf } from "../../../support/reviews.ts";

/** Each of the others in one of ten. */
const oneOf = <T>(usual: T, ...others: readonly T[]) =>
  fc.constantFrom(...Array<T>(10 - others.length).fill(usual), ...others);

const anyVm = fc.record({
  strategy: oneOf("LiveMigrate", "LiveMigrateIfPossible", "LiveMigrateIfPossible", "None", "None", "External"),
  migratable: oneOf(true, false, false),
  /** `Arriving`: its target pod is on the node. */
  state: oneOf("Running", "Marked", "BackingOff", "BackedUp", "Arriving", "Gone"),
});

export const anyDrain = fc.record({
  vms: fc.array(anyVm, { minLength: 1, maxLength: 3 }),
  otherNode: oneOf("Open", "Cordoned", "Cordoned"),
});
type AnyDrain = typeof anyDrain extends fc.Arbitrary<infer T> ? T : never;
type AnyVm = AnyDrain["vms"][number];

const OTHER = "node02";

function launcherOf(name: string, nodeName: string, generation = 1): PodFacts {
  const uid = `pod-${name}-${generation}`;
  return pod({
    name: `virt-launcher-${name}-${generation}`,
    uid,
    nodeName,
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": `vmi-${name}` },
    annotations: { "kubevirt.io/domain": name },
    owners: [owner({ name, uid: `vmi-${name}` })],
  });
}

function putVm(fake: FakeCluster, name: string, { strategy, migratable, state }: AnyVm): void {
  const uid = `vmi-${name}`;
  const launcher = launcherOf(name, NODE);
  fake.pods.put(launcher);
  if (state === "Gone") return;
  const from = state === "Arriving" ? launcherOf(name, OTHER, 0) : launcher;
  fake.pods.put(from);
  const activePods = { [from.uid]: from.nodeName ?? "", [launcher.uid]: NODE };
  const nodeName = from.nodeName ?? "";
  const tweak = {
    ...(state === "Marked" && { evacuationNodeName: NODE }),
    ...(state === "BackedUp" && { backup: "b1" }),
    liveMigratable: { migratable },
  };
  fake.vmis.put(vmi({ name, uid, evictionStrategy: strategy, nodeName, activePods, ...tweak }));
  if (state !== "BackingOff") return;
  const about = { virtualMachineInstanceUID: uid, podUID: launcher.uid, nextAttemptTime: time(60) };
  const spec = { vmiName: name, pod: { name: launcher.name, uid: launcher.uid } };
  fake.evacuations.put(endedEvacuation("Abandoned", { name: `${name}-1`, uid: `e-${name}`, spec, status: about }));
}

const ROUNDS = 6;

/** `run`: until nothing changes any more, or for longer than anything takes by itself. */
export function drainOf(w: AnyDrain) {
  const fake = new FakeCluster();
  fake.nodes.put(node(), node({ name: OTHER, unschedulable: w.otherNode === "Cordoned" }));
  w.vms.forEach((vm, i) => putVm(fake, `vm${i}`, vm));
  // KubeVirt's evacuation controller acts here; budgets of Lifeboat's own are another matter.
  fake.configure({ disruptionBudgets: "Never" });
  const doors = openFakeDoors(fake);
  const run = async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const one of podsOn(fake)) await evict(one, fake, doors);
      await doors.settle();
      await doors.reconcile();
      await doors.settle();
      kubeVirt(fake);
      doors.pass(200);
    }
  };
  return { fake, doors, run };
}

export const podsOn = (fake: FakeCluster) => fake.pods.list(({ nodeName }) => nodeName === NODE);

/** KubeVirt's webhook asks for the VMI of a launcher pod first of all, and refuses if there is none. */
async function evict(one: PodFacts, fake: FakeCluster, doors: FakeDoors): Promise<void> {
  if (fake.vmis.get({ ...one, name: vmiNameOf(one) ?? "" }) === undefined) return;
  const { text } = await doors.evict(evictionOf(one));
  if (!text.includes('"allowed":true')) return;
  fake.pods.delete(one);
  for (const { namespace, name, nodeName, activePods } of fake.vmis.list()) {
    if (nodeName === NODE && one.uid in activePods) fake.change({ namespace, name }, { phase: "Succeeded" });
  }
}

function kubeVirt(fake: FakeCluster): void {
  for (const one of fake.vmis.list(({ phase }) => phase === "Running")) {
    if (one.nodeName === OTHER && podsOn(fake).some(({ uid }) => uid in one.activePods)) land(one, NODE, fake);
    else if (isToMove(one, fake)) land(one, OTHER, fake);
    // A backup ends by itself.
    else fake.vmis.put(without(one, "backup"));
  }
}

function isToMove(one: VmiFacts, fake: FakeCluster): boolean {
  const migrations = fake.migrations.list((m) => m.vmiName === one.name && !isFinal(m));
  const isAsked = one.evacuationNodeName === NODE || migrations.length > 0;
  const isOwners = one.evictionStrategy === "External";
  const isRoom = fake.nodes.get({ name: OTHER })?.unschedulable === false;
  const isAble = one.liveMigratable.migratable && isRoom && one.backup === undefined;
  return one.nodeName === NODE && isAsked && !isOwners && isAble;
}

/** Its guest runs there from now on; the pod that it left has ended. */
function land(one: VmiFacts, there: string, fake: FakeCluster): void {
  const target = there === NODE ? launcherOf(one.name, NODE) : launcherOf(one.name, OTHER, 2);
  const sources = fake.pods.list(({ uid }) => uid in one.activePods && uid !== target.uid);
  for (const source of sources) fake.pods.put({ ...source, phase: "Succeeded", ready: false });
  fake.pods.put(target);
  const { namespace, name } = one;
  fake.change({ namespace, name }, { nodeName: there, activePods: { [target.uid]: there } });
  fake.setMark({ namespace, name }, undefined);
  for (const migration of fake.migrations.list((m) => m.vmiName === name))
    fake.migrations.put({ ...migration, phase: "Succeeded" });
}
