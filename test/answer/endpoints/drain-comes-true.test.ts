/** The verdict of a preflight comes true: the node is drained to the end, with Lifeboat's doors as they are shipped. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NODE } from "../../support/fixtures.ts";
import { anyDrain, drainOf, podsOn } from "./support/any-drain.ts";

const AT_NIGHT = process.env["LIFEBOAT_NIGHTLY"] !== undefined;

test("WillSucceed never turns out to block, and shuts no VM down; WillBlock and NoRoom never drain by themselves", async () => {
  const seen: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(anyDrain, async (w) => {
      const { fake, doors, run } = drainOf(w);
      const { verdict } = await doors.explainNode(NODE);
      seen[verdict] = (seen[verdict] ?? 0) + 1;
      await run();
      const isShutDown = fake.vmis.list(({ phase }) => phase === "Succeeded").length > 0;
      const drains = verdict === "WillSucceed" || verdict === "WillSucceedWithShutdowns";
      expect({ verdict, isEmpty: podsOn(fake).length === 0 }).toEqual({ verdict, isEmpty: drains });
      // If it has arrived before its eviction, its guest is shut down; else it stays where it was.
      const isRace = w.vms.some(({ strategy, state }) => strategy === "None" && state === "Arriving");
      if (drains && !isRace)
        expect({ verdict, isShutDown }).toEqual({ verdict, isShutDown: verdict === "WillSucceedWithShutdowns" });
    }),
    AT_NIGHT ? { numRuns: 500 } : { seed: 20_261_122, numRuns: 150 },
  );
  const verdicts = ["NoRoom", "WillBlock", "WillSucceed", "WillSucceedWithShutdowns"];
  expect(Object.keys(seen).toSorted()).toEqual(verdicts);
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(10);
}, 60_000);
