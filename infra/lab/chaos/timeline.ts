/** The timeline of a run, told moment by moment; what takes time does so beside the others. */
import { setTimeout as delay } from "node:timers/promises";
import { happen } from "./happen.ts";
import type { Happening, Moment } from "./moment.ts";
import type { Stage } from "./stage.ts";

export interface Told {
  readonly done: readonly Happening["does"][];
  /** Refused, or nothing was there to do it to. */
  readonly inVain: readonly Happening["does"][];
}

/** `start`: by the clock of `performance`. */
export async function tellTimeline(stage: Stage, start: number): Promise<Told> {
  const under: Promise<readonly [Happening["does"], boolean]>[] = [];
  for (const moment of stage.plan.moments) {
    await delay(Math.max(0, start + moment.at - performance.now()));
    under.push(attempt(moment, stage));
  }
  const told = await Promise.all(under);
  const those = (wanted: boolean) => told.flatMap(([does, worked]) => (worked === wanted ? [does] : []));
  return { done: those(true), inVain: those(false) };
}

/** A happening that fails is part of the run. */
async function attempt(moment: Moment, stage: Stage): Promise<readonly [Happening["does"], boolean]> {
  return [moment.does, await happen(moment, stage).catch(() => false)];
}
