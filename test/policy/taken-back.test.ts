/**
 * Limits, while people take back what they have asked for: a function that has decided to create a migration stalls, and
 * meanwhile others pass who see that it is not wanted any more; it goes on while what it has seen is fresh. The same storms
 * every time.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { keyOf } from "../../shared/policy/facts.ts";
import { NAME_PREFIX } from "../../shared/policy/names.ts";
import type { Slot } from "../../shared/policy/slots.ts";
import type { SimulatedCluster } from "./simulation/cluster.ts";
import { expectWithin, unfinishedOfLive } from "./simulation/limits.ts";
import { storms } from "./simulation/storm.ts";
import { tellStory } from "./simulation/story.ts";

/** What somebody is about to create, although it is not asked for any more. */
function heldInVain({ held, vmis }: SimulatedCluster): readonly Slot[] {
  return [...held].filter(({ namespace, vmi, id }) => {
    const record = vmis.get(keyOf({ namespace, name: vmi }))?.record;
    return record?.id !== id || record.outcome !== undefined;
  });
}

test("Lifeboat's own migrations are within the limits, whatever is taken back while somebody is about to create it", () => {
  const inVain = new Set<Slot>();
  const isWithin = (cluster: SimulatedCluster): void => {
    const ours = unfinishedOfLive(cluster).filter(({ name }) => name.startsWith(NAME_PREFIX));
    expectWithin(cluster, ours);
    for (const slot of heldInVain(cluster)) inVain.add(slot);
  };
  const about = fc.property(storms("taken back"), (story) => void tellStory(story, isWithin));
  fc.assert(about, { seed: 20_260_312, numRuns: 600, endOnFailure: true });
  expect(inVain.size).toBeGreaterThan(100);
});
