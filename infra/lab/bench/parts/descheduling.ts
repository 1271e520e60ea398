/** What a cycle of descheduling costs: by the number of nodes and pods. */
import { isDeepStrictEqual } from "node:util";
import { configMaps } from "../../../sandbox/actors/resources.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { AGE_SECONDS, EXPECTED, POLICY, REQUESTED } from "../descheduling-policy.ts";
import { type Sized, withGrowth } from "../growth.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { CPU_LIMIT_MS, ISOLATE_MIB } from "../isolate-limits.ts";
import { createNodes, undo } from "../lopsided-cluster.ts";
import { planNode, PODS_A_NODE } from "../lopsided-plan.ts";
import { type Floor, type Measurement, measured, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { DOOR, type InWorkerd, runInWorkerd, runPass } from "../pass.ts";
import { type Done, type List, type Pass, readCycle, type Work } from "../pass-work.ts";

const part = "descheduling";
const MIB = 2 ** 20;
const PAGE_SIZE = 250;
/** Besides the pages: the policy, Evacuations, Lifeboat's and KubeVirt's configuration, one to spare, and a look at each VM that is asked for. */
const OTHER_REQUESTS = 5 + EXPECTED.Background;
/** Nothing but cycles, and these when we ask for them. */
const CONFIGURATION = {
  featureGates: { EvictionsInBackground: true },
  disruptionBudgets: "Never",
};

export const runDescheduling: RunPart = async (options) => {
  const sizes = options.quick ? [50, 500] : [500, 5000];
  const server = await startMeasuredApiServer({ ageSeconds: AGE_SECONDS });
  const closers = [() => server.stop()];
  try {
    await installLifeboat(server.client, CONFIGURATION, ["optional/descheduling/descheduling.yaml"]);
    await server.client.create(configMaps, {
      metadata: { namespace: "lifeboat-system", name: "lifeboat-descheduler" },
      data: { "policy.yaml": POLICY },
    });
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
    for (const close of closers) await close();
  }
};

const PAGED = { limit: String(PAGE_SIZE) };
const LISTS: readonly List[] = [
  { path: "/api/v1/nodes", query: PAGED },
  { path: "/api/v1/pods", query: { ...PAGED, fieldSelector: "spec.nodeName!=" } },
  { path: "/apis/kubevirt.io/v1/virtualmachineinstances", query: PAGED },
];

const WORK = {
  dry: { work: "deschedule", dryRun: true },
  real: { work: "deschedule", dryRun: false },
  floor: { work: "read", lists: [...LISTS] },
} as const satisfies Record<string, Work>;

type Which = keyof typeof WORK;
const TURNS = ["dry", "real", "floor"] as const satisfies readonly Which[];

function pagesOf(nodes: number): number {
  const vms = numbered(nodes).reduce((sum, index) => sum + planNode(index).vms.length, 0);
  const counts = [nodes, nodes * PODS_A_NODE, vms];
  return counts.reduce((sum, count) => sum + Math.ceil(count / PAGE_SIZE), 0);
}

/** In turns, each in a fresh process; after a real cycle all is as it was before. */
async function measureSize(server: MeasuredApiServer, nodes: number, { note }: PartOptions) {
  note(`cycles over ${nodes} nodes and ${nodes * PODS_A_NODE} pods`);
  const passes: Record<Which, Pass[]> = { dry: [], real: [], floor: [] };
  for (const _ of numbered(3)) {
    for (const which of TURNS) {
      const pass = await runPass(server, WORK[which]);
      if (which !== "floor") await finish(server, nodes, { which, pass });
      passes[which].push(pass);
    }
  }
  note("the same, in workerd");
  const inWorkerd = await measureInWorkerd(server, nodes, [DRY_RUN, DRY_RUN, DRY_RUN, CYCLE]);
  note("the same, with a look at the memory");
  const heaps = {
    dry: (await measureInWorkerd(server, nodes, [DRY_RUN], true)).peakHeapMiB,
    real: (await measureInWorkerd(server, nodes, [CYCLE], true)).peakHeapMiB,
  };
  const what = `${nodes} nodes, ${nodes * PODS_A_NODE} pods`;
  return [
    ...rowsOfDryRun(`dry run, ${what}`, passes, pagesOf(nodes)),
    ...rowsOfCycle(`cycle, ${what}`, passes),
    ...rowsInWorkerd(what, inWorkerd, heaps),
  ];
}

/** The figures are those of a cycle that did what it was to do. */
async function finish(
  server: MeasuredApiServer,
  nodes: number,
  of: { readonly which: Exclude<Which, "floor">; readonly pass: Done },
): Promise<void> {
  const { done, requested } = of.pass;
  const asked = Object.fromEntries(Object.entries(done).filter(([result]) => result in EXPECTED));
  if (!isDeepStrictEqual(asked, { ...EXPECTED }) || requested.length !== REQUESTED) {
    throw new Error(`not what was to be requested: ${JSON.stringify(of)}`);
  }
  if (of.which === "real") await undo(server.client, nodes, requested);
}

const CYCLE = `${DOOR}/deschedule`;
const DRY_RUN = `${CYCLE}?dryRun=true`;

/** The first one is cold. A real one is the last, for it changes what the next would find. */
async function measureInWorkerd(server: MeasuredApiServer, nodes: number, paths: readonly string[], heap = false) {
  const inWorkerd = await runInWorkerd(server, paths, { heap });
  for (const [index, answer] of inWorkerd.answers.entries()) {
    const which = paths[index] === CYCLE ? "real" : "dry";
    await finish(server, nodes, { which, pass: readCycle(answer) });
  }
  return inWorkerd;
}

type Passes = Readonly<Record<Which, readonly Pass[]>>;

const requestsOf = (passes: readonly Pass[]) => passes.map(({ requests }) => requests);
const cpuOf = (passes: readonly Pass[]) => passes.map(({ cpuMs }) => cpuMs);

function readingAlone({ floor }: Passes): Floor {
  return { what: "reading and parsing alone", samples: cpuOf(floor) };
}

function rowsOfDryRun(what: string, passes: Passes, pages: number): readonly Measurement[] {
  const { dry } = passes;
  const barePages = { what: "pages of nodes, pods and VMIs", samples: dry.map(() => pages) };
  const target = (pages + OTHER_REQUESTS) / pages;
  const bytes = dry.map((pass) => pass.bytes / MIB);
  const times = dry.map(({ ms }) => ms);
  return [
    measuredAgainst({ part, what: `${what}: requests`, unit: "requests", target }, requestsOf(dry), barePages),
    measured({ part, what: `${what}: answers of the API server`, unit: "MiB" }, bytes),
    measuredAgainst({ part, what: `${what}: CPU`, unit: "ms" }, cpuOf(dry), readingAlone(passes)),
    measured({ part, what: `${what}: time`, unit: "ms" }, times),
  ];
}

function rowsOfCycle(what: string, passes: Passes): readonly Measurement[] {
  const { dry, real } = passes;
  const more = requestsOf(real).map((requests, round) => (requests - (dry[round]?.requests ?? 0)) / REQUESTED);
  const dryRun = { what: "dry run", samples: requestsOf(dry) };
  return [
    measuredAgainst({ part, what: `${what}: requests`, unit: "requests" }, requestsOf(real), dryRun),
    measured({ part, what: `${what}: more requests for each of the ${REQUESTED}`, unit: "requests" }, more),
    measuredAgainst({ part, what: `${what}: CPU`, unit: "ms" }, cpuOf(real), readingAlone(passes)),
  ];
}

type Heaps = Readonly<Record<"dry" | "real", number>>;

function rowsInWorkerd(what: string, { cpuMs, peakRssMiB }: InWorkerd, heaps: Heaps): readonly Measurement[] {
  const cpu = { part, unit: "ms", target: CPU_LIMIT_MS } as const;
  const heap = { part, unit: "MiB", target: ISOLATE_MIB } as const;
  const [dry, real] = [`dry run, ${what}`, `cycle, ${what}`];
  return [
    measured({ ...cpu, what: `${dry}, in workerd: CPU of the process` }, cpuMs.slice(0, -1)),
    measured({ ...cpu, what: `${real}, in workerd: CPU of the process` }, cpuMs.slice(-1)),
    measured({ ...heap, what: `${dry}, in workerd: peak of the live heap` }, [heaps.dry]),
    measured({ ...heap, what: `${real}, in workerd: peak of the live heap` }, [heaps.real]),
    measured({ part, what: `${what}, in workerd: peak RSS of the process`, unit: "MiB" }, [peakRssMiB]),
  ];
}
