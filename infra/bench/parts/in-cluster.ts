/**
 * What the server in the cluster takes: beside so many VMs, and over a week.
 * Owns: the sizes, the week and what happens in it. Does not own: the server's process (server-process.ts).
 */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { evacuations } from "../../tools/evacuations.ts";
import { applyInCluster } from "../../tools/in-cluster.ts";
import { numbered } from "../../tools/in-parallel.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { type Child, startChild } from "../child.ts";
import { type Sized, withGrowth } from "../growth.ts";
import { type Measurement, measured, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { createLaunchers, createPlaces, createVms, type Vm } from "../population.ts";

const part = "in-cluster";
const MIB = 2 ** 20;
/** As in infra/Dockerfile. */
const NODE_OPTIONS = ["--expose-gc", "--max-old-space-size=256", "--max-semi-space-size=4"];
/** As in the Deployment. */
const MEMORY_LIMIT_MIB = 512;
const DAY_SECONDS = 86_400;
const DAYS = 7;
/** How much longer than the first day's end the week's may be: the live heap, after collection. */
const MOST_GROWTH = 1.05;
const ROUND_MS = 1000;
const VMS_A_ROUND = 10;

const Ready = z.object({ ready: z.number() });
const Usage = z.object({
  rss: z.number(),
  heapUsed: z.number(),
  cpuMs: z.number(),
  days: z.number(),
  problems: z.array(z.tuple([z.string(), z.number()])),
});
type Usage = z.output<typeof Usage>;

export const runInCluster: RunPart = async (options) => {
  const sizes = options.quick ? [100, 1000] : [100, 1000, 10_000];
  const server = await startMeasuredApiServer();
  try {
    await installLifeboat(server.client, {});
    await applyInCluster(server.client);
    const sized: Sized[] = [];
    const week: Measurement[] = [];
    let before = 0;
    for (const size of sizes) {
      options.note(`creating VMs ${before} to ${size}, with their launcher pods`);
      await createPlaces(server.client, before, size);
      const vms = await createVms(server.client, before, size);
      await createLaunchers(server.client, vms);
      sized.push({ size, measurements: await measureSize(server, size, options) });
      if (before === 0) week.push(...(await measureWeek(server, vms, options)));
      before = size;
    }
    return [...withGrowth(sized), ...week];
  } finally {
    await server.stop();
  }
};

async function startLifeboat({ url, caPem, lifeboatToken: token }: MeasuredApiServer, speed: number) {
  const child = startChild("server-process.ts", { url, caPem, token, speed }, NODE_OPTIONS);
  const { ready } = await child.next(Ready);
  return { child, ready };
}

function usageOf(child: Child): Promise<Usage> {
  return child.ask("usage", Usage);
}

/** At real speed: once it serves and has watched everything, and what a minute of rest takes. */
async function measureSize(server: MeasuredApiServer, size: number, { quick, note }: PartOptions) {
  note(`the server beside ${size} VMs`);
  const { child, ready } = await startLifeboat(server, 1);
  try {
    await delay(quick ? 5000 : 15_000);
    const first = await usageOf(child);
    const seconds = quick ? 20 : 60;
    await delay(seconds * 1000);
    const last = await usageOf(child);
    const what = `server beside ${size} VMs`;
    return [
      measured({ part, what: `${what}: ready after`, unit: "s" }, [ready]),
      measured({ part, what: `${what}: live heap`, unit: "MiB" }, [last.heapUsed / MIB]),
      measured({ part, what: `${what}: RSS`, unit: "MiB", target: MEMORY_LIMIT_MIB }, [
        Math.max(first.rss, last.rss) / MIB,
      ]),
      measured({ part, what: `${what}: CPU of a minute at rest`, unit: "ms" }, [
        ((last.cpuMs - first.cpuMs) / seconds) * 60,
      ]),
    ];
  } finally {
    await child.stop();
  }
}

/** A week on a fast clock, while VMs leave and come: the live heap at the end of the first day and of the last. */
async function measureWeek(server: MeasuredApiServer, vms: readonly Vm[], { quick, note }: PartOptions) {
  const speed = quick ? 14_400 : 3600;
  note(`a week in ${Math.round((DAYS * DAY_SECONDS) / speed)} s`);
  const { child } = await startLifeboat(server, speed);
  try {
    const rounds = { done: 0 };
    const heaps: number[] = [];
    for (let last = await usageOf(child); last.days < DAYS; last = await usageOf(child)) {
      if (last.days >= heaps.length + 1) heaps.push(last.heapUsed / MIB);
      await round(server.client, vms, rounds);
      await delay(ROUND_MS);
    }
    const { heapUsed, problems } = await usageOf(child);
    for (const [message, count] of problems) note(`${count} × ${message}`);
    const firstDay = heaps[0] ?? Number.NaN;
    const what = `a week, with ${rounds.done} evacuations`;
    return [
      measuredAgainst({ part, what: `${what}: live heap`, unit: "MiB", target: MOST_GROWTH }, [heapUsed / MIB], {
        what: "at the end of its first day",
        samples: [firstDay],
      }),
    ];
  } finally {
    await child.stop();
  }
}

/** Some VMs are to leave; those of the round before have moved. */
async function round(client: KubeClient, vms: readonly Vm[], rounds: { done: number }): Promise<void> {
  const first = rounds.done;
  const chosen = numbered(VMS_A_ROUND).map((i) => vms[(first + i) % vms.length]);
  rounds.done += VMS_A_ROUND;
  for (const vm of chosen) {
    if (vm === undefined) continue;
    const { namespace, name } = vm;
    const labels = { "kubevirt.io/nodeName": vm.node };
    const status = { nodeName: vm.node, evacuationNodeName: null };
    await client.patch(
      kubevirt.virtualMachineInstances,
      { namespace, name },
      { type: "merge", body: { metadata: { labels }, status } },
    );
    await client.create(evacuations, {
      metadata: { namespace, name: `${name}-${first}` },
      spec: { virtualMachineInstance: { name } },
    });
  }
}
