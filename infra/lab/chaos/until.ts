/** Waiting for something in memory to become true, which watches keep up to date. */
import { setTimeout as delay } from "node:timers/promises";

const LOOK_EVERY_MS = 20;

/**
 * Whether it has within this time, which is counted in looks: on a machine that is busy with other things they come
 * late, and everything else does, too.
 */
export async function until(condition: () => boolean, ms: number): Promise<boolean> {
  for (let looks = 0; !condition(); looks++) {
    if (looks * LOOK_EVERY_MS >= ms) return false;
    await delay(LOOK_EVERY_MS);
  }
  return true;
}
