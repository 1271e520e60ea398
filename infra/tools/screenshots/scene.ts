/** Prepares the cluster for the screenshots. A drain has moved some VMs, and another VM cannot migrate. */
import { setTimeout as delay } from "node:timers/promises";
import { startSandbox, type VirtualMachine } from "../../sandbox/index.ts";
import { configureKubeVirt, configureLifeboat } from "../../lab/stage/apply.ts";
import { drainNode } from "../../lab/stage/drain-client.ts";
import { type Lifeboat, startLifeboat } from "../../lab/stage/lifeboat.ts";
import { createNodes, createVms } from "../../lab/stage/scene.ts";
import { tickTime } from "../../lab/stage/tick-times.ts";
import { buildWorker } from "../build-worker.ts";

export const CLUSTER = "frankfurt";
export const NODE = "worker-3";
const NODES = ["worker-1", "worker-2", NODE, "worker-4", "worker-5"];

type Vm = readonly [
  namespace: string,
  name: string,
  strategy: string,
  goes: "moves" | "fails" | "takes long",
  pinnedBecause?: string,
];

// prettier-ignore
const VMS: readonly Vm[] = [
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

/** The duration, in seconds, of the migrations that are still running when the screenshots are taken. */
const LONG_SECONDS = 900;
const TICK_MS = 2000;

export interface Scene extends Pick<Lifeboat, "worker" | "webhookToken"> {
  beginDrain(): void;
  stop(): Promise<void>;
}

export async function setScene(): Promise<Scene> {
  await buildWorker();
  const sandbox = await startSandbox({ migrationSeconds: 1 });
  const { client } = sandbox;
  const { worker, webhookToken } = await startLifeboat(sandbox, { cluster: CLUSTER });
  await configureLifeboat(client, { evacuation: { backoffSeconds: 240, maxBackoffSeconds: 900 } });
  await createNodes(client, NODES);
  const goesOf = (name: string) => VMS.find(([, one]) => one === name)?.[3];
  sandbox.migrations.configure({
    seconds: ({ name }) => (goesOf(name) === "takes long" ? LONG_SECONDS : 1),
    outcome: ({ name }) => (goesOf(name) === "fails" ? "Failed" : "Succeeded"),
  });
  await configureKubeVirt(client, { migrations: { parallelOutboundMigrationsPerNode: 3 } });
  await createVms(client, [...VMS.map(vmOf), ...elsewhere()]);
  const over = new AbortController();
  const { signal } = over;
  const ticking = (async () => {
    while (!signal.aborted) {
      await worker.scheduled(tickTime(CLUSTER, "full"));
      await delay(TICK_MS, undefined, { signal }).catch(() => undefined);
    }
  })();
  return {
    worker,
    webhookToken,
    beginDrain() {
      const drain = drainNode({ client, node: NODE, onLine: () => undefined, signal, retryMs: 1000 });
      void drain.catch(() => undefined);
    },
    async stop() {
      over.abort();
      await ticking;
      await worker.stop();
      await sandbox.stop();
    },
  };
}

function vmOf([namespace, name, evictionStrategy, , reason]: Vm): VirtualMachine {
  const vm = { namespace, name, evictionStrategy, node: NODE };
  return reason === undefined ? vm : { ...vm, migratable: false, reason };
}

function elsewhere(): readonly VirtualMachine[] {
  const others = NODES.filter((node) => node !== NODE);
  return others.map((node, i) => ({ namespace: "shop", name: `api-${i + 1}`, evictionStrategy: "LiveMigrate", node }));
}
