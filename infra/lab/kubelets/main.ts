/**
 * `npm run kubelets`: measures which VMs survive node pressure, for several VM sizes and kubelet settings. Prints the
 * table of REFERENCE.md. Takes eight minutes. The default settings run in real time, and all other rows run four times
 * faster.
 */
import { setTimeout as delay } from "node:timers/promises";
import { kubevirt, type SimulatedSandbox, startSandbox } from "../../sandbox/index.ts";
import { configureKubeVirt, configureLifeboat } from "../stage/apply.ts";
import { startBeside } from "../stage/beside.ts";
import { createNodes, createVms } from "../stage/scene.ts";

const NAMESPACE = "vms";
const GIB = [4, 16, 64, 256] as const;
/** The speed at which an idle guest's memory is copied over a network of 4 Gbit/s. */
const GIB_PER_SECOND = 0.5;
const CROWD = "crowd";
const CROWD_SIZE = 20;
const CROWD_GIB = 4;
const SHUTDOWN_SECONDS = 60;
const POLL_MS = 200;
const DAY = { memory: "400Gi", cpu: "64", pods: "110", "devices.kubevirt.io/kvm": "1k" };
const SPARE = { ...DAY, memory: "4Ti", cpu: "640" };

interface Kubelets {
  /**
   * The grace period of a soft threshold, in seconds. If absent, the kubelet has only its default hard threshold of
   * 100Mi.
   */
  readonly softSeconds?: number;
  readonly maxPodGraceSeconds: number;
  readonly transitionSeconds: number;
  readonly speed: number;
}

const ROWS: readonly Kubelets[] = [
  { maxPodGraceSeconds: 0, transitionSeconds: 300, speed: 1 },
  { softSeconds: 90, maxPodGraceSeconds: 0, transitionSeconds: 300, speed: 4 },
  { softSeconds: 90, maxPodGraceSeconds: 300, transitionSeconds: 30, speed: 4 },
  { softSeconds: 300, maxPodGraceSeconds: 300, transitionSeconds: 30, speed: 4 },
  { softSeconds: 900, maxPodGraceSeconds: 300, transitionSeconds: 30, speed: 4 },
];

type Vmi = kubevirt.VirtualMachineInstance;
type Fate = "moves" | "shuts down" | "killed";

const nodeOf = (gib: number) => `node-${gib}`;

function secondsFor(name: string): number {
  const [, gib = `${CROWD_GIB}`] = /^vm-(\d+)$/.exec(name) ?? [];
  return Number(gib) / GIB_PER_SECOND;
}

async function startCluster({ softSeconds, maxPodGraceSeconds, transitionSeconds, speed }: Kubelets) {
  const scaled = (seconds: number) => `${(seconds * 1000) / speed}ms`;
  const soft = softSeconds !== undefined && {
    evictionSoft: { "memory.available": "10%" },
    evictionSoftGracePeriod: { "memory.available": scaled(softSeconds) },
  };
  const eviction = {
    ...soft,
    evictionMaxPodGracePeriod: maxPodGraceSeconds / speed,
    evictionPressureTransitionPeriod: scaled(transitionSeconds),
    nodeStatusUpdateFrequency: scaled(10),
  };
  return await startSandbox({ eviction, terminationSeconds: SHUTDOWN_SECONDS / speed });
}

async function measure(kubelets: Kubelets): Promise<readonly string[]> {
  const sandbox = await startCluster(kubelets);
  const { client, migrations } = sandbox;
  migrations.configure({ seconds: ({ name }) => secondsFor(name) / kubelets.speed });
  const lifeboat = await startBeside(sandbox, []);
  try {
    await configureLifeboat(client, { featureGates: { NodePressureEvictionLiveMigration: true } });
    await configureKubeVirt(client, { migrations: { parallelMigrationsPerCluster: 20 } });
    await createNodes(client, [...GIB.map(nodeOf), CROWD], DAY);
    const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate" };
    const terminationGracePeriodSeconds = 300 / kubelets.speed;
    const sized = GIB.map((gib) => ({ name: `vm-${gib}`, node: nodeOf(gib), memory: `${gib}Gi` }));
    const crowd = Array.from({ length: CROWD_SIZE }, (_, i) => ({ name: `of-crowd-${i}`, node: CROWD, memory: "4Gi" }));
    await createVms(
      client,
      [...sized, ...crowd].map((one) => ({ ...vm, terminationGracePeriodSeconds, ...one })),
    );
    await createNodes(client, ["spare"], SPARE);
    await lifeboat.reconcile();
    return await fatesOf(sandbox, kubelets);
  } finally {
    await lifeboat.stop();
    await sandbox.stop();
  }
}

/**
 * Returns what happened to each VM that is alone on its node. Such a node stays under pressure. On the node with many
 * VMs, the pressure stops when the first VM has left. The last entry is the number of VMs that leave afterwards.
 */
async function fatesOf(sandbox: SimulatedSandbox, kubelets: Kubelets): Promise<readonly string[]> {
  const { stats } = sandbox;
  const available = kubelets.softSeconds === undefined ? "50Mi" : "20Gi";
  for (const gib of GIB) stats.setAvailable(nodeOf(gib), "memory.available", available);
  const fates = Promise.all(GIB.map((gib) => fateOf(sandbox, `vm-${gib}`, nodeOf(gib))));
  return [...(await fates), await leavingAfterwards(sandbox, kubelets)];
}

async function vmisOf({ client }: SimulatedSandbox): Promise<readonly Vmi[]> {
  return (await client.list(kubevirt.virtualMachineInstances, NAMESPACE)).items;
}

async function fateOf(sandbox: SimulatedSandbox, name: string, node: string): Promise<Fate> {
  for (;;) {
    const found = (await vmisOf(sandbox)).find(({ metadata }) => metadata.name === name);
    const { phase, nodeName, migrationState } = found?.status ?? {};
    if (phase === "Succeeded") return "shuts down";
    if (phase === "Failed") return "killed";
    if (nodeName !== node && migrationState?.completed === true) return "moves";
    await delay(POLL_MS);
  }
}

async function leavingAfterwards(sandbox: SimulatedSandbox, kubelets: Kubelets): Promise<string> {
  if (kubelets.softSeconds === undefined) return "–";
  const gone = async () => (await vmisOf(sandbox)).filter(isOutOfCrowd).length;
  sandbox.stats.setAvailable(CROWD, "memory.available", "20Gi");
  while ((await gone()) === 0) await delay(POLL_MS);
  sandbox.stats.setAvailable(CROWD, "memory.available");
  const first = await gone();
  await delay((kubelets.transitionSeconds * 1000) / kubelets.speed + 10_000);
  return `${(await gone()) - first}`;
}

function isOutOfCrowd({ metadata, status }: Vmi): boolean {
  return metadata.name.startsWith("of-crowd") && status?.nodeName !== CROWD;
}

function timeText(seconds: number): string {
  return seconds < 120 ? `${seconds}s` : `${seconds / 60}m`;
}

const heads = [
  "`evictionSoft`, and its grace period",
  "`evictionMaxPodGracePeriod`",
  "`evictionPressureTransitionPeriod`",
  ...GIB.map((gib) => `${gib} GiB`),
  "leave afterwards",
];
const lines = [heads, heads.map(() => "---")];
for (const kubelets of ROWS) {
  const { softSeconds, maxPodGraceSeconds, transitionSeconds } = kubelets;
  const soft = softSeconds === undefined ? "none (the default)" : `10%, ${timeText(softSeconds)}`;
  const cells = [soft, `${maxPodGraceSeconds}`, timeText(transitionSeconds), ...(await measure(kubelets))];
  lines.push(cells);
  console.error(cells.join(" | "));
}
console.log(lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n"));
