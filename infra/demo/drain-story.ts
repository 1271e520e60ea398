/**
 * The story of the drain, told while it happens.
 * Owns: the plot: drain, watch, remove the obstacle when nothing else is left, judge. Does not own: the stage
 * (stage.ts), the cast (scene.ts), the words (narrator.ts, view.ts).
 */
import { setTimeout as delay } from "node:timers/promises";
import { startDrain } from "./drain.ts";
import { createNarrator } from "./narrator.ts";
import { DRAINED_NODE, REFUSED, removeObstacle } from "./scene.ts";
import type { Screen } from "./screen.ts";
import type { Stage } from "./stage.ts";
import { isAtRest, nodeLines, onlyRefusedRemain, rowsOf } from "./story.ts";
import { summarize } from "./summary.ts";
import { renderSummary } from "./view.ts";
import { readWorld, watchWorld } from "./watch.ts";

const FRAME_MS = 100;
/** Far longer than the story takes. */
const PATIENCE_MS = 120_000;

/** Resolves to whether the node was drained and no VM lost. */
export async function tellDrain({ client, clock, kubeconfig }: Stage, screen: Screen): Promise<boolean> {
  const started = Date.now();
  const elapsedMs = () => Date.now() - started;
  const before = await readWorld(client);
  const watched = await watchWorld(client, clock);
  const narrator = createNarrator(screen, elapsedMs);
  const drain = startDrain({ client, kubeconfig, node: DRAINED_NODE, onLine: (line) => narrator.heard(line) });
  screen.print("", `$ ${drain.by}`, "");

  let exitCode: number | undefined;
  const ended = drain.done.then((code) => (exitCode = code));
  let obstructed = true;
  try {
    for (;;) {
      const rows = rowsOf(before, watched.world, DRAINED_NODE);
      narrator.tell(rows, nodeLines(watched.world));
      if (exitCode !== undefined && (exitCode !== 0 || rows.every(isAtRest))) break;
      if (elapsedMs() > PATIENCE_MS) {
        narrator.note("This takes too long: the drain is stopped.");
        break;
      }
      if (obstructed && onlyRefusedRemain(rows)) {
        obstructed = false;
        narrator.note(`Only ${REFUSED.name} is left, as its strategy demands. Now the disk that pins it is detached.`);
        await removeObstacle(client);
      }
      await delay(FRAME_MS);
    }
  } finally {
    drain.stop();
    await ended;
    await watched.stop();
    screen.keep();
  }

  const summary = summarize(before, await readWorld(client), DRAINED_NODE);
  screen.print("", ...renderSummary(summary, screen));
  return exitCode === 0 && summary.lost.length === 0;
}
