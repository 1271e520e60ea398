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

test("verdict, words and actions", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyCluster, async (facts) => {
      answer = answering(facts);
      const pod = evictedOf(facts);
      const written = startWriting();
      let answered = false;
      const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } }, (...request) => {
        // What goes on after the answer is none of its: the cluster is gone.
        if (answered) throw new TypeError("fetch failed");
        return written.before(...request);
      });
      const { decision, actions } = await explain(doors, pod);
      await doors.settle();
      expect(written.take()).toEqual([]);
      const { allowed, message, reason, warnings } = decision;
      const expected = allowed ? allowance(warnings.length > 0 ? { warnings } : {}) : refusal(message);
      const { body } = await review(doors, evictionOf(pod));
      answered = true;
      expect(body).toEqual(expected);
      expect(written.take()).toEqual(actions);
      expect(doors.log.find(({ door }) => door === "admission/evictions")).toMatchObject({ reason });
      await doors.settle();
      seen.add([reason, ...actions].join(" "));
    }),
    { seed: 20_260_305, numRuns: 250 },
  );
  expect([...seen].toSorted()).toMatchInlineSnapshot(`
    [
      "BackingOff",
      "BackingOff EnsureBudget",
      "EvacuationInProgress",
      "EvacuationInProgress EnsureBudget",
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
      "ProtectedByBudget",
      "ShutdownByStrategy",
      "ShutdownByStrategy Forget",
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
