/**
 * What looking at everything costs, and looking when there is nothing to do: by the number of VMs.
 * Owns: these measurements. Does not own: the pass in a process of its own (reconcile-process.ts).
 */
import * as z from "zod";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { bundle } from "../bundle.ts";
import { startChild } from "../child.ts";
import { numbered } from "../in-parallel.ts";
import { type Measurement, measured, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { createBudgets, createPlaces, createVms, planVm } from "../population.ts";
import { median } from "../statistics.ts";
import { startBareWorkerd } from "../workerd.ts";

const part = "reconcile";
const MIB = 2 ** 20;
const PAGE_SIZE = 250;
const TO_MOVE = 20;
/** Besides the pages of VMIs and budgets: nodes, migrations, slots, counters, the two configurations, and one to spare. */
const OTHER_REQUESTS = 7;
/** Of a Worker's isolate. */
const ISOLATE_MIB = 128;
/** Nobody else evacuates here. */
const CONFIGURATION = "reconcilers: {evacuation: true}";

export const runReconcile: RunPart = async (options) => {
  const sizes = options.quick ? [100, 1000] : [100, 1000, 10_000];
  const server = await startMeasuredApiServer();
  try {
    await installLifeboat(server.client, CONFIGURATION);
    const measurements: Measurement[] = [];
    let before = 0;
    for (const size of sizes) {
      await grow(server, before, size, options);
      measurements.push(...(await measureSize(server, size, options)));
      before = size;
    }
    return [...measurements, ...(await measureInWorkerd(server, before)), ...(await measureMoving(server, before))];
  } finally {
    await server.stop();
  }
};

async function grow({ client }: MeasuredApiServer, from: number, to: number, { note }: PartOptions): Promise<void> {
  note(`creating VMIs ${from} to ${to}, with their budgets`);
  await createPlaces(client, from, to);
  await createBudgets(client, await createVms(client, from, to));
}

const Pass = z.object({
  requests: z.number(),
  bytes: z.number(),
  cpuMs: z.number(),
  ms: z.number(),
  heap: z.number(),
  done: z.record(z.string(), z.number()),
});
type Work = "full" | "idle" | "floor";

async function pass({ url, caPem, lifeboatToken }: MeasuredApiServer, work: Work, memory = false) {
  const argument = { url, caPem, token: lifeboatToken, work, memory };
  const child = startChild("reconcile-process.ts", argument, memory ? ["--expose-gc"] : []);
  try {
    return await child.next(Pass);
  } finally {
    await child.stop();
  }
}

type Passes = Readonly<Record<Work, readonly z.output<typeof Pass>[]>>;

/** In turns, each in a fresh process: as a cron trigger finds its isolate. */
async function measureSize(server: MeasuredApiServer, size: number, { note }: PartOptions) {
  note(`reconciling ${size} VMs`);
  const passes: Record<Work, z.output<typeof Pass>[]> = { full: [], idle: [], floor: [] };
  for (const _ of numbered(3)) {
    for (const work of ["full", "idle", "floor"] as const) passes[work].push(await pass(server, work));
  }
  expectIdle(passes);
  const { heap } = await pass(server, "full", true);
  return rowsOf(size, passes, heap);
}

/** Otherwise the cluster was not what it was meant to be, and the figures are of something else. */
function expectIdle({ full }: Passes): void {
  const busy = full.find(({ done }) => Object.keys(done).length > 0);
  if (busy !== undefined) throw new Error(`a cluster at rest was changed: ${JSON.stringify(busy.done)}`);
}

function rowsOf(size: number, { full, idle, floor }: Passes, heap: number): readonly Measurement[] {
  const cpu = (passes: Passes[Work]) => passes.map(({ cpuMs }) => cpuMs);
  const [vms, tick] = [`full reconcile of ${size} VMs`, `idle tick beside ${size} VMs`];
  const pages = 2 * Math.ceil(size / PAGE_SIZE);
  const requests = { what: "pages of VMIs and budgets", samples: full.map(() => pages) };
  const target = (pages + OTHER_REQUESTS) / pages;
  return [
    measuredAgainst(
      { part, what: `${vms}: requests`, unit: "requests", target },
      full.map((p) => p.requests),
      requests,
    ),
    measured(
      { part, what: `${vms}: answers of the API server`, unit: "MiB" },
      full.map(({ bytes }) => bytes / MIB),
    ),
    measuredAgainst({ part, what: `${vms}: CPU`, unit: "ms" }, cpu(full), {
      what: "reading and parsing alone",
      samples: cpu(floor),
    }),
    measured(
      { part, what: `${vms}: time`, unit: "ms" },
      full.map(({ ms }) => ms),
    ),
    measured({ part, what: `${vms}: peak of the live heap`, unit: "MiB", target: ISOLATE_MIB }, [heap / MIB]),
    measured(
      { part, what: `${tick}: requests`, unit: "requests" },
      idle.map((p) => p.requests),
    ),
    measured({ part, what: `${tick}: CPU`, unit: "ms" }, cpu(idle)),
  ];
}

/** The bundle itself, cold, and then again. */
async function measureInWorkerd(server: MeasuredApiServer, size: number): Promise<readonly Measurement[]> {
  const { url, caPem, lifeboatToken: token } = server;
  const webhookToken = "webhook-token-of-the-benchmark";
  const clusters = { bench: { server: url, token, webhookToken } };
  const worker = await startBareWorkerd({ bundle: await bundle("lifeboat"), clusters, caPem });
  try {
    const headers = { authorization: `Bearer ${webhookToken}` };
    const cpu: number[] = [];
    for (const _ of numbered(3)) {
      const before = await worker.cpuMs();
      const answer = await fetch(`${worker.url}/clusters/bench/reconcile`, { method: "POST", headers });
      if (answer.status !== 200) throw new Error(`POST /reconcile: ${answer.status} ${await answer.text()}`);
      await answer.text();
      cpu.push((await worker.cpuMs()) - before);
    }
    const what = `full reconcile of ${size} VMs in workerd`;
    const peak = (await worker.peakRssBytes()) / MIB;
    return [
      measured({ part, what: `${what}: CPU of the process`, unit: "ms" }, cpu),
      measured({ part, what: `${what}: peak RSS of the process`, unit: "MiB" }, [peak]),
    ];
  } finally {
    await worker.stop();
  }
}

/** VMs that somebody has marked, as KubeVirt's own webhook does: last, because the cluster is another one afterwards. */
async function measureMoving(server: MeasuredApiServer, size: number): Promise<readonly Measurement[]> {
  const atRest = await pass(server, "full");
  for (const { namespace, name, node } of numbered(TO_MOVE).map(planVm)) {
    const body = { status: { evacuationNodeName: node } };
    const patch = { type: "merge", body } as const;
    await server.client.patch(kubevirt.virtualMachineInstances, { namespace, name }, patch);
  }
  const moving = await pass(server, "full");
  const named = {
    part,
    what: `full reconcile of ${size} VMs, ${TO_MOVE} to move: requests`,
    unit: "requests",
  } as const;
  const more = { part, what: `the same, more for each of the ${TO_MOVE}`, unit: "requests" } as const;
  const rest = { what: "nothing to move", samples: [atRest.requests] };
  return [
    measuredAgainst(named, [moving.requests], rest),
    measured(more, [(moving.requests - median(rest.samples)) / TO_MOVE]),
  ];
}
