/** What deciding costs: reviews answered by Lifeboat in workerd, against a Worker that makes the API calls of KubeVirt's own webhook. */
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type KubeClient, kubevirt, pods } from "../../../sandbox/index.ts";
import { buildImage } from "../../../tools/build-image.ts";
import { buildWorker } from "../../../tools/build-worker.ts";
import { inParallel, numbered } from "../../../tools/in-parallel.ts";
import { evacuations } from "../../stage/evacuations.ts";
import { applyInCluster } from "../../stage/in-cluster.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { startImageServer } from "../image-server.ts";
import type { PartOptions } from "../main.ts";
import { type Measurement, median } from "../measurement.ts";
import * as population from "../population.ts";
import { checkAnswer, type Kind, KINDS, type ReviewedPod, reviewOf, TITLE } from "../reviews.ts";
import { type TimedAnswer, timed } from "../timed.ts";
import { startBareWorkerd } from "../workerd.ts";

/** As many evictions of a drain are under way at a time. */
const AT_A_TIME = 8;
/** Of the API server's answers to Lifeboat and the floor: beside it, and across a continent. */
const DELAYS_MS = [0, 20] as const;
const BATCH = 48;
const WEBHOOK_TOKEN = "webhook-token-of-the-benchmark";
/** What goes on after the answers of a batch is to be over before the next one begins. */
const SETTLE_MS = 400;
/** workerd closes idle connections after a few seconds: ours go before that. */
const AGENT = new Agent({ keepAlive: true, timeout: 1000 });
/** Nothing acts in this cluster, and Lifeboat waits for KubeVirt for longer than the benchmark takes. */
const CONFIGURATION = { evacuation: { adoptSeconds: 604_800 }, disruptionBudgets: "Never" };

type ReviewedPods = Readonly<Record<Kind, readonly ReviewedPod[]>>;

/** Whom the reviews are sent to. */
interface Reviewer {
  readonly review: (kind: Kind, body: string) => Promise<TimedAnswer>;
  readonly cpuMs: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** Lifeboat's ratios to the floor, which DESIGN promises beside its own API server. */
const WANTED = { Worker: { first: 1.8, repeat: 1.3 }, "in the cluster": { first: 1.3, repeat: 0.5 } } as const;
const FORMS = ["Worker", "in the cluster"] as const;

export async function runAdmission({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  await buildImage();
  const bundles = [await buildWorker(), await buildWorker("infra/lab/bench/workers/floor.ts")] as const;
  const server = await startMeasuredApiServer();
  const reviewed = await createReviewedPods(server.client);
  const image = await startImageServer(server);
  const inCluster: Reviewer = { ...image, review: (_, body) => image.review(body) };
  const reviewers = [await workerd(server, bundles[0]), inCluster, await workerd(server, bundles[1])] as const;
  try {
    // Evictions that are repeated have been asked for once.
    await batch(reviewers[0], { kind: "first", pods: reviewed.repeat });
    await mark(server.client, reviewed.repeat);
    await delay(SETTLE_MS);
    const measurements: Measurement[] = [];
    for (const kind of KINDS)
      for (const milliseconds of DELAYS_MS) {
        server.delay(milliseconds);
        const what = `${TITLE[kind]}, API server ${milliseconds} ms away`;
        note(what);
        const results = await inTurns(server, reviewers, { kind, pods: reviewed[kind], rounds: quick ? 3 : 5 });
        measurements.push(
          ...FORMS.flatMap((form, which) => rowsOf(`${what}, ${form}`, results, which, WANTED[form][kind])),
        );
      }
    return measurements;
  } finally {
    await Promise.all(reviewers.map((reviewer) => reviewer.stop()));
    await server.stop();
  }
}

async function workerd({ url, caPem, lifeboatToken: token }: MeasuredApiServer, bundle: string): Promise<Reviewer> {
  const clusters = { bench: { server: url, token, webhookToken: WEBHOOK_TOKEN } };
  const worker = await startBareWorkerd({ bundle, clusters, caPem });
  const to = new URL(worker.url);
  const path = `/clusters/bench/admission/evictions/${WEBHOOK_TOKEN}?timeout=10s`;
  return {
    ...worker,
    review: (kind, body) =>
      timed(request, { host: to.hostname, port: to.port, path: `${path}&calls=${kind}`, agent: AGENT }, body),
  };
}

/** Milliseconds of each round. */
interface Result {
  readonly times: number[];
  /** Of the reviewer's process for each review. */
  readonly cpu: number[];
}

function rowsOf(what: string, results: readonly Result[], which: number, target: number): readonly Measurement[] {
  const [lifeboat, floor] = [results[which], results.at(-1)];
  if (lifeboat === undefined || floor === undefined) return [];
  const against = "KubeVirt's calls";
  return [
    { what, unit: "ms", samples: lifeboat.times, floor: { what: against, samples: floor.times }, target },
    { what: "its CPU for each", unit: "ms", samples: lifeboat.cpu, floor: { what: against, samples: floor.cpu } },
  ];
}

async function createReviewedPods(client: KubeClient): Promise<ReviewedPods> {
  await installLifeboat(client, CONFIGURATION);
  await applyInCluster(client);
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
  readonly pods: readonly ReviewedPod[];
}

/** In each round another one goes first; a round counts by its median, the first one warms up. */
async function inTurns(
  { client }: MeasuredApiServer,
  reviewers: readonly Reviewer[],
  { rounds, ...of }: Batch & { readonly rounds: number },
): Promise<readonly Result[]> {
  const results = reviewers.map((): Result => ({ times: [], cpu: [] }));
  for (const round of numbered(rounds + 1))
    for (const index of reviewers.keys()) {
      const which = (index + round) % reviewers.length;
      const reviewer = reviewers[which];
      if (reviewer === undefined) continue;
      const before = await reviewer.cpuMs();
      const times = await batch(reviewer, of);
      await delay(SETTLE_MS);
      const cpu = (await reviewer.cpuMs()) - before;
      if (round > 0) results[which]?.times.push(median(times));
      if (round > 0) results[which]?.cpu.push(cpu / times.length);
      if (of.kind === "first") await forget(client, of.pods);
      if (of.kind === "first") await delay(SETTLE_MS);
    }
  return results;
}

async function batch(reviewer: Reviewer, { kind, pods: asked }: Batch): Promise<readonly number[]> {
  const answers = await inParallel(asked, AT_A_TIME, (pod) => reviewer.review(kind, reviewOf(pod)));
  for (const answer of answers) checkAnswer(kind, answer);
  return answers.map(({ ms }) => ms);
}

/** As KubeVirt's webhook does. */
async function mark(client: KubeClient, launchers: readonly ReviewedPod[]): Promise<void> {
  await inParallel(launchers, AT_A_TIME, async ({ namespace, name }) => {
    const { spec } = (await client.get(pods, { namespace, name })) ?? {};
    const body = { status: { evacuationNodeName: spec?.nodeName } };
    const key = { namespace, name: population.vmNameOf(name) };
    await client.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body });
  });
}

/** Of Evacuations that have not ended, it may delete any: when their namespace goes. */
const NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller";

/** As before the first review: no mark, no Evacuation. */
async function forget(client: KubeClient, launchers: readonly ReviewedPod[]): Promise<void> {
  const keys = launchers.map(({ namespace, name }) => ({ namespace, name: population.vmNameOf(name) }));
  const body = { status: { evacuationNodeName: null } };
  await inParallel(keys, 8, (key) => client.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body }));
  const { items } = await client.list(evacuations);
  const isTheirs = ({ namespace = "" }: { namespace?: string }, vm: string) =>
    keys.some((key) => key.namespace === namespace && key.name === vm);
  const theirs = items.filter(({ metadata, spec }) => isTheirs(metadata, spec.virtualMachineInstance.name));
  const controller = client.as(NAMESPACE_CONTROLLER, ["system:masters", "system:authenticated"]);
  await inParallel(theirs, 8, ({ metadata }) => controller.delete(evacuations, metadata));
}
