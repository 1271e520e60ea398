/** The story of the drain, told while it happens. */
import { setTimeout as delay } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";
import { drainNode } from "../stage/drain-client.ts";
import { startDrain } from "./drain.ts";
import { createNarrator } from "./narrator.ts";
import { isAtRest, nodeLines, onlyRefusedRemain, rowsOf } from "./rows.ts";
import { DRAINED_NODE, REFUSED, removeObstacle, setScene } from "./scene.ts";
import { showEvacuations } from "./evacuations.ts";
import { showPreflight } from "./preflight.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import type { Screen } from "../../tools/console/screen.ts";
import { both, type Stage } from "./stage.ts";
import type { Story } from "./story.ts";
import { summarize } from "./summary.ts";
import { renderLost, renderSummary } from "./view.ts";
import { readWorld, watchWorld } from "../stage/watch.ts";

export const drain: Story = {
  about: "Lifeboat",
  setting: { lifeboat: { withIt: {} }, optional: [] },
  setScene,
  tell,
  encore: () => ["kubectl uncordon node-1; kubectl drain node-2 --ignore-daemonsets --delete-emptydir-data"],
};

const COMPARISON = [
  "KubeVirt moves the same VMs by itself. With Lifeboat each of them has an Evacuation that tells who asked, why, where to,",
  "how often it was tried and what blocks it, and that can be cancelled. What KubeVirt cannot refuse, the other stories tell.",
];

const FRAME_MS = 100;
/** Far longer than the story takes. */
const PATIENCE_MS = 120_000;

/** Resolves to whether the node was drained and no VM lost. */
async function tell(stage: Stage, screen: Screen): Promise<boolean> {
  const { client, clock, kubeconfig } = stage.withIt;
  await showPreflight(DRAINED_NODE, kubeconfig, screen);
  const worlds = await both(stage, (cluster) => readWorld(cluster.client));
  const before = worlds.withIt;
  const timeLine = startTimeLine();
  const over = new AbortController();
  const watched = await watchWorld(client, clock);
  const narrator = createNarrator(screen, timeLine);
  const drainedWithout = drainQuietly(stage.without, over.signal).catch((error: unknown) =>
    narrator.note(`Without Lifeboat the drain failed: ${String(error)}`),
  );
  const running = startDrain({ client, kubeconfig, node: DRAINED_NODE, onLine: (line) => narrator.heard(line) });
  screen.print("", `$ ${running.by}`, "");

  let exitCode: number | undefined;
  const ended = running.done.then((code) => (exitCode = code));
  let obstructed = true;
  try {
    for (;;) {
      const rows = rowsOf(before, watched.world, DRAINED_NODE);
      narrator.tell(rows, nodeLines(watched.world));
      if (exitCode !== undefined && (exitCode !== 0 || rows.every(isAtRest))) break;
      if (timeLine.milliseconds() > PATIENCE_MS) {
        narrator.note("This takes too long: the drain is stopped.");
        break;
      }
      if (obstructed && onlyRefusedRemain(rows)) {
        obstructed = false;
        narrator.note(`Only ${REFUSED.name} is left, as its strategy demands. Now the disk that pins it is detached.`);
        await both(stage, (cluster) => removeObstacle(cluster.client));
      }
      await delay(FRAME_MS);
    }
  } finally {
    running.stop();
    over.abort();
    await Promise.all([ended, drainedWithout]);
    await watched.stop();
    screen.keep();
  }

  const after = await both(stage, (cluster) => readWorld(cluster.client));
  const summary = summarize(before, after.withIt, DRAINED_NODE);
  const { lost } = summarize(worlds.without, after.without, DRAINED_NODE);
  await showEvacuations(client, screen);
  screen.print("", renderLost(lost, screen), ...COMPARISON, "", "With Lifeboat:", ...renderSummary(summary, screen));
  return exitCode === 0 && summary.lost.length === 0;
}

/** The same drain of the other cluster. Its lines are not shown; what is left is judged at the end. */
async function drainQuietly({ client }: Cluster, signal: AbortSignal): Promise<void> {
  try {
    await drainNode({ client, node: DRAINED_NODE, onLine: () => undefined, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
