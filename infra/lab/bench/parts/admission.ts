/** What deciding costs: reviews answered by Lifeboat in workerd, against a Worker that makes the API calls of KubeVirt's own webhook. */
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type KubeClient, kubevirt, pods } from "../../../sandbox/index.ts";
import { buildWorker } from "../../../tools/build-worker.ts";
import { inParallel, numbered } from "../../../tools/in-parallel.ts";
import { evacuations } from "../../stage/evacuations.ts";
import { installLifeboat, startMeasuredApiServer } from "../api-server.ts";
import type { PartOptions } from "../main.ts";
import { type Measurement, median } from "../measurement.ts";
import * as population from "../population.ts";
import { checkAnswer, type Kind, KINDS, type ReviewedPod, reviewOf, TITLE } from "../reviews.ts";
import { type BareWorkerd, startBareWorkerd } from "../workerd.ts";

const AT_A_TIME = [1, 8] as const;
const BATCH = 48;
const WEBHOOK_TOKEN = "webhook-token-of-the-benchmark";
/** What goes on after the answers of a batch is to be over before the next one begins. */
const SETTLE_MS = 400;
/** workerd closes idle connections after a few seconds: ours go before that. */
const AGENT = new Agent({ keepAlive: true, timeout: 1000 });
/** Nothing acts in this cluster, and Lifeboat waits for KubeVirt for longer than the benchmark takes. */
const CONFIGURATION = { evacuation: { adoptSeconds: 604_800 }, disruptionBudgets: "Never" };

type ReviewedPods = Readonly<Record<Kind, readonly ReviewedPod[]>>;
type Workers = readonly [lifeboat: BareWorkerd, floor: BareWorkerd];

export async function runAdmission({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  const bundles = [await buildWorker(), await buildWorker("infra/lab/bench/workers/floor.ts")] as const;
  const server = await startMeasuredApiServer();
  const { client, url, caPem, lifeboatToken: token } = server;
  const clusters = { bench: { server: url, token, webhookToken: WEBHOOK_TOKEN } };
  const start = (bundle: string) => startBareWorkerd({ bundle, clusters, caPem });
  const workers: Workers = [await start(bundles[0]), await start(bundles[1])];
  try {
    const reviewed = await createReviewedPods(client);
    // Evictions that are repeated have been asked for once.
    await batch(workers, 0, { kind: "first", pods: reviewed.repeat, atATime: 8 });
    await delay(SETTLE_MS);
    const measurements: Measurement[] = [];
    for (const kind of KINDS)
      for (const atATime of AT_A_TIME) {
        const what = `${TITLE[kind]}, ${atATime} at a time`;
        note(what);
        const [samples, floor] = await inTurns(client, workers, {
          kind,
          atATime,
          pods: reviewed[kind],
          rounds: quick ? 3 : 7,
        });
        measurements.push({ what, unit: "ms", samples, floor: { what: "KubeVirt's calls", samples: floor } });
      }
    return measurements;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await server.stop();
  }
}

async function createReviewedPods(client: KubeClient): Promise<ReviewedPods> {
  await installLifeboat(client, CONFIGURATION);
  const apart = Math.ceil(BATCH / population.VMS_PER_NAMESPACE) * population.VMS_PER_NAMESPACE;
  await population.createPlaces(client, 0, apart + BATCH);
  const launchersOf = async (from: number) => {
    const created = await population.createLaunchers(client, await population.createVms(client, from, from + BATCH));
    await inParallel(created, 8, (pod) => client.patch(pods, pod.metadata, READY, { subresource: "status" }));
    return created.map(keyOf);
  };
  return { first: await launchersOf(0), repeat: await launchersOf(apart) };
}

const READY = {
  type: "merge",
  body: { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
} as const;

function keyOf({
  metadata: { namespace = "", name },
}: {
  metadata: { namespace?: string; name: string };
}): ReviewedPod {
  return { namespace, name };
}

interface Batch {
  readonly kind: Kind;
  readonly atATime: number;
  readonly pods: readonly ReviewedPod[];
}

/** In each round first the one and then the other goes first; a round counts by its median, the first one warms up. */
async function inTurns(client: KubeClient, workers: Workers, { rounds, ...of }: Batch & { rounds: number }) {
  const medians: [number[], number[]] = [[], []];
  for (const round of numbered(rounds + 1))
    for (const which of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const times = await batch(workers, which, of);
      if (round > 0) medians[which].push(median(times));
      await delay(SETTLE_MS);
      if (of.kind === "first") await forget(client, of.pods);
    }
  return medians;
}

async function batch(
  workers: Workers,
  which: 0 | 1,
  { kind, atATime, pods: asked }: Batch,
): Promise<readonly number[]> {
  const path = `/clusters/bench/admission/evictions/${WEBHOOK_TOKEN}?timeout=10s${which === 1 ? `&calls=${kind}` : ""}`;
  const answers = await inParallel(asked, atATime, (pod) => post(`${workers[which].url}${path}`, reviewOf(pod)));
  for (const answer of answers) {
    if (which === 0) checkAnswer(kind, answer);
    else if (answer.code !== 200) throw new Error(`the floor answered ${answer.code} ${answer.text}`);
  }
  return answers.map(({ ms }) => ms);
}

interface TimedAnswer {
  readonly ms: number;
  readonly code: number;
  readonly text: string;
}

function post(url: string, body: string): Promise<TimedAnswer> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const outgoing = request(url, { method: "POST", agent: AGENT, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ ms: performance.now() - begin, code: response.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject).end(body);
  });
}

/** As before the first review: no mark, no Evacuation. */
async function forget(client: KubeClient, launchers: readonly ReviewedPod[]): Promise<void> {
  const keys = launchers.map(({ namespace, name }) => ({ namespace, name: population.vmNameOf(name) }));
  const body = { status: { evacuationNodeName: null } };
  await inParallel(keys, 8, (key) => client.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body }));
  const { items } = await client.list(evacuations);
  const isTheirs = ({ namespace = "" }: { namespace?: string }, vm: string) =>
    keys.some((key) => key.namespace === namespace && key.name === vm);
  const theirs = items.filter(({ metadata, spec }) => isTheirs(metadata, spec.virtualMachineInstance.name));
  await inParallel(theirs, 8, ({ metadata }) => client.delete(evacuations, metadata));
}
