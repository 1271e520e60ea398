/**
 * Reads a cluster's settings, with a short cache per cluster.
 * Owns: what stays in force while something cannot be read or is wrong. Does not own: the merge (settings.ts).
 *
 * Invalid configuration never stops Lifeboat: the last valid one, else the defaults, stay in force, and the problem is
 * reported. What cannot be read is not known to be invalid: without the KubeVirt CR nothing is known about strategies, without
 * the configuration nothing about feature gates, and to go on as if they were off would let go of what a guard is to hold. The
 * last ones seen count, and if there are none, the failure is the caller's.
 */
import type { Cluster } from "../cluster/cluster.ts";
import { ClusterError } from "../cluster/failure.ts";
import type { KubeVirtFacts } from "../cluster/kinds/kubevirt.ts";
import { areEvictionsCovered } from "../policy/budget/budget-mode.ts";
import { isGuardOn } from "../policy/guard/guarded.ts";
import { GUARD_WEBHOOKS, KUBEVIRT_WEBHOOKS } from "../policy/names.ts";
import type { Settings } from "../policy/settings.ts";
import { defaultConfiguration, type LifeboatConfiguration, parseConfiguration } from "./lifeboat-configuration.ts";
import type { ConfigProblem } from "./problem.ts";
import { mergeSettings, notesOn } from "./settings.ts";

const CACHE_SECONDS = 30;

export interface LoadedSettings {
  readonly settings: Settings;
  readonly problems: readonly ConfigProblem[];
  /** What is worth knowing of what is set. */
  readonly notes: readonly string[];
}

interface Cached extends LoadedSettings {
  readonly readAt: number;
  readonly kubevirt: KubeVirtFacts | undefined;
  readonly lastValid: LifeboatConfiguration;
}

/** Plain values only, which may be gone at any time: isolates come and go. */
export class SettingsCache {
  readonly #entries = new Map<string, Cached>();

  /** The settings last seen, however old: for when nothing can be read. */
  last(name: string): Settings | undefined {
    return this.#entries.get(name)?.settings;
  }

  /** The settings of the named cluster, at most 30 s old; `fresh` reads them in any case. */
  async load(name: string, cluster: Cluster, now: Date, fresh = false): Promise<LoadedSettings> {
    const cached = this.#entries.get(name);
    if (!fresh && cached !== undefined && now.getTime() - cached.readAt < CACHE_SECONDS * 1000) return cached;
    const [kubevirt, own] = await Promise.all([
      readKubeVirt(cluster, cached),
      readConfiguration(cluster, cached?.lastValid),
    ]);
    const merged = mergeSettings(kubevirt.facts, own.configuration);
    const cover = await readCover(merged, cluster, cached);
    const settings = { ...merged, evictionsCovered: cover.evictionsCovered };
    const entry: Cached = {
      readAt: now.getTime(),
      kubevirt: kubevirt.facts,
      lastValid: own.configuration,
      settings,
      problems: [...kubevirt.problems, ...own.problems, ...cover.problems],
      notes: notesOn(settings),
    };
    this.#entries.set(name, entry);
    return entry;
  }
}

/** Asked only where the answer decides something: whether Lifeboat has to make budgets. */
async function readCover(settings: Settings, cluster: Cluster, cached: Cached | undefined) {
  if (settings.reconcilers.budget !== "Auto" || !isGuardOn("Preemption", settings))
    return { evictionsCovered: false, problems: [] };
  try {
    const [kubevirt, guard] = await Promise.all([
      cluster.getWebhooks(KUBEVIRT_WEBHOOKS),
      cluster.getWebhooks(GUARD_WEBHOOKS),
    ]);
    return { evictionsCovered: areEvictionsCovered({ kubevirt, guard }, settings), problems: [] };
  } catch (error) {
    if (cached === undefined || !(error instanceof ClusterError)) throw error;
    const problem = { field: "ValidatingWebhookConfigurations", message: error.message };
    return { evictionsCovered: cached.settings.evictionsCovered, problems: [problem] };
  }
}

async function readKubeVirt(cluster: Cluster, cached: Cached | undefined) {
  try {
    return { facts: await cluster.getKubeVirt(), problems: [] };
  } catch (error) {
    if (cached === undefined || !(error instanceof ClusterError)) throw error;
    return { facts: cached.kubevirt, problems: [{ field: "KubeVirt CR", message: error.message }] };
  }
}

interface OwnConfiguration {
  readonly configuration: LifeboatConfiguration;
  readonly problems: readonly ConfigProblem[];
}

async function readConfiguration(cluster: Cluster, seen: LifeboatConfiguration | undefined): Promise<OwnConfiguration> {
  const lastValid = seen ?? defaultConfiguration();
  try {
    const facts = await cluster.getConfiguration();
    if (facts === undefined) return { configuration: defaultConfiguration(), problems: [] };
    const parsed = parseConfiguration(facts.spec);
    if (parsed.ok) return { configuration: parsed.value, problems: [] };
    return { configuration: lastValid, problems: parsed.problems };
  } catch (error) {
    if (seen === undefined || !(error instanceof ClusterError)) throw error;
    return { configuration: lastValid, problems: [{ field: "LifeboatConfiguration", message: error.message }] };
  }
}
