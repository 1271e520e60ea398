/** A drain that is blocked, half-way: what the pictures of the pages show, and what their tests look at. */
import { drainNode } from "../../lab/stage/drain-client.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import type { VirtualMachine } from "../../sandbox/fleet.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { type Sandbox, startSandbox } from "../../sandbox/sandbox.ts";
import { applyLifeboat, configureLifeboat } from "../../lab/stage/apply.ts";
import { buildWorker } from "../build-worker.ts";
import { createNodes, createVms } from "../../lab/stage/scene.ts";
import { tickTime } from "../../lab/stage/tick-times.ts";
import { type RunningWorker, startWorker } from "../../lab/stage/worker.ts";

const OPERATOR_TOKEN = "the-operator-token-of-the-pictures";
const WEBHOOK_TOKEN = "the-webhook-token-of-the-pictures";

export const CLUSTERS = ["frankfurt", "lisbon"] as const;
export const UNREACHABLE = "reykjavik";
export const NODE = "worker-3";
const NODES = ["worker-1", "worker-2", NODE, "worker-4", "worker-5"];

type Member = readonly [
  namespace: string,
  name: string,
  strategy: string,
  goes: "moves" | "fails" | "takes long",
  pinnedBecause?: string,
];

// prettier-ignore
const CAST: readonly Member[] = [
  ["shop",    "web-1",        "LiveMigrate",           "moves"     ],
  ["shop",    "web-2",        "LiveMigrate",           "moves"     ],
  ["shop",    "cart",         "LiveMigrate",           "moves"     ],
  ["shop",    "search",       "LiveMigrateIfPossible", "moves"     ],
  ["billing", "invoices",     "LiveMigrate",           "moves"     ],
  ["billing", "reports",      "LiveMigrateIfPossible", "moves"     ],
  ["ci",      "runner-windows", "LiveMigrate",         "moves"     ],
  ["billing", "postgres",     "LiveMigrate",           "takes long"],
  ["shop",    "sessions",     "LiveMigrate",           "takes long"],
  ["ci",      "build-cache",  "LiveMigrate",           "fails"     ],
  ["billing", "ledger",       "LiveMigrate",           "moves",    "DisksNotLiveMigratable"],
  ["edge",    "firewall",     "External",              "moves"     ],
];

/** So long a migration "takes long": longer than anything looks at it. Seconds. */
const LONG = 900;

export interface Scene {
  readonly sandbox: Sandbox;
  readonly worker: RunningWorker;
  /** Goes on asking, as kubectl does, until the scene ends. */
  beginDrain(): void;
  stop(): Promise<void>;
}

export async function setScene(): Promise<Scene> {
  await buildWorker();
  const sandboxes = await Promise.all(
    CLUSTERS.map((_, i) => startSandbox({ migrationSeconds: 1, terminationSeconds: i })),
  );
  const [sandbox] = sandboxes;
  if (sandbox === undefined) throw new Error("no sandbox");
  const entries = await Promise.all(sandboxes.map((one, i) => install(one, CLUSTERS[i] ?? "", "https://127.0.0.1:1")));
  const nowhere = { server: "https://127.0.0.1:1", token: "none", ...TOKENS };
  const worker = await startWorker({
    authority: sandbox.authority,
    trusted: sandboxes.map(({ caPem }) => caPem),
    clusters: Object.fromEntries([...entries, [UNREACHABLE, nowhere]]),
  });
  for (const [i, one] of sandboxes.entries()) {
    await install(one, CLUSTERS[i] ?? "", worker.url, sandbox.authority.caPem);
    await configureLifeboat(one.client, { evacuation: { backoffSeconds: 240, maxBackoffSeconds: 900 } });
    await createNodes(one.client, NODES);
  }
  await perform(sandbox);
  for (const one of sandboxes.slice(1)) await createVms(one.client, elsewhere("crm"));
  const ticking = keepTicking(worker);
  const draining = new AbortController();
  return {
    sandbox,
    worker,
    beginDrain: () => void drain(sandbox.client, draining.signal),
    async stop() {
      draining.abort();
      await ticking.stop();
      await worker.stop();
      await Promise.all(sandboxes.map((one) => one.stop()));
    },
  };
}

export const TOKENS = { webhookToken: WEBHOOK_TOKEN, operatorToken: OPERATOR_TOKEN };

async function install(sandbox: Sandbox, name: string, worker: string, caPem = sandbox.authority.caPem) {
  const url = `${worker}/clusters/${name}`;
  const { token } = await applyLifeboat(sandbox.client, { url, webhookToken: WEBHOOK_TOKEN, caPem });
  return [name, { server: sandbox.url, token, ...TOKENS }] as const;
}

async function perform(sandbox: Sandbox): Promise<void> {
  const goesOf = (name: string) => CAST.find(([, one]) => one === name)?.[3];
  sandbox.migrations.configure({
    seconds: ({ name }) => (goesOf(name) === "takes long" ? LONG : 1),
    outcome: ({ name }) => (goesOf(name) === "fails" ? "Failed" : "Succeeded"),
  });
  const body = { spec: { configuration: { migrations: { parallelOutboundMigrationsPerNode: 3 } } } };
  await sandbox.client.patch(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
  const here = CAST.map(([namespace, name, evictionStrategy, , reason]): VirtualMachine => ({
    namespace,
    name,
    evictionStrategy,
    node: NODE,
    ...(reason !== undefined && { migratable: false, reason }),
  }));
  await createVms(sandbox.client, [...here, ...elsewhere("shop")]);
}

function elsewhere(namespace: string): readonly VirtualMachine[] {
  const others = NODES.filter((node) => node !== NODE);
  return others.map((node, i) => ({ namespace, name: `api-${i + 1}`, evictionStrategy: "LiveMigrate", node }));
}

async function drain(client: KubeClient, signal: AbortSignal): Promise<void> {
  await drainNode({ client, node: NODE, onLine: () => undefined, signal, retryMs: 1000 }).catch(() => undefined);
}

const TICK_MS = 2000;

function keepTicking(worker: RunningWorker) {
  const stopped = new AbortController();
  const ticking = (async () => {
    while (!stopped.signal.aborted) {
      // Whatever the time is: full scans say what is wrong in each cluster.
      for (const name of CLUSTERS) await worker.scheduled(tickTime(name, "full"));
      await delay(TICK_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stopped.abort();
      await ticking;
    },
  };
}
