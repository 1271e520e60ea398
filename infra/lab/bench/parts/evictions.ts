/**
 * Measures how long an eviction takes if Lifeboat's webhook reviews it, and how long if KubeVirt's webhook reviews it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type KubeClient, type Pod, pods, type Sandbox } from "../../../sandbox/index.ts";
import { buildImage } from "../../../tools/build-image.ts";
import { buildWorker } from "../../../tools/build-worker.ts";
import { inParallel, numbered } from "../../../in-parallel.ts";
import { configureKubeVirt, configureLifeboat } from "../../stage/apply.ts";
import { startSandboxAsChosen } from "../../stage/control-plane.ts";
import { requestEviction } from "../../stage/drain-client.ts";
import { applyInCluster, serverImages, untilReplicasAreReady } from "../../stage/in-cluster.ts";
import { startLifeboat } from "../../stage/lifeboat.ts";
import { webhookConfigurations } from "../../stage/webhooks.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import type { PartOptions } from "../main.ts";
import { type Measurement, median } from "../measurement.ts";

const FORMS = ["Worker", "in the cluster"] as const;
type Form = (typeof FORMS)[number];
/**
 * The highest acceptable ratios: the duration with Lifeboat's webhook, divided by the duration with KubeVirt's webhook
 * alone. For a repeated eviction, a Worker has a higher limit than the in-cluster Lifeboat, because a Worker reads
 * three objects for each answer.
 */
const WANTED = { Worker: { first: 1.8, repeat: 2 }, "in the cluster": { first: 1.3, repeat: 0.5 } } as const;
const KINDS = ["first", "repeat"] as const;
const WAYS = ["Lifeboat", "KubeVirt"] as const;
type Way = (typeof WAYS)[number];
type Times = Readonly<Record<Way, Readonly<Record<(typeof KINDS)[number], number[]>>>>;

const AT_A_TIME = 8;
const NAMESPACE = "vms";
const NODE = "node01";
const CAPACITY = { cpu: "1000", memory: "4Ti", pods: "1000", "devices.kubevirt.io/kvm": "10k" };
/** The duration of a migration. It is so long that no migration finishes during the measurement. */
const MIGRATION_SECONDS = 3600;
const LIMITS = { migrations: { parallelMigrationsPerCluster: 1, parallelOutboundMigrationsPerNode: 1 } };
const CONFIGURATION = { evacuation: { adoptSeconds: 604_800 } };
/**
 * The wait after a change of the webhooks, in milliseconds. After this wait, the API server uses the change, and
 * Lifeboat has finished its work for earlier requests.
 */
const SETTLE_MS = 3000;
/** The pause before each repeated eviction of a pod, in milliseconds, and the number of repeated evictions. */
const [RETRY_MS, REPEATS] = [5000, 4];
const REFUSED = 429;

export async function runEvictions({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  await Promise.all([buildWorker(), buildImage()]);
  const measurements: Measurement[] = [];
  for (const form of FORMS) {
    note(`evictions through the API server: ${form}`);
    const times = await measured(form, quick ? { rounds: 2, size: 16 } : { rounds: 5, size: 40 });
    for (const kind of KINDS)
      measurements.push({
        what: `${kind} eviction, ${form}`,
        unit: "ms",
        samples: times.Lifeboat[kind],
        floor: { what: "virt-api alone", samples: times.KubeVirt[kind] },
        target: WANTED[form][kind],
      });
  }
  return measurements;
}

interface Size {
  readonly rounds: number;
  readonly size: number;
}

/**
 * Measures both webhooks in each round, and alternates their order. The first round is a warm-up and does not count.
 */
async function measured(form: Form, { rounds, size }: Size): Promise<Times> {
  const images = form === "in the cluster" ? serverImages() : new Map();
  const sandbox = await startSandboxAsChosen({ migrationSeconds: MIGRATION_SECONDS, images });
  const { client } = sandbox;
  const times: Times = { Lifeboat: { first: [], repeat: [] }, KubeVirt: { first: [], repeat: [] } };
  const stop = await install(sandbox, form);
  try {
    const batches = numbered((rounds + 1) * WAYS.length).map((batch) =>
      // Each batch has new VM names, because virt-controller can remember migrations of earlier VMs.
      numbered(size).map((vm) => `vm-${FORMS.indexOf(form)}-${batch}-${vm}`),
    );
    const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", node: NODE, memory: "64Mi" } as const;
    await createVms(
      client,
      batches.flat().map((name) => ({ ...vm, name })),
    );
    const { items } = await client.list(pods, NAMESPACE);
    for (const [index, names] of batches.entries()) {
      const round = Math.floor(index / WAYS.length);
      const way = WAYS[(index + round) % WAYS.length] ?? "Lifeboat";
      const own = items.filter(({ metadata }) =>
        names.some((name) => metadata.name.startsWith(`virt-launcher-${name}-`)),
      );
      const asked = async () => median(await inParallel(own, AT_A_TIME, (pod) => evict(client, pod)));
      const evicted = async (reviewers: readonly Way[]) => {
        await ask(client, reviewers);
        return await asked();
      };
      const first = await evicted([way]);
      // In this benchmark, only KubeVirt's webhook sets evacuationNodeName. If only Lifeboat's webhook is measured, both
      // webhooks therefore review one eviction of each pod before the repeated evictions.
      if (way === "Lifeboat") await evicted(WAYS);
      await ask(client, [way]);
      const repeats = [];
      for (let i = 0; i < REPEATS; i++) {
        await delay(RETRY_MS);
        repeats.push(await asked());
      }
      if (round === 0) continue;
      times[way].first.push(first);
      times[way].repeat.push(repeats.reduce((sum, one) => sum + one, 0) / REPEATS);
    }
    return times;
  } finally {
    await stop();
    await sandbox.stop();
  }
}

async function install(sandbox: Sandbox, form: Form): Promise<() => Promise<void>> {
  const { client } = sandbox;
  await configureKubeVirt(client, LIMITS);
  await createNodes(client, [NODE, "node02"], CAPACITY);
  if (form === "Worker") {
    const { worker } = await startLifeboat(sandbox);
    await configureLifeboat(client, CONFIGURATION);
    return () => worker.stop();
  }
  await applyInCluster(client);
  await configureLifeboat(client, CONFIGURATION);
  await untilReplicasAreReady(client);
  return () => Promise.resolve();
}

async function evict(client: KubeClient, pod: Pod): Promise<number> {
  const begin = performance.now();
  const { code, body } = await requestEviction(client, pod);
  if (code !== REFUSED)
    throw new Error(`wrong answer to an eviction of ${pod.metadata.name}: ${code} ${JSON.stringify(body)}`);
  return performance.now() - begin;
}

const NONE = { matchLabels: { "bench.lifeboat.dev/reviewed": "never" } };

async function ask(client: KubeClient, reviewers: readonly Way[]): Promise<void> {
  const { items } = await client.list(webhookConfigurations);
  for (const { metadata, webhooks = [] } of items) {
    const body = webhooks.flatMap(({ name, rules }, index) => {
      if (!rules.some(({ resources }) => resources.includes("pods/eviction"))) return [];
      const isAsked = reviewers.includes(name.includes("lifeboat") ? "Lifeboat" : "KubeVirt");
      return [{ op: "add", path: `/webhooks/${index}/objectSelector`, value: isAsked ? {} : NONE }];
    });
    if (body.length > 0) await client.patch(webhookConfigurations, metadata, { type: "json", body });
  }
  await delay(SETTLE_MS);
}
