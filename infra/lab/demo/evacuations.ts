/** The Evacuations of a cluster, at the end of a story. */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { endingOf, evacuations } from "../stage/evacuations.ts";
import { renderEvacuations } from "./evacuations-view.ts";
import type { Screen } from "../../tools/console/screen.ts";

const LOOK_EVERY_MS = 200;
/** The relay tells Lifeboat of a VM that has moved within a second: only a broken cluster takes this long. */
const PATIENCE_MS = 60_000;

export async function showEvacuations(client: KubeClient, screen: Screen): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { items } = await client.list(evacuations);
    const haveEnded = items.every((evacuation) => endingOf(evacuation) !== undefined);
    if (haveEnded || performance.now() > deadline) {
      if (items.length > 0) screen.print("", ...renderEvacuations(items, screen));
      return;
    }
    await delay(LOOK_EVERY_MS);
  }
}
