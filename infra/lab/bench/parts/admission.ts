/** What deciding costs: reviews answered by Lifeboat in workerd, against a Worker that makes the API calls of KubeVirt's own webhook. */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../../sandbox/actors/client.ts";
import { type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { bundle } from "../bundle.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { createLoad } from "../load.ts";
import { type Measurement, measuredAgainst } from "../measurement.ts";
import type { PartOptions, RunPart } from "../part.ts";
import { configureBudgets, createReviewedPods, forget, type ReviewedPod, type ReviewedPods } from "../reviewed-pods.ts";
import { checkAnswer, type Kind, KINDS, reviewOf, TITLE } from "../reviews.ts";
import { median } from "../statistics.ts";
import { type BareWorkerd, startBareWorkerd } from "../workerd.ts";

const CONCURRENCY = [1, 8, 64] as const;
/** Reviews in a batch, by concurrency. */
const BATCH = { 1: 12, 8: 48, 64: 64 } as const;
const ROUND_TRIP_MS = 20;
const WEBHOOK_TOKEN = "webhook-token-of-the-benchmark";
/** What goes on after the answers of a batch is to be over before the next one begins. */
const SETTLE_MS = 400;

const load = createLoad();

export const runAdmission: RunPart = async (options) => {
  const [lifeboat, floor] = [await bundle("lifeboat"), await bundle("floor")];
  const server = await startMeasuredApiServer({ roundTripMs: [ROUND_TRIP_MS] });
  try {
    const pods = await createReviewedPods(server.client, Math.max(...Object.values(BATCH)));
    const measurements: Measurement[] = [];
    for (const { ms, budgeted, kinds } of SETTINGS) {
      await configureBudgets(server.client, budgeted);
      const url = ms === 0 ? server.url : (server.slowUrls[0] ?? "");
      const clusters = { bench: { server: url, token: server.lifeboatToken, webhookToken: WEBHOOK_TOKEN } };
      const start = (path: string) => startBareWorkerd({ bundle: path, clusters, caPem: server.caPem });
      const workers = [await start(lifeboat), await start(floor)] as const;
      try {
        measurements.push(...(await measureSetting({ workers, server, pods, ms, budgeted, kinds, ...options })));
      } finally {
        await Promise.all(workers.map((worker) => worker.stop()));
      }
    }
    return measurements;
  } finally {
    await server.stop();
  }
};

interface Setting {
  /** To the API server and back. */
  readonly ms: number;
  readonly budgeted: boolean;
  readonly kinds: readonly Kind[];
}

/** A first eviction makes the VM's budget larger, if it has one. */
const SETTINGS: readonly Setting[] = [
  { ms: 0, budgeted: false, kinds: KINDS },
  { ms: ROUND_TRIP_MS, budgeted: false, kinds: KINDS },
  { ms: 0, budgeted: true, kinds: ["first"] },
  { ms: ROUND_TRIP_MS, budgeted: true, kinds: ["first"] },
];

/** Of the ratio, at 0 ms and far away, where two round trips take the place of three. */
const TARGETS = {
  ordinary: [1.2, 1.2],
  first: [1.3, 0.8],
  repeat: [1.2, 0.7],
} as const satisfies Record<Kind, readonly [near: number, far: number]>;

interface SettingOptions extends PartOptions, Setting {
  /** Lifeboat and the floor. */
  readonly workers: readonly [BareWorkerd, BareWorkerd];
  readonly server: MeasuredApiServer;
  readonly pods: ReviewedPods;
}

async function measureSetting(o: SettingOptions): Promise<readonly Measurement[]> {
  await warmUp(o);
  const measurements: Measurement[] = [];
  for (const kind of o.kinds) {
    for (const concurrency of CONCURRENCY) {
      const grown = o.budgeted ? ", with its budget" : "";
      const what = `${TITLE[kind]}${grown}, ${concurrency} at a time, ${o.ms} ms away`;
      o.note(what);
      measurements.push(await measurePairs(what, { ...o, kind, concurrency }));
    }
  }
  return measurements;
}

/** Marks, too, what is to be marked when its eviction is repeated. */
async function warmUp({ workers: [lifeboat, floor], pods, server, kinds, quick }: SettingOptions): Promise<void> {
  const client = server.client;
  await forget(client, pods.repeat);
  await batch(lifeboat, { kind: "first", pods: pods.repeat, concurrency: 8 });
  for (const kind of quick ? kinds : [...kinds, ...kinds, ...kinds]) {
    for (const worker of [lifeboat, floor]) {
      await batch(worker, { kind, pods: pods[kind], concurrency: 8, floor: worker === floor });
      await settle(client, kind, pods);
    }
  }
}

interface Pairs extends SettingOptions {
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
  const named = { part: "admission", what, unit: "ms", ...targetOf(o) } as const;
  return measuredAgainst(named, samples, { what: "KubeVirt's calls", samples: floor });
}

/** To grow a budget before the mark takes a round trip that KubeVirt's webhook does not make. */
function targetOf({ kind, ms, budgeted }: Pairs): { readonly target?: number } {
  const [near, far] = TARGETS[kind];
  return budgeted ? {} : { target: ms === 0 ? near : far };
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
  if (kind === "first") await forget(client, pods.first);
}
