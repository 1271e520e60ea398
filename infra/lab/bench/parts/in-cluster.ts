/** What the server in the cluster takes: beside so many VMs, and over a week. */
import { setTimeout as delay } from "node:timers/promises";
import { pods } from "../../../sandbox/actors/resources.ts";
import { applyInCluster } from "../../stage/in-cluster.ts";
import { inParallel } from "../../../tools/in-parallel.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { type Sized, withGrowth } from "../growth.ts";
import { type Measurement, measured, measuredAgainst } from "../measurement.ts";
import { startMeasuredServer } from "../measured-server.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { createLaunchers, createPlaces, createVms, type Vm } from "../population.ts";
import { runWeek, type Week } from "../server-week.ts";

const part = "in-cluster";
const MIB = 2 ** 20;
/** As in the Deployment. */
const MEMORY_LIMIT_MIB = 512;
const WEEK_DAYS = 7;
const QUICK_DAYS = 1;
const WEEK_VMS = 1000;
/** How much larger than at the end of the first day the live heap may be. */
const MOST_GROWTH = 1.05;
/** Until the relay has seen everything and what starting has left is gone. */
const SETTLE_MS = 15_000;
const REST_MS = 60_000;

export const runInCluster: RunPart = async (options) => {
  const { quick, note } = options;
  const sizes = quick ? [100, WEEK_VMS] : [100, WEEK_VMS, 10_000];
  const days = quick ? QUICK_DAYS : WEEK_DAYS;
  const server = await startMeasuredApiServer({ tokens: days * 24 });
  try {
    await installLifeboat(server.client, {});
    await applyInCluster(server.client);
    const sized: Sized[] = [];
    const week: Measurement[] = [];
    const all: Vm[] = [];
    for (const size of sizes) {
      note(`creating VMs ${all.length} to ${size}, with their launcher pods`);
      await createPlaces(server.client, all.length, size);
      const vms = await createVms(server.client, all.length, size);
      const launchers = await createLaunchers(server.client, vms);
      await inParallel(launchers, 16, ({ metadata }) =>
        server.client.patch(pods, metadata, RUNNING, { subresource: "status" }),
      );
      all.push(...vms);
      sized.push({ size, measurements: await measureSize(server, size, options) });
      if (size !== WEEK_VMS) continue;
      note(`${days} days beside ${size} VMs`);
      week.push(...rowsOfWeek(size, await runWeek(server, all, days)));
    }
    return [...withGrowth(sized), ...week];
  } finally {
    await server.stop();
  }
};

const RUNNING = { type: "merge", body: { status: { phase: "Running" } } } as const;

/** On the real clock: once it serves and has watched everything, and what a minute of rest takes. */
async function measureSize(api: MeasuredApiServer, size: number, { note }: PartOptions) {
  note(`the server beside ${size} VMs`);
  const server = await startMeasuredServer(api);
  try {
    await delay(SETTLE_MS);
    const first = await server.glance();
    await delay(REST_MS);
    const last = await server.glance();
    const { heapUsed } = await server.usage();
    const what = `server beside ${size} VMs`;
    const named = { heap: `${what}: live heap`, rss: `${what}: peak RSS`, minute: `${what}, a minute at rest` };
    return [
      measured({ part, what: `${what}: serves after`, unit: "s" }, [server.ready]),
      measured({ part, what: named.heap, unit: "MiB", target: MEMORY_LIMIT_MIB / 2 }, [heapUsed / MIB]),
      measured({ part, what: named.rss, unit: "MiB", target: MEMORY_LIMIT_MIB }, [last.peakRss / MIB]),
      measured({ part, what: `${named.minute}: CPU`, unit: "ms" }, [last.cpuMs - first.cpuMs]),
      measured({ part, what: `${named.minute}: requests`, unit: "requests" }, [last.requests - first.requests]),
    ];
  } finally {
    await server.stop();
  }
}

function rowsOfWeek(size: number, { days, evacuations }: Week): readonly Measurement[] {
  const count = days.length - 1;
  const what = `${count} days beside ${size} VMs, ${evacuations} evacuations`;
  const heaps = days.map(({ heapUsed }) => heapUsed / MIB);
  // What is loaded and compiled at first use is no growth: it counts from the end of the first day, if there is another.
  const from = Math.min(1, count - 1);
  const first = heaps[from] ?? Number.NaN;
  const last = heaps[count] ?? Number.NaN;
  const against = { what: from === 1 ? "at the end of its first day" : "at its beginning", samples: [first] };
  const growth = ((last - first) * 1024) / (count - from);
  const each = evacuations / count / 1000;
  return [
    ...heaps.map((heap, day) => measured({ part, what: `${what}: live heap after ${day} days`, unit: "MiB" }, [heap])),
    measuredAgainst({ part, what: `${what}: live heap at its end`, unit: "MiB", target: MOST_GROWTH }, [last], against),
    measured({ part, what: `${what}: growth a day`, unit: "KiB" }, [growth]),
    measured({ part, what: `${what}: growth for 1,000 evacuations`, unit: "KiB" }, [growth / each]),
    measured({ part, what: `${what}: peak RSS`, unit: "MiB", target: MEMORY_LIMIT_MIB }, [
      Math.max(...days.map(({ peakRss }) => peakRss)) / MIB,
    ]),
  ];
}
