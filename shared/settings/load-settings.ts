/**
 * Reads a cluster's settings, with a short cache per cluster.
 *
 * Invalid configuration never stops Lifeboat: the last valid one, else the defaults, stay in force, and the problem is reported. What
 * cannot be read is not known to be invalid: without the KubeVirt CR nothing is known about strategies, without the configuration nothing
 * about feature gates, and to continue as if they were off would allow what a guard is to refuse. The last ones seen count, and if there are
 * none, the failure is the caller's.
 */
import { type Client, named } from "../kube/client.ts";
import { ClusterError, isSilence } from "../kube/failures.ts";
import type { KubeVirtFacts } from "../kube/schemas/kubevirt.ts";
import { areEvictionsCovered, isGateOn } from "./guarded.ts";
import { CONFIGURATION, GUARD_WEBHOOKS, KUBEVIRT_WEBHOOKS, PLUGINS_GATE, SHIELD_PLUGIN } from "../kube/names.ts";
import { isShieldWanted, type Settings } from "./settings.ts";
import {
  defaultConfiguration,
  type LifeboatConfiguration,
  mergeSettings,
  notesOn,
  parseConfiguration,
} from "./configuration.ts";
import type { ConfigProblem } from "./problem.ts";
import { kubeVirt } from "../kube/requests.ts";

const CACHE_SECONDS = 30;

export interface LoadedSettings {
  readonly settings: Settings;
  readonly problems: readonly ConfigProblem[];
  /** What is worth knowing of what is set. */
  readonly notes: readonly string[];
  /** Nothing answered: what counts is what was last seen. */
  readonly silence?: ClusterError;
}

interface Cached extends LoadedSettings {
  readonly readAt: number;
  readonly kubevirt: KubeVirtFacts | undefined;
  /** The last valid one. */
  readonly own: Own;
}

interface Own {
  readonly configuration: LifeboatConfiguration;
  readonly problems: readonly ConfigProblem[];
}

/** Plain values only, which may be gone at any time: isolates come and go. */
export class SettingsCache {
  readonly #entries = new Map<string, Cached>();

  /** The settings last seen, however old: for when nothing can be read. */
  last(name: string): Settings | undefined {
    return this.#entries.get(name)?.settings;
  }

  /** The settings of the named cluster, at most 30 s old; `fresh` reads them in any case. */
  async load(name: string, cluster: Client, now: Date, fresh = false): Promise<LoadedSettings> {
    const cached = this.#entries.get(name);
    if (!fresh && cached !== undefined && now.getTime() - cached.readAt < CACHE_SECONDS * 1000) return cached;
    const [kubevirt, own] = await Promise.all([
      orLast("KubeVirt CR", () => kubeVirt(cluster), cached && { value: cached.kubevirt }),
      orLast("LifeboatConfiguration", () => readConfiguration(cluster, cached), cached && { value: cached.own }),
    ]);
    const merged = mergeSettings(kubevirt.value, own.value.configuration);
    const covered = cached && { value: cached.settings.evictionsCovered };
    const isServed = cached && { value: cached.settings.isShieldOn };
    const [cover, plugin] = await Promise.all([
      orLast("ValidatingWebhookConfigurations", () => readCover(merged, cluster), covered),
      orLast("Plugin", () => readPlugin(merged, kubevirt.value, cluster), isServed),
    ]);
    const settings = { ...merged, evictionsCovered: cover.value, isShieldOn: plugin.value };
    const entry: Cached = {
      readAt: now.getTime(),
      kubevirt: kubevirt.value,
      own: { configuration: own.value.configuration, problems: [] },
      settings,
      problems: [...kubevirt.problems, ...own.problems, ...own.value.problems, ...cover.problems, ...plugin.problems],
      notes: notesOn(settings),
      ...silenceOf([kubevirt, own]),
    };
    this.#entries.set(name, entry);
    return entry;
  }
}

function silenceOf(reads: readonly { readonly failure?: ClusterError }[]): Pick<LoadedSettings, "silence"> {
  const silence = reads.flatMap(({ failure }) => failure ?? []).find(isSilence);
  return silence === undefined ? {} : { silence };
}

/** What cannot be read counts as it was last seen. If it never was, the failure is the caller's. */
async function orLast<T>(
  field: string,
  read: () => Promise<T>,
  last: { readonly value: T } | undefined,
): Promise<{ readonly value: T; readonly problems: readonly ConfigProblem[]; readonly failure?: ClusterError }> {
  try {
    return { value: await read(), problems: [] };
  } catch (error) {
    if (last === undefined || !(error instanceof ClusterError)) throw error;
    return { value: last.value, problems: [{ field, message: error.message }], failure: error };
  }
}

/** Asked only where the answer decides something: whether Lifeboat has to make budgets. */
async function readCover(settings: Settings, cluster: Client): Promise<boolean> {
  if (settings.disruptionBudgets !== "Auto" || !isGateOn("Preemption", settings)) return false;
  const [kubevirt, guard] = await Promise.all([
    readWebhooks(KUBEVIRT_WEBHOOKS, cluster),
    readWebhooks(GUARD_WEBHOOKS, cluster),
  ]);
  return areEvictionsCovered({ kubevirt, guard }, settings);
}

/** Undefined also where they may not be read; as is the plugin. */
async function readWebhooks(name: string, cluster: Client) {
  return (await cluster.get("validatingwebhookconfigurations", named(name), { expect: [403] }))?.webhooks;
}

/** Likewise asked only then. */
async function readPlugin(settings: Settings, kubevirt: KubeVirtFacts | undefined, cluster: Client): Promise<boolean> {
  const isAsked = kubevirt?.featureGates.includes(PLUGINS_GATE) === true;
  if (!isAsked || !isShieldWanted(settings)) return false;
  return (await cluster.get("plugins", named(SHIELD_PLUGIN), { expect: [403] })) !== undefined;
}

/** One that is wrong: the last valid one, and what is wrong with it. */
async function readConfiguration(cluster: Client, cached: Cached | undefined): Promise<Own> {
  const facts = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
  if (facts === undefined) return { configuration: defaultConfiguration(), problems: [] };
  const parsed = parseConfiguration(facts.spec);
  if (parsed.ok) return { configuration: parsed.value, problems: [] };
  return { configuration: cached?.own.configuration ?? defaultConfiguration(), problems: parsed.problems };
}
