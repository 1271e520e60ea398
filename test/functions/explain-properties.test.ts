/** What explain says is what an eviction then gets, whatever the cluster looks like, if nothing changes in between. */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answering, anyCluster, evictedOf } from "./support/any-cluster.ts";
import { entry, openDoors } from "./support/doors.ts";
import { explain } from "./support/explained.ts";
import { allowance, evictionOf, refusal, review } from "./support/reviews.ts";
import { type Behaviour, startStubServer, type StubRequest, type StubServer } from "./support/stub-server.ts";
import { startWriting } from "./support/written.ts";

let server: StubServer;
let answer: (request: StubRequest) => Behaviour;
beforeAll(async () => {
  server = await startStubServer((request) => answer(request));
});
afterAll(() => server.stop());

const isRuling = ({ door }: Readonly<Record<string, unknown>>) => door === "admission/evictions";

test("verdict, words and actions", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyCluster, async (facts) => {
      answer = answering(facts);
      const pod = evictedOf(facts);
      const written = startWriting();
      const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } }, (...request) => {
        // Once the ruling is logged, what goes on is none of the answer's: the cluster is gone.
        if (doors.log.some(isRuling)) throw new TypeError("fetch failed");
        return written.before(...request);
      });
      const { decision, actions } = await explain(doors, pod);
      await doors.settle();
      expect(written.take()).toEqual([]);
      const { allowed, message, reason, warnings } = decision;
      const expected = allowed ? allowance(warnings.length > 0 ? { warnings } : {}) : refusal(message);
      const { body } = await review(doors, evictionOf(pod));
      expect(body).toEqual(expected);
      expect(written.take()).toEqual(actions);
      expect(doors.log.find(isRuling)).toMatchObject({ reason });
      await doors.settle();
      seen.add([reason, ...actions].join(" "));
    }),
    { seed: 20_261_122, numRuns: 400 },
  );
  expect([...seen].toSorted()).toMatchInlineSnapshot(`
    [
      "BackingOff",
      "BackingOff EnsureBudget",
      "EvacuationInProgress",
      "EvacuationInProgress CreateEvacuation",
      "EvacuationInProgress CreateEvacuation EnsureBudget",
      "EvacuationInProgress EnsureBudget",
      "EvacuationTriggered CreateEvacuation EnsureBudget Mark",
      "EvacuationTriggered CreateEvacuation GrowBudget Mark",
      "EvacuationTriggered CreateEvacuation Mark",
      "EvacuationTriggered EnsureBudget Mark",
      "EvacuationTriggered GrowBudget Mark",
      "EvacuationTriggered Mark",
      "HotplugOfLiveVmi",
      "HotplugOfLiveVmi EnsureBudget",
      "MigrationTarget",
      "MigrationTarget EnsureBudget",
      "NotAVirtualMachine",
      "NotMigratable",
      "NotMigratable EnsureBudget",
      "NotScheduled",
      "NotScheduled EnsureBudget",
      "PodCompleted",
      "ShutdownByStrategy",
      "ShutdownByStrategy Unmark",
      "StrategyNone",
      "UnknownStrategy",
      "UnknownStrategy EnsureBudget",
      "VmiDeleting",
      "VmiFinal",
      "VmiGone",
    ]
  `);
});
