/**
 * The Evacuations of a cluster, at the end of a story.
 * Owns: reading them, once those that are about to end have ended. Does not own: how they look (evacuations-view.ts).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../sandbox/actors/client.ts";
import { endingOf, evacuations } from "../tools/evacuations.ts";
import { renderEvacuations } from "./evacuations-view.ts";
import type { Screen } from "./screen.ts";

const LOOK_EVERY_MS = 200;
/** The relay tells Lifeboat of a VM that has moved within a second. */
const LOOKS = 25;

export async function showEvacuations(client: KubeClient, screen: Screen): Promise<void> {
  for (let looks = 1; ; looks++) {
    const { items } = await client.list(evacuations);
    if (looks < LOOKS && items.some((evacuation) => endingOf(evacuation) === undefined)) {
      await delay(LOOK_EVERY_MS);
      continue;
    }
    if (items.length > 0) screen.print("", ...renderEvacuations(items, screen));
    return;
  }
}
