/** What is on in one run: everything that a happening can touch. */
import type { Actor } from "../../sandbox/actors/actor.ts";
import type { Arena } from "./arena.ts";
import type { Crew } from "./crew.ts";
import type { Drain } from "./drain.ts";
import type { Plan } from "./plan.ts";
import type { Scene } from "./scene.ts";

export interface Stage {
  readonly arena: Arena;
  readonly plan: Plan;
  readonly scene: Scene;
  readonly crew: Crew;
  readonly drain: Drain;
  /** Tells of what must never be. */
  readonly report: (what: string) => void;
  /** Keys of VMIs that their owners have deleted. */
  readonly deleted: Set<string>;
  /** Of nodes that are being ended. */
  readonly terminations: Set<Actor>;
}
