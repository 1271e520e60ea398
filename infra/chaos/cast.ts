/**
 * The VMs of a run: where each begins, what its owner wants for it, how its migrations go.
 * Owns: drawing them. Does not own: creating them (scene.ts).
 */
import type { FaultName } from "./fault-table.ts";
import type { Random } from "./random.ts";

/** `Drained` is the node that everybody leaves; the others have a disruption of their own. */
export type Place = "Drained" | "Preempted" | "Tainted" | "Pressed" | "Retired";

export interface CastMember {
  readonly name: string;
  readonly place: Place;
  readonly strategy: "LiveMigrate" | "LiveMigrateIfPossible" | "External" | "None";
  readonly migratable: boolean;
  /** So many of its migrations fail before one succeeds. */
  readonly failures: number;
  /** How long its migrations take, if not as long as all others'. */
  readonly migrationMs?: number;
}

const PLACES = [
  ["Preemption", "Preempted"],
  ["NoExecuteTaint", "Tainted"],
  ["MemoryPressure", "Pressed"],
  ["Descheduling", "Retired"],
] as const satisfies readonly (readonly [FaultName, Place])[];

/** On a node of their own; room decides, and for a limit to matter there must be more than it allows. */
const MOST = { Preempted: 3, Tainted: 3, Pressed: 3, Retired: 5 } as const;

export const ALWAYS = Number.POSITIVE_INFINITY;

export function drawCast(random: Random, size: number, faults: readonly FaultName[]): readonly CastMember[] {
  const drained = Array.from({ length: size }, (_, i) => toBeDrained(random, `vm-${pad(i + 1)}`, faults));
  const others = PLACES.filter(([fault]) => faults.includes(fault)).flatMap(([, place]) =>
    Array.from({ length: random.int(1, MOST[place]) }, (_, i) =>
      onTop(random, `${place.toLowerCase()}-${i + 1}`, place),
    ),
  );
  return [...drained, ...others];
}

function toBeDrained(random: Random, name: string, faults: readonly FaultName[]): CastMember {
  const strategy = drawStrategy(random);
  const migratable = strategy === "LiveMigrate" || random.chance(0.7);
  const unreliable = strategy === "LiveMigrate" || strategy === "LiveMigrateIfPossible";
  return {
    name,
    place: "Drained",
    strategy,
    // Its drain would never end: that is what it asks for.
    migratable: strategy === "External" ? true : migratable,
    failures: unreliable && faults.includes("FailingMigrations") ? random.pick([0, 0, 0, 1, 1, 3, ALWAYS]) : 0,
    ...(faults.includes("SlowMigrations") && random.chance(0.3) && { migrationMs: random.int(500, 2000) }),
  };
}

function drawStrategy(random: Random): CastMember["strategy"] {
  const draw = random.next();
  if (draw < 0.75) return "LiveMigrate";
  if (draw < 0.9) return "LiveMigrateIfPossible";
  return draw < 0.96 ? "External" : "None";
}

/** Its deletion is held until the deadline: it must be able to move before. */
function onTop(random: Random, name: string, place: Place): CastMember {
  const strategy = random.pick(["LiveMigrate", "LiveMigrateIfPossible"] as const);
  return { name, place, strategy, migratable: true, failures: random.pick([0, 0, 1]) };
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}
