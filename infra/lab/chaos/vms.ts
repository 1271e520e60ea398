/** The VMs of a run: where each begins, what its owner wants for it, how its migrations go. */
import type { Draw } from "./draw.ts";

export interface ChaosVm {
  readonly name: string;
  /** Names the node on which it starts: `drained`, or the node of a fault. */
  readonly place: string;
  /** `Unknown`: written as is, a value that KubeVirt does not know. */
  readonly strategy: "LiveMigrate" | "LiveMigrateIfPossible" | "External" | "None" | "Unknown";
  readonly migratable: boolean;
  /** So many of its migrations fail before one succeeds. */
  readonly failures: number;
  /** How long its migrations take, if not as long as all others'. */
  readonly migrationMs?: number;
  readonly graceSeconds?: number;
  /** False: it may stay where it is. */
  readonly mustLeave: boolean;
}

export const ALWAYS = Number.POSITIVE_INFINITY;
export const DRAINED = "drained";
/** Higher than theirs. */
export const PRIORITY_CLASS = "chaos-urgent";

export function drainedVm(draw: Draw, index: number): ChaosVm {
  const strategy = draw.pick([...Array.from({ length: 15 }, () => "LiveMigrate" as const), ...OTHERS]);
  // An External VM that cannot migrate would never leave: that is what its owner asks for.
  const migratable = strategy === "LiveMigrate" || strategy === "External" || draw.chance(0.7);
  const name = `vm-${String(index + 1).padStart(2, "0")}`;
  return { name, place: DRAINED, strategy, migratable, failures: 0, mustLeave: true };
}

const OTHERS = ["LiveMigrateIfPossible", "LiveMigrateIfPossible", "LiveMigrateIfPossible", "External", "None"] as const;

/** Draws VMs on a node of their own, which can migrate before a deadline. */
export function movableVms(draw: Draw, place: string, tweak: Partial<ChaosVm> = {}): readonly ChaosVm[] {
  return Array.from({ length: draw.int(1, 3) }, (_, i) => ({
    name: `${place}-${i + 1}`,
    place,
    strategy: draw.pick(["LiveMigrate", "LiveMigrateIfPossible"] as const),
    migratable: true,
    failures: draw.pick([0, 0, 1]),
    mustLeave: true,
    ...tweak,
  }));
}

/** Returns whether every eviction of the running VM is refused. */
export function isRefused({ strategy, migratable }: ChaosVm): boolean {
  return strategy === "Unknown" || (strategy === "LiveMigrate" && !migratable);
}

/** Returns whether its migrations never succeed. */
export function isStuck({ failures }: ChaosVm): boolean {
  return failures === ALWAYS;
}
