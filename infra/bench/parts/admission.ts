/**
 * What deciding costs: reviews answered by Lifeboat in workerd, against a Worker that only makes the same API calls.
 * Owns: the pairs, in turns. Does not own: the reviews (reviews.ts), the pods they are about (reviewed-pods.ts).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { bundle } from "../bundle.ts";
import { numbered } from "../in-parallel.ts";
import { createLoad } from "../load.ts";
import { type Measurement, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { createReviewedPods, type ReviewedPod, type ReviewedPods, unmark } from "../reviewed-pods.ts";
import { checkAnswer, type Kind, KINDS, reviewOf, TITLE } from "../reviews.ts";
import { median } from "../statistics.ts";
import { type BareWorkerd, startBareWorkerd } from "../workerd.ts";

const CONCURRENCY = [1, 8, 64] as const;
/** Reviews in a batch, by concurrency. */
const BATCH = { 1: 12, 8: 48, 64: 64 } as const;
const ROUND_TRIP_MS = 20;
const WEBHOOK_TOKEN = "webhook-token-of-the-benchmark";
/** What goes on after the answers of a batch is to be over before the next one begins. */
const SETTLE_MS = 150;

const load = createLoad();

export const runAdmission: RunPart = async (options) => {
  const [lifeboat, floor] = [await bundle("lifeboat"), await bundle("floor")];
  const server = await startMeasuredApiServer({ roundTripMs: [ROUND_TRIP_MS] });
  try {
    const pods = await createReviewedPods(server.client, Math.max(...Object.values(BATCH)));
    const measurements: Measurement[] = [];
    for (const [ms, url] of [[0, server.url] as const, [ROUND_TRIP_MS, server.slowUrls[0] ?? ""] as const]) {
      const clusters = { bench: { server: url, token: server.lifeboatToken, webhookToken: WEBHOOK_TOKEN } };
      const start = (path: string) => startBareWorkerd({ bundle: path, clusters, caPem: server.caPem });
      const workers = [await start(lifeboat), await start(floor)] as const;
      try {
        measurements.push(...(await measureNetwork({ workers, server, pods, ms, ...options })));
      } finally {
        await Promise.all(workers.map((worker) => worker.stop()));
      }
    }
    return measurements;
  } finally {
    await server.stop();
  }
};

interface NetworkOptions extends PartOptions {
  /** Lifeboat and the floor. */
  readonly workers: readonly [BareWorkerd, BareWorkerd];
  readonly server: MeasuredApiServer;
  readonly pods: ReviewedPods;
  readonly ms: number;
}

async function measureNetwork(o: NetworkOptions): Promise<readonly Measurement[]> {
  await warmUp(o);
  const measurements: Measurement[] = [];
  for (const kind of KINDS) {
    for (const concurrency of CONCURRENCY) {
      const what = `${TITLE[kind]}, ${concurrency} at a time, ${o.ms} ms away`;
      o.note(what);
      measurements.push(await measurePairs(what, { ...o, kind, concurrency }));
    }
  }
  return measurements;
}

/** Marks, too, what is to be marked when its eviction is repeated. */
async function warmUp({ workers: [lifeboat, floor], pods, server, quick }: NetworkOptions): Promise<void> {
  const client = server.client;
  await unmark(client, pods.repeat);
  await batch(lifeboat, { kind: "first", pods: pods.repeat, concurrency: 8 });
  for (const kind of quick ? KINDS : [...KINDS, ...KINDS, ...KINDS]) {
    for (const worker of [lifeboat, floor]) {
      await batch(worker, { kind, pods: pods[kind], concurrency: 8, floor: worker === floor });
      await settle(client, kind, pods);
    }
  }
}

interface Pairs extends NetworkOptions {
  readonly kind: Kind;
  readonly concurrency: (typeof CONCURRENCY)[number];
}

/** In each round first the one and then the other goes first; a round counts by its median. */
async function measurePairs(what: string, o: Pairs): Promise<Measurement> {
  const { workers, kind, concurrency } = o;
  const chosen = o.pods[kind].slice(0, BATCH[concurrency]);
  const medians: [number[], number[]] = [[], []];
  for (const round of numbered(o.quick ? 3 : 5)) {
    for (const which of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const times = await batch(workers[which], { kind, pods: chosen, concurrency, floor: which === 1 });
      medians[which].push(median(times));
      await settle(o.server.client, kind, o.pods);
    }
  }
  const [samples, floor] = medians;
  const named = { part: "admission", what, unit: "ms", target: 1.2 } as const;
  return measuredAgainst(named, samples, { what: "floor", samples: floor });
}

interface Batch {
  readonly kind: Kind;
  readonly pods: readonly ReviewedPod[];
  readonly concurrency: number;
  readonly floor?: boolean;
}

async function batch(worker: BareWorkerd, { kind, pods, concurrency, floor = false }: Batch) {
  const door = `/clusters/bench/admission/evictions/${WEBHOOK_TOKEN}?timeout=10s${floor ? `&calls=${kind}` : ""}`;
  const answers = await load({ url: `${worker.url}${door}`, bodies: pods.map(reviewOf), concurrency });
  for (const answer of answers) {
    if (!floor) checkAnswer(kind, answer);
    else if (answer.code !== 200) throw new Error(`the floor answered ${answer.code} ${answer.text}`);
  }
  return answers.map(({ ms }) => ms);
}

async function settle(client: KubeClient, kind: Kind, pods: ReviewedPods): Promise<void> {
  if (kind === "ordinary") return;
  await delay(SETTLE_MS);
  if (kind === "first") await unmark(client, pods.first);
}
