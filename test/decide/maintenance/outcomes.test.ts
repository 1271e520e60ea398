/**
 * Tests the outcomes of a NodeEvacuation with random events. The outcomes are correct, and include every VM that was on
 * the node.
 */
import { array, assert, boolean, constant, nat, oneof, property, record } from "fast-check";
import { expect, test } from "vitest";
import { isUnsettled, type Outcome } from "../../../shared/kube/node-evacuation.ts";
import { History, type Vm } from "../../support/maintenance/history.ts";
import { pinnedVm } from "../../support/maintenance/worlds.ts";

const onNode = ({ vms }: History) => vms.filter(({ place }) => place === "Here");

const isEndedByStrategy = ({ vmi, wasMoving }: Vm) => vmi.evictionStrategy === "None" && wasMoving !== true;

const HAPPENINGS: readonly ((history: History, vm: Vm) => void)[] = [
  (history, vm) => history.evacuate(vm, "Migrating", "Here", "Moved"),
  (history, vm) => history.evacuate(vm, "Migrating", "Elsewhere", "Moved"),
  (history, vm) => history.evacuate(vm, "Moved", "Elsewhere", "Moved"),
  (history, vm) => history.evacuate(vm, "Restarted", "Again", "Restarted"),
  (history, vm) => history.evacuate(vm, "Stopped", "Off", "Stopped"),
  (history, vm) => history.evacuate(vm, "Abandoned", "Here", "Abandoned"),
  (history, vm) => history.evacuate(vm, "Gone", "Off", isEndedByStrategy(vm) ? "ShutDown" : "Stopped"),
  (_, vm) => Object.assign(vm, { place: "Elsewhere", expected: "Moved" }),
  (_, vm) =>
    Object.assign(vm, { place: "Again", expected: vm.vmi.evictionStrategy === "None" ? "ShutDown" : "Restarted" }),
  (_, vm) => Object.assign(vm, { place: "Off", expected: vm.vmi.evictionStrategy === "None" ? "ShutDown" : "Stopped" }),
];

const step = oneof(
  record({ what: constant("arrive" as const), isEndedByStrategy: boolean() }),
  record({ what: constant("happen" as const), vm: nat(), which: nat(HAPPENINGS.length - 1) }),
  record({ what: constant("look" as const) }),
);

type Step = Parameters<Parameters<typeof step.filter>[0]>[0];

function take(one: Step, history: History): void {
  if (one.what === "arrive") return history.arrive(one.isEndedByStrategy);
  if (one.what === "look") return history.look();
  // Lifeboat knows the fate of a guest only if Lifeboat has seen the VM.
  const there = onNode(history).filter(({ vmi }) => history.seen.has(vmi.uid));
  const vm = there[one.vm % Math.max(1, there.length)];
  if (vm !== undefined) HAPPENINGS[one.which]?.(history, vm);
}

/** Withdraws the NodeEvacuation. Running migrations succeed. */
function finish(history: History, isSeenBefore: boolean): void {
  if (isSeenBefore) history.look();
  history.end();
  history.look();
  for (const vm of history.vms) {
    if (vm.evacuation?.status.phase === "Migrating") history.evacuate(vm, "Moved", "Elsewhere", "Moved");
  }
  for (let i = 0; i < 3; i++) history.look();
}

function check(steps: readonly Step[], isSeenBefore: boolean): void {
  const history = new History();
  for (const one of steps) take(one, history);
  finish(history, isSeenBefore);
  const { outcomes, virtualMachines } = history.ne.status;
  const there = history.vms.filter(({ vmi }) => history.seen.has(vmi.uid));
  const said = outcomes.map(({ name, outcome }) => `${name} ${outcome}`);
  expect(isUnsettled(history.ne.status)).toBe(false);
  expect(said.toSorted()).toEqual(there.map(({ vmi, expected }) => `${vmi.name} ${expected}`).toSorted());
  const { total = 0, left: _, moving: _1, waiting: _2, blocked: _3, ...ends } = virtualMachines ?? {};
  expect([total, Object.values(ends).reduce((sum, count) => sum + count, 0)]).toEqual([there.length, there.length]);
}

test("over any history, each VM that was on the node has one true outcome, and the counts include all of them", () => {
  assert(property(array(step, { maxLength: 60 }), boolean(), check), { numRuns: 300 });
});

test("the outcome names who ended a guest: this NodeEvacuation, the VM's strategy, or others", () => {
  const history = new History();
  for (const isEndedByStrategy of [false, false, true, false]) history.arrive(isEndedByStrategy);
  history.look();
  const [ours, others, strategy, moved] = history.vms;
  if (ours) history.evacuate(ours, "Restarted", "Again", "Restarted");
  if (others) others.place = "Again";
  if (strategy) strategy.place = "Off";
  if (moved) moved.place = "Elsewhere";
  history.look();
  const said = history.ne.status.outcomes.map(({ outcome, reason = "", targetNode = "" }) =>
    [outcome, reason, targetNode].join(" ").trim(),
  );
  expect(said).toEqual(["Restarted", "Restarted ByOthers", "ShutDown EvictionStrategy", "Moved ByOthers node02"]);
});

// prettier-ignore
test.each([
  ["runs elsewhere",       "Elsewhere", {}],
  ["has restarted",        "Again",     {}],
  ["does not run",         "Off",       {}],
  ["is here after the end", "Here",     { intent: "Withdrawn" }],
] as const)("a VM that %s has no outcome while an own Evacuation cannot be read, and the true outcome later", (...[, place, spec]) => {
  const history = new History();
  history.arrive(false);
  history.look();
  const [vm] = history.vms;
  if (vm) history.evacuate(vm, "Moved", place, "Moved");
  history.ne = { ...history.ne, spec: { ...history.ne.spec, ...spec } };
  for (history.isUnread of [true, true, false]) {
    history.look();
    const said = history.ne.status.outcomes.map(({ outcome, reason }) => [outcome, reason]);
    expect(said).toEqual([[history.isUnread ? undefined : "Moved", undefined]]);
  }
});

test("VMs that left before they were listed have the names in their Evacuations", () => {
  const history = new History();
  for (let i = 0; i < 4; i++) history.arrive(false);
  const [restarted, stopped, moved] = history.vms;
  if (restarted) history.evacuate(restarted, "Restarted", "Again", "Restarted");
  if (stopped) history.evacuate(stopped, "Stopped", "Off", "Stopped");
  if (moved) history.evacuate(moved, "Moved", "Elsewhere", "Moved");
  history.look();
  const said = history.ne.status.outcomes.map(({ name, outcome = "open" }) => `${name} ${outcome}`);
  expect(said).toEqual(["vm-0 Restarted", "vm-1 Stopped", "vm-2 Moved", "vm-3 open"]);
  expect(history.ne.status.virtualMachines).toMatchObject({ total: 4, left: 1, moved: 1, restarted: 1, stopped: 1 });
});

test("with more VMs than a status can list, every guest that ended is named, and every VM is counted", () => {
  const history = new History();
  const countsNow = () => history.ne.status.virtualMachines;
  for (let i = 0; i < 620; i++) history.arrive(false);
  history.look();
  expect([history.ne.status.outcomes.length, countsNow()?.total, countsNow()?.left]).toEqual([500, 620, 620]);
  for (const [i, vm] of history.vms.entries()) {
    // The status lists at most 500 of the 620 VMs, so these last VMs are missing from the list.
    if (i >= 580) history.evacuate(vm, "Restarted", "Again", "Restarted");
    else if (i >= 20) history.evacuate(vm, "Moved", "Elsewhere", "Moved");
    if (i % 100 === 99) history.look();
  }
  history.look();
  expect(countsNow()).toMatchObject({ total: 620, left: 20, moved: 560, restarted: 40 });
  const [still] = history.vms;
  if (still) history.evacuate(still, "Migrating", "Here", "Moved");
  finish(history, true);
  const names = (wanted: Outcome) =>
    history.ne.status.outcomes.filter(({ outcome }) => outcome === wanted).map(({ name }) => name);
  const expected = (wanted: Outcome) =>
    history.vms.filter((vm) => vm.expected === wanted).map(({ vmi: { name } }) => name);
  expect(names("Restarted").toSorted()).toEqual(expected("Restarted").toSorted());
  expect(names("LeftBehind").toSorted()).toEqual(expected("LeftBehind").toSorted());
  expect(history.ne.status.outcomes).toHaveLength(500);
  expect(countsNow()).toMatchObject({
    total: 620,
    moved: 561,
    restarted: 40,
    leftBehind: 19,
    abandoned: 0,
    stopped: 0,
  });
});

const withdraw = (history: History) => {
  history.ne = { ...history.ne, spec: { ...history.ne.spec, intent: "Withdrawn" } };
  history.look();
};

test("a VM that stays has the outcome LeftBehind once, with the reason of its own blocker", () => {
  const history = new History();
  history.arrive(false);
  history.vms.push({ vmi: pinnedVm("vm-1"), place: "Here" });
  history.look();
  withdraw(history);
  history.look();
  const { outcomes } = history.ne.status;
  expect(outcomes.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual([
    "LeftBehind Withdrawn",
    "LeftBehind NotMigratable",
  ]);
  history.look();
  expect(history.ne.status.outcomes).toBe(outcomes);
});

test("a VM that others move just after the end has the outcome Moved", () => {
  const history = new History();
  history.arrive(false);
  history.look();
  withdraw(history);
  const [vm] = history.vms;
  if (vm) vm.place = "Elsewhere";
  history.look();
  expect(history.ne.status.outcomes).toMatchObject([{ outcome: "Moved", reason: "ByOthers", targetNode: "node02" }]);
});
