/** Measures the memory and the CPU time of `lifeboat plan` in a large cluster. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { createSecretFile } from "../../../cli/secret-file.ts";
import { buildCommand } from "../../../tools/build-command.ts";
import { startMeasuredApiServer } from "../api-server.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";
import { fillForPlan } from "../plan-population.ts";
import { cpuMsOf, peakMemoryOf } from "../processes.ts";

const ORDERS = ["given", "planned"] as const;

export async function runPlan({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  const size = quick ? { nodes: 10, vms: 250, pods: 2500 } : { nodes: 40, vms: 1000, pods: 10_000 };
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-plan-"));
  const command = join(folder, "lifeboat.mjs");
  await buildCommand(command);
  const api = await startMeasuredApiServer();
  try {
    note(`creating ${size.nodes} nodes, ${size.vms} VMs and ${size.pods} pods`);
    await fillForPlan(api.client, size);
    const kubeconfig = join(folder, "kubeconfig");
    await createSecretFile(kubeconfig, api.kubeconfig);
    const measurements: Measurement[] = [];
    for (const order of ORDERS) {
      note(`planning, in the ${order} order`);
      const { readSeconds, seconds, cpuSeconds, memory } = await planned(
        [command, "plan", "--order", order],
        kubeconfig,
      );
      measurements.push(
        {
          what: `plan of ${size.nodes} nodes, ${size.pods} pods, ${order} order: reading the cluster`,
          unit: "s",
          samples: [readSeconds],
        },
        { what: "after the reads", unit: "s", samples: [seconds], target: 5 },
        { what: "CPU time after the reads", unit: "s", samples: [cpuSeconds], target: 5 },
        { what: "highest memory of the command", unit: "MB", samples: [memory], target: 300 },
      );
    }
    return measurements;
  } finally {
    await api.stop();
    await rm(folder, { recursive: true });
  }
}

const POLL_MS = 20;
const HAS_READ = "rehearsing";

async function planned(words: readonly string[], kubeconfig: string) {
  const start = performance.now();
  const child = spawn(process.execPath, [...words, "--request-timeout", "300"], {
    env: { PATH: process.env["PATH"], KUBECONFIG: kubeconfig },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const pid = child.pid ?? 0;
  let hasRead: { readonly at: number; readonly cpuMs: number } | undefined;
  const said: string[] = [];
  createInterface(child.stderr).on("line", (line) => {
    said.push(line);
    if (line.startsWith(HAS_READ)) hasRead = { at: performance.now(), cpuMs };
  });
  let [memory, cpuMs] = [0, 0];
  const end = once(child, "exit").then(() => performance.now());
  while (child.exitCode === null) {
    memory = (await peakMemoryOf(pid)) ?? memory;
    cpuMs = await cpuMsOf(pid).catch(() => cpuMs);
    await delay(POLL_MS);
  }
  if (hasRead === undefined) throw new Error(`lifeboat plan ended before it had read the cluster: ${said.join("; ")}`);
  const seconds = ((await end) - hasRead.at) / 1000;
  return { readSeconds: (hasRead.at - start) / 1000, seconds, cpuSeconds: (cpuMs - hasRead.cpuMs) / 1000, memory };
}
