/**
 * A few runs, as `npm run chaos` performs them; and that a run notices a lost VM.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Arena, startArena } from "../../infra/lab/chaos/arena.ts";
import type { Moment } from "../../infra/lab/chaos/moment.ts";
import { performRun, prepareRun } from "../../infra/lab/chaos/perform-run.ts";
import { drawPlan } from "../../infra/lab/chaos/plan.ts";
import { isBad, type RunReport } from "../../infra/lab/chaos/report.ts";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { LABEL } from "../../infra/sandbox/kubevirt/resources.ts";

const main = fileURLToPath(new URL("../../infra/lab/chaos/main.ts", import.meta.url));

async function run(...args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { code: child.exitCode, output };
}

test.each([
  ["beside a Worker", ["--seed", "23144", "--runs", "3", "--form", "Worker"]],
  [
    "in the cluster, whose replicas are killed while all that they have is renewed",
    ["--seed", "1", "--runs", "1"].concat(
      ["LeaseLost", "CertificateEnds", "TokenRenewed", "WorkerKilled"].flatMap((name) => ["--only", name]),
    ),
  ],
])("%s: nothing is lost, broken or hung", { timeout: 300_000 }, async (_, args) => {
  const { code, output } = await run(...args);
  expect(output.trimEnd()).toMatch(/\nVMs lost: 0$/);
  expect(code, output).toBe(0);
});

/** A VM that is not evacuated has no evacuation to withdraw and no mark to remove. */
const AMONG_OTHERS = (
  [
    { does: "withdraw", vm: "idle" },
    { does: "unmark", vm: "idle" },
    { does: "migrate", vm: "idle" },
    { does: "migrate", vm: "nobody" },
    { does: "switch annotations", on: true },
    { does: "switch annotations", on: true },
  ] as const
).map((happening): Moment => ({ ...happening, at: 0, fault: "SlowMigrations" }));

/** Another client does, in the middle of it, what no fault of the table does. */
async function runWith(disturb: (arena: Arena) => Promise<void>): Promise<RunReport> {
  const arena = await startArena("Worker");
  try {
    const drawn = drawPlan({ seed: "1", run: 1, vms: 3, only: ["SlowMigrations"] });
    const member = { place: "Drained", strategy: "LiveMigrate", migratable: true, failures: 0 } as const;
    const drained = ["vm-01", "vm-02"].map((name) => ({ ...member, name }));
    const vms = [...drained, { ...member, name: "idle", place: "Retired" } as const];
    const plan = { ...drawn, migrationMs: 1500, vms, moments: AMONG_OTHERS };
    const running = performRun(arena, plan, await prepareRun(arena, plan));
    const moving = () => [...arena.observer.migrations.list()].map(({ spec }) => spec.vmiName);
    await expect.poll(moving, { timeout: 120_000 }).toContain("vm-01");
    await disturb(arena);
    return await running;
  } finally {
    await arena.stop();
  }
}

test("a VM whose launcher is killed is lost, and the run is a bad one", { timeout: 300_000 }, async () => {
  const report = await runWith(async ({ sandbox, observer }) => {
    const vmi = [...observer.vmis.list()].find(({ metadata }) => metadata.name === "vm-01");
    const launchers = { labelSelector: `${LABEL.createdBy}=${vmi?.metadata.uid}` };
    const { items } = await sandbox.client.list(pods, "run-1", launchers);
    for (const { metadata } of items) await sandbox.client.delete(pods, metadata, { gracePeriodSeconds: 0 });
  });
  expect(report.lost).toEqual(["run-1/vm-01"]);
  expect(report.fates).toEqual({ lost: 1, moved: 2 });
  expect(report.breaches).toEqual([expect.stringContaining("run-1/vm-01 has ended")]);
  expect(isBad(report)).toBe(true);
  // And what came to nothing is not said to have gone wrong.
  expect(report.faults).toEqual({ migrate: 1, "switch annotations": 1 });
  expect(report.inVain).toEqual({ withdraw: 1, unmark: 1, migrate: 1, "switch annotations": 1 });
});
