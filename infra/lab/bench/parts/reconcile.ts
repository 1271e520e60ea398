/** What looking at everything costs, looking when there is nothing to do, and looking at what is under way: by the number of VMs. */
import * as kubevirt from "../../../sandbox/kubevirt/resources.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { type Sized, withGrowth } from "../growth.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { ISOLATE_MIB, CPU_LIMIT_MS } from "../isolate-limits.ts";
import { type Measurement, measured, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { DOOR, runInWorkerd, runPass, TICK } from "../pass.ts";
import type { List, Pass, Work } from "../pass-work.ts";
import { createBudgets, createFinishedMigrations, createPlaces, createVms, planVm } from "../population.ts";
import { median } from "../statistics.ts";

const part = "reconcile";
const MIB = 2 ** 20;
const PAGE_SIZE = 250;
const TO_MOVE = 20;
/** Besides the pages of VMIs and the budgets of each namespace: nodes, Evacuations, the configurations, what is tried out. */
const OTHER_REQUESTS = 20;
/** Nothing acts in this cluster: who waits for KubeVirt waits for longer than the benchmark takes. */
const CONFIGURATION = { evacuation: { adoptSeconds: 604_800 } };
/** The API server, far away. */
const ROUND_TRIP_MS = 150;
/** A tick has so long. */
const TICK_MS = 50_000;
/** An evacuation's own: VMI, budget, Evacuation and their writes' answers, and the migrations of its VM. */
const OBJECTS_EACH = 15;

export const runReconcile: RunPart = async (options) => {
  const sizes = options.quick ? [100, 1000] : [100, 1000, 10_000];
  const server = await startMeasuredApiServer({ roundTripMs: [ROUND_TRIP_MS] });
  try {
    await installLifeboat(server.client, CONFIGURATION);
    const sized: Sized[] = [];
    let before = 0;
    for (const size of sizes) {
      await grow(server, before, size, options);
      sized.push({ size, measurements: await measureSize(server, size, options) });
      before = size;
    }
    const inWorkerd = await measureInWorkerd(server, before);
    const moving = await measureMoving(server, before);
    return [...withGrowth(sized), ...inWorkerd, ...moving, ...(await measureUnderWay(server, before, options))];
  } finally {
    await server.stop();
  }
};

async function grow({ client }: MeasuredApiServer, from: number, to: number, { note }: PartOptions): Promise<void> {
  note(`creating VMIs ${from} to ${to}, with their budgets and the finished migrations that KubeVirt keeps`);
  await createPlaces(client, from, to);
  const vms = await createVms(client, from, to);
  await createBudgets(client, vms);
  await createFinishedMigrations(client, vms);
}

const PAGED = { limit: String(PAGE_SIZE) };
/** What a full reconcile lists. */
function listsOf(size: number): readonly List[] {
  return [
    { path: "/apis/lifeboat.dev/v1alpha1/evacuations", query: PAGED },
    { path: "/apis/kubevirt.io/v1/virtualmachineinstances", query: PAGED },
    { path: "/api/v1/nodes", query: PAGED },
    ...namespacesOf(size).map((name) => ({
      path: `/apis/policy/v1/namespaces/${name}/poddisruptionbudgets`,
      query: { ...PAGED, labelSelector: "app.kubernetes.io/managed-by=lifeboat" },
    })),
  ];
}

function namespacesOf(size: number): readonly string[] {
  return [...new Set(numbered(size).map((index) => planVm(index).namespace))];
}

/** What an idle tick cannot do without: what is under way? */
const UNDER_WAY: List = {
  path: "/apis/lifeboat.dev/v1alpha1/evacuations",
  query: {
    ...PAGED,
    fieldSelector: ["Moved", "Abandoned", "Withdrawn", "Duplicate", "Gone"].map((end) => `status.phase!=${end}`).join(),
  },
};

const FULL = `${DOOR}/reconcile`;

const WORK = { full: { work: "reconcile" }, idle: { work: "tick" } } as const satisfies Record<string, Work>;

type Which = keyof typeof WORK | "floor" | "idleFloor";
type Passes = Readonly<Record<Which, readonly Pass[]>>;

/** In turns, each in a fresh process: as a cron trigger finds its isolate. */
async function measureSize(server: MeasuredApiServer, size: number, { note }: PartOptions) {
  note(`reconciling ${size} VMs`);
  const passes: Record<Which, Pass[]> = { full: [], floor: [], idle: [], idleFloor: [] };
  const work: Record<Which, Work> = {
    ...WORK,
    floor: { work: "read", lists: [...listsOf(size)] },
    idleFloor: { work: "read", lists: [UNDER_WAY] },
  };
  for (const _ of numbered(3)) {
    for (const which of ["full", "floor", "idle", "idleFloor"] as const)
      passes[which].push(await runPass(server, work[which]));
  }
  expectIdle(passes);
  const full = await runInWorkerd(server, [FULL], { heap: true });
  const idle = await runInWorkerd(server, [TICK], { heap: true });
  return [...rowsOfFull(size, passes, full.peakHeapMiB), ...rowsOfIdle(size, passes, idle.peakHeapMiB)];
}

/** Otherwise the cluster was not what it was meant to be, and the figures are of something else. */
function expectIdle({ full }: Passes): void {
  const busy = full.find(({ done }) => Object.keys(done).length > 0);
  if (busy !== undefined) throw new Error(`a cluster at rest was changed: ${JSON.stringify(busy.done)}`);
}

const cpuOf = (passes: readonly Pass[]) => passes.map(({ cpuMs }) => cpuMs);
const requestsOf = (passes: readonly Pass[]) => passes.map(({ requests }) => requests);
const bytesOf = (passes: readonly Pass[], unit: number) => passes.map(({ bytes }) => bytes / unit);

function rowsOfFull(size: number, { full, floor }: Passes, heap: number): readonly Measurement[] {
  const what = `full reconcile of ${size} VMs`;
  const pages = Math.ceil(size / PAGE_SIZE) + namespacesOf(size).length;
  const barePages = { what: "pages of VMIs, namespaces", samples: full.map(() => pages) };
  const target = (pages + OTHER_REQUESTS) / pages;
  const reading = { what: "reading and parsing alone", samples: cpuOf(floor) };
  const times = full.map(({ ms }) => ms);
  return [
    measuredAgainst({ part, what: `${what}: requests`, unit: "requests", target }, requestsOf(full), barePages),
    measured({ part, what: `${what}: answers of the API server`, unit: "MiB" }, bytesOf(full, MIB)),
    measuredAgainst({ part, what: `${what}: CPU`, unit: "ms" }, cpuOf(full), reading),
    measured({ part, what: `${what}: time`, unit: "ms" }, times),
    measured({ part, what: `${what}: peak of the live heap in workerd`, unit: "MiB", target: ISOLATE_MIB }, [heap]),
  ];
}

const bare = (samples: readonly number[]) => ({ what: "listing what is under way", samples });

function rowsOfIdle(size: number, { idle, idleFloor }: Passes, heap: number): readonly Measurement[] {
  const what = `idle tick beside ${size} VMs`;
  return [
    measuredAgainst(
      { part, what: `${what}: requests`, unit: "requests" },
      requestsOf(idle),
      bare(requestsOf(idleFloor)),
    ),
    measured({ part, what: `${what}: answers of the API server`, unit: "KiB" }, bytesOf(idle, 1024)),
    measuredAgainst({ part, what: `${what}: CPU`, unit: "ms" }, cpuOf(idle), bare(cpuOf(idleFloor))),
    measured({ part, what: `${what}: peak of the live heap in workerd`, unit: "MiB", target: ISOLATE_MIB }, [heap]),
  ];
}

/** The bundle itself, cold, and then again. */
async function measureInWorkerd(server: MeasuredApiServer, size: number): Promise<readonly Measurement[]> {
  const { cpuMs, peakRssMiB } = await runInWorkerd(server, [FULL, FULL, FULL]);
  const what = `full reconcile of ${size} VMs in workerd`;
  return [
    measured({ part, what: `${what}: CPU of the process`, unit: "ms", target: CPU_LIMIT_MS }, cpuMs),
    measured({ part, what: `${what}: peak RSS of the process`, unit: "MiB" }, [peakRssMiB]),
  ];
}

/** VMs that are marked, as KubeVirt's own webhook does: last, because the cluster is another one afterwards. */
async function measureMoving(server: MeasuredApiServer, size: number): Promise<readonly Measurement[]> {
  const atRest = await runPass(server, WORK.full);
  for (const { namespace, name, node } of numbered(TO_MOVE).map(planVm)) {
    const body = { status: { evacuationNodeName: node } };
    const patch = { type: "merge", body } as const;
    await server.client.patch(kubevirt.virtualMachineInstances, { namespace, name }, patch);
  }
  const moving = await runPass(server, WORK.full);
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

/** A tick over those, far from the API server, beside the finished migrations that KubeVirt keeps: what it costs is theirs alone. */
async function measureUnderWay(server: MeasuredApiServer, size: number, { note }: PartOptions) {
  note(`a tick with ${TO_MOVE} under way, ${ROUND_TRIP_MS} ms away`);
  const tick = await runPass(server, WORK.idle, server.slowUrls[0]);
  const what = `tick with ${TO_MOVE} of ${size} VMs under way`;
  const objects = { part, what: `${what}: objects in the answers`, unit: "objects" } as const;
  return [
    measured({ part, what: `${what}, ${ROUND_TRIP_MS} ms away`, unit: "ms", target: TICK_MS }, [tick.ms]),
    measured({ part, what: `${what}: requests`, unit: "requests" }, [tick.requests]),
    measured({ ...objects, target: OBJECTS_EACH * TO_MOVE }, [tick.objects]),
  ];
}
