/**
 * What it costs to say whether a drain of one node would end: by the number of nodes and pods.
 * Owns: these measurements. Does not own: the cluster (lopsided-cluster.ts), the preflight in a process of its own (pass.ts).
 */
import { numbered } from "../../tools/in-parallel.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { type Sized, withGrowth } from "../growth.ts";
import { CPU_LIMIT_MS, ISOLATE_MIB } from "../isolate-limits.ts";
import { createNodes } from "../lopsided-cluster.ts";
import { planNode, PODS_A_NODE } from "../lopsided-plan.ts";
import { type Measurement, measured, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { DOOR, runInWorkerd, runPass } from "../pass.ts";
import { type Done, type List, type Pass, readPreflight } from "../pass-work.ts";

const part = "preflight";
const MIB = 2 ** 20;
const PAGE_SIZE = 250;
/** Besides the pages: the pods of the node, its VMIs and those that move, Evacuations twice, budgets, quotas, four of configuration. */
const OTHER_REQUESTS = 11;
/** A full one. */
const { name: NODE, vms: VMS, pods: PODS } = planNode(0);

export const runPreflight: RunPart = async (options) => {
  const sizes = options.quick ? [50] : [50, 500];
  const server = await startMeasuredApiServer();
  try {
    await installLifeboat(server.client, { reconcilers: { evacuation: false, budget: "Disabled" } });
    const sized: Sized[] = [];
    let before = 0;
    for (const size of sizes) {
      options.note(`creating nodes ${before} to ${size}, with ${PODS_A_NODE} pods each`);
      await createNodes(server.client, before, size);
      sized.push({ size, measurements: await measureSize(server, size, options) });
      before = size;
    }
    return withGrowth(sized);
  } finally {
    await server.stop();
  }
};

const PAGED = { limit: String(PAGE_SIZE) };
const ENDED = "status.phase!=Succeeded,status.phase!=Failed";
const LISTS: readonly List[] = [
  { path: "/api/v1/nodes", query: PAGED },
  { path: "/api/v1/pods", query: { ...PAGED, fieldSelector: `spec.nodeName!=,spec.nodeName!=${NODE},${ENDED}` } },
];

/** In turns, each in a fresh process. */
async function measureSize(server: MeasuredApiServer, nodes: number, { note }: PartOptions) {
  note(`preflights of a node among ${nodes}`);
  const [passes, floor]: [Pass[], Pass[]] = [[], []];
  for (const _ of numbered(3)) {
    passes.push(expected(await runPass(server, { work: "preflight", node: NODE })));
    floor.push(await runPass(server, { work: "read", lists: [...LISTS] }));
  }
  note("the same, in workerd");
  const path = `${DOOR}/explain/nodes/${NODE}?deleteEmptyDirData=true`;
  const { cpuMs, peakRssMiB, answers } = await runInWorkerd(server, [path, path, path], { method: "GET" });
  for (const answer of answers) expected(readPreflight(answer));
  const { peakHeapMiB } = await runInWorkerd(server, [path], { method: "GET", heap: true });
  const what = `preflight, ${nodes} nodes, ${nodes * PODS_A_NODE} pods`;
  return [
    ...rowsInNode(what, { passes, floor }, Math.ceil(nodes / PAGE_SIZE) + Math.ceil((nodes * PODS_A_NODE) / PAGE_SIZE)),
    measured({ part, what: `${what}, in workerd: CPU of the process`, unit: "ms", target: CPU_LIMIT_MS }, cpuMs),
    measured({ part, what: `${what}, in workerd: peak of the live heap`, unit: "MiB", target: ISOLATE_MIB }, [
      peakHeapMiB,
    ]),
    measured({ part, what: `${what}, in workerd: peak RSS of the process`, unit: "MiB" }, [peakRssMiB]),
  ];
}

/** The figures are those of a preflight that has seen everything, and found room. */
function expected<T extends Done>(pass: T): T {
  const { Moves, Evicted, Drains, unknown } = pass.done;
  if (Moves === VMS.length && Evicted === PODS.length && Drains === 1 && unknown === 0) return pass;
  throw new Error(`not what was to be said: ${JSON.stringify(pass.done)}`);
}

interface Passes {
  readonly passes: readonly Pass[];
  readonly floor: readonly Pass[];
}

const mibOf = (passes: readonly Pass[]) => passes.map(({ bytes }) => bytes / MIB);
const cpuOf = (passes: readonly Pass[]) => passes.map(({ cpuMs }) => cpuMs);

function rowsInNode(what: string, { passes, floor }: Passes, pages: number): readonly Measurement[] {
  const bare = { what: "pages of nodes and of other nodes' pods", samples: passes.map(() => pages) };
  const target = (pages + OTHER_REQUESTS) / pages;
  const reading = "reading and parsing these alone";
  return [
    measuredAgainst(
      { part, what: `${what}: requests`, unit: "requests", target },
      passes.map(({ requests }) => requests),
      bare,
    ),
    measuredAgainst({ part, what: `${what}: answers of the API server`, unit: "MiB" }, mibOf(passes), {
      what: reading,
      samples: mibOf(floor),
    }),
    measuredAgainst({ part, what: `${what}: CPU`, unit: "ms" }, cpuOf(passes), {
      what: reading,
      samples: cpuOf(floor),
    }),
    measured(
      { part, what: `${what}: time`, unit: "ms" },
      passes.map(({ ms }) => ms),
    ),
  ];
}
