/** Creates a NodeEvacuation with one VM that cannot migrate, and a KubeVirt that gives the specified answers. */
import { expect } from "vitest";
import type { FakeCluster } from "../../support/cluster.ts";
import { type App, openApp } from "../../support/app.ts";
import { NODE, PINNED } from "../../support/fixtures.ts";
import { at, textOf } from "../../support/json.ts";
import { created } from "../../support/maintenance/kernel.ts";
import { launcher, node as roomy, vmiOf } from "../../support/preflight/fixtures.ts";

export const DB = { namespace: "apps", name: "db" };
export const KERNEL = { name: "kernel" };
const VMS = [{ name: "db", vmi: PINNED, runStrategy: "Always" }];
const SOON = 9;

export interface Stage {
  readonly fake: FakeCluster;
  readonly app: App;
  readonly asked: string[];
}

/**
 * Creates a NodeEvacuation, and a KubeVirt that answers requests to restart, stop or start a VM with `code`. A
 * successful stop or start changes the VirtualMachine. virt-controller then changes the VMI if `isController` returns
 * true. `onWrite` runs before each patch of a resource.
 */
export function stage(
  spec: object,
  code: (what: string) => number = () => 202,
  isController = () => true,
  onWrite: (resource: string) => void = () => {},
): Stage {
  const fake = created({ virtualMachines: spec }, VMS);
  const asked: string[] = [];
  const app = openApp(fake, (_, request) => {
    const { subresource = "", verb, resource = "" } = request ?? {};
    if (verb === "patch") onWrite(resource);
    if (!["restart", "stop", "start"].includes(subresource)) return undefined;
    asked.push(subresource);
    const answer = code(subresource);
    if (answer < 300) act(fake, subresource, isController());
    return new Response("{}", { status: answer });
  });
  return { fake, app, asked };
}

function act(fake: FakeCluster, what: string, isController: boolean): void {
  if (what === "stop") fake.api.merge("virtualmachines", DB, { spec: { runStrategy: "Halted" } });
  if (what === "start") fake.api.merge("virtualmachines", DB, { spec: { runStrategy: "Always" } });
  if (isController) follow(fake);
}

/** Does virt-controller's work: starts or stops the VMI as the VirtualMachine specifies. */
export function follow(fake: FakeCluster): void {
  const isOn = at(fake.api.object("virtualmachines", DB), "spec", "runStrategy") === "Always";
  if (!isOn) turnOff(fake);
  else if (fake.vmis.get(DB) === undefined) runOn(fake, "node02");
}

export function turnOff(fake: FakeCluster): void {
  fake.pods.delete(launcher("db"));
  fake.vmis.delete(DB);
}

export function runOn(fake: FakeCluster, nodeName: string): void {
  fake.vmis.put(vmiOf("db", { uid: "again", nodeName, activePods: { again: nodeName }, ...PINNED }));
}

export const withdraw = ({ fake }: Stage) =>
  fake.api.merge("nodeevacuations", KERNEL, { spec: { intent: "Withdrawn" } });
export const pause = ({ fake }: Stage) => fake.api.merge("nodeevacuations", KERNEL, { spec: { progress: "Paused" } });
export const uncordon = ({ fake }: Stage) => fake.nodes.put(roomy(NODE));
export const cordon = ({ fake }: Stage) => fake.nodes.put(roomy(NODE, { unschedulable: true }));

export async function ticks({ fake, app }: Stage, times: number, seconds = SOON): Promise<void> {
  for (let i = 0; i < times; i++) {
    await app.reconcile();
    await app.settle();
    if (fake.api.object("nodeevacuations", KERNEL) === undefined) return;
    app.pass(seconds);
  }
}

export async function until(on: Stage, is: () => boolean): Promise<void> {
  for (let i = 0; i < 20 && !is(); i++) await ticks(on, 1);
  expect(is()).toBe(true);
}

export const statusOf = ({ fake }: Stage) => at(fake.api.object("nodeevacuations", KERNEL), "status");
export const isRunning = ({ fake }: Stage) => fake.vmis.get(DB) !== undefined;
export const phases = ({ fake }: Stage) => fake.evacuations.list().map(({ status }) => status.phase);

export function returnedOf(on: Stage): string {
  const conditions = at(statusOf(on), "conditions");
  const all: readonly unknown[] = Array.isArray(conditions) ? conditions : [];
  const found = all.find((one) => at(Object(one), "type") === "Returned");
  return found === undefined ? "" : `${textOf(at(Object(found), "status"))} ${textOf(at(Object(found), "message"))}`;
}

export const STOP = { whenBlocked: "ShutDown" };
export const RESTART = { whenBlocked: "Restart" };
