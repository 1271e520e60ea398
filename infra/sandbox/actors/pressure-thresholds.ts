/**
 * The kubelet's eviction thresholds. They determine when a node is under pressure, and when the kubelet evicts a pod.
 */
import { SIGNALS, type Observation, type Signal } from "./node-stats.ts";
import { parseQuantity } from "./quantity.ts";

/**
 * The fields of a KubeletConfiguration that configure evictions. A threshold is a quantity, or a percentage of the
 * capacity. A duration has Go's format.
 */
export interface EvictionConfiguration {
  readonly evictionHard?: Partial<Record<Signal, string>>;
  readonly evictionSoft?: Partial<Record<Signal, string>>;
  readonly evictionSoftGracePeriod?: Partial<Record<Signal, string>>;
  /** The maximum grace period of a soft eviction, in seconds. With 0, the kubelet kills the pod at once. */
  readonly evictionMaxPodGracePeriod?: number;
  /** The time until a pressure condition becomes False after the pressure has ended. */
  readonly evictionPressureTransitionPeriod?: string;
  /** The maximum time until the node reports a pressure condition. The kubelet can evict pods before that. */
  readonly nodeStatusUpdateFrequency?: string;
}

export const DEFAULT_EVICTION: Required<EvictionConfiguration> = {
  evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%" },
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMaxPodGracePeriod: 0,
  evictionPressureTransitionPeriod: "5m",
  nodeStatusUpdateFrequency: "10s",
};

export const PRESSURE = {
  "memory.available": "MemoryPressure",
  "nodefs.available": "DiskPressure",
  "pid.available": "PIDPressure",
} as const satisfies Record<Signal, string>;

export interface Threshold {
  readonly signal: Signal;
  readonly quantity: string;
  readonly graceMs: number;
  readonly isHard: boolean;
}

/** Lists the thresholds. Hard thresholds come first. */
export function thresholdsOf(configuration: Required<EvictionConfiguration>): readonly Threshold[] {
  const { evictionHard, evictionSoft, evictionSoftGracePeriod } = configuration;
  const of = (quantities: Partial<Record<Signal, string>>, isHard: boolean) =>
    SIGNALS.flatMap((signal): Threshold[] => {
      const quantity = quantities[signal];
      if (quantity === undefined) return [];
      const graceMs = isHard ? 0 : durationMs(evictionSoftGracePeriod[signal] ?? "0s");
      return [{ signal, quantity, graceMs, isHard }];
    });
  return [...of(evictionHard, true), ...of(evictionSoft, false)];
}

export function limitOf({ quantity }: Threshold, { capacity }: Observation): number {
  return quantity.endsWith("%") ? (capacity * Number(quantity.slice(0, -1))) / 100 : parseQuantity(quantity);
}

export function isMet(threshold: Threshold, observations: Readonly<Record<Signal, Observation>>): boolean {
  const observation = observations[threshold.signal];
  return observation.available < limitOf(threshold, observation);
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses a duration such as `1m30s`. */
export function durationMs(duration: string): number {
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== duration)
    throw new Error(`"${duration}" is not a duration`);
  return parts.reduce((sum, [, number, unit = ""]) => sum + Number(number) * (UNIT_MS[unit] ?? 0), 0);
}
