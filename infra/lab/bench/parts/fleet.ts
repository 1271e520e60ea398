/** One deployment for many clusters: whether one cluster's trouble stays its own, and what a large fleet costs. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import * as z from "zod";
import { numbered } from "../../../tools/in-parallel.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { bundle } from "../bundle.ts";
import { type FleetTick, runFleet } from "../fleet-ticks.ts";
import { type Measurement, measured } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { createBudgets, createPlaces, createVms } from "../population.ts";
import { startBareWorkerd } from "../workerd.ts";

const part = "fleet";
const MIB = 2 ** 20;
const MINUTE_MS = 60_000;
/** As many minutes as it takes until each cluster has had its full scan. */
const TICKS = 10;
/** Of each kind of trouble. */
const TROUBLED = 5;
const FLEET = 50;
const LARGE_FLEET = 200;
const CONSUMERS = 10;
const SMALL_VMS = 500;
const webhookToken = "webhook-token-of-the-benchmark";

export const runFleets: RunPart = async (options) => {
  const largeVms = options.quick ? 1000 : 10_000;
  const ordinary = await startCluster(SMALL_VMS, options);
  const large = await startCluster(largeVms, options);
  const hanging = await startTrouble(createServer(() => undefined));
  const failing = await startTrouble(createServer((_, response) => void response.writeHead(500).end()));
  try {
    const troubled = {
      ...entries("hanging", TROUBLED, hanging),
      ...entries("failing", TROUBLED, failing),
      ...entries("large", TROUBLED, large),
      ...entries("ordinary", FLEET - 3 * TROUBLED, ordinary),
    };
    const caPems = [ordinary.caPem, large.caPem];
    const rows: Measurement[] = [];
    for (const [how, consumers] of [
      ["by the queue", CONSUMERS],
      ["in turn", 0],
    ] as const) {
      options.note(`${FLEET} clusters, ${how}: ${TICKS} ticks`);
      rows.push(...rowsOfTrouble(how, await runFleet({ clusters: troubled, caPems, ticks: TICKS, consumers })));
    }
    return [...rows, ...(await measureLargeFleet(ordinary, options))];
  } finally {
    await Promise.all([ordinary.stop(), large.stop(), hanging.stop(), failing.stop()]);
  }
};

async function startCluster(vms: number, { note }: PartOptions): Promise<MeasuredApiServer> {
  const server = await startMeasuredApiServer();
  note(`creating ${vms} VMIs, with their budgets`);
  await installLifeboat(server.client, {});
  await createPlaces(server.client, 0, vms);
  await createBudgets(server.client, await createVms(server.client, 0, vms));
  return server;
}

async function startTrouble(server: Server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const stop = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${port}`, lifeboatToken: "a-token", stop };
}

function entries(
  kind: string,
  count: number,
  { url, lifeboatToken }: Pick<MeasuredApiServer, "url" | "lifeboatToken">,
) {
  const entry = { server: url, token: lifeboatToken, webhookToken };
  return Object.fromEntries(numbered(count).map((index) => [`${kind}-${index}`, entry]));
}

/** Clusters that could have been served. */
const HEALTHY = FLEET - 2 * TROUBLED;

function rowsOfTrouble(how: string, ticks: readonly FleetTick[]): readonly Measurement[] {
  const what = `${FLEET} clusters, ${TROUBLED} hang, ${TROUBLED} fail, ${TROUBLED} are large, ${how}`;
  const times = ticks.map(({ servedMs }) => Object.values(servedMs));
  const missed = times.map((served) => HEALTHY - served.filter((ms) => ms < MINUTE_MS).length);
  const last = times.map((served) => Math.max(0, ...served));
  return [
    measured({ part, what: `${what}: others not served by a tick`, unit: "clusters", target: 0 }, [
      Math.max(...missed),
    ]),
    measured({ part, what: `${what}: until the last one is served`, unit: "ms", target: MINUTE_MS }, last),
  ];
}

/** What it costs: the requests and bytes are counted in Node, the CPU is that of workerd. */
async function measureLargeFleet(server: MeasuredApiServer, { note }: PartOptions): Promise<readonly Measurement[]> {
  const what = `${LARGE_FLEET} clusters of ${SMALL_VMS} VMs`;
  note(`${what}: ${TICKS} ticks`);
  const clusters = entries("cluster", LARGE_FLEET, server);
  const ticks = await runFleet({ clusters, caPems: [server.caPem], ticks: TICKS, consumers: CONSUMERS });
  const missed = ticks.map(({ servedMs }) => LARGE_FLEET - Object.values(servedMs).length);
  const cpuMs = await cpuOfTicks(clusters, server.caPem);
  const each = (key: "requests" | "bytes", unit: number) => ticks.map((tick) => tick[key] / unit);
  return [
    measured({ part, what: `${what}: not served by a tick`, unit: "clusters", target: 0 }, [Math.max(...missed)]),
    measured({ part, what: `${what}: invocations a tick`, unit: "requests" }, [LARGE_FLEET + 1]),
    measured({ part, what: `${what}: subrequests a tick`, unit: "requests" }, each("requests", 1)),
    measured({ part, what: `${what}: answers of the API servers a tick`, unit: "MiB" }, each("bytes", MIB)),
    measured({ part, what: `${what}: CPU a tick, of workerd's process`, unit: "ms" }, cpuMs),
  ];
}

async function cpuOfTicks(clusters: Readonly<Record<string, unknown>>, caPem: string): Promise<readonly number[]> {
  const worker = await startBareWorkerd({ bundle: await bundle("ticking"), clusters, caPem });
  const cpuMs: number[] = [];
  try {
    for (const minute of numbered(TICKS)) {
      const before = await worker.cpuMs();
      const answer = await fetch(`${worker.url}/tick?time=${minute * MINUTE_MS}`, { method: "POST" });
      if (answer.status !== 200) throw new Error(`a tick was answered ${answer.status}`);
      await answer.text();
      cpuMs.push((await worker.cpuMs()) - before);
    }
  } finally {
    await worker.stop();
  }
  return cpuMs;
}
