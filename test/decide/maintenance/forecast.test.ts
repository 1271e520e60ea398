/** Whether a NodeEvacuation will succeed, with what it does with VMs that cannot move. */
import { expect, test } from "vitest";
import { forecastOf } from "../../../shared/maintenance/forecast.ts";
import { facts, launcher, node } from "../../support/preflight/fixtures.ts";
import { nodeWorld, pinnedVm, started } from "../../support/maintenance/worlds.ts";

const GIB = 1024 ** 3;
const VMIS = [pinnedVm("a"), pinnedVm("b")];

// prettier-ignore
test.each([
  // a node for VMs of 2 GiB, of    and what becomes of both           so
  ["room for both", 4, ["ShutsDown Restart", "ShutsDown Restart"],    "WillSucceedWithShutdowns"],
  ["room for one",  3, ["ShutsDown Restart", "Blocked NoRestart"],    "WillBlock"],
])("restarts are added up: %s", (_, gib, outcomes, verdict) => {
  const otherNodes = [node("node02", { allocatable: { memory: gib * GIB } })];
  const pods = [launcher("a"), launcher("b")];
  const ne = started({ spec: { virtualMachines: { whenBlocked: "Restart" } } });
  const vms = new Map(["apps/a", "apps/b"].map((key) => [key, { runStrategy: "Always" }]));
  const { found } = forecastOf(facts({ pods, vmis: VMIS, otherNodes }), nodeWorld({ ne, vms }));
  expect(found.pods.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual(outcomes);
  expect(found.verdict).toBe(verdict);
});
