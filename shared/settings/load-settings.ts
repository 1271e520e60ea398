/**
 * Reads the settings of a cluster, and caches them for a short time. If the settings cannot be read, Lifeboat uses the
 * last known settings. With the default settings, Lifeboat would allow deletions that the guard should refuse.
 */
import { type Client, named } from "../kube/client.ts";
import { ClusterError, isSilence } from "../kube/failures.ts";
import type { KubeVirtFacts } from "../kube/schemas/kubevirt.ts";
import { areEvictionsCovered, isGateOn } from "./guarded.ts";
import { CONFIGURATION, GUARD_WEBHOOKS, KUBEVIRT_WEBHOOKS, PLUGINS_GATE, SHIELD_PLUGIN } from "../kube/names.ts";
import { isShieldWanted, type Settings } from "./settings.ts";
import { type ConfigurationSpec, mergeSettings, parseConfiguration } from "./configuration.ts";
import { readKubeVirt } from "../kube/requests.ts";

export interface Observer {
  readonly cluster: Client;
  readonly settings: Settings;
  readonly now: Date;
  /** Called after a failed read that does not stop the work. */
  readonly onFailure?: (what: string, failure: ClusterError) => void;
}

const CACHE_SECONDS = 30;

export interface LoadedSettings {
  readonly settings: Settings;
  /** Set if the last known settings are used because the API server did not answer. */
  readonly silence?: ClusterError;
}

interface Cached extends LoadedSettings {
  readonly readAt: number;
}

export class SettingsCache {
  readonly #entries = new Map<string, Cached>();

  /** Returns the last known settings, no matter how old they are. Used while the settings cannot be read. */
  last(name: string): Settings | undefined {
    return this.#entries.get(name)?.settings;
  }

  /**
   * Returns the settings of the cluster. Reads them only if `fresh` is set or the last attempt was at least 30 s ago.
   */
  async load(name: string, cluster: Client, now: Date, fresh = false): Promise<LoadedSettings> {
    const cached = this.#entries.get(name);
    if (!fresh && cached !== undefined && now.getTime() - cached.readAt < CACHE_SECONDS * 1000) return cached;
    const entry = { ...(await readOrLast(cluster, cached)), readAt: now.getTime() };
    this.#entries.set(name, entry);
    return entry;
  }
}

async function readOrLast(cluster: Client, last: LoadedSettings | undefined): Promise<LoadedSettings> {
  try {
    return await read(cluster);
  } catch (error) {
    if (last === undefined || !(error instanceof ClusterError)) throw error;
    const { settings } = last;
    return { settings, ...(isSilence(error) && { silence: error }) };
  }
}

async function read(cluster: Client): Promise<LoadedSettings> {
  const [kubevirt, configuration] = await Promise.all([readKubeVirt(cluster), readConfiguration(cluster)]);
  const merged = mergeSettings(kubevirt, configuration);
  const [evictionsCovered, isShieldOn] = await Promise.all([
    readCover(merged, cluster),
    readPlugin(merged, kubevirt, cluster),
  ]);
  return { settings: { ...merged, evictionsCovered, isShieldOn } };
}

async function readCover(settings: Settings, cluster: Client): Promise<boolean> {
  if (settings.disruptionBudgets !== "Auto" || !isGateOn("Preemption", settings)) return false;
  const [kubevirt, guard] = await Promise.all([
    readWebhooks("validatingwebhookconfigurations", KUBEVIRT_WEBHOOKS, cluster),
    readWebhooks("mutatingwebhookconfigurations", GUARD_WEBHOOKS, cluster),
  ]);
  return areEvictionsCovered({ kubevirt, guard }, settings);
}

/** Reads the webhook configurations. Returns undefined if they do not exist or if Lifeboat may not read them. */
async function readWebhooks(
  resource: "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
  name: string,
  cluster: Client,
) {
  return (await cluster.get(resource, named(name), { expect: [403] }))?.webhooks;
}

async function readPlugin(settings: Settings, kubevirt: KubeVirtFacts | undefined, cluster: Client): Promise<boolean> {
  const isAsked = kubevirt?.featureGates.includes(PLUGINS_GATE) === true;
  if (!isAsked || !isShieldWanted(settings)) return false;
  return (await cluster.get("plugins", named(SHIELD_PLUGIN), { expect: [403] })) !== undefined;
}

/** Returns only the configuration. A condition and a metric report the problems of its fields. */
async function readConfiguration(cluster: Client): Promise<ConfigurationSpec> {
  const facts = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
  return parseConfiguration(facts?.spec ?? {}).value;
}
