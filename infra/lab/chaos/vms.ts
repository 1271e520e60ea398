/** The VMs of a run: where each VM starts, which eviction strategy it has, and how its migrations end. */
import type { Draw } from "./draw.ts";

export interface ChaosVm {
  readonly name: string;
  /**
   * The node on which the VM starts: `drained` for the drained node, or the name of an additional node that only one
   * fault uses.
   */
  readonly place: string;
  /** `Unknown` stands for a strategy that KubeVirt does not know. */
  readonly strategy: "LiveMigrate" | "LiveMigrateIfPossible" | "External" | "None" | "Unknown";
  readonly migratable: boolean;
  /** The number of migrations that fail before a migration succeeds. */
  readonly failures: number;
  /** The duration of the VM's migrations. The default is the same for all VMs of a run. */
  readonly migrationMs?: number;
  readonly graceSeconds?: number;
  readonly mustLeave: boolean;
}

export const ALWAYS = Number.POSITIVE_INFINITY;
export const DRAINED = "drained";
/** The PriorityClass of pods that preempt VMs. */
export const PRIORITY_CLASS = "chaos-urgent";

export function drainedVm(draw: Draw, index: number): ChaosVm {
  const strategy = draw.pick([...Array.from({ length: 15 }, () => "LiveMigrate" as const), ...OTHERS]);
  // An External VM is always migratable here, because it would otherwise never leave its node.
  const migratable = strategy === "LiveMigrate" || strategy === "External" || draw.chance(0.7);
  const name = `vm-${String(index + 1).padStart(2, "0")}`;
  return { name, place: DRAINED, strategy, migratable, failures: 0, mustLeave: true };
}

const OTHERS = ["LiveMigrateIfPossible", "LiveMigrateIfPossible", "LiveMigrateIfPossible", "External", "None"] as const;

/** Draws migratable VMs on a separate node. The properties in `tweak` replace the drawn properties. */
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

export function isRefused({ strategy, migratable }: ChaosVm): boolean {
  return strategy === "Unknown" || (strategy === "LiveMigrate" && !migratable);
}

export function isStuck({ failures }: ChaosVm): boolean {
  return failures === ALWAYS;
}
