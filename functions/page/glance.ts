/** A glance at each cluster of the fleet: what is under way, and what is wrong. */
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { ClusterError } from "../../shared/cluster/failure.ts";
import type { MinorVersions } from "../../shared/policy/versions.ts";
import type { Target } from "../target.ts";
import { type ClusterProblem, clusterProblems } from "./parts/cluster-problems.ts";
import { countPhases, type LeftNode, leftNodes, type PhaseCounts } from "./parts/under-way.ts";
import { RecentReads } from "./recent.ts";

export interface Summary {
  readonly phases: PhaseCounts;
  readonly nodes: readonly LeftNode[];
  readonly problems: readonly ClusterProblem[];
  /** Undefined: it could not be read. */
  readonly vms: number | undefined;
  readonly versions: MinorVersions;
}

export interface Past {
  readonly summary: Summary;
  readonly readAt: Date;
}

export type Glance =
  | { readonly result: "Reached"; readonly summary: Summary }
  | { readonly result: "Unreachable"; readonly why: string; readonly last: Past | undefined }
  /** There was no time left. */
  | { readonly result: "NotAsked"; readonly last: Past | undefined };

/** A cluster that takes longer is said to be unreachable: one of them must not hold up the page of all. */
const CLUSTER_SECONDS = 3;
/**
 * A Worker may wait on six connections. Each cluster is asked one thing after another: one that hangs with several requests would use up
 * the time of others, which wait for a connection.
 */
const AT_A_TIME = 6;
/** No cluster is asked later than this after the first one. */
const LAST_BEGIN_MS = 3000;
const MAX_AGE_MS = 4000;
/** Versions and the number of VMs. */
const SLOW_MAX_AGE_MS = 60_000;

type Slow = Pick<Summary, "versions" | "vms">;

/** Shared among the visitors of an isolate, cluster by cluster: what one of them may see is never shown to another. */
export class Glances {
  readonly #recent = new RecentReads<Glance>();
  readonly #slow = new RecentReads<Slow>();

  /** By name. Those that were looked at longest ago come first, so that each has its turn. */
  async at(targets: readonly Target[]): Promise<ReadonlyMap<string, Glance>> {
    const found = new Map<string, Glance>();
    const lastReadAt = ({ name }: Target) => this.#recent.last(name)?.readAt.getTime() ?? 0;
    const waiting = targets.toSorted((a, b) => lastReadAt(a) - lastReadAt(b)).values();
    const begun = targets[0]?.platform.now().getTime() ?? 0;
    const worker = async () => {
      for (const target of waiting) {
        const isLate = target.platform.now().getTime() - begun > LAST_BEGIN_MS;
        found.set(target.name, isLate ? this.#notAsked(target) : await this.#look(target));
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    return found;
  }

  async #look(target: Target): Promise<Glance> {
    const reading = { key: target.name, maxAgeMs: MAX_AGE_MS, read: () => this.#read(target) };
    return (await this.#recent.get(reading, target.platform)).facts;
  }

  #notAsked({ name }: Target): Glance {
    const last = this.#recent.last(name);
    return last?.facts.result === "Reached" ? last.facts : { result: "NotAsked", last: this.#past(name) };
  }

  async #read(target: Target): Promise<Glance> {
    const cluster = target.connect(CLUSTER_SECONDS);
    const slow = {
      key: target.name,
      maxAgeMs: SLOW_MAX_AGE_MS,
      read: () => readSlow(cluster),
    };
    try {
      const evacuations = await cluster.listEvacuations("Active");
      const configuration = await orUndefined(cluster.getConfiguration());
      const others = await this.#slow.get(slow, target.platform);
      const problems = clusterProblems(configuration?.conditions ?? []);
      const summary = { phases: countPhases(evacuations), nodes: leftNodes(evacuations), problems, ...others.facts };
      return { result: "Reached", summary };
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      return { result: "Unreachable", why: error.message, last: this.#past(target.name) };
    }
  }

  #past(name: string): Past | undefined {
    const last = this.#recent.last(name);
    if (last === undefined) return undefined;
    const { facts, readAt } = last;
    return facts.result === "Reached" ? { summary: facts.summary, readAt } : facts.last;
  }
}

async function readSlow(cluster: Cluster): Promise<Slow> {
  const vms = await orUndefined(cluster.countVmis());
  const versions = await orUndefined(cluster.getMinorVersions());
  return { versions: versions ?? { kubernetes: undefined, kubevirt: undefined }, vms };
}

/** What cannot be read does not keep the rest from being shown. */
async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return undefined;
  }
}
