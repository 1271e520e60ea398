/** Runs `npm run chaos` several times in the nightly run. Tests that a run detects a lost VM. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startCluster } from "../../../infra/lab/chaos/cluster.ts";
import { drawPlan } from "../../../infra/lab/chaos/plan.ts";
import { isBad } from "../../../infra/lab/chaos/report.ts";
import { performRun, prepareRun } from "../../../infra/lab/chaos/run.ts";
import { LABEL, pods } from "../../../infra/sandbox/index.ts";

const main = fileURLToPath(new URL("../../../infra/lab/chaos/main.ts", import.meta.url));

async function run(...args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { code: child.exitCode, output };
}

test.each([
  ["beside a Worker", ["--seed", "23144", "--runs", "3", "--form", "Worker"]],
  [
    "in the cluster, with replicas that die and lose their Lease,",
    ["--seed", "1", "--runs", "1", "--only", "replicasDie", "--only", "leaseLost"],
  ],
])("a run %s loses no VM, and nothing breaks or hangs", { timeout: 300_000, tags: ["nightly"] }, async (_, args) => {
  const { code, output } = await run(...args);
  expect(output.trimEnd()).toMatch(/\nVMs lost: 0$/);
  expect(code, output).toBe(0);
});

test("when a VM's launcher is killed, the run reports the VM as lost and fails", { timeout: 300_000 }, async () => {
  const cluster = await startCluster("Worker");
  const { sandbox, observer } = cluster;
  try {
    const drawn = drawPlan({ seed: "1", run: 1, only: [], form: "Worker" });
    const vm = { place: "drained", strategy: "LiveMigrate", migratable: true, failures: 0, mustLeave: true } as const;
    const plan = { ...drawn, migrationMs: 1500, vms: ["vm-01", "vm-02"].map((name) => ({ ...vm, name })) };
    const running = performRun(cluster, plan, await prepareRun(cluster, plan));
    const moving = () => [...observer.migrations.list()].map(({ spec }) => spec.vmiName);
    await expect.poll(moving, { timeout: 120_000 }).toContain("vm-01");
    const vmi = [...observer.vmis.list()].find(({ metadata }) => metadata.name === "vm-01");
    const launchers = { labelSelector: `${LABEL.createdBy}=${vmi?.metadata.uid}` };
    const { items } = await sandbox.client.list(pods, "run-1", launchers);
    for (const { metadata } of items) await sandbox.client.delete(pods, metadata, { gracePeriodSeconds: 0 });
    const report = await running;
    expect(report.lost).toEqual(["run-1/vm-01"]);
    expect(report.fates).toEqual({ lost: 1, moved: 1 });
    expect(report.breaches).toEqual([expect.stringContaining("run-1/vm-01 has ended")]);
    expect(isBad(report)).toBe(true);
  } finally {
    await cluster.stop();
  }
});
