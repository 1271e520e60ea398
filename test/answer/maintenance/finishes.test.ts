/** Tests that a NodeEvacuation completes its requests to KubeVirt, even if the cluster changes before they are done. */
import { expect, test } from "vitest";
import { isHeldOff } from "../../../shared/kube/evacuation.ts";
import { openApp } from "../../support/app.ts";
import { NODE, PINNED } from "../../support/fixtures.ts";
import { at } from "../../support/json.ts";
import { created, phaseOf } from "../../support/maintenance/kernel.ts";
import { launcher, vmiOf } from "../../support/preflight/fixtures.ts";
import {
  DB,
  KERNEL,
  RESTART,
  STOP,
  type Stage,
  cordon,
  follow,
  isRunning,
  ticks,
  pause,
  phases,
  returnedOf,
  runOn,
  stage,
  statusOf,
  turnOff,
  uncordon,
  until,
  withdraw,
} from "./finishing.ts";

test.each<readonly [string, (on: Stage) => unknown]>([
  ["the NodeEvacuation is withdrawn", withdraw],
  [
    "the NodeEvacuation's time is over",
    ({ fake }) =>
      fake.api.merge("nodeevacuations", KERNEL, { spec: { schedule: { notAfter: "2026-03-01T12:00:01Z" } } }),
  ],
  ["the VM can migrate", ({ fake }) => fake.vmis.put(vmiOf("db"))],
])("a stop that virt-controller delays for minutes, while %s, is followed by a start", async (_, change) => {
  let isThere = false;
  const on = stage(STOP, undefined, () => isThere);
  await until(on, () => on.asked.length > 0);
  change(on);
  await ticks(on, 12);
  expect(phases(on)).toEqual(["Stopping"]);
  isThere = true;
  follow(on.fake);
  expect(isRunning(on)).toBe(false);
  if (phaseOf(on.fake) !== "Withdrawn" && phaseOf(on.fake) !== "Expired") withdraw(on);
  await ticks(on, 3);
  expect(on.asked).toEqual(["stop", "start"]);
  expect(isRunning(on)).toBe(true);
});

test("a start that fails is repeated, and Returned is True only after the start has succeeded", async () => {
  let isAway = true;
  const on = stage(STOP, (what) => (what === "start" && isAway ? 500 : 202));
  await until(on, () => phaseOf(on.fake) === "Evacuated");
  uncordon(on);
  await ticks(on, 3, 61);
  expect([returnedOf(on).slice(0, 5), isRunning(on)]).toEqual(["False", false]);
  isAway = false;
  await ticks(on, 2, 61);
  expect([returnedOf(on), isRunning(on)]).toEqual(["True ", true]);
});

test("a start that KubeVirt refuses is named, has an Event, and is repeated", async () => {
  let code = 409;
  const on = stage(STOP, (what) => (what === "start" ? code : 202));
  await until(on, () => phaseOf(on.fake) === "Evacuated");
  uncordon(on);
  await ticks(on, 3, 61);
  expect(returnedOf(on)).toContain(
    "stopped VMs that have not started again yet: apps/db: KubeVirt refuses to start the VM",
  );
  const refusals = on.fake.recordedEvents.filter(({ reason }) => reason === "StartRefused");
  expect(refusals.map(({ about }) => [at(about, "kind"), at(about, "name")])).toEqual([["VirtualMachine", "db"]]);
  code = 202;
  await ticks(on, 2, 61);
  expect([returnedOf(on), isRunning(on)]).toEqual(["True ", true]);
});

test("a stopped VM stays off if the owner has started and stopped the VM since", async () => {
  const on = stage(STOP);
  await until(on, () => phaseOf(on.fake) === "Evacuated");
  runOn(on.fake, "node02");
  await ticks(on, 1);
  on.fake.vmis.delete(DB);
  await ticks(on, 1);
  uncordon(on);
  await ticks(on, 3, 61);
  expect([on.asked, isRunning(on), returnedOf(on)]).toEqual([["stop"], false, "True "]);
});

test.each([
  ["is paused", pause],
  ["finds its node uncordoned", uncordon],
] as const)("a lost request for a restart is not repeated while the NodeEvacuation %s", async (what, change) => {
  let code = 503;
  const on = stage(RESTART, () => code);
  await until(on, () => on.asked.length > 0);
  code = 202;
  change(on);
  await ticks(on, 15);
  expect(on.asked).toEqual(["restart"]);
  if (what === "is paused") on.fake.api.merge("nodeevacuations", KERNEL, { spec: { progress: "Running" } });
  else cordon(on);
  await ticks(on, 3);
  expect(on.asked).toEqual(["restart", "restart"]);
});

test("when another party uncordons the node, a VM that was stopped starts", async () => {
  const on = stage(STOP);
  on.fake.api.merge("nodeevacuations", KERNEL, { spec: { forceShutdowns: true } });
  on.fake.pods.put({ ...launcher("alone"), name: "alone", labels: {}, annotations: {}, owners: [] });
  await until(on, () => on.fake.evacuations.list(isHeldOff).length === 1);
  expect(isRunning(on)).toBe(false);
  uncordon(on);
  await ticks(on, 3);
  expect([phaseOf(on.fake), isRunning(on), on.asked]).toEqual(["Paused", true, ["stop", "start"]]);
});

test("a VM that its owner restarted while the node was uncordoned waits for another minute", async () => {
  const on = stage(RESTART);
  await ticks(on, 3);
  uncordon(on);
  await ticks(on, 1, 61);
  turnOff(on.fake);
  runOn(on.fake, NODE);
  on.fake.pods.put(launcher("db", { uid: "again" }));
  cordon(on);
  await ticks(on, 4);
  expect(on.asked).toEqual([]);
  await ticks(on, 3, 61);
  expect(on.asked).toContain("restart");
});

test("a restarted VM that does not run after five minutes blocks the NodeEvacuation, and a withdrawal ends the NodeEvacuation", async () => {
  const vms = ["a", "b"].map((name) => ({ name, vmi: PINNED, runStrategy: "Always" }));
  const fake = created({ virtualMachines: RESTART }, vms);
  const asked: string[] = [];
  const app = openApp(fake, (_, request) => {
    if (request?.subresource !== "restart") return undefined;
    asked.push(request.name);
    fake.pods.delete(launcher(request.name));
    fake.vmis.delete(request);
    return new Response("{}", { status: 202 });
  });
  const on = { fake, app, asked };
  await ticks(on, 8, 61);
  expect(statusOf(on)).toMatchObject({
    phase: "Blocked",
    blockers: [{ name: "a", reason: "NotRunningAgain" }, { name: "b" }],
  });
  expect(asked).toEqual(["a"]);
  withdraw(on);
  await ticks(on, 2);
  expect([phaseOf(fake), phases(on), fake.nodes.get({ name: NODE })?.unschedulable]).toEqual([
    "Withdrawn",
    ["Withdrawn"],
    false,
  ]);
});

test("when the time is over during a restart, the node is uncordoned, and the VM restarts once", async () => {
  const on = stage(RESTART, undefined, () => false);
  await until(on, () => on.asked.length > 0);
  on.fake.api.merge("virtualmachines", DB, {
    status: { stateChangeRequests: [{ action: "Stop" }, { action: "Start" }] },
  });
  on.fake.api.merge("nodeevacuations", KERNEL, { spec: { schedule: { notAfter: "2026-03-01T12:00:01Z" } } });
  await ticks(on, 9);
  expect([phaseOf(on.fake), phases(on), on.fake.nodes.get({ name: NODE })?.unschedulable]).toEqual([
    "Expired",
    ["Restarting"],
    false,
  ]);
  turnOff(on.fake);
  runOn(on.fake, NODE);
  on.fake.api.merge("virtualmachines", DB, { status: { stateChangeRequests: [] } });
  await ticks(on, 3);
  expect([on.asked, phases(on)]).toEqual([["restart"], ["Restarted"]]);
});
