/**
 * Settings, key by key: what is in force, and whether the cluster's administrator has set it.
 * Owns: comparing what is in force with what is written. Does not own: merging them (shared/config), descriptions (the CRD's).
 */
import type { KubeVirtFacts } from "../../../shared/cluster/kinds/kubevirt.ts";
import { defaultConfiguration } from "../../../shared/config/lifeboat-configuration.ts";
import { durationText } from "../../../shared/policy/duration-text.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES, type Settings } from "../../../shared/policy/settings.ts";

export interface SettingValue {
  /** As `kubectl explain` has it, below `spec`. */
  readonly key: string;
  readonly value: string;
  readonly source: "default" | "set";
  /** Where that is not what is in force. */
  readonly fallback?: string;
  /** What is written, where something else is in force. */
  readonly written?: string;
}

/** Of the LifeboatConfiguration but for its feature gates. `spec`: as written, whatever that is. */
export function ownSettings(settings: Settings, spec: unknown): readonly SettingValue[] {
  const { featureGates: _, ...defaults } = defaultConfiguration();
  return leaves(defaults).map(([path, fallback]) => {
    const key = path.join(".");
    return settingValue(key, { value: at(settings, path), written: at(spec, path), fallback });
  });
}

interface Values {
  readonly value: unknown;
  readonly written: unknown;
  readonly fallback: unknown;
}

/** The API server writes defaults into the object: that a key is there says nothing. */
function settingValue(key: string, values: Values): SettingValue {
  const [value, fallback] = [textOf(key, values.value), textOf(key, values.fallback)];
  const written = values.written === undefined ? value : textOf(key, values.written);
  const isSet = value !== fallback || written !== value;
  return {
    key,
    value,
    source: isSet ? "set" : "default",
    ...(value === fallback ? {} : { fallback }),
    ...(written === value ? {} : { written }),
  };
}

type Leaf = readonly [path: readonly string[], value: unknown];

function leaves(value: unknown, path: readonly string[] = []): readonly Leaf[] {
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]));
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce((found, key) => (isObject(found) ? found[key] : undefined), value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const LONGEST = 200;

function textOf(key: string, value: unknown): string {
  if (typeof value === "number" && /Seconds(\.|$)/.test(key)) return secondsText(value);
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map((one) => textOf("", one)).join(", ");
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.slice(0, LONGEST).toWellFormed();
}

function secondsText(seconds: number): string {
  const words = durationText(seconds);
  return words === `${seconds}s` ? words : `${seconds}s (${words})`;
}

export interface GateValue {
  readonly gate: string;
  readonly isOn: boolean;
  /** Where it is switched on. */
  readonly by: readonly ("LifeboatConfiguration" | "KubeVirt CR")[];
}

export function gateValues({ featureGates }: Settings, spec: unknown, kubevirt: KubeVirtFacts | undefined) {
  return FEATURE_GATES.map((gate): GateValue => {
    const isOwn = at(spec, ["featureGates", gate]) === true;
    const isKubeVirts = kubevirt?.featureGates.includes(gate) === true;
    const by = [...(isOwn ? ["LifeboatConfiguration" as const] : []), ...(isKubeVirts ? ["KubeVirt CR" as const] : [])];
    return { gate, isOn: featureGates.includes(gate), by };
  });
}

/** Of the KubeVirt CR, as far as Lifeboat goes by it. Undefined: there is none, or it may not be read. */
export function kubevirtSettings(settings: Settings, kubevirt: KubeVirtFacts | undefined): readonly SettingValue[] {
  const { limits, drainTaintKey, clusterStrategy, kubevirtNamespace } = settings;
  const { bandwidthPerMigration } = limits;
  const bandwidth = bandwidthPerMigration === undefined ? "not limited" : `${bandwidthPerMigration} bytes per second`;
  const migrations = "configuration.migrations";
  const rows = [
    ["configuration.evictionStrategy", clusterStrategy ?? "None", kubevirt?.evictionStrategy],
    [
      `${migrations}.parallelMigrationsPerCluster`,
      String(limits.parallelMigrationsPerCluster),
      kubevirt?.parallelMigrationsPerCluster,
    ],
    [
      `${migrations}.parallelOutboundMigrationsPerNode`,
      String(limits.parallelOutboundMigrationsPerNode),
      kubevirt?.parallelOutboundMigrationsPerNode,
    ],
    [`${migrations}.bandwidthPerMigration`, bandwidth, kubevirt?.bandwidthPerMigration],
    [`${migrations}.nodeDrainTaintKey`, drainTaintKey, kubevirt?.drainTaintKey],
  ] as const;
  const ofCr = rows.map(([key, value, written]): SettingValue => {
    return { key, value, source: written === undefined ? "default" : "set" };
  });
  const isElsewhere = kubevirtNamespace !== DEFAULT_SETTINGS.kubevirtNamespace;
  return [...ofCr, { key: "(its namespace)", value: kubevirtNamespace, source: isElsewhere ? "set" : "default" }];
}
