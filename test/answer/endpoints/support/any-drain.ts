/** Nodes of every kind that are drained to the end: what a person, the API server and KubeVirt do beside Lifeboat's doors. */
import * as fc from "fast-check";
import type { BudgetFacts, PodFacts, VmiFacts } from "../../../../shared/kube/facts.ts";
import { isFinal, isLauncher, matches, vmiNameOf } from "../../../../shared/kube/objects.ts";
import { FakeCluster } from "../../../support/fake-cluster.ts";
import { budget, endedEvacuation, node, NODE, owner, pod, time, vmi, without } from "../../../support/fixtures.ts";
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

const anyPlain = fc.record({
  owner: oneOf("ReplicaSet", "DaemonSet", "None"),
  mirror: oneOf(false, true),
  localStorage: oneOf(false, true),
  phase: oneOf("Running", "Pending", "Succeeded"),
  budgets: oneOf("None", "Spare", "Spare", "Exhausted", "Two"),
});

export const anyDrain = fc.record({
  vms: fc.array(anyVm, { maxLength: 3 }),
  plain: fc.array(anyPlain, { maxLength: 2 }),
  otherNode: oneOf("Open", "Cordoned", "Cordoned"),
  force: fc.boolean(),
  deleteEmptyDirData: fc.boolean(),
});
type AnyDrain = typeof anyDrain extends fc.Arbitrary<infer T> ? T : never;
type AnyVm = AnyDrain["vms"][number];
type AnyPlain = AnyDrain["plain"][number];

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

function putPlain(fake: FakeCluster, name: string, one: AnyPlain): void {
  const owners = one.owner === "None" ? [] : [owner({ kind: one.owner, name: "o", uid: "o" })];
  const annotations: Record<string, string> = one.mirror ? { "kubernetes.io/config.mirror": "x" } : {};
  const labels = { app: name };
  const plain = {
    ...pod({ name, uid: name, phase: one.phase, labels, annotations, owners }),
    localStorage: one.localStorage,
  };
  fake.pods.put(plain);
  const names = { Spare: ["a"], Exhausted: ["a"], Two: ["a", "b"] }[one.budgets] ?? [];
  const status = { disruptionsAllowed: one.budgets === "Exhausted" ? 0 : 1 };
  const selector = { matchLabels: labels, matchExpressions: [] };
  for (const each of names) {
    const key = { name: `${name}-${each}`, uid: `${name}-${each}` };
    fake.budgets.put(budget({ ...key, managedByUs: false, owners: [], selector, status }));
  }
}

export interface Drain {
  readonly fake: FakeCluster;
  readonly doors: FakeDoors;
  /** Until nothing changes any more, or for longer than anything takes by itself. */
  run(): Promise<void>;
}

export function drainOf(w: AnyDrain): Drain {
  const fake = new FakeCluster();
  fake.nodes.put(node(), node({ name: OTHER, unschedulable: w.otherNode === "Cordoned" }));
  w.vms.forEach((vm, i) => putVm(fake, `vm${i}`, vm));
  w.plain.forEach((plain, i) => putPlain(fake, `plain${i}`, plain));
  // KubeVirt's evacuation controller acts here; budgets of Lifeboat's own are another matter.
  fake.configure({ disruptionBudgets: "Never" });
  const doors = openFakeDoors(fake);
  const isRefused = refusedByKubectl(w, fake);
  return {
    fake,
    doors,
    async run() {
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const one of podsOn(fake).filter((each) => !isRefused(each))) await evict(one, fake, doors);
        await doors.settle();
        await doors.reconcile();
        await doors.settle();
        kubeVirt(fake);
        doors.pass(200);
      }
    },
  };
}

const ROUNDS = 6;

export function podsOn(fake: FakeCluster): readonly PodFacts[] {
  return fake.pods.list(({ nodeName }) => nodeName === NODE);
}

/** Left in place, whatever the flags. */
export function stays({ annotations, owners, phase }: PodFacts): boolean {
  if ("kubernetes.io/config.mirror" in annotations) return true;
  return owners.some(({ kind }) => kind === "DaemonSet") && phase !== "Succeeded";
}

function refusedByKubectl({ force, deleteEmptyDirData }: AnyDrain, fake: FakeCluster) {
  return (one: PodFacts): boolean => {
    if (stays(one)) return true;
    if (isFinal(one)) return false;
    const hasEmptyDir = JSON.stringify(fake.api.object("pods", one)).includes("emptyDir");
    return (!force && one.owners.length === 0) || (!deleteEmptyDirData && hasEmptyDir);
  };
}

/** The webhooks, then the registry; budgets have recovered since the last round. */
async function evict(one: PodFacts, fake: FakeCluster, doors: FakeDoors): Promise<void> {
  if (isOrphaned(one, fake)) return;
  const { text } = await doors.evict(evictionOf(one));
  const isFree = isFinal(one) || one.phase === "Pending" || isSpared(one, fake.budgets.list());
  if (!text.includes('"allowed":true') || !isFree) return;
  fake.pods.delete(one);
  for (const { namespace, name, nodeName, activePods } of fake.vmis.list()) {
    if (nodeName === NODE && one.uid in activePods && !isFinal(one))
      fake.change({ namespace, name }, { phase: "Succeeded" });
  }
}

/** KubeVirt's webhook asks for the VMI of a launcher pod first of all, and refuses if there is none. */
function isOrphaned(one: PodFacts, fake: FakeCluster): boolean {
  return isLauncher(one) && fake.vmis.get({ ...one, name: vmiNameOf(one) ?? "" }) === undefined;
}

function isSpared(one: PodFacts, budgets: readonly BudgetFacts[]): boolean {
  const found = budgets.filter(
    ({ namespace, selector }) => namespace === one.namespace && matches(selector, one.labels),
  );
  return found.length === 0 || (found.length === 1 && found.every(({ status }) => status.disruptionsAllowed > 0));
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
  const isAsked =
    one.evacuationNodeName === NODE || fake.migrations.list((m) => m.vmiName === one.name && !isFinal(m)).length > 0;
  const isOwners = one.evictionStrategy === "External";
  const isRoom = fake.nodes.get({ name: OTHER })?.unschedulable === false;
  return (
    one.nodeName === NODE && isAsked && !isOwners && one.liveMigratable.migratable && isRoom && one.backup === undefined
  );
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
