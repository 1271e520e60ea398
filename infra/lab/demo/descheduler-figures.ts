/** What descheduling does to a cluster: where its virtual machines are, and how many are leaving. */
import type { BesideRow } from "./beside.ts";
import type { Cycle } from "./descheduler-cycle.ts";
import { EVACUATIONS_PER_NODE, isWithinTarget } from "./descheduler-scene.ts";
import type { Place } from "./rows.ts";
import type { Pair } from "./stage.ts";
import { guestRuns } from "./summary.ts";
import type { World } from "../stage/world.ts";

export interface Figures {
  /** No VM has to leave, and none is leaving. */
  readonly balanced: boolean;
  readonly cycles: number;
  /** Evictions, by Lifeboat's own account. */
  readonly requested: number;
  /** VMs that were leaving at the same time, by their marks. */
  readonly most: number;
  readonly migrations: number;
  readonly lost: number;
}

/** What happened in a cluster, as it was seen from outside. */
export interface Course {
  readonly before: World;
  readonly world: World;
  readonly cycles: readonly Cycle[];
  readonly most: number;
}

export function figuresOf({ before, world, cycles, most }: Course): Figures {
  return {
    balanced: isWithinTarget(world) && onTheirWay(world) === 0,
    cycles: cycles.length,
    requested: cycles.reduce((sum, { requested }) => sum + requested.length, 0),
    most,
    migrations: world.migrations.size,
    lost: lostVms(before, world).length,
  };
}

/** Balanced by the policy, never beyond its limit, and no VM lost. */
export function isAsItShouldBe({ balanced, most, lost }: Figures): boolean {
  return balanced && most <= EVACUATIONS_PER_NODE && lost === 0;
}

function lostVms(before: World, now: World): readonly string[] {
  return [...before.vmis.values()].filter(({ uid }) => !guestRuns(now.vmis.get(uid), now)).map(({ key }) => key);
}

/** VMs that have been asked to leave their node, and have not left it yet. */
export function onTheirWay({ vmis }: World): number {
  return [...vmis.values()].filter(({ marked }) => marked).length;
}

/** Where each VM is. */
export function journeyRows({ without, withIt }: Pair<Course>): readonly BesideRow[] {
  const names = [...withIt.before.vmis.values()].map(({ key }) => key).toSorted();
  return names.map((name) => ({ name, without: placeOf(name, without), withIt: placeOf(name, withIt) }));
}

/** Wherever it was before: it may be sent on again. Of one that has never been sent there is nothing to tell. */
function placeOf(name: string, { world: { vmis, migrations } }: Course): Place {
  const vmi = [...vmis.values()].find(({ key }) => key === name);
  if (vmi?.phase !== "Running") return { now: "LOST", mood: "lost" };
  if (vmi.marked) return { now: `is to leave ${vmi.nodeName}`, mood: "waiting" };
  const hasMigrated = [...migrations.values()].some((migration) => migration.vmi === vmi.key);
  return hasMigrated ? { now: `on ${vmi.nodeName}`, mood: "moved" } : { now: "", mood: "idle" };
}
