/**
 * Measures a replica of Lifeboat in a cluster with many VMs: its start, its memory, and its load while nothing changes.
 */
import { setTimeout as delay } from "node:timers/promises";
import { buildImage } from "../../../tools/build-image.ts";
import { applyInCluster } from "../../stage/in-cluster.ts";
import { tickTime } from "../../stage/tick-times.ts";
import { installLifeboat, startMeasuredApiServer } from "../api-server.ts";
import { startImageServer } from "../image-server.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";
import * as population from "../population.ts";

const MINUTE_MS = 60_000;
const SETTLES_MS = 60_000;

export async function runMemory({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  const size = quick ? 1000 : 10_000;
  await buildImage();
  const api = await startMeasuredApiServer();
  try {
    note(`creating ${size} VMs with their launcher pods, budgets and finished migrations`);
    await installLifeboat(api.client, {});
    await applyInCluster(api.client);
    await population.createPlaces(api.client, 0, size);
    const vms = await population.createVms(api.client, 0, size);
    await population.createLaunchers(api.client, vms);
    await population.createBudgets(api.client, vms);
    await population.createFinishedMigrations(api.client, vms);
    const server = await startImageServer(api);
    try {
      note("waiting until Lifeboat has settled and scanned everything, and then for another minute");
      await delay(SETTLES_MS);
      await server.scan();
      const begins = tickTime("local", "small", new Date(Math.ceil(Date.now() / MINUTE_MS + 0.5) * MINUTE_MS));
      await delay(begins.getTime() - MINUTE_MS / 2 - Date.now());
      const before = await server.cpuMs();
      await delay(MINUTE_MS);
      const idle = (await server.cpuMs()) - before;
      return [
        {
          what: `in the cluster, ${size} VMs: from the start until Lifeboat listens`,
          unit: "s",
          samples: [server.startMs / 1000],
          target: 20,
        },
        { what: "memory of Lifeboat", unit: "MB", samples: [await server.memory()], target: 250 },
        { what: "CPU time of an idle minute", unit: "s", samples: [idle / 1000], target: 1 },
      ];
    } finally {
      await server.stop();
    }
  } finally {
    await api.stop();
  }
}
