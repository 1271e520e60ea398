/**
 * Tests RollingMaintenances with the shipped manifests: ten nodes with a maintenance window, a node that blocks, a
 * pause, and a process of Lifeboat that is killed repeatedly.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { nodeEvacuations, type RollingMaintenance, rollingMaintenances } from "../../infra/lab/stage/evacuations.ts";
import { core, createNode, kubevirt, waitFor } from "../../infra/sandbox/index.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import { PINNED, useMaintenance, vm } from "./maintenance-stage.ts";
import { NAMESPACE } from "./stage.ts";

const on = useMaintenance();
const LONG = { timeout: 240_000 * PATIENCE };
const over = new AbortController();
afterAll(() => over.abort());

async function takeBack(names: readonly string[]): Promise<void> {
  while (!over.signal.aborted) {
    const found = await on.stage.client.list(nodeEvacuations).catch(() => ({ items: [] }));
    const empty = new Set(
      found.items.filter(({ status }) => status?.phase === "Evacuated").map(({ spec }) => spec.nodeName),
    );
    for (const name of names.filter((one) => empty.has(one))) await on.setCordon(name, false).catch(() => undefined);
    await delay(200);
  }
}

async function killNow(): Promise<void> {
  await on.stage.stopWorker();
  await on.stage.restartWorker();
}

const until = (name: string, what: string, is: (one: RollingMaintenance) => boolean) =>
  waitFor(on.stage.client, {
    resource: rollingMaintenances,
    key: { name },
    what,
    until: is,
    timeoutMs: 120_000 * PATIENCE,
  });

const phasesOf = ({ status }: RollingMaintenance) => (status?.nodes ?? []).map(({ phase }) => phase);

async function expire(nodeName: string): Promise<void> {
  const { items } = await on.stage.client.list(nodeEvacuations);
  const body = { spec: { schedule: { notAfter: new Date().toISOString() } } };
  for (const { metadata } of items.filter(({ spec }) => spec.nodeName === nodeName)) {
    await on.stage.client.patch(nodeEvacuations, metadata, { type: "merge", body });
  }
}

async function createNodes(prefix: string, count: number, blocked: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
  for (const [index, name] of names.entries()) {
    await createNode(on.stage.client, name);
    await on.stage.createVm(vm(`vm-${name}`, name, index + 1 === blocked ? PINNED : {}));
    await on.stage.createVm(vm(`vm-${name}-b`, name));
  }
  return names;
}

async function guestsOf(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { items } = await on.stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  const own = items.filter(({ metadata }) => names.some((name) => metadata.name.startsWith(`vm-${name}`)));
  return new Map(own.map(({ metadata, status }) => [metadata.name, `${metadata.uid} ${status?.phase}`]));
}

test(
  "ten nodes are evacuated one after another despite kills; no node starts during a pause, and a blocked node expires",
  LONG,
  async () => {
    const names = await createNodes("r", 10, 5);
    const guests = await guestsOf(names);
    let most = 0;
    void takeBack(names);
    const watching = (async () => {
      while (!over.signal.aborted) {
        const { items } = await on.stage.client.list(core.nodes);
        const closed = items.filter(({ metadata, spec }) => names.includes(metadata.name) && spec?.unschedulable);
        most = Math.max(most, closed.length);
        await delay(50);
      }
    })();
    const schedule = { notAfter: new Date(Date.now() + 600_000).toISOString() };
    const spec = { nodes: { names }, schedule, whenNodeFails: "Continue" };
    await on.stage.client.create(rollingMaintenances, { metadata: { name: "ten" }, spec });
    for (const wait of [50, 400, 900]) {
      await delay(wait);
      await killNow();
    }
    await until(
      "ten",
      "two nodes are back",
      (one) => phasesOf(one).filter((phase) => phase === "Returned").length >= 2,
    );
    const change = (body: object) =>
      on.stage.client.patch(rollingMaintenances, { name: "ten" }, { type: "merge", body: { spec: body } });
    await change({ progress: "Paused" });
    const paused = await until("ten", "paused", ({ status }) => status?.phase === "Paused");
    await killNow();
    await delay(1500);
    const later = await on.stage.client.get(rollingMaintenances, { name: "ten" });
    expect(later && phasesOf(later).filter((phase) => phase === "Pending")).toEqual(
      phasesOf(paused).filter((phase) => phase === "Pending"),
    );
    await change({ progress: "Running" });
    const blocked = await until("ten", "blocked", ({ status }) => status?.phase === "Blocked");
    expect(blocked.status?.message).toContain(
      "r-5 is Blocked: VMs or pods that cannot leave: 1; the first: vms/vm-r-5",
    );
    await expire("r-5");
    await killNow();
    const { status } = await until("ten", "ended", ({ status: is }) => is?.phase === "Completed");
    expect(status?.message).toContain("nodes evacuated: 9 of 10, failed: 1; r-5 is Expired");
    expect(most).toBe(1);
    expect(await on.isCordoned("r-5")).toBe(false);
    expect(await guestsOf(names)).toEqual(guests);
    const { items } = await on.stage.client.list(nodeEvacuations);
    expect(items.filter(({ spec: { nodeName } }) => names.includes(nodeName))).toHaveLength(10);
    over.abort();
    await watching;
  },
);

test("by default a RollingMaintenance stops after a node that expires, and that node is uncordoned", async () => {
  const names = await createNodes("s", 3, 1);
  const spec = { nodes: { names }, nextNode: "WhenEvacuated" };
  await on.stage.client.create(rollingMaintenances, { metadata: { name: "stop" }, spec });
  await until("stop", "blocked", ({ status }) => status?.phase === "Blocked");
  await expire("s-1");
  const one = await until("stop", "ended", ({ status }) => status?.phase === "Stopped");
  expect(phasesOf(one)).toEqual(["Expired", "Skipped", "Skipped"]);
  await expect.poll(() => on.isCordoned("s-1")).toBe(false);
});
