/** The stage: two sandbox clusters that are alike but for what a story is about. */
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxOptions } from "../../sandbox/sandbox.ts";
import { buildWorker } from "../../tools/build-worker.ts";
import { startCluster, type Cluster, type Configuration } from "./cluster.ts";

/** The same of each of the two clusters: one is without what the story is about, the other has it. */
export interface Pair<T> {
  readonly without: T;
  readonly withIt: T;
}

export async function both<T, U>({ without, withIt }: Pair<T>, to: (of: T) => Promise<U>): Promise<Pair<U>> {
  const [first, second] = await Promise.all([to(without), to(withIt)]);
  return { without: first, withIt: second };
}

/** What a story needs its clusters to be like. */
export interface Setting extends Pick<SandboxOptions, "eviction" | "featureGates"> {
  /** Of each cluster that has Lifeboat. */
  readonly lifeboat: Partial<Pair<Configuration>>;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
}

export interface Stage extends Pair<Cluster> {
  stop(): Promise<void>;
}

export async function setStage({ lifeboat, ...options }: Setting, inCluster: boolean): Promise<Stage> {
  if (!inCluster) await buildWorker();
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  // However this process ends, an administrator's token does not stay behind.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const cluster = (name: string, configuration: Configuration | undefined) =>
    startCluster({ ...options, folder, name, configuration, inCluster });
  const [without, withIt] = await Promise.all([cluster("without", lifeboat.without), cluster("with", lifeboat.withIt)]);
  return {
    without,
    withIt,
    async stop() {
      await Promise.all([without.stop(), withIt.stop()]);
    },
  };
}
