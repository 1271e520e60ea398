/** A disruption told in two clusters at once, of which one has Lifeboat. */
import { setTimeout as delay } from "node:timers/promises";
import { besideRows, isAtRest, noteworthy, type Cast } from "./beside.ts";
import { createBesideNarrator } from "./beside-narrator.ts";
import { NAME, renderBeside, renderOutcome } from "./beside-view.ts";
import type { Cluster } from "./cluster.ts";
import { showEvacuations } from "./evacuations.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import type { Screen } from "../../tools/console/screen.ts";
import { both, type Pair, type Stage } from "./stage.ts";
import { summarize } from "./summary.ts";
import { readWorld, watchWorld } from "../stage/watch.ts";
import type { World } from "../stage/world.ts";

export interface Plot {
  /** What one of the clusters is without; Lifeboat, unless it says otherwise. */
  readonly about?: string;
  /** What is about to happen to both clusters, in a line. */
  readonly headline: string;
  readonly cast: Cast;
  /** Brings it upon one cluster; what of it goes on may go on until `signal`. */
  disrupt(cluster: Cluster, signal: AbortSignal): Promise<void>;
  /** Whether the disruption has had its way in a cluster. */
  hasHappened(before: World, now: World): boolean;
}

const FRAME_MS = 100;
/** Far longer than any story takes. */
const PATIENCE_MS = 90_000;

/** Resolves to whether the disruption had its way and, with Lifeboat, no VM was lost. */
export async function tellBeside({ cast, ...plot }: Plot, stage: Stage, screen: Screen): Promise<boolean> {
  const before = await both(stage, ({ client }) => readWorld(client));
  const watched = await both(stage, ({ client, clock }) => watchWorld(client, clock));
  const worlds = { without: watched.without.world, withIt: watched.withIt.world };
  const timeLine = startTimeLine();
  const narrator = createBesideNarrator({
    screen,
    timeLine,
    names: NAME,
    render: (frame) => renderBeside(frame, screen, plot.about),
  });
  screen.print("", plot.headline, "");

  const over = new AbortController();
  const disrupted = both(stage, (cluster) => plot.disrupt(cluster, over.signal));
  const failed = failureOf(disrupted);
  let isOver = false;
  try {
    while (!isOver && timeLine.milliseconds() < PATIENCE_MS) {
      const rows = besideRows(before, worlds, cast);
      narrator.tell(rows, worlds, {
        without: noteworthy(before.without, worlds.without),
        withIt: noteworthy(before.withIt, worlds.withIt),
      });
      isOver = isAtRest(rows) && sides(before, worlds).every(([was, now]) => plot.hasHappened(was, now));
      await Promise.race([delay(FRAME_MS), failed]);
    }
  } finally {
    over.abort();
    await Promise.allSettled([disrupted]);
    await both(watched, (one) => one.stop());
    screen.keep();
  }

  const after = await both(stage, ({ client }) => readWorld(client));
  const outcome = {
    without: summarize(before.without, after.without, cast.node),
    withIt: summarize(before.withIt, after.withIt, cast.node),
  };
  if (!isOver) screen.print("", "This takes too long: the story ends here.");
  await showEvacuations(stage.withIt.client, screen);
  screen.print("", ...renderOutcome(outcome, screen, plot.about));
  return isOver && outcome.withIt.lost.length === 0;
}

function sides(before: Pair<World>, now: Pair<World>): readonly (readonly [World, World])[] {
  return [
    [before.without, now.without],
    [before.withIt, now.withIt],
  ];
}

/** Never resolves; rejects if the disruption cannot be brought about. */
function failureOf(disrupted: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => void disrupted.catch(reject));
}
