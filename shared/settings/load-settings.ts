/**
 * A cluster's settings, with a short cache. If settings cannot be read, the last known ones count: a gate taken for off would allow what a guard
 * refuses.
 */
import { type Client, named } from "../kube/client.ts";
import { ClusterError, isSilence } from "../kube/failures.ts";
import type { KubeVirtFacts } from "../kube/schemas/kubevirt.ts";
import { areEvictionsCovered, isGateOn } from "./guarded.ts";
import { CONFIGURATION, GUARD_WEBHOOKS, KUBEVIRT_WEBHOOKS, PLUGINS_GATE, SHIELD_PLUGIN } from "../kube/names.ts";
import { isShieldWanted, type Settings } from "./settings.ts";
import { type ConfigurationSpec, mergeSettings, parseConfiguration } from "./configuration.ts";
import { readKubeVirt } from "../kube/requests.ts";

/** With what a cluster is observed. */
export interface Observer {
  readonly cluster: Client;
  readonly settings: Settings;
  readonly now: Date;
  /** Called with what could not be observed, and can wait. */
  readonly onFailure?: (what: string, failure: ClusterError) => void;
}

const CACHE_SECONDS = 30;

export interface LoadedSettings {
  readonly settings: Settings;
  /** Nothing answered: what counts is what was last seen. */
  readonly silence?: ClusterError;
}

interface Cached extends LoadedSettings {
  readonly readAt: number;
}

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
    const entry = { ...(await readOrLast(cluster, cached)), readAt: now.getTime() };
    this.#entries.set(name, entry);
    return entry;
  }
}

/** If something cannot be read, all counts as it was last seen. If it never was, the failure is the caller's. */
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

/** Asked only where the answer decides something: whether Lifeboat has to make budgets. */
async function readCover(settings: Settings, cluster: Client): Promise<boolean> {
  if (settings.disruptionBudgets !== "Auto" || !isGateOn("Preemption", settings)) return false;
  const [kubevirt, guard] = await Promise.all([
    readWebhooks("validatingwebhookconfigurations", KUBEVIRT_WEBHOOKS, cluster),
    readWebhooks("mutatingwebhookconfigurations", GUARD_WEBHOOKS, cluster),
  ]);
  return areEvictionsCovered({ kubevirt, guard }, settings);
}

/** Undefined also where they may not be read; as is the plugin. */
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

/** A condition says what is wrong with a field, and a metric that some field is. */
async function readConfiguration(cluster: Client): Promise<ConfigurationSpec> {
  const facts = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
  return parseConfiguration(facts?.spec ?? {}).value;
}
