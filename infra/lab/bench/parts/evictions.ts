/** What a drain's first requests cost with all that follows the answers: VMs of one namespace, all asked to leave. */
import { setTimeout as delay } from "node:timers/promises";
import { numbered } from "../../../tools/in-parallel.ts";
import { type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { bundle } from "../bundle.ts";
import { createLoad } from "../load.ts";
import { type Measurement, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { createLeavingPods, forget, type ReviewedPod } from "../reviewed-pods.ts";
import { checkAnswer, reviewOf } from "../reviews.ts";
import { type BareWorkerd, startBareWorkerd } from "../workerd.ts";

const part = "evictions";
const CONCURRENCY = 8;
const TOKEN = "webhook-token-of-the-benchmark";

const load = createLoad();

interface Cost {
  readonly answeredMs: number;
  /** Requests to the API server; milliseconds of CPU of either process. All of them: for each VM. */
  readonly requests: number;
  readonly workerAnswering: number;
  readonly worker: number;
  readonly apiServer: number;
}

export const runEvictions: RunPart = async (options) => {
  const [vms, afterSeconds] = options.quick ? [40, 5] : [200, 20];
  const bundles = [await bundle("lifeboat"), await bundle("floor")] as const;
  const server = await startMeasuredApiServer();
  try {
    options.note(`creating ${vms} VMs in one namespace`);
    const pods = await createLeavingPods(server.client, vms);
    const clusters = { bench: { server: server.url, token: server.lifeboatToken, webhookToken: TOKEN } };
    const start = (path: string) => startBareWorkerd({ bundle: path, clusters, caPem: server.caPem });
    const workers = await Promise.all(bundles.map(start));
    try {
      return rowsOf(vms, afterSeconds, await takeTurns({ workers, server, pods, afterSeconds, ...options }));
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
    }
  } finally {
    await server.stop();
  }
};

interface Turns extends PartOptions {
  /** Lifeboat and the floor. */
  readonly workers: readonly BareWorkerd[];
  readonly server: MeasuredApiServer;
  readonly pods: readonly ReviewedPod[];
  readonly afterSeconds: number;
}

/** By worker. The first round warms both up. */
async function takeTurns(o: Turns): Promise<readonly (readonly Cost[])[]> {
  const costs = o.workers.map((): Cost[] => []);
  for (const round of numbered(o.quick ? 3 : 4)) {
    for (const [which, worker] of o.workers.entries()) {
      o.note(`round ${round} of ${which === 0 ? "Lifeboat" : "KubeVirt's calls"}`);
      const cost = await costOf(worker, which === 0, round === 0 ? { ...o, afterSeconds: 1 } : o);
      if (round > 0) costs[which]?.push(cost);
      await forget(o.server.client, o.pods);
    }
  }
  return costs;
}

async function costOf(worker: BareWorkerd, isLifeboat: boolean, { server, pods, afterSeconds }: Turns): Promise<Cost> {
  const url = `${worker.url}/clusters/bench/admission/evictions/${TOKEN}?timeout=10s${isLifeboat ? "" : "&calls=first"}`;
  const look = async () => ({ server: await server.usage(), worker: await worker.cpuMs(), at: performance.now() });
  const before = await look();
  const answers = await load({ url, bodies: pods.map(reviewOf), concurrency: CONCURRENCY });
  const answered = await look();
  await delay(afterSeconds * 1000);
  const after = await look();
  if (isLifeboat) for (const answer of answers) checkAnswer("first", answer);
  return {
    answeredMs: answered.at - before.at,
    requests: (after.server.requests - before.server.requests) / pods.length,
    workerAnswering: (answered.worker - before.worker) / pods.length,
    worker: (after.worker - before.worker) / pods.length,
    apiServer: (after.server.cpuMs - before.server.cpuMs) / pods.length,
  };
}

function rowsOf(vms: number, afterSeconds: number, [lifeboat = [], floor = []]: readonly (readonly Cost[])[]) {
  const row = (what: string, unit: "ms" | "requests", key: keyof Cost): Measurement => {
    const samples = { what: "KubeVirt's calls", samples: floor.map((cost) => cost[key]) };
    return measuredAgainst(
      { part, what, unit },
      lifeboat.map((cost) => cost[key]),
      samples,
    );
  };
  const all = `${afterSeconds} s after the answers included`;
  return [
    row(`${vms} first evictions in one namespace, ${CONCURRENCY} at a time, until the last answer`, "ms", "answeredMs"),
    row(`requests for each of ${vms}, ${all}`, "requests", "requests"),
    row(`CPU of the Worker for each of ${vms}, until the last answer`, "ms", "workerAnswering"),
    row(`CPU of the Worker for each of ${vms}, ${all}`, "ms", "worker"),
    row(`CPU of the API server for each of ${vms}, ${all}`, "ms", "apiServer"),
  ];
}
