/** The VMs of a run: where each begins, what its owner wants for it, how its migrations go. */
import type { FaultName } from "./fault-table.ts";
import type { Random } from "./random.ts";

/** VMs leave the node `Drained`; the others have a disruption of their own. */
export type Place =
  "Drained" | "Preempted" | "Tainted" | "Unsettled" | "Ending" | "Pressed" | "Covered" | "Exposed" | "Retired";

export interface CastMember {
  readonly name: string;
  readonly place: Place;
  /** `Unknown`: written as is, a value that KubeVirt does not know. */
  readonly strategy: "LiveMigrate" | "LiveMigrateIfPossible" | "External" | "None" | "Unknown";
  readonly migratable: boolean;
  /** So many of its migrations fail before one succeeds. */
  readonly failures: number;
  /** How long its migrations take, if not as long as all others'. */
  readonly migrationMs?: number;
}

const PLACES = [
  ["Preemption", "Preempted"],
  ["NoExecuteTaint", "Tainted"],
  ["NoExecuteTaintComesAndGoes", "Unsettled"],
  ["NodeTermination", "Ending"],
  ["MemoryPressure", "Pressed"],
  ["SoftEviction", "Covered"],
  ["SoftEviction", "Exposed"],
  ["Descheduling", "Retired"],
] as const satisfies readonly (readonly [FaultName, Place])[];

/** On a node of their own; room decides, and for a limit to matter there must be more than it allows. */
const MOST = {
  Preempted: 3,
  Tainted: 3,
  Unsettled: 4,
  Ending: 3,
  Pressed: 3,
  Covered: 6,
  Exposed: 4,
  Retired: 5,
} as const;

export const ALWAYS = Number.POSITIVE_INFINITY;

export function drawCast(random: Random, size: number, faults: readonly FaultName[]): readonly CastMember[] {
  const drained = Array.from({ length: size }, (_, i) => {
    const refused = faults.includes("RefusedVms") && (i === 0 || random.chance(0.2));
    if (refused) return toBeRefused(random, nameOf(i));
    const isOwners = faults.includes("OwnersGiveUp") && (i === 1 || random.chance(0.3));
    return isOwners ? toBeMovedByOwner(random, nameOf(i)) : toBeDrained(random, nameOf(i), faults);
  });
  const others = PLACES.filter(([fault]) => faults.includes(fault)).flatMap(([, place]) =>
    Array.from({ length: random.int(1, MOST[place]) }, (_, i) =>
      DRAWN_AT[place](random, `${place.toLowerCase()}-${i + 1}`, place),
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

/** Its owner tries once. */
function toBeMovedByOwner(random: Random, name: string): CastMember {
  return { name, place: "Drained", strategy: "External", migratable: true, failures: random.pick([0, 1]) };
}

function toBeRefused(random: Random, name: string): CastMember {
  const strategy = random.pick(["LiveMigrate", "Unknown"] as const);
  return { name, place: "Drained", strategy, migratable: strategy === "Unknown" && random.chance(0.5), failures: 0 };
}

/** Whether each eviction of it is refused, for as long as it runs. */
export function isRefused({ strategy, migratable }: CastMember): boolean {
  return strategy === "Unknown" || (strategy === "LiveMigrate" && !migratable);
}

function drawStrategy(random: Random): CastMember["strategy"] {
  const draw = random.next();
  if (draw < 0.75) return "LiveMigrate";
  if (draw < 0.9) return "LiveMigrateIfPossible";
  return draw < 0.96 ? "External" : "None";
}

/** Its deletion is refused until the deadline: it must be able to move before. */
function onTop(random: Random, name: string, place: Place): CastMember {
  const strategy = random.pick(["LiveMigrate", "LiveMigrateIfPossible"] as const);
  return { name, place, strategy, migratable: true, failures: random.pick([0, 0, 1]) };
}

/** The taint may be gone before it has moved, and it need not move. */
function unsettled(random: Random, name: string): CastMember {
  const strategy = random.pick(["LiveMigrate", "LiveMigrateIfPossible", "External"] as const);
  const migratable = random.chance(0.6);
  return { name, place: "Unsettled", strategy, migratable, failures: migratable ? random.pick([0, 0, 1]) : 0 };
}

/** It is not through with it when its kubelet begins to end VMs. */
function slow(random: Random, name: string, place: Place): CastMember {
  return { ...onTop(random, name, place), migrationMs: random.int(1500, 4000) };
}

const DRAWN_AT = {
  Preempted: onTop,
  Tainted: onTop,
  Unsettled: unsettled,
  Ending: onTop,
  Pressed: onTop,
  Covered: slow,
  Exposed: slow,
  Retired: onTop,
} as const;

function nameOf(index: number): string {
  return `vm-${String(index + 1).padStart(2, "0")}`;
}
